"""`ad.jvp` and `ad.linearize` of functions of trees, as libraries call them.

Trees are passed and returned as `FlatTree`s: leaves, which can be mapped over, with their
structure.  Any other tree is accepted as well.
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
    """Forward differentiation of a function with a reverse rule: a TypeError in minijax."""


def p2tz(x: Any) -> ad_util.Zero:
    """Return the zero tangent of a value."""
    return ad_util.Zero(aval_of(x).to_tangent())


class FlatTree:
    """The leaves of a tree, and its structure."""

    __slots__ = ("tree", "vals")

    def __init__(self, vals: Sequence[Any], tree: Any) -> None:
        self.vals = tuple(vals)
        self.tree = tree

    @staticmethod
    def flatten(x: Any) -> FlatTree:
        """Flatten a tree."""
        return FlatTree(*tree.flatten(x))

    def unflatten(self) -> Any:
        """Return the tree."""
        return tree.unflatten(self.tree, self.vals)

    def map(self, f: Callable[[Any], Any]) -> FlatTree:
        """Apply `f` to each leaf."""
        return FlatTree(list(map(f, self.vals)), self.tree)

    def map2(self, f: Callable[[Any, Any], Any], others: Sequence[Any]) -> FlatTree:
        """Apply `f` to each leaf and the element of `others` at its position."""
        pairs = zip(self.vals, others, strict=True)
        return FlatTree([f(x, y) for x, y in pairs], self.tree)

    def unzip2(self) -> tuple[FlatTree, FlatTree]:
        """Split a tree of pairs into the trees of their first and second elements."""
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
    """A function of trees as a function of leaves; it stores the auxiliary output."""

    def __init__(self, fun: Any, args: FlatTree, has_aux: bool) -> None:
        self.fun = getattr(fun, "call_wrapped", fun)
        self.args = args
        self.has_aux = has_aux
        self.outs: FlatTree
        self.aux: tuple[Any, ...] = ()

    def __call__(self, *leaves: Any) -> tuple[Any, ...]:
        out = self.fun(*FlatTree(leaves, self.args.tree).unflatten())
        if self.has_aux:
            if not isinstance(out, (list, tuple)) or len(out) != 2:
                raise TypeError(
                    "expected function with aux output to return a two-element tuple, but"
                    f" got type {type(out)} with value {out!r}"
                )
            out, aux = out
            self.aux = (aux,)
        self.outs = FlatTree.flatten(out)
        return self.outs.vals


def jvp(
    fun: Any,
    primals: Any,
    tangents: Any,
    has_aux: bool = False,
    instantiate: bool | Sequence[bool] = True,
    transform_stack: bool = True,
) -> Any:
    """Return the results of a function and their tangents, as `FlatTree`s.

    Args:
      fun: a function of trees, or a `WrappedFun`.
      primals, tangents: the tuple of its arguments, and one like it; tangents may be
        `Zero`.
      has_aux: whether it returns (result, auxiliary output).
      instantiate: the results whose zero tangents become arrays.
      transform_stack: whether operations are named `jvp(...)`; must be True.

    Returns:
      (results, tangents), and the auxiliary output, if any.
    """
    if not transform_stack:
        raise ValueError("minijax always names operations under jvp: transform_stack=True")
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
    """Return the results of a function, and the program of its linear part.

    Args:
      traceable: a function of trees, or a `WrappedFun`.
      primals_ft: the tuple of its arguments.
      has_aux: whether it returns (result, auxiliary output).
      is_vjp: whether the program will be transposed; it makes no difference.

    Returns:
      (results, whether each tangent is known to be zero, the program of the arguments'
      tangents, the values of its constvars), and the auxiliary output, if any.
    """
    primals = _flat(primals_ft)
    flat = _Flat(traceable, primals, has_aux)
    outs, linear_part = linearize_flat(flat, primals.vals)
    zeros = [z is not None for z in linear_part.out_zeros]
    jaxpr: Jaxpr = linear_part.jaxpr
    return FlatTree(outs, flat.outs.tree), zeros, jaxpr, list(linear_part.consts), *flat.aux
