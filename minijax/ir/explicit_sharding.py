"""How results lie along `Explicit` axes of a mesh: from how operands do.

A type says in `lies` along which axes of the mesh each axis of its values is cut.  Where
an operand is cut, `Primitive.lie` says how the results are; it sees specs, tuples with an
entry for each axis: None, the name of a mesh axis, or several.

    lie(specs, avals, outs, params) -> [spec | None]    types as if nothing were cut

`specs.mesh` is the mesh.

This room names no operation.  Next: jaxpr.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..base.errors import ShardingTypeError, error, value_error
from ..types.avals import sharded_axis_text
from ..types.dtypes import short_name
from . import core, reduction_axes

Spec = tuple[Any, ...]


class Specs(list[Spec]):
    """The specs of operands, over one mesh."""

    __slots__ = ("mesh",)

    def __init__(self, avals: Sequence[Any], mesh: Any) -> None:
        super().__init__(map(spec_of, avals))
        self.mesh = mesh


def sharded_result_type(prim: core.Primitive, avals: Sequence[Any], params: Any) -> Any:
    """The type(s) of results of operands that are cut, or of one that is to be."""
    bare = [
        a if a.explicit_sharding is None else a.update(explicit_sharding=None) for a in avals
    ]
    out = prim.abstract(*bare, **params)
    asked = params[prim.out_sharding_param] if prim.out_sharding_param is not None else None
    mesh = common_mesh(prim.name, avals)
    terms = NOTHING
    if any(has_sums(a.explicit_sharding) for a in avals):
        terms = reduction_axes.of_results(prim, avals, list(map(sums_of, avals)))
    if asked is not None:
        asked = asked.for_rank(len(out.shape))
        asked.check_compatible_aval(out.shape)
        said = asked.to_explicit(len(out.shape))
        if prim.check_out_sharding is not None:
            prim.check_out_sharding(said, list(map(spec_of, avals)), avals, params)
        return out.update(explicit_sharding=said)
    outs = out if prim.multiple_results else [out]
    if prim.sharding_rule is None and not any(terms):
        return out
    lie = prim.sharding_rule or (lambda *_: [None] * len(outs))
    found = lie(Specs(avals, mesh), bare, outs, params)
    like = next(
        a.explicit_sharding
        for a in avals
        if a.explicit_sharding is not None and a.explicit_sharding.mesh is mesh
    )
    outs = [
        with_explicit_sharding(prim.name, a, like, s, avals, terms)
        for a, s in zip(outs, found, strict=True)
    ]
    return outs if prim.multiple_results else outs[0]


Terms = tuple[frozenset[Any], frozenset[Any]]
NOTHING: Terms = frozenset(), frozenset()


def has_sums(lies: Any) -> bool:
    """Whether values that lie so are terms of sums, or have such as cotangents."""
    return lies is not None and bool(lies.spec.unreduced or lies.spec.reduced)


def sums_of(aval: Any) -> reduction_axes.ReductionAxes:
    """Along which `Explicit` axes values are terms of sums, or have such as cotangents."""
    if aval.explicit_sharding is None:
        return reduction_axes.ReductionAxes()
    spec = aval.explicit_sharding.spec
    cut = frozenset(a for entry in spec for a in axes_in(entry))
    return reduction_axes.ReductionAxes(spec.unreduced, spec.reduced, cut)


def common_mesh(name: str, avals: Sequence[Any]) -> Any:
    """The mesh of operands that are cut; all are over one."""
    mesh = None
    for a in avals:
        if a.explicit_sharding is None:
            continue
        if mesh is None:
            mesh = a.explicit_sharding.mesh
        elif a.explicit_sharding.mesh != mesh:
            raise value_error(
                f"Mesh for all inputs should be equal. Got one mesh: {mesh} and another"
                f" mesh: {a.explicit_sharding.mesh}",
                where=name,
                which=", ".join(x.str_short(True) for x in avals),
                tries=["jax.sharding.reshard(x, sharding)"],
            )
    return mesh


def spec_of(aval: Any) -> Spec:
    """The spec of a type: an entry for each of its axes."""
    shape = getattr(aval, "shape", ())
    return (
        tuple(aval.explicit_sharding.spec)
        if aval.explicit_sharding is not None
        else (None,) * len(shape)
    )


def axes_in(entry: Any) -> tuple[Any, ...]:
    """The mesh axes of one entry."""
    if entry is None:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


def with_explicit_sharding(
    name: str,
    aval: Any,
    like: Any,
    spec: Spec | None,
    operands: Sequence[Any] = (),
    terms: Terms = NOTHING,
) -> Any:
    """The type `aval` with its axes cut so, over the mesh of the sharding `like`.

    Raises:
      ShardingTypeError: a mesh axis cuts two axes, or one into unequal parts.
    """
    spec = spec or (None,) * len(aval.shape)
    if not any(spec) and not any(terms):
        return aval
    sizes = like.mesh.shape
    seen: set[Any] = set()
    for n, entry in zip(aval.shape, spec, strict=True):
        axes = axes_in(entry)
        parts = math.prod(sizes[a] for a in axes)
        if n % parts:
            raise error(
                ShardingTypeError,
                f"{name}: an axis of size {n} cannot be cut along {entry!r} into {parts}"
                " equal parts.",
                which=f"a result of shape {aval.shape}, cut as {spec}",
                tries=["jax.sharding.reshard(x, sharding) first"],
            )
        if not seen.isdisjoint(axes):
            raise error(
                ShardingTypeError,
                f"{name} operation with inputs:"
                f" {', '.join(a.str_short(True) for a in operands)} produces an illegally"
                f" sharded result: {short_name(aval.dtype)}"
                f"[{','.join(map(sharded_axis_text, aval.shape, spec))}]",
                why="an axis of the mesh cuts one axis of an array.",
                tries=["jax.sharding.reshard(x, sharding) of an operand first"],
            )
        seen.update(axes)
    unreduced, reduced = terms
    return aval.update(
        explicit_sharding=like.with_spec(spec).with_sums(unreduced, reduced - seen)
    )


def without(aval: Any, dim: int) -> Any:
    """`aval` without axis `dim`."""
    shape, lies = aval.shape, aval.explicit_sharding
    if lies is not None:
        spec = tuple(lies.spec)
        rest = spec[:dim] + spec[dim + 1 :]
        lies = lies.with_entries(rest)
    return aval.update(shape=shape[:dim] + shape[dim + 1 :], explicit_sharding=lies)


def with_axis(aval: Any, size: int, dim: int, like: Any = None, entry: Any = None) -> Any:
    """`aval` with one more axis, at `dim`, cut along `entry` over the mesh of `like`."""
    shape, lies = aval.shape, aval.explicit_sharding
    if lies is not None or entry is not None:
        spec = spec_of(aval)
        entries = (*spec[:dim], entry, *spec[dim:])
        lies = like.with_spec(entries) if lies is None else lies.with_entries(entries)
    return aval.update(shape=(*shape[:dim], size, *shape[dim:]), explicit_sharding=lies)
