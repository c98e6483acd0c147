"""Values of types that libraries make, in programs of arrays.

Where such a value is an argument of a function that is traced, it is taken apart into the
arrays that it is made of, and put together again within; a mutable one is given its new
state when the function is done.  A mutable one that a traced function closes over is
kept in references, of which programs know how to change, until it is next touched outside.

Knows no type but by its methods.  Next: body_staging.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

from ..base import errors, tree
from ..ir import core
from ..ir.core import EVAL, STATE, Trace
from .refs.refs import new_ref, write_all

# The classes of such values, and what says of what type one is.
HIGH: dict[type, Callable[[Any], Any]] = {}


class LoweredValue:
    """A value taken apart: its type, what is known of it for now, and arrays.

    same: which of the values before it is the very same object, instead.
    """

    __slots__ = ("aval", "known", "lo_values", "same")

    def __init__(self, aval: Any, known: Any, same: int | None, lows: Any) -> None:
        self.aval = aval
        self.known = known
        self.same = same
        self.lo_values = lows

    def put_together(self) -> Any:
        """The value."""
        if not self.aval.has_qdd:
            return self.aval.raise_val(*self.lo_values)
        x = self.aval.new_from_loval(self.known, *self.lo_values)
        _own(x)
        return x


def _rebuilt(told: tuple[Any, Any, Any], lows: Any) -> LoweredValue:
    aval, known, same = told
    return LoweredValue(aval, known, same, lows)


tree.register_pytree_node(
    LoweredValue, lambda x: (x.lo_values, (x.aval, x.known, x.same)), _rebuilt
)


def is_high(x: Any) -> bool:
    """Whether `x` is a value of a type that a library made."""
    return type(x) in HIGH


def type_of(x: Any) -> Any:
    """The type of a value, which may be one that a library made."""
    rule = HIGH.get(type(x))
    return core.aval_of(x) if rule is None else rule(x)


def register(kind: type, rule: Callable[[Any], Any]) -> None:
    """Say what type the values of a class have."""
    HIGH[kind] = rule
    if not hasattr(kind, "__jax_array__"):  # those are arrays to operations
        core.register_aval(kind, rule)


def _open(x: Any, same: int | None = None) -> LoweredValue:
    aval = type_of(x)
    if same is not None:
        return LoweredValue(aval, None, same, ())
    if not aval.has_qdd:
        return LoweredValue(aval, None, None, tuple(aval.lower_val(x)))
    known = x.cur_qdd()
    return LoweredValue(aval, known, None, tuple(aval.read_loval(known, x)))


class LoweredFunction:
    """A function of opened values: its result, and the states of those it changed."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun
        self.__name__ = getattr(fun, "__name__", "fun")
        self.__wrapped__ = fun

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given: list[LoweredValue] = []
        made: list[Any] = []

        def put_together(x: Any) -> Any:
            if type(x) is not LoweredValue:
                return x
            if x.same is not None:
                return made[x.same]
            given.append(x)
            made.append(x.put_together())
            return made[-1]

        is_opened = lambda x: type(x) is LoweredValue
        args, kwargs = tree.map(put_together, (args, kwargs), is_leaf=is_opened)
        out = self.fun(*args, **kwargs)
        at = {id(x): i for i, x in enumerate(made)}
        out = tree.map(lambda x: _open(x, at.get(id(x))) if is_high(x) else x, out)
        return out, [_changed(x, was) for x, was in zip(made, given, strict=True)]


def _changed(x: Any, was: LoweredValue) -> LoweredValue | None:
    """The state of a value, if it is another than it was."""
    if not was.aval.has_qdd:
        return None
    now = _open(x)
    if now.known != was.known:
        return now
    kept = all(a is b for a, b in zip(now.lo_values, was.lo_values, strict=True))
    return None if kept else now


def opened(
    args: Sequence[Any], kwargs: dict[str, Any], fixed: Sequence[Any] = ()
) -> tuple[list[Any], dict[str, Any], list[Any]]:
    """Arguments with values taken apart; and the values, each once.

    fixed: positions and names of arguments that are no trees of values.
    """
    given: list[Any] = []
    at: dict[int, int] = {}

    def open_leaf(x: Any) -> Any:
        if not is_high(x):
            return x
        if (same := at.get(id(x))) is not None:
            return _open(x, same)
        at[id(x)] = len(given)
        given.append(x)
        return _open(x)

    each = [x if i in fixed else tree.map(open_leaf, x) for i, x in enumerate(args)]
    named = {k: x if k in fixed else tree.map(open_leaf, x) for k, x in kwargs.items()}
    return each, named, given


def call(
    fun: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    fixed: Sequence[Any] = (),
) -> Any:
    """Call what was made of a function `LoweredFunction` with values as they are."""
    each, named, given = opened(args, kwargs, fixed)
    out, states = fun(*each, **named)
    for x, state in zip(given, states, strict=True):
        if state is not None:
            state.aval.update_from_loval(state.known, x, *state.lo_values)

    def closed(x: Any) -> Any:
        if type(x) is not LoweredValue:
            return x
        return x.put_together() if x.same is None else given[x.same]

    return tree.map(closed, out, is_leaf=lambda x: type(x) is LoweredValue)


