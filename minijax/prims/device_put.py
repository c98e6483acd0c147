"""`device_put` inside programs: what moves a value between memories.

Where a program runs is decided by its arguments, so of a place only its memory matters
here: the device's own, or the host's.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType
from typing import Any

from ..base import errors
from ..ir.core import Primitive, aval_of
from ..passes.ad_util import Zero
from ..passes.key_use import KeyUse
from ..runtime.arrays import device_put
from ..runtime.backends import jaxlib_compat as compat
from ..runtime.sharding import shardings
from ..types.avals import DEVICE, HOST_KINDS, MemorySpace
from .shape.concatenation import linear_many_jvp
from .sharding_constraint import lower_constraint

__all__ = ("device_put_p",)

Copy = compat.CopySemantics


def memory_at(where: Any, otherwise: MemorySpace) -> MemorySpace:
    """The memory that a place (a device, sharding, memory space or None) means."""
    if where is None:
        return otherwise
    if isinstance(where, MemorySpace):
        return where
    return MemorySpace.of_kind(getattr(where, "memory_kind", None))


def check_place(where: Any) -> None:
    """Raise ValueError unless a value can be put at `where`."""
    if isinstance(where, (shardings.Sharding, compat.Device, NoneType)):
        return
    if isinstance(where, MemorySpace) and where is not MemorySpace.Any:
        return
    raise errors.value_error(
        "`jax.device_put` only accepts `None`, `jax.sharding.Sharding`, `jax.Device`,"
        " `Format`, `jax.memory.Space` or a pytree of these values. Received invalid"
        f" value: {where}",
        tries=["one of minijax.devices()", "minijax.memory.Space.Host"],
    )


device_put_p = Primitive("device_put", multiple_results=True)
device_put_p.lowers_key_arrays = True
device_put_p.uses_keys = lambda avals, params: KeyUse(
    forwards={i: i for i in range(len(avals))}
)
device_put_p.sets_memory_space = True
device_put_p.makes_nans = False
device_put_p.keeps_nans = device_put_p.elementwise = True


def _put_type(*avals: Any, devices: Sequence[Any], **_: Any) -> list[Any]:
    found = []
    for a, where in zip(avals, devices, strict=True):
        aval = a.update(memory_space=memory_at(where, a.memory_space))
        spread = isinstance(where, shardings.NamedSharding)
        found.append(shardings.aval_with_sharding(aval, where) if spread else aval)
    return found


def _put_lie(specs: Any, avals: Any, outs: Any, params: Any) -> list[Any]:
    return [
        None if isinstance(where, shardings.NamedSharding) else spec
        for spec, where in zip(specs, params["devices"], strict=True)
    ]


device_put_p.abstract = _put_type
device_put_p.manual_axis_rule = "abstract"  # each result is like its operand
device_put_p.sharding_rule = _put_lie
linear_many_jvp(device_put_p)


def _put_transpose(
    cts: Any, *args: Any, devices: Sequence[Any], srcs: Sequence[Any], **_: Any
) -> list[Any]:
    there = [i for i, ct in enumerate(cts) if type(ct) is not Zero]
    back = device_put_p.bind(
        *(cts[i] for i in there),
        devices=tuple(
            srcs[i]
            if args[i].aval.memory_space is aval_of(cts[i]).memory_space
            else args[i].aval.memory_space
            for i in there
        ),
        srcs=tuple(devices[i] for i in there),
        copy_semantics=(Copy.ALWAYS_COPY,) * len(there),
    )
    found = dict(zip(there, back, strict=True))
    return [found.get(i) for i in range(len(cts))]


device_put_p.transpose = _put_transpose
device_put_p.batch = lambda axis, args, dims, **params: (
    device_put_p.bind(*args, **params),
    dims,
)


def _put_lower(ctx: Any, *xs: Any, devices: Sequence[Any], **_: Any) -> list[Any]:
    moved = [
        x if a.memory_space is b.memory_space else _annotated(ctx, x, b)
        for x, a, b in zip(xs, ctx.avals_in, ctx.avals_out, strict=True)
    ]
    return _laid_out(ctx, moved, devices)


def _laid_out(ctx: Any, xs: Sequence[Any], wheres: Sequence[Any]) -> list[Any]:
    """The values, as shardings over meshes say how they lie."""
    if ctx.placement is None:
        return list(xs)
    return [
        lower_constraint(ctx, x, aval, where)
        if isinstance(where, shardings.NamedSharding)
        else x
        for x, aval, where in zip(xs, ctx.avals_out, wheres, strict=True)
    ]


def _annotated(ctx: Any, x: Any, aval: Any) -> Any:
    """The value in another memory, as XLA wants to be told of it."""
    kind = "device" if aval.memory_space is DEVICE else HOST_KINDS[0]
    return ctx.op(
        "custom_call",
        aval,
        x,
        call_target_name=ctx.string("annotate_device_placement"),
        has_side_effect=ctx.bool(True),
        backend_config=ctx.string(""),
        **{"mhlo.frontend_attributes": ctx.parse(f'{{_xla_buffer_placement = "{kind}"}}')},
    )


device_put_p.lower = _put_lower
# One memory serves a CPU and its host, and its compiler knows no annotations.
device_put_p.lower_by_platform["cpu"] = lambda ctx, *xs, devices, **_: _laid_out(
    ctx, xs, devices
)
device_put_p.impl = lambda *xs, devices, **_: list(map(device_put.put_value, xs, devices))


def place(x: Any, where: Any) -> Any:
    """One value at a device, a sharding or in a memory."""
    check_place(where)
    (out,) = device_put_p.bind(
        x, devices=(where,), srcs=(None,), copy_semantics=(Copy.REUSE_INPUT,)
    )
    return out
