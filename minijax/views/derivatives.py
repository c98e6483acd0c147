"""`ad.jvp` and `ad.linearize` of functions of trees, as libraries call them.

Trees go in and come out as `FlatTree`s: leaves, which can be mapped over, with their
structure.  Any other tree is taken, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..base import tree
from ..base.util import flags_of
from ..ir.core import aval_of
from ..ir.jaxpr import Jaxpr
from ..passes import ad_util
from ..passes.jvp import jvp_flat
from ..passes.linearize import linearize_flat


class CustomVJPException(Exception):
    """A function with a reverse rule was differentiated forwards: here a TypeError."""


def p2tz(x: Any) -> ad_util.Zero:
    """The zero tangent of a value."""
    return ad_util.Zero(aval_of(x).to_tangent())


class FlatTree:
    """The leaves of a tree, and its structure."""

    __slots__ = ("tree", "vals")

    def __init__(self, vals: Sequence[Any], tree: Any) -> None:
        self.vals = tuple(vals)
        self.tree = tree

    @staticmethod
    def flatten(x: Any) -> FlatTree:
        """The leaves of a tree."""
        return FlatTree(*tree.flatten(x))

    def unflatten(self) -> Any:
        """The tree."""
        return tree.unflatten(self.tree, self.vals)

    def map(self, f: Callable[[Any], Any]) -> FlatTree:
        """The tree of `f` of each leaf."""
        return FlatTree(list(map(f, self.vals)), self.tree)

    def map2(self, f: Callable[[Any, Any], Any], others: Sequence[Any]) -> FlatTree:
        """The tree of `f` of each leaf and its partner."""
        pairs = zip(self.vals, others, strict=True)
        return FlatTree([f(x, y) for x, y in pairs], self.tree)

    def unzip2(self) -> tuple[FlatTree, FlatTree]:
        """Of a tree whose leaves are pairs: those of the first, of the second ones."""
        return self.map(lambda pair: pair[0]), self.map(lambda pair: pair[1])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.vals)

    def __len__(self) -> int:
        return len(self.vals)

    def __repr__(self) -> str:
        return f"FlatTree({self.unflatten()!r})"


def _flat(x: Any) -> FlatTree:
    return x if isinstance(x, FlatTree) else FlatTree.flatten(x)


class _Flat:
    """A function of trees as one of leaves; what it hands out besides stays in it."""

    def __init__(self, fun: Any, args: FlatTree, has_aux: bool) -> None:
        self.fun = getattr(fun, "call_wrapped", fun)
        self.args = args
        self.has_aux = has_aux
        self.outs: FlatTree
        self.aux: tuple[Any, ...] = ()

    def __call__(self, *leaves: Any) -> tuple[Any, ...]:
        found = self.fun(*FlatTree(leaves, self.args.tree).unflatten())
        if self.has_aux:
            if not isinstance(found, (list, tuple)) or len(found) != 2:
                raise TypeError(
                    "expected function with aux output to return a two-element tuple, but"
                    f" got type {type(found)} with value {found!r}"
                )
            found, aux = found
            self.aux = (aux,)
        self.outs = FlatTree.flatten(found)
        return self.outs.vals


def jvp(
    fun: Any,
    primals: Any,
    tangents: Any,
    has_aux: bool = False,
    instantiate: bool | Sequence[bool] = True,
    transform_stack: bool = True,
) -> Any:
    """Results of a function and their tangents, as `FlatTree`s.

    Args:
      fun: a function of trees, or a `WrappedFun`.
      primals, tangents: the tuple of its arguments, and one like it; tangents may be
        `Zero`.
      has_aux: whether it gives (result, something besides), which is handed on.
      instantiate: for which results a tangent that is zero becomes an array.
      transform_stack: whether operations are named `jvp(...)`, which they are.

    Returns:
      (results, tangents), and what comes besides.
    """
    if not transform_stack:
        raise ValueError("operations under jvp are named so in this interface")
    primals, tangents = _flat(primals), _flat(tangents)
    flat = _Flat(fun, primals, has_aux)
    outs, out_ts = jvp_flat(flat, primals.vals, tangents.vals)
    force = flags_of(instantiate, len(outs))
    out_ts = [ad_util.instantiate(t) if f else t for t, f in zip(out_ts, force, strict=True)]
    structure = flat.outs.tree
    return FlatTree(outs, structure), FlatTree(out_ts, structure), *flat.aux


def linearize(
    traceable: Any, primals_ft: Any, has_aux: bool = False, is_vjp: bool = False
) -> Any:
    """Results of a function, and the program of its linear part.

    Args:
      traceable: a function of trees, or a `WrappedFun`.
      primals_ft: the tuple of its arguments.
      has_aux: whether it gives (result, something besides), which is handed on.
      is_vjp: whether the program is to be transposed: it is the same.

    Returns:
      (results, for each whether its tangent is known to be zero, the program of the
      arguments' tangents, the values of its constvars), and what comes besides.
    """
    primals = _flat(primals_ft)
    flat = _Flat(traceable, primals, has_aux)
    outs, part = linearize_flat(flat, primals.vals)
    zeros = [z is not None for z in part.out_zeros]
    jaxpr: Jaxpr = part.jaxpr
    return FlatTree(outs, flat.outs.tree), zeros, jaxpr, list(part.consts), *flat.aux
