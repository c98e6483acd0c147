"""`reshard`: values lie otherwise, and their types say so; and casts between meshes.

Along `Explicit` axes of a mesh types say how values lie.  `reshard_p` moves the parts of a
value; `mesh_cast_p` leaves them where they are and changes what its type says: along axes
that become `Auto` nothing, so that operations on it may leave the rest to the compiler.
Next: core_ops.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir import core
from ..ir.core import Primitive
from ..ir.explicit_sharding import spec_of
from ..passes.ad_util import Zero
from ..runtime.arrays.array import base_array, wrap
from ..runtime.arrays.device_put import put_value
from ..runtime.backends import jaxlib_compat as compat
from ..runtime.sharding.partition_spec import PartitionSpec
from ..runtime.sharding.shardings import NamedSharding, described, has_custom_layout
from .collectives.pcast import vary_as
from .explicit_sharding_rules import (
    canonicalize_out_sharding,
    elementwise_sharding_rule,
    sharding_for_aval,
)
from .sharding_constraint import concrete, lower_constraint

__all__ = (
    "align_shardings",
    "apply_out_sharding",
    "reshard_to_aval",
    "mesh_cast",
    "mesh_cast_p",
    "reshard_p",
    "drop_explicit_sharding",
)

reshard_p = Primitive("reshard")
mesh_cast_p = Primitive("mesh_cast")


def _recast(x: Any, *, dst_sharding: Any) -> Any:
    lies = None if dst_sharding is None else dst_sharding.to_explicit(len(x.shape))
    return x.update(explicit_sharding=lies)


def _set_rules(prim: Primitive) -> None:
    """What both have in common: they are linear, and change types alone."""
    prim.lowers_key_arrays = True
    prim.makes_nans = False
    prim.keeps_nans = prim.elementwise = True
    prim.abstract = _recast
    prim.out_sharding_param = "dst_sharding"
    prim.sharding_rule = lambda specs, avals, outs, params: [None]
    prim.linearity = "any"

    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        (t,), out = tangents, prim.bind(*primals, **params)
        if type(t) is Zero:
            return out, Zero(core.aval_of(out).to_tangent())
        return out, prim.bind(t, **params)

    def batch(axis: Any, args: Any, dims: Any, *, dst_sharding: Any) -> Any:
        (x,), (d,) = args, dims
        aval = core.aval_of(x)
        entry = spec_of(aval)[d]
        if dst_sharding is None and entry is not None:
            dst_sharding = aval.explicit_sharding.with_spec(())
        if dst_sharding is not None:
            spec = list(dst_sharding.spec)
            spec += [None] * (d - len(spec))
            entries = (*spec[:d], entry, *spec[d:])
            dst_sharding = dst_sharding.with_spec(dst_sharding.spec.update(partitions=entries))
        return prim.bind(x, dst_sharding=dst_sharding), d

    def transpose(ct: Any, x: Any, **_: Any) -> list[Any]:
        there = sharding_for_aval(x.aval.to_ct_aval(), ct)
        return [ct if there is None else prim.bind(ct, dst_sharding=there)]

    prim.jvp, prim.batch, prim.transpose = jvp, batch, transpose


_set_rules(reshard_p)
_set_rules(mesh_cast_p)


def _lower(ctx: Any, x: Any, *, dst_sharding: Any) -> Any:
    aval = ctx.avals_out[0]
    if (
        aval.explicit_sharding is not None
        and aval.explicit_sharding.spec.unreduced
        and ctx.avals_in[0].explicit_sharding is None
    ):
        # Else the compiler may take what it computes from sums for terms of one.
        whole = aval.explicit_sharding.with_sums(frozenset(), frozenset())
        return lower_constraint(ctx, x, aval.update(explicit_sharding=None), whole)
    if aval.explicit_sharding is not None:  # which is emitted for all such values
        return x
    return lower_constraint(ctx, x, aval, dst_sharding)


reshard_p.lower = _lower
reshard_p.flops = mesh_cast_p.flops = lambda *_: 0  # values stay what they are


def _move_now(x: Any, *, dst_sharding: Any) -> Any:
    spec = [*dst_sharding.spec]
    spec += [None] * (len(core.aval_of(x).shape) - len(spec))
    whole = dst_sharding.with_spec(dst_sharding.spec.update(partitions=tuple(spec)))
    return put_value(x, concrete(whole, "reshard"))


reshard_p.impl = _move_now
reshard_p.pretty = mesh_cast_p.pretty = {"dst_sharding": ...}
mesh_cast_p.lower = lambda ctx, x, **_: x


def _recast_now(x: Any, *, dst_sharding: Any) -> Any:
    """The value under another type, over the mesh of which that tells: the same memory,
    unless the type says otherwise."""
    held = base_array(x)
    aval, lie = _recast(held.aval, dst_sharding=dst_sharding), held._sharding
    known = None if dst_sharding is None or has_custom_layout(held) else described(lie)
    if isinstance(known, NamedSharding):
        over = known.mesh.update(axis_types=dst_sharding.mesh.axis_types)
        known = NamedSharding(over, known.spec, memory_kind=known.given_kind)
        lie = known.cpp_sharding(len(aval.shape))
    out = wrap(compat.with_aval(held, aval, lie), core.aval_of(x))
    if aval.explicit_sharding is None or not any(aval.explicit_sharding.spec):
        return out
    there = isinstance(known, NamedSharding) and known.to_explicit(len(aval.shape))
    return (
        out
        if there == aval.explicit_sharding
        else _move_now(out, dst_sharding=aval.explicit_sharding)
    )


mesh_cast_p.impl = _recast_now


def reshard_to_aval(x: Any, aval: Any) -> Any:
    """A value that lies, and varies, as the type `aval` says."""
    mine = core.aval_of(x)
    if mine is aval:
        return x
    if mine.manual_axis_kinds != aval.manual_axis_kinds:
        x = vary_as(x, aval.manual_axis_kinds)
    if mine.explicit_sharding == aval.explicit_sharding or mine.shape != aval.shape:
        return x
    return reshard_p.bind(x, dst_sharding=sharding_for_aval(aval, x))


def align_shardings(name: str, xs: Sequence[Any]) -> list[Any]:
    """Values of one shape, each cut along all the axes along which any of them is.

    Raises:
      ShardingTypeError: one of their axes is cut in two ways.
    """
    avals = list(map(core.aval_of, xs))
    like = next((a.explicit_sharding for a in avals if a.explicit_sharding is not None), None)
    if like is None:
        return list(xs)
    (spec,) = elementwise_sharding_rule(name)(list(map(spec_of, avals)), avals, avals[:1], {})
    there = NamedSharding(like.mesh, PartitionSpec(*spec)).to_explicit(len(spec))
    return [
        reshard_to_aval(x, a.update(explicit_sharding=there))
        for x, a in zip(xs, avals, strict=True)
    ]


def mesh_cast(x: Any, lies: Any) -> Any:
    """A value whose type says that it lies so, wherever it does."""
    mine = core.aval_of(x).explicit_sharding
    if mine == lies:
        return x
    if mine is not None and (mine.spec.unreduced or mine.spec.reduced):
        x = reshard_p.bind(x, dst_sharding=mine.with_sums(frozenset(), frozenset()))
    return mesh_cast_p.bind(x, dst_sharding=lies)


def drop_explicit_sharding(x: Any) -> Any:
    """A value whose type says nothing of how it lies."""
    known = core.is_value(x) and core.aval_of(x).explicit_sharding is not None
    return mesh_cast(x, None) if known else x


def apply_out_sharding(name: str, x: Any, out_sharding: Any) -> Any:
    """The result of function `name`, on devices as its argument `out_sharding` says."""
    sharding = canonicalize_out_sharding(name, out_sharding, x)
    if sharding is None:
        return x
    shape = core.aval_of(x).shape
    sharding = sharding.for_rank(len(shape))
    sharding.check_compatible_aval(shape, name)
    if isinstance(out_sharding, NamedSharding) and core.STATE.trace is core.EVAL:
        there = out_sharding.for_rank(len(shape))  # which may name devices
        return _move_now(x, dst_sharding=there)
    return reshard_p.bind(x, dst_sharding=sharding)
