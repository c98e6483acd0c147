"""`call_exported`: the call of a program that was lowered before, perhaps on another machine.

It has neither a derivative nor a batch rule of its own, because only its lowered form is
available.  `Exported.call` (api/export/exported.py) uses the derivative that was exported
with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...ir.core import Primitive, unsupported
from ...ir.facts import Facts
from ...runtime.lowering import portable_artifact
from ...runtime.lowering.symbolic_sizes import is_symbolic
from ...types import dtypes
from ...types.avals import shaped

call_exported_p = Primitive("call_exported", multiple_results=True)
call_exported_p.facts = Facts(lowers_key_arrays=True)
call_exported_p.abstract = lambda *avals, exported: list(exported.results_for(avals))
call_exported_p.effects = lambda params: frozenset(params["exported"].unordered_effects)
call_exported_p.jvp = unsupported("jvp of a program that was exported")
call_exported_p.transpose = call_exported_p.jvp
call_exported_p.batch = unsupported("Batching rule for 'call_exported' not implemented")


def _platform_index(exported: Any, platform: str) -> int:
    """Return the index of a platform among the program's; ValueError if it is missing."""
    if platform in exported.platforms:
        return int(exported.platforms.index(platform))
    if any(str(check) == "platform" for check in exported.disabled_safety_checks):
        return 0
    raise errors.value_error(
        f"Function '{exported.fun_name}' was exported for platforms"
        f" '{exported.platforms}' but it is used on '{(platform,)}'.",
        why="Operations are lowered differently for each platform.",
        tries=[f"export(f, platforms={[*exported.platforms, platform]})"],
    )


def _lower(ctx: Any, *args: Any, exported: Any) -> list[Any]:
    index = _platform_index(exported, ctx.platform)
    _check_devices(ctx, exported)
    operands = [args[i] for i in exported.module_kept_var_idx]
    types = [x.type for x in operands]
    several = len(exported.platforms) > 1
    static = not any(map(is_symbolic, ctx.avals_in))
    if not static and several:
        operands.insert(0, ctx.constant(np.int32(index), shaped((), dtypes.int32)))
    key = exported, tuple(map(str, types)), index
    cached = ctx.module.functions.get(key)
    if cached is None:
        module = portable_artifact.from_bytes(exported.mlir_module_serialized)
        if exported.uses_global_constants and static:
            module = portable_artifact.refined(module, index if several else None, types)
        arg_types = portable_artifact.argument_types(module)
        results = portable_artifact.result_types(module)
        name = f"call_exported_{exported.fun_name}"
        symbol = portable_artifact.merge(ctx.module, module, name)
        shardings = portable_artifact.shardings_of(ctx.module, symbol)
        cached = ctx.module.functions[key] = symbol, [arg_types, results, *shardings]
    symbol, (arg_types, results, in_shardings, out_shardings) = cached
    values = [
        portable_artifact.converted(x, t) for x, t in zip(operands, arg_types, strict=True)
    ]
    op = ctx.create(
        "func.call",
        results,
        _constrained(ctx, values, in_shardings),
        callee=ctx.parse(f'@"{symbol}"'),
    )
    return [
        ctx.constant(False, aval)
        if aval.dtype == dtypes.float0
        else portable_artifact.converted(x, ctx.type(aval))
        for x, aval in zip(
            _constrained(ctx, op.results, out_shardings), ctx.avals_out, strict=True
        )
    ]


def _constrained(ctx: Any, values: Sequence[Any], shardings: Sequence[Any]) -> list[Any]:
    """Return the values, each with the sharding constraint of its attribute."""
    return [
        x
        if attribute is None
        else ctx.create("sdy.sharding_constraint", [x.type], [x], sharding=attribute).result
        for x, attribute in zip(values, shardings, strict=True)
    ]


call_exported_p.lower = _lower


def _check_devices(ctx: Any, exported: Any) -> None:
    """Raise ValueError unless the surrounding program has the same number of devices."""
    placement = ctx.module.placement
    count = 1 if placement is None else len(placement.devices)
    if exported.nr_devices not in (1, count):
        raise errors.value_error(
            f"Function {exported.fun_name} was exported for {exported.nr_devices} devices"
            f" and is called in a context with {count} devices, which is not allowed.",
            tries=["device_put the arguments with exported.in_shardings_jax(mesh)"],
        )


def check_arguments(exported: Any, avals: Sequence[Any], names: Sequence[str]) -> None:
    """Raise ValueError unless arguments of these types fit the program.

    Axes with symbolic sizes are not checked.
    """
    for name, expected, got in zip(names, exported.in_avals, avals, strict=True):
        for what, a, b in (
            ("Rank", expected.shape, got.shape),
            ("Dtype", expected.dtype, got.dtype),
        ):
            if (len(a) != len(b)) if what == "Rank" else a != b:
                raise errors.value_error(
                    f"{what} mismatch for {name}: expected {a} and called with {b}",
                    where=exported.fun_name,
                    why="The program was lowered for these types.",
                )
        for i, (m, n) in enumerate(zip(expected.shape, got.shape, strict=True)):
            if isinstance(m, int) and m != n:
                raise errors.value_error(
                    f"Shape mismatch for {name}.shape[{i}] (expected same constant):"
                    f" expected {expected.shape} and called with {got.shape}",
                    where=exported.fun_name,
                    tries=["export it for this shape", "export.symbolic_shape"],
                )
