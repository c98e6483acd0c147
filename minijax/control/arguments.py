"""Arguments of wrapped functions: which are static, what they are called, their values."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base import tree, util
from ..core.core import Tracer
from ..runtime import array as arrays
from ..runtime.array import ARRAYS, Array


class Statics(NamedTuple):
    """Static arguments: positions and names, both worked out from the signature."""

    nums: tuple[int, ...]
    names: tuple[str, ...]


NO_STATICS = Statics((), ())


def signature_of(fun: Any) -> inspect.Signature | None:
    """The signature of a callable, if it has one."""
    known = _signatures.of(fun)
    if "found" not in known:
        try:
            known["found"] = inspect.signature(fun)
        except (ValueError, TypeError):
            known["found"] = None
    return known["found"]


_signatures = util.cache(util.Memos())


POSITIONAL = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


def as_tuple(x: Any) -> tuple[Any, ...]:
    """None, one item or many, as a tuple."""
    if x is None:
        return ()
    if isinstance(x, (str, int)):
        return (x,)
    return tuple(x)


def resolve_statics(fun: Any, nums: Any, names: Any, what: str) -> Statics:
    """Both the positions and the names of the arguments named by either."""
    given_nums, given_names = as_tuple(nums), as_tuple(names)
    for n in given_nums:
        if not isinstance(n, (int, np.integer)) or isinstance(n, bool):
            raise TypeError(f"{what}_argnums takes ints, got {n!r}.")
    for s in given_names:
        if not isinstance(s, str):
            raise TypeError(f"{what}_argnames takes strings, got {s!r}.")
    if not given_nums and not given_names:
        return NO_STATICS
    sig = signature_of(fun)
    if sig is None:
        return Statics(given_nums, given_names)
    positional = [p.name for p in sig.parameters.values() if p.kind in POSITIONAL]
    kinds = {p.kind for p in sig.parameters.values()}
    has_varargs = inspect.Parameter.VAR_POSITIONAL in kinds
    has_kwargs = inspect.Parameter.VAR_KEYWORD in kinds
    out_nums = []
    for n in given_nums:
        m = n + len(positional) if n < 0 else n
        if not has_varargs and not 0 <= m < len(positional):
            raise ValueError(
                f"jitted function has {what}_argnums={given_nums} but only accepts"
                f" {len(positional)} positional arguments."
            )
        out_nums.append(m)
    for s in given_names:
        if s not in sig.parameters and not has_kwargs:
            raise ValueError(
                f"jitted function has invalid argnames {{{s!r}}} in {what}_argnames."
                f" Function does not take these args: its parameters are"
                f" {list(sig.parameters)}."
            )
    out_names = list(given_names)
    if not given_names:
        out_names = [positional[n] for n in out_nums if n < len(positional)]
    if not given_nums:
        out_nums = [positional.index(s) for s in given_names if s in positional]
    return Statics(tuple(dict.fromkeys(out_nums)), tuple(dict.fromkeys(out_names)))


class ArgNames(Sequence[str]):
    """Names of a call's leaves (`params['w1']`), worked out when an error needs them.

    What was traced of a function is kept while it lives, and must not keep it alive.
    """

    __slots__ = ("_names", "code", "fun", "in_tree", "positions")

    def __init__(self, fun: Any, in_tree: Any, positions: Sequence[int]) -> None:
        try:
            self.fun: Callable[[], Any] = weakref.ref(fun)
        except TypeError:  # no weak references to it: then nothing is kept for it
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
            found = [""] * n
            for i, x in enumerate(args):
                at = self.positions[i] if i < len(self.positions) else i
                label = params[at] if at < len(params) else f"args[{at}]"
                for path, leaf in tree.leaves_with_path(x):
                    found[leaf] = label + tree.keystr(path)
            for key, x in kwargs.items():
                for path, leaf in tree.leaves_with_path(x):
                    found[leaf] = key + tree.keystr(path)
            self._names = found
        return self._names

    def parameters(self) -> list[str]:
        """What the function calls its arguments; of a dead one, as its code has it."""
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
    """An argument that is handed back as it is: a tracer, or an `Array`."""
    return x if isinstance(x, Tracer) else as_array(x)


def as_array(x: Any) -> Array:
    """A concrete value as an `Array`."""
    return (
        x
        if type(x) in ARRAYS
        else Array(arrays.to_buffer(x, arrays.default_placement()))
    )
