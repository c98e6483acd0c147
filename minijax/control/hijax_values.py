"""Values of types that libraries define (hijax types), in programs of arrays.

If such a value is an argument of a traced function, it is lowered to arrays for the call
and rebuilt from them inside; a mutable value is updated when the function returns.  A
mutable value that a traced function closes over is stored in references, which programs can
modify, until it is next used outside.

This module uses a type only through its methods.  Next: body_staging.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

from ..base import errors, tree
from ..ir import core
from ..ir.core import EVAL, STATE, Trace
from .refs.refs import new_ref, write_all

# The classes of such values, each with the function that returns a value's type.
HIGH: dict[type, Callable[[Any], Any]] = {}


class LoweredValue:
    """A lowered value: its type, its quasi-dynamic data (qdd), and its arrays.

    same: the index of an earlier value that is the same object; then there are no arrays.
    """

    __slots__ = ("aval", "qdd", "lo_values", "same")

    def __init__(self, aval: Any, qdd: Any, same: int | None, lo_values: Any) -> None:
        self.aval = aval
        self.qdd = qdd
        self.same = same
        self.lo_values = lo_values

    def rebuild(self) -> Any:
        """Return the rebuilt value."""
        if not self.aval.has_qdd:
            return self.aval.raise_val(*self.lo_values)
        x = self.aval.new_from_loval(self.qdd, *self.lo_values)
        _own(x)
        return x


def _rebuilt(aux: tuple[Any, Any, Any], lo_values: Any) -> LoweredValue:
    aval, qdd, same = aux
    return LoweredValue(aval, qdd, same, lo_values)


tree.register_pytree_node(
    LoweredValue, lambda x: (x.lo_values, (x.aval, x.qdd, x.same)), _rebuilt
)


def is_high(x: Any) -> bool:
    """Whether the type of `x` is defined by a library."""
    return type(x) in HIGH


def type_of(x: Any) -> Any:
    """Return the type of a value, which a library may have defined."""
    rule = HIGH.get(type(x))
    return core.aval_of(x) if rule is None else rule(x)


def register(kind: type, rule: Callable[[Any], Any]) -> None:
    """Register the function that returns the types of a class's values."""
    HIGH[kind] = rule
    if not hasattr(kind, "__jax_array__"):  # otherwise operations convert them to arrays
        core.register_aval(kind, rule)


def _lower(x: Any, same: int | None = None) -> LoweredValue:
    aval = type_of(x)
    if same is not None:
        return LoweredValue(aval, None, same, ())
    if not aval.has_qdd:
        return LoweredValue(aval, None, None, tuple(aval.lower_val(x)))
    qdd = x.cur_qdd()
    return LoweredValue(aval, qdd, None, tuple(aval.read_loval(qdd, x)))