# ------------------------------------------------------- mutable values from outside

# Of values that are at home in none, the cells that programs know: id -> cell.
_known: WeakValueDictionary[int, _Cell] = WeakValueDictionary()


def _made(trace: Trace) -> dict[int, Any]:
    """The values that were made in a trace in progress, by id."""
    return _memo(trace, "made")


def _cells(trace: Trace) -> dict[int, _Cell]:
    """Values at home in a trace whose state is in references: id -> cell."""
    return _memo(trace, "cells")


def _memo(trace: Trace, kind: str) -> dict[int, Any]:
    # The trace holds it: what it holds mostly knows the trace, and they go together.
    if not hasattr(trace, "memo"):
        trace.memo = {}
    return trace.memo.setdefault((__name__, kind), {})  # type: ignore[no-any-return]


def _own(x: Any) -> None:
    if STATE.trace is not EVAL:
        _made(STATE.trace)[id(x)] = x


def _home(x: Any) -> Trace:
    trace = STATE.trace
    while trace is not EVAL and id(x) not in _made(trace):
        trace = trace.parent
    return trace


class _Cell:
    """A mutable value, kept in references until it is next touched where it is at home.

    Programs that were recorded with the references run again with what the value is then.
    """

    __slots__ = ("__weakref__", "aval", "known", "refs", "x")

    def __init__(self, x: Any) -> None:
        self.x = x  # which keeps its id
        self.aval = type_of(x)
        self.known = x.cur_qdd()
        self.refs = list(map(new_ref, self.aval.read_loval(self.known, x)))
        for ref in self.refs:
            ref._keeper = self

    def ready(self) -> bool:
        """Put the value's state into the references, if it is of the type they have."""
        cells = _cells(EVAL)
        if (awake := cells.get(id(self.x))) is not None:
            return awake is self
        with core.current(EVAL):
            if self.x.cur_qdd() != self.known:
                return False
            lows = self.aval.read_loval(self.known, self.x)
            types = [core.aval_of(x).strip_weak_type() for x in lows]
            if types != [r.aval.inner_aval.strip_weak_type() for r in self.refs]:
                return False
            for ref, x in zip(self.refs, lows, strict=True):
                write_all(ref, x)
        cells[id(self.x)] = self
        return True

    def make_proxy(self) -> tuple[Any, list[Any]]:
        """What stands for the value in the program being recorded; its arrays."""
        lows = [r[...] for r in self.refs]
        stand = self.aval.new_from_loval(self.known, *lows)
        _own(stand)
        return stand, lows

    def write(self, stand: Any, was: list[Any]) -> None:
        """Take over the state of what stands for it."""
        lows = self.aval.read_loval(stand.cur_qdd(), stand)
        new, old = ([_type(x) for x in xs] for xs in (lows, was))
        if new != old:
            raise errors.type_error(
                "a mutable value that a traced function closes over was given a state of"
                f" another type: {self.aval.str_short(True)}",
                which=f"{', '.join(new)}; before: {', '.join(old)}",
                why="loops and branches keep types.",
                tries=["pass it to the function as an argument of jit"],
            )
        for ref, x, before in zip(self.refs, lows, was, strict=True):
            if x is not before:
                ref[...] = x

    def hand_back(self) -> None:
        """Give the value the state that is in the references."""
        self.aval.update_from_loval(self.known, self.x, *[r[...] for r in self.refs])


def _type(x: Any) -> str:
    return core.aval_of(x).strip_weak_type().str_short(True)  # type: ignore[no-any-return]


def _cell(x: Any, home: Trace) -> _Cell:
    """The cell of a value, whose state is in the references from now on."""
    cells = _cells(home)
    if (awake := cells.get(id(x))) is not None:
        return awake
    known = _known.get(id(x)) if home is EVAL else None
    if known is not None and known.ready():
        return known
    with core.current(home):
        found = cells[id(x)] = _Cell(x)
    if home is EVAL:
        _known[id(x)] = found
    return found


def apply(rule: Callable[..., Any], args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Apply a rule to values, of which mutable ones may come from outside."""
    now: list[Any] = []
    stands: list[tuple[_Cell, Any, list[Any]]] = []
    for x in args:
        home = _home(x) if is_high(x) and type_of(x).has_qdd else None
        if home is STATE.trace:
            if (awake := _cells(home).pop(id(x), None)) is not None:
                awake.hand_back()
        elif home is not None:
            cell = _cell(x, home)
            x, lows = cell.make_proxy()
            stands.append((cell, x, lows))
        now.append(x)
    out = rule(*now, **params)
    for cell, stand, lows in stands:
        cell.write(stand, lows)
    for x in tree.leaves(out):
        if is_high(x):
            _own(x)
    return out
