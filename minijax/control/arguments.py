"""Arguments of wrapped functions: which are static, their names, and their values."""

from __future__ import annotations

import inspect
import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..base import errors, tree, util
from ..base.source import function_text
from ..ir import core
from ..ir.core import Tracer
from ..runtime.arrays import array as arrays
from ..runtime.arrays.array import ARRAYS, Array
from ..runtime.arrays.operands import to_array
from ..runtime.sharding import placement
from ..symbolic.dims import SymbolicDim
from ..text import tracer_errors


class Statics(NamedTuple):
    """Static arguments: positions and names, both resolved from the signature."""

    nums: tuple[int, ...]
    names: tuple[str, ...]

    def apart(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Split a call's arguments: the static ones, each with its position or name; the
        positions of the others; and the others."""
        n = len(args)
        fixed = {i if i >= 0 else i + n for i in self.nums}
        positions = tuple(i for i in range(n) if i not in fixed)
        static: list[Any] = [(i, args[i]) for i in sorted(fixed) if 0 <= i < n]
        static += [(k, kwargs[k]) for k in sorted(kwargs) if k in self.names]
        kw = {k: v for k, v in kwargs.items() if k not in self.names}
        return tuple(static), positions, (tuple(args[i] for i in positions), kw)


NO_STATICS = Statics((), ())


@util.cached_by(is_shareable=lambda signature: True)
def signature_of(fun: Any) -> inspect.Signature | None:
    """Return the signature of a callable, or None if it has none."""
    try:
        return inspect.signature(fun)
    except (ValueError, TypeError):
        return None


POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def check_callable(fun: Any) -> None:
    """Raise TypeError unless `fun` is a function that can be traced."""
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r}.")
    if _is_generator(fun):
        raise TypeError(
            errors.message(
                f"Expected a function, got a generator function: {fun!r}",
                why="It returns before anything is computed.",
                tries=["return a tuple of the values"],
            )
        )


def _is_generator(fun: Any) -> bool:
    try:
        return inspect.isgeneratorfunction(fun)
    except Exception:  # raised by an attribute of the user's object
        return False


def as_tuple(x: Any) -> tuple[Any, ...]:
    """Convert None, one item or many to a tuple."""
    if x is None:
        return ()
    return (x,) if isinstance(x, (str, int)) else tuple(x)


def as_numbers(x: Any) -> tuple[int, ...]:
    """Convert argument numbers (None, one or many) to a tuple of ints."""
    if x is None:
        return ()
    items = (x,) if hasattr(x, "__index__") and not getattr(x, "shape", ()) else x
    return tuple(map(operator.index, items))


def as_names(x: Any, what: str) -> tuple[str, ...]:
    """Convert argument names (None, one or many) to a tuple of strings."""
    names = () if x is None else (x,) if isinstance(x, str) else tuple(x)
    for s in names:
        if not isinstance(s, str):
            raise TypeError(f"{what}_argnames: argument is not a string: {s!r}.")
    return names


def resolve_statics(fun: Any, nums: Any, names: Any, what: str) -> Statics:
    """Return both positions and names of arguments that are named by either."""
    given_nums, given_names = as_numbers(nums), as_names(names, what)
    if not given_nums and not given_names:
        return NO_STATICS
    sig = signature_of(fun)
    if sig is None:
        return Statics(given_nums, given_names)
    params = sig.parameters
    positional = [p.name for p in params.values() if p.kind in POSITIONAL]
    kinds = {p.kind for p in params.values()}
    out_nums = []
    for n in given_nums:
        m = n + len(positional) if n < 0 else n
        if 0 <= m < len(positional):
            out_nums.append(m)
        elif inspect.Parameter.VAR_POSITIONAL in kinds:
            out_nums.append(n)  # resolved at the call
        else:
            raise ValueError(
                errors.message(
                    f"Jitted function has {what}_argnums={given_nums}, but only accepts"
                    f" {len(positional)} positional arguments.",
                    where=function_text(fun),
                )
            )
    only_positional = [
        s
        for s in given_names
        if s in params and params[s].kind is inspect.Parameter.POSITIONAL_ONLY
    ]
    unknown = [s for s in given_names if s not in params]
    for wrong, why in (
        (only_positional, "These are positional-only"),
        (unknown, "Function does not take these args."),
    ):
        if wrong and inspect.Parameter.VAR_KEYWORD not in kinds:
            listed = ", ".join(map(repr, wrong))
            raise ValueError(
                errors.message(
                    f"Jitted function has invalid argnames {{{listed}}} in"
                    f" {what}_argnames. {why}",
                    where=function_text(fun),
                    why=f"Its parameters are {', '.join(params) or 'none'}.",
                )
            )
    out_names = list(given_names)
    if not given_names:
        out_names = [positional[n] for n in out_nums if 0 <= n < len(positional)]
    if not given_nums:
        out_nums = [positional.index(s) for s in given_names if s in positional]
    return Statics(tuple(dict.fromkeys(out_nums)), tuple(dict.fromkeys(out_names)))


def check_apart(statics: Statics, donate: Statics) -> None:
    """Raise ValueError if an argument is both static and donated."""
    both = sorted({*statics.names} & {*donate.names})
    if both:
        raise ValueError(
            errors.message(
                "static_argnames and donate_argnames cannot intersect. Argument names"
                f" {{{', '.join(map(repr, both))}}} appear in both static_argnames and"
                " donate_argnames",
                why="A static argument has no buffer to donate.",
            )
        )
    if {*statics.nums} & {*donate.nums}:
        raise ValueError(
            f"static_argnums {statics.nums} and donate_argnums {donate.nums} cannot intersect."
        )


class ArgNames(Sequence[str]):
    """Names of a call's leaves (`params['w1']`), computed when an error needs them.

    Traces of a function are cached while it lives, so they must not keep it alive.
    """

    __slots__ = ("_names", "code", "fun", "in_tree", "positions")

    def __init__(self, fun: Any, in_tree: Any, positions: Sequence[int]) -> None:
        try:
            self.fun: Callable[[], Any] = weakref.ref(fun)
        except TypeError:  # no weak references to it: then nothing is cached for it
            self.fun = lambda: fun
        self.code = getattr(fun, "__code__", None)
        self.in_tree = in_tree
        self.positions = positions
        self._names: list[str] | None = None

    def names(self) -> list[str]:
        if self._names is None:
            n = self.in_tree.num_leaves
            args, kwargs = tree.unflatten(self.in_tree, list(range(n)))
            params = self.parameters()
            names = [""] * n
            rest, first = self.rest
            for i, x in enumerate(args):
                at = self.positions[i] if i < len(self.positions) else i
                label = params[at] if at < first else f"{rest}[{at - first}]"
                for path, leaf in tree.leaves_with_path(x):
                    names[leaf] = label + tree.keystr(path)
            for key, x in kwargs.items():
                for path, leaf in tree.leaves_with_path(x):
                    names[leaf] = key + tree.keystr(path)
            self._names = names
        return self._names

    @property
    def rest(self) -> tuple[str, int]:
        """The name of the variadic positional arguments, and the index of the first."""
        fun = self.fun()
        sig = signature_of(fun) if fun is not None else None
        for i, p in enumerate(sig.parameters.values() if sig is not None else ()):
            if p.kind is inspect.Parameter.VAR_POSITIONAL:
                return p.name, i
        code, first = self.code, len(self.parameters())
        if fun is None and code is not None and code.co_flags & inspect.CO_VARARGS:
            return code.co_varnames[first + code.co_kwonlyargcount], first
        return "args", first

    def parameters(self) -> list[str]:
        """Return the function's parameter names; if it is dead, those in its code."""
        fun = self.fun()
        if fun is not None:
            sig = signature_of(fun)
            return [] if sig is None else list(sig.parameters)
        if self.code is None:
            return []
        return list(self.code.co_varnames[: self.code.co_argcount])

    def __len__(self) -> int:
        return len(self.names())

    def __getitem__(self, i: Any) -> Any:
        return self.names()[i]


def as_value(x: Any) -> Any:
    """Return the value of an argument that is returned unchanged: a tracer or `Array`."""
    x = core.unwrapped(x)
    return x if isinstance(x, Tracer) else as_array(x)


def as_array(x: Any) -> Array:
    """Return a concrete value as an `Array`."""
    x = arrays.adopted(x)
    return x if type(x) in ARRAYS else to_array(x, placement.default_placement())


def concrete_or_error(kind: Any, x: Any, context: str = "") -> Any:
    """Return `kind(x)` for a concrete `x`; a tracer raises its error with `context`."""
    if isinstance(x, Tracer) and x.concrete() is None:
        raise tracer_errors.not_concrete(x, core.STATE.trace, context)
    if isinstance(x, Tracer):
        x = x.concrete()
    if isinstance(x, SymbolicDim) and kind in (int, operator.index):
        return int(x)  # raises, as its value is not constant
    return x if kind is None else kind(x)


def check_values(values: Sequence[Any], where: str) -> Sequence[Any]:
    """Return the leaves; TypeError unless all are arrays or numbers."""
    for x in values:
        if not core.is_value(x):
            raise TypeError(
                errors.message(
                    f"Argument {x!r} of type {type(x)} is not a valid JAX type.",
                    where=where,
                    tries=["nondiff_argnums, for an argument", "close over the value"],
                )
            )
    return values
