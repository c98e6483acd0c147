"""`reshard`, which changes the explicit sharding of values, and casts between meshes.

Types contain the sharding along `Explicit` axes of a mesh.  `reshard_p` moves the shards of
a value.  `mesh_cast_p` changes only the type.  Along axes that become `Auto`, the type has
no sharding, and the compiler chooses the sharding of later operations.  Next: core_ops.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir import core
from ..ir.core import Primitive
from ..ir.facts import Facts
from ..passes.ad_util import Zero
from ..runtime.arrays.array import base_array, wrap
from ..runtime.backends import jaxlib_compat as compat
from ..runtime.running.device_put import put_value
from ..runtime.sharding.partition_spec import PartitionSpec
from ..runtime.sharding.shardings import NamedSharding, has_custom_layout, user_sharding_of
from ..types.type_sharding import spec_of
from .collectives.pcast import vary_as
from .sharding_constraint import concrete, lower_constraint
from .sharding_specs import (
    canonicalize_out_sharding,
    elementwise_specs,
    sharding_for_aval,
)

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


def _cast_type(x: Any, *, dst_sharding: Any) -> Any:
    explicit = None if dst_sharding is None else dst_sharding.to_explicit(len(x.shape))
    return x.update(explicit=explicit)


def _set_rules(prim: Primitive) -> None:
    """Set the rules that both primitives share: they are linear, and only change types."""
    prim.facts = Facts(
        elementwise=True,
        makes_no_nans=True,
        keeps_nans=True,
        flops=lambda ins, outs, params: 0,  # elements do not change
        lowers_key_arrays=True,
        pretty={"dst_sharding": ...},
    )
    prim.abstract = _cast_type
    prim.def_sharding(request="dst_sharding", linear_in="any")

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
            dst_sharding = aval.type_sharding.explicit.with_spec(())  # type: ignore[union-attr]
        if dst_sharding is not None:
            spec = list(dst_sharding.spec)
            spec += [None] * (d - len(spec))
            entries = (*spec[:d], entry, *spec[d:])
            dst_sharding = dst_sharding.with_spec(dst_sharding.spec.update(partitions=entries))
        return prim.bind(x, dst_sharding=dst_sharding), d

    def transpose(ct: Any, x: Any, **_: Any) -> list[Any]:
        target_sharding = sharding_for_aval(x.aval.to_ct_aval(), ct)
        return [ct if target_sharding is None else prim.bind(ct, dst_sharding=target_sharding)]

    prim.jvp, prim.batch, prim.transpose = jvp, batch, transpose


_set_rules(reshard_p)
_set_rules(mesh_cast_p)


def _lower(ctx: Any, x: Any, *, dst_sharding: Any) -> Any:
    aval = ctx.avals_out[0]
    if (
        aval.type_sharding.explicit is not None
        and aval.type_sharding.explicit.spec.unreduced
        and ctx.avals_in[0].type_sharding.explicit is None
    ):
        # Without this, the compiler may mistake a value computed from sums for a term of one.
        without_sums = aval.type_sharding.explicit.with_sums(frozenset(), frozenset())
        return lower_constraint(ctx, x, aval.update(explicit=None), without_sums)
    if aval.type_sharding.explicit is not None:  # its constraint is emitted with every value
        return x
    return lower_constraint(ctx, x, aval, dst_sharding)


reshard_p.lower = _lower


def _evaluate_reshard(x: Any, *, dst_sharding: Any) -> Any:
    spec = [*dst_sharding.spec]
    spec += [None] * (len(core.aval_of(x).shape) - len(spec))
    full_sharding = dst_sharding.with_spec(dst_sharding.spec.update(partitions=tuple(spec)))
    return put_value(x, concrete(full_sharding, "reshard"))


reshard_p.impl = _evaluate_reshard
mesh_cast_p.lower = lambda ctx, x, **_: x


def _evaluate_cast(x: Any, *, dst_sharding: Any) -> Any:
    """Return the value with another type; move its memory only if that type requires it."""
    base = base_array(x)
    aval, cpp_sharding = _cast_type(base.aval, dst_sharding=dst_sharding), base._sharding
    src_sharding = (
        None
        if dst_sharding is None or has_custom_layout(base)
        else user_sharding_of(cpp_sharding)
    )
    if isinstance(src_sharding, NamedSharding):
        mesh = src_sharding.mesh.update(axis_types=dst_sharding.mesh.axis_types)
        src_sharding = NamedSharding(
            mesh, src_sharding.spec, memory_kind=src_sharding.given_kind
        )
        cpp_sharding = src_sharding.cpp_sharding(len(aval.shape))
    # `with_aval` returns an array over the same buffers.
    out = wrap(compat.with_aval(base, aval, cpp_sharding), core.aval_of(x))
    if aval.type_sharding.explicit is None or not any(aval.type_sharding.explicit.spec):
        return out
    result_sharding = isinstance(src_sharding, NamedSharding) and src_sharding.to_explicit(
        len(aval.shape)
    )
    return (
        out
        if result_sharding == aval.type_sharding.explicit
        else _evaluate_reshard(out, dst_sharding=aval.type_sharding.explicit)
    )


mesh_cast_p.impl = _evaluate_cast


def reshard_to_aval(x: Any, aval: Any) -> Any:
    """Return a value with the type sharding of `aval`."""
    current_aval = core.aval_of(x)
    if current_aval is aval:
        return x
    if current_aval.type_sharding.manual != aval.type_sharding.manual:
        x = vary_as(x, aval.type_sharding.manual)
    if (
        current_aval.type_sharding.explicit == aval.type_sharding.explicit
        or current_aval.shape != aval.shape
    ):
        return x
    return reshard_p.bind(x, dst_sharding=sharding_for_aval(aval, x))


def align_shardings(name: str, xs: Sequence[Any]) -> list[Any]:
    """Reshard values of one shape to the union of their specs.

    Raises:
      ShardingTypeError: an axis is sharded over different mesh axes.
    """
    avals = list(map(core.aval_of, xs))
    like = next(
        (a.type_sharding.explicit for a in avals if a.type_sharding.explicit is not None), None
    )
    if like is None:
        return list(xs)
    (spec,) = elementwise_specs(name)(list(map(spec_of, avals)), avals, avals[:1], {})
    target_sharding = NamedSharding(like.mesh, PartitionSpec(*spec)).to_explicit(len(spec))
    return [
        reshard_to_aval(x, a.update(explicit=target_sharding))
        for x, a in zip(xs, avals, strict=True)
    ]


def mesh_cast(x: Any, explicit_sharding: Any) -> Any:
    """Return a value whose type has this explicit sharding, without moving its shards."""
    current_sharding = core.aval_of(x).type_sharding.explicit
    if current_sharding == explicit_sharding:
        return x
    if current_sharding is not None and (
        current_sharding.spec.unreduced or current_sharding.spec.reduced
    ):
        x = reshard_p.bind(x, dst_sharding=current_sharding.with_sums(frozenset(), frozenset()))
    return mesh_cast_p.bind(x, dst_sharding=explicit_sharding)


def drop_explicit_sharding(x: Any) -> Any:
    """Return a value whose type has no explicit sharding."""
    is_sharded = core.is_value(x) and core.aval_of(x).type_sharding.explicit is not None
    return mesh_cast(x, None) if is_sharded else x


def apply_out_sharding(name: str, x: Any, out_sharding: Any) -> Any:
    """Reshard the result `x` of the public function `name` to its `out_sharding`."""
    sharding = canonicalize_out_sharding(name, out_sharding, x)
    if sharding is None:
        return x
    shape = core.aval_of(x).shape
    sharding = sharding.for_rank(len(shape))
    sharding.check_compatible_aval(shape, name)
    if isinstance(out_sharding, NamedSharding) and core.STATE.trace is core.EVAL:
        full_sharding = out_sharding.for_rank(
            len(shape)
        )  # may be over a concrete mesh, with devices
        return _evaluate_reshard(x, dst_sharding=full_sharding)
    return reshard_p.bind(x, dst_sharding=sharding)
