"""`device_put` inside programs: a transfer between memory spaces.

A program runs on the devices of its arguments.  Of a target, therefore, only the memory
space matters here: the device's or the host's.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType
from typing import Any

from ..base import errors
from ..ir.core import ByPlatform, Primitive, aval_of
from ..ir.facts import Facts, KeyUse
from ..passes.ad_util import Zero
from ..runtime.backends import jaxlib_compat as compat
from ..runtime.running import device_put
from ..runtime.sharding import shardings
from ..types.avals import DEVICE, HOST_KINDS, MemorySpace
from .shape.concatenation import linear_many_jvp
from .sharding_constraint import lower_constraint

__all__ = ("device_put_p",)

Copy = compat.CopySemantics


def memory_at(target: Any, default: MemorySpace) -> MemorySpace:
    """Return the memory space of a device, sharding or memory space; None: `default`."""
    if target is None:
        return default
    if isinstance(target, MemorySpace):
        return target
    return MemorySpace.of_kind(getattr(target, "memory_kind", None))


def check_place(target: Any) -> None:
    """Raise ValueError unless `target` is a valid target of `device_put`."""
    if isinstance(target, (shardings.Sharding, compat.Device, NoneType)):
        return
    if isinstance(target, MemorySpace) and target is not MemorySpace.Any:
        return
    raise errors.value_error(
        "`jax.device_put` only accepts `None`, `jax.sharding.Sharding`, `jax.Device`,"
        " `Format`, `jax.memory.Space` or a pytree of these values. Received invalid"
        f" value: {target}",
        tries=["one of minijax.devices()", "minijax.memory.Space.Host"],
    )


device_put_p = Primitive("device_put", multiple_results=True)
device_put_p.facts = Facts(
    elementwise=True,
    makes_no_nans=True,
    keeps_nans=True,
    uses_keys=lambda ins, params: KeyUse(forwards={i: i for i in range(len(ins))}),
    lowers_key_arrays=True,
    sets_memory_space=True,
)


def _put_type(*avals: Any, devices: Sequence[Any], **_: Any) -> list[Any]:
    out_avals = []
    for a, target in zip(avals, devices, strict=True):
        aval = a.update(memory_space=memory_at(target, a.memory_space))
        is_named = isinstance(target, shardings.NamedSharding)
        out_avals.append(shardings.aval_with_sharding(aval, target) if is_named else aval)
    return out_avals


def _put_specs(specs: Any, avals: Any, outs: Any, params: Any) -> list[Any]:
    return [
        None if isinstance(target, shardings.NamedSharding) else spec
        for spec, target in zip(specs, params["devices"], strict=True)
    ]


device_put_p.abstract = _put_type
# By `abstract`, each result has its operand's manual axes.
device_put_p.def_sharding(specs=_put_specs, manual="abstract")
linear_many_jvp(device_put_p)


def _put_transpose(
    cts: Any, *args: Any, devices: Sequence[Any], srcs: Sequence[Any], **_: Any
) -> list[Any]:
    present = [i for i, ct in enumerate(cts) if type(ct) is not Zero]
    back = device_put_p.bind(
        *(cts[i] for i in present),
        devices=tuple(
            srcs[i]
            if args[i].aval.memory_space is aval_of(cts[i]).memory_space
            else args[i].aval.memory_space
            for i in present
        ),
        srcs=tuple(devices[i] for i in present),
        copy_semantics=(Copy.ALWAYS_COPY,) * len(present),
    )
    cts_by_index = dict(zip(present, back, strict=True))
    return [cts_by_index.get(i) for i in range(len(cts))]


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
    return _constrain_shardings(ctx, moved, devices)


def _constrain_shardings(ctx: Any, xs: Sequence[Any], targets: Sequence[Any]) -> list[Any]:
    """Emit sharding constraints for the targets that are shardings over meshes."""
    if ctx.placement is None:
        return list(xs)
    return [
        lower_constraint(ctx, x, aval, target)
        if isinstance(target, shardings.NamedSharding)
        else x
        for x, aval, target in zip(xs, ctx.avals_out, targets, strict=True)
    ]


def _annotated(ctx: Any, x: Any, aval: Any) -> Any:
    """Emit the annotation by which XLA moves a value to another memory space."""
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


device_put_p.lower = ByPlatform(
    _put_lower,
    # A CPU and its host share one memory, and the CPU compiler rejects the annotation.
    cpu=lambda ctx, *xs, devices, **_: _constrain_shardings(ctx, xs, devices),
)
device_put_p.impl = lambda *xs, devices, **_: list(map(device_put.put_value, xs, devices))


def place(x: Any, target: Any) -> Any:
    """Put one value on a device, with a sharding, or in a memory space."""
    check_place(target)
    (out,) = device_put_p.bind(
        x, devices=(target,), srcs=(None,), copy_semantics=(Copy.REUSE_INPUT,)
    )
    return out
