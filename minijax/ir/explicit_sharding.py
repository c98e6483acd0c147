"""Shardings of results along `Explicit` mesh axes, derived from those of the operands.

The `explicit_sharding` of a type holds the mesh axes that each array axis is sharded over.
If an operand is sharded, `Primitive.sharding_rule` returns the specs of the results.  A
spec is a tuple with one entry for each axis: None, a mesh axis, or a tuple of mesh axes.

    sharding_rule(specs, avals, outs, params) -> [spec | None]

`specs.mesh` is the mesh; `avals` and `outs` are types without shardings.

This package names no operation.  Next: jaxpr.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..base.errors import ShardingTypeError, error, value_error
from ..types.avals import sharded_axis_text
from ..types.dtypes import short_name
from . import core, reduction_axes

if TYPE_CHECKING:
    from ..types.aliases import Aval

Spec = tuple[Any, ...]


class Specs(list[Spec]):
    """The specs of operands, over one mesh."""

    __slots__ = ("mesh",)

    def __init__(self, avals: Sequence[Any], mesh: Any) -> None:
        super().__init__(map(spec_of, avals))
        self.mesh = mesh


def sharded_result_type(prim: core.Primitive, avals: Sequence[Any], params: Any) -> Any:
    """Return the type(s) of results if an operand or a requested result is sharded."""
    bare = [
        a if a.explicit_sharding is None else a.update(explicit_sharding=None) for a in avals
    ]
    out = prim.abstract(*bare, **params)
    requested = params[prim.out_sharding_param] if prim.out_sharding_param is not None else None
    mesh = common_mesh(prim.name, avals)
    terms = NOTHING
    if any(has_reduction_axes(a.explicit_sharding) for a in avals):
        terms = reduction_axes.of_results(prim, avals, list(map(reduction_axes_of, avals)))
    if requested is not None:
        requested = requested.for_rank(len(out.shape))
        requested.check_compatible_aval(out.shape)
        out_sharding = requested.to_explicit(len(out.shape))
        if prim.check_out_sharding is not None:
            prim.check_out_sharding(out_sharding, list(map(spec_of, avals)), avals, params)
        return out.update(explicit_sharding=out_sharding)
    outs = out if prim.multiple_results else [out]
    if prim.sharding_rule is None and not any(terms):
        return out
    rule = prim.sharding_rule or (lambda *_: [None] * len(outs))
    out_specs = rule(Specs(avals, mesh), bare, outs, params)
    like = next(
        a.explicit_sharding
        for a in avals
        if a.explicit_sharding is not None and a.explicit_sharding.mesh is mesh
    )
    outs = [
        with_explicit_sharding(prim.name, a, like, s, avals, terms)
        for a, s in zip(outs, out_specs, strict=True)
    ]
    return outs if prim.multiple_results else outs[0]


Terms = tuple[frozenset[Any], frozenset[Any]]
NOTHING: Terms = frozenset(), frozenset()


def has_reduction_axes(sharding: Any) -> bool:
    """Whether values with this sharding, or their cotangents, are unreduced."""
    return sharding is not None and bool(sharding.spec.unreduced or sharding.spec.reduced)


def reduction_axes_of(aval: Any) -> reduction_axes.ReductionAxes:
    """Return the `Explicit` axes along which a type is unreduced, reduced or sharded."""
    if aval.explicit_sharding is None:
        return reduction_axes.ReductionAxes()
    spec = aval.explicit_sharding.spec
    sharded = frozenset(a for entry in spec for a in axes_in(entry))
    return reduction_axes.ReductionAxes(spec.unreduced, spec.reduced, sharded)


def common_mesh(name: str, avals: Sequence[Any]) -> Any:
    """Return the mesh of the sharded operands; raise if they are over different meshes."""
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
    """Return the spec of a type: one entry for each of its axes."""
    shape = getattr(aval, "shape", ())
    return (
        tuple(aval.explicit_sharding.spec)
        if aval.explicit_sharding is not None
        else (None,) * len(shape)
    )


def axes_in(entry: Any) -> tuple[Any, ...]:
    """Return the mesh axes of one entry of a spec as a tuple."""
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
    """Return `aval` with its axes sharded as in `spec`, over the mesh of `like`.

    Raises:
      ShardingTypeError: a mesh axis shards two axes, or an axis into unequal shards.
    """
    spec = spec or (None,) * len(aval.shape)
    if not any(spec) and not any(terms):
        return aval
    sizes = like.mesh.shape
    seen: set[Any] = set()
    for n, entry in zip(aval.shape, spec, strict=True):
        axes = axes_in(entry)
        num_shards = math.prod(sizes[a] for a in axes)
        if n % num_shards:
            raise error(
                ShardingTypeError,
                f"{name}: an axis of size {n} cannot be sharded over {entry!r} into"
                f" {num_shards} equal shards.",
                which=f"a result of shape {aval.shape} with spec {spec}",
                tries=["jax.sharding.reshard(x, sharding) first"],
            )
        if not seen.isdisjoint(axes):
            raise error(
                ShardingTypeError,
                f"{name} operation with inputs:"
                f" {', '.join(a.str_short(True) for a in operands)} produces an illegally"
                f" sharded result: {short_name(aval.dtype)}"
                f"[{','.join(map(sharded_axis_text, aval.shape, spec))}]",
                why="a mesh axis can shard only one axis of an array.",
                tries=["jax.sharding.reshard(x, sharding) of an operand first"],
            )
        seen.update(axes)
    unreduced, reduced = terms
    return aval.update(
        explicit_sharding=like.with_spec(spec).with_sums(unreduced, reduced - seen)
    )


def without(aval: Any, dim: int) -> Any:
    """Return `aval` without axis `dim`."""
    shape, sharding = aval.shape, aval.explicit_sharding
    if sharding is not None:
        spec = tuple(sharding.spec)
        rest = spec[:dim] + spec[dim + 1 :]
        sharding = sharding.with_entries(rest)
    return aval.update(shape=shape[:dim] + shape[dim + 1 :], explicit_sharding=sharding)


def with_axis(aval: Aval, size: int, dim: int, like: Any = None, entry: Any = None) -> Aval:
    """Return `aval` with a new axis at `dim`, sharded over `entry` on the mesh of `like`."""
    shape, sharding = aval.shape, aval.explicit_sharding
    if sharding is not None or entry is not None:
        spec = spec_of(aval)
        entries = (*spec[:dim], entry, *spec[dim:])
        sharding = (
            like.with_spec(entries) if sharding is None else sharding.with_entries(entries)
        )
    return aval.update(shape=(*shape[:dim], size, *shape[dim:]), explicit_sharding=sharding)