class LoweredFunction:
    """A function of lowered values that returns its result, and the changed states."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun
        self.__name__ = getattr(fun, "__name__", "fun")
        self.__wrapped__ = fun

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        lowered: list[LoweredValue] = []
        rebuilt: list[Any] = []

        def rebuild(x: Any) -> Any:
            if type(x) is not LoweredValue:
                return x
            if x.same is not None:
                return rebuilt[x.same]
            lowered.append(x)
            rebuilt.append(x.rebuild())
            return rebuilt[-1]

        is_opened = lambda x: type(x) is LoweredValue
        args, kwargs = tree.map(rebuild, (args, kwargs), is_leaf=is_opened)
        out = self.fun(*args, **kwargs)
        at = {id(x): i for i, x in enumerate(rebuilt)}
        out = tree.map(lambda x: _lower(x, at.get(id(x))) if is_high(x) else x, out)
        return out, [_changed(x, before) for x, before in zip(rebuilt, lowered, strict=True)]


def _changed(x: Any, before: LoweredValue) -> LoweredValue | None:
    """Return the state of a value if it has changed, or None."""
    if not before.aval.has_qdd:
        return None
    now = _lower(x)
    if now.qdd != before.qdd:
        return now
    unchanged = all(a is b for a, b in zip(now.lo_values, before.lo_values, strict=True))
    return None if unchanged else now


def opened(
    args: Sequence[Any], kwargs: dict[str, Any], fixed: Sequence[Any] = ()
) -> tuple[list[Any], dict[str, Any], list[Any]]:
    """Return arguments with hijax values lowered, and these values, each once.

    fixed: positions and names of arguments that are not trees of values.
    """
    values: list[Any] = []
    at: dict[int, int] = {}

    def open_leaf(x: Any) -> Any:
        if not is_high(x):
            return x
        if (same := at.get(id(x))) is not None:
            return _lower(x, same)
        at[id(x)] = len(values)
        values.append(x)
        return _lower(x)

    each = [x if i in fixed else tree.map(open_leaf, x) for i, x in enumerate(args)]
    named = {k: x if k in fixed else tree.map(open_leaf, x) for k, x in kwargs.items()}
    return each, named, values


def call(
    fun: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    fixed: Sequence[Any] = (),
) -> Any:
    """Call `fun`, made from a `LoweredFunction`, with hijax values."""
    each, named, values = opened(args, kwargs, fixed)
    out, states = fun(*each, **named)
    for x, state in zip(values, states, strict=True):
        if state is not None:
            state.aval.update_from_loval(state.qdd, x, *state.lo_values)

    def closed(x: Any) -> Any:
        if type(x) is not LoweredValue:
            return x
        return x.rebuild() if x.same is None else values[x.same]

    return tree.map(closed, out, is_leaf=lambda x: type(x) is LoweredValue)


# ---------------------------------------------------- mutable values of outer traces

# The cells that cached programs refer to, for values that belong to no trace: id -> cell.
_recorded_cells: WeakValueDictionary[int, _Cell] = WeakValueDictionary()


def _owned_values(trace: Trace) -> dict[int, Any]:
    """Return the values that were made in an active trace, by id."""
    return _memo(trace, "made")


def _cells(trace: Trace) -> dict[int, _Cell]:
    """Return the cells of values of a trace whose state is in references, by id."""
    return _memo(trace, "cells")


def _memo(trace: Trace, kind: str) -> dict[int, Any]:
    # Stored on the trace: most of it refers to the trace, and both are freed together.
    if not hasattr(trace, "memo"):
        trace.memo = {}
    return trace.memo.setdefault((__name__, kind), {})  # type: ignore[no-any-return]


def _own(x: Any) -> None:
    if STATE.trace is not EVAL:
        _owned_values(STATE.trace)[id(x)] = x


def _home(x: Any) -> Trace:
    trace = STATE.trace
    while trace is not EVAL and id(x) not in _owned_values(trace):
        trace = trace.parent
    return trace


class _Cell:
    """A mutable value whose state is in references until its own trace next uses it.

    Programs that were recorded with the references read the value's state of the call.
    """

    __slots__ = ("__weakref__", "aval", "qdd", "refs", "x")

    def __init__(self, x: Any) -> None:
        self.x = x  # keeps its id from being reused
        self.aval = type_of(x)
        self.qdd = x.cur_qdd()
        self.refs = list(map(new_ref, self.aval.read_loval(self.qdd, x)))
        for ref in self.refs:
            ref._keeper = self

    def ready(self) -> bool:
        """Write the value's state to the references; False if their types differ."""
        cells = _cells(EVAL)
        if (active := cells.get(id(self.x))) is not None:
            return active is self
        with core.current(EVAL):
            if self.x.cur_qdd() != self.qdd:
                return False
            lo_values = self.aval.read_loval(self.qdd, self.x)
            types = [core.aval_of(x).strip_weak_type() for x in lo_values]
            if types != [r.aval.inner_aval.strip_weak_type() for r in self.refs]:
                return False
            for ref, x in zip(self.refs, lo_values, strict=True):
                write_all(ref, x)
        cells[id(self.x)] = self
        return True

    def make_proxy(self) -> tuple[Any, list[Any]]:
        """Return the value's proxy in the program being recorded, and its arrays."""
        lo_values = [r[...] for r in self.refs]
        proxy = self.aval.new_from_loval(self.qdd, *lo_values)
        _own(proxy)
        return proxy, lo_values

    def write(self, proxy: Any, initial_values: list[Any]) -> None:
        """Write the state of the proxy to the references."""
        lo_values = self.aval.read_loval(proxy.cur_qdd(), proxy)
        new, old = ([_type(x) for x in xs] for xs in (lo_values, initial_values))
        if new != old:
            raise errors.type_error(
                "a mutable value that a traced function closes over was given a state of"
                f" another type: {self.aval.str_short(True)}",
                which=f"{', '.join(new)}; before: {', '.join(old)}",
                why="Loops and branches keep types.",
                tries=["pass it to the function as an argument of jit"],
            )
        for ref, x, before in zip(self.refs, lo_values, initial_values, strict=True):
            if x is not before:
                ref[...] = x

    def restore(self) -> None:
        """Update the value from the references."""
        self.aval.update_from_loval(self.qdd, self.x, *[r[...] for r in self.refs])


def _type(x: Any) -> str:
    return core.aval_of(x).strip_weak_type().str_short(True)  # type: ignore[no-any-return]


def _cell(x: Any, home: Trace) -> _Cell:
    """Return the cell of a value, whose state is in references from now on."""
    cells = _cells(home)
    if (active := cells.get(id(x))) is not None:
        return active
    dormant = _recorded_cells.get(id(x)) if home is EVAL else None
    if dormant is not None and dormant.ready():
        return dormant
    with core.current(home):
        cell = cells[id(x)] = _Cell(x)
    if home is EVAL:
        _recorded_cells[id(x)] = cell
    return cell


def apply(rule: Callable[..., Any], args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Apply a rule to values; mutable ones may belong to outer traces."""
    operands: list[Any] = []
    proxies: list[tuple[_Cell, Any, list[Any]]] = []
    for x in args:
        home = _home(x) if is_high(x) and type_of(x).has_qdd else None
        if home is STATE.trace:
            if (active := _cells(home).pop(id(x), None)) is not None:
                active.restore()
        elif home is not None:
            cell = _cell(x, home)
            x, lo_values = cell.make_proxy()
            proxies.append((cell, x, lo_values))
        operands.append(x)
    out = rule(*operands, **params)
    for cell, proxy, lo_values in proxies:
        cell.write(proxy, lo_values)
    for x in tree.leaves(out):
        if is_high(x):
            _own(x)
    return out
