"""`call_exported`: the call of a program that was lowered before, perhaps elsewhere.

It has no derivative of its own, nor a batch rule: what it computes is known to the
compiler alone.  `Exported.call` (api/export/exported.py) gives it the derivative that it
was exported with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...ir.core import Primitive, unsupported
from ...runtime.lowering import portable_artifact
from ...runtime.lowering.symbolic_sizes import is_symbolic
from ...types import dtypes
from ...types.avals import shaped

call_exported_p = Primitive("call_exported", multiple_results=True)
call_exported_p.lowers_key_arrays = True
call_exported_p.abstract = lambda *avals, exported: list(exported.results_for(avals))
call_exported_p.effects = lambda params: frozenset(params["exported"].unordered_effects)
call_exported_p.jvp = unsupported("jvp of a program that was exported")
call_exported_p.transpose = call_exported_p.jvp
call_exported_p.batch = unsupported("Batching rule for 'call_exported' not implemented")


def _platform_index(exported: Any, platform: str) -> int:
    """Which of its platforms a program runs on; ValueError if it is none of them."""
    if platform in exported.platforms:
        return int(exported.platforms.index(platform))
    if any(str(check) == "platform" for check in exported.disabled_safety_checks):
        return 0
    raise errors.value_error(
        f"Function '{exported.fun_name}' was exported for platforms"
        f" '{exported.platforms}' but it is used on '{(platform,)}'.",
        why="what an operation is lowered to differs from platform to platform.",
        tries=[f"export(f, platforms={[*exported.platforms, platform]})"],
    )


def _lower(ctx: Any, *args: Any, exported: Any) -> list[Any]:
    index = _platform_index(exported, ctx.platform)
    _check_devices(ctx, exported)
    kept = [args[i] for i in exported.module_kept_var_idx]
    types = [x.type for x in kept]
    several = len(exported.platforms) > 1
    static = not any(map(is_symbolic, ctx.avals_in))
    if not static and several:
        kept.insert(0, ctx.constant(np.int32(index), shaped((), dtypes.int32)))
    key = exported, tuple(map(str, types)), index
    found = ctx.module.functions.get(key)
    if found is None:
        module = portable_artifact.from_bytes(exported.mlir_module_serialized)
        if exported.uses_global_constants and static:
            module = portable_artifact.refined(module, index if several else None, types)
        wanted = portable_artifact.argument_types(module)
        results = portable_artifact.result_types(module)
        name = f"call_exported_{exported.fun_name}"
        symbol = portable_artifact.merge(ctx.module, module, name)
        lies = portable_artifact.shardings_of(ctx.module, symbol)
        found = ctx.module.functions[key] = symbol, [wanted, results, *lies]
    symbol, (wanted, results, ins_lie, outs_lie) = found
    values = [portable_artifact.converted(x, t) for x, t in zip(kept, wanted, strict=True)]
    op = ctx.create(
        "func.call", results, _placed(ctx, values, ins_lie), callee=ctx.parse(f'@"{symbol}"')
    )
    return [
        ctx.constant(False, aval)
        if aval.dtype == dtypes.float0
        else portable_artifact.converted(x, ctx.type(aval))
        for x, aval in zip(_placed(ctx, op.results, outs_lie), ctx.avals_out, strict=True)
    ]


def _placed(ctx: Any, values: Sequence[Any], lies: Sequence[Any]) -> list[Any]:
    """The values, each to lie on the devices as its attribute says."""
    return [
        x
        if attribute is None
        else ctx.create("sdy.sharding_constraint", [x.type], [x], sharding=attribute).result
        for x, attribute in zip(values, lies, strict=True)
    ]


call_exported_p.lower = _lower


def _check_devices(ctx: Any, exported: Any) -> None:
    """ValueError unless the program around is for as many devices."""
    over = ctx.module.placement
    count = 1 if over is None else len(over.devices)
    if exported.nr_devices not in (1, count):
        raise errors.value_error(
            f"Function {exported.fun_name} was exported for {exported.nr_devices} devices"
            f" and is called in a context with {count} devices, which is not allowed.",
            tries=["device_put the arguments as exported.in_shardings_jax(mesh) says"],
        )


def check_arguments(exported: Any, avals: Sequence[Any], names: Sequence[str]) -> None:
    """ValueError unless arguments of these types are those of the program.

    Axes whose size is not known in advance are not looked at.
    """
    for name, want, got in zip(names, exported.in_avals, avals, strict=True):
        for what, a, b in (("Rank", want.shape, got.shape), ("Dtype", want.dtype, got.dtype)):
            if (len(a) != len(b)) if what == "Rank" else a != b:
                raise errors.value_error(
                    f"{what} mismatch for {name}: expected {a} and called with {b}",
                    where=exported.fun_name,
                    why="the program was lowered for these types.",
                )
        for i, (m, n) in enumerate(zip(want.shape, got.shape, strict=True)):
            if isinstance(m, int) and m != n:
                raise errors.value_error(
                    f"Shape mismatch for {name}.shape[{i}] (expected same constant):"
                    f" expected {want.shape} and called with {got.shape}",
                    where=exported.fun_name,
                    tries=["export it for this shape", "export.symbolic_shape"],
                )
