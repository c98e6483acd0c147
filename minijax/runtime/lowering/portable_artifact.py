"""Portable modules: for several platforms, without hidden arguments, serialized to bytes.

An exported module that is called is merged into the caller's module. A module for several
platforms takes the index of its platform as first argument. It is refined first, which
leaves only that platform's part.

Next: control/calls/call_exported.py.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jaxlib import _jax
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _stablehlo as hlo

from ...base import errors
from ...ir.jaxpr import ClosedJaxpr
from .lower_jaxpr import lower_jaxpr
from .mlir_context import context, load_dialect
from .module import Module

if TYPE_CHECKING:
    from ...types.aliases import MlirValue
    from .lower_jaxpr import Lowered

PLATFORM_INDEX = "_platform_index"
_GLOBAL = "jax.global_constant"
_POLYMORPHIC = "jax.uses_shape_polymorphism"
_ALIASING = ("tf.aliasing_output", "jax.buffer_donor")  # valid only on the arguments of `main`


# -------------------------------------------------------------------------- lowering


def lower_for(
    closed: ClosedJaxpr, name: str, platforms: Sequence[str], **options: Any
) -> Lowered:
    """Return the `Lowered` of a closed jaxpr for several platforms.

    `main` takes the platform's index, then the jaxpr's inputs.
    """
    each = [lower_jaxpr(closed, name, p, **options) for p in platforms]
    texts = [str(lowered.module) for lowered in each]
    first = each[0]
    with context.ir, context.unknown:
        module = Module(_name_of(first.module), platforms[0])
        main = _main_of(first.module)
        signature = ir.FunctionType(main["function_type"].value)
        number = ir.RankedTensorType.get([], ir.IntegerType.get_signless(32))
        arg_attrs = _attribute_dicts(main, "arg_attrs", len(signature.inputs))
        index = {_GLOBAL: ir.StringAttr.get(PLATFORM_INDEX)}
        attributes = {"arg_attrs": _attribute([index, *arg_attrs])}
        if "res_attrs" in main:
            attributes["res_attrs"] = main["res_attrs"]
        outs = list(signature.results)
        block = module.function(
            "main", [number, *signature.inputs], outs, "public", context.unknown, attributes
        )
        symbols = {}
        for text, lowered in zip(texts, each, strict=True):
            if text not in symbols:
                symbols[text] = merge(module, lowered.module, name)
        with ir.InsertionPoint(block):
            platform_index, *args = block.arguments
            chosen = [symbols[text] for text in texts]
            results = (
                _call(chosen[0], outs, args)
                if len(symbols) == 1
                else _call_one_of(chosen, platform_index, outs, args)
            )
            ir.Operation.create("func.return", operands=results)
    first.module = module.module
    first.annotated_copy = module.annotated_copy
    placement = options.get("placement")
    module.placement = placement if placement is not None and placement.is_spmd else None
    return first


def _call(symbol: str, outs: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    attributes: dict[str, Any] = {"callee": ir.FlatSymbolRefAttr.get(symbol)}
    op = ir.Operation.create(
        "func.call", results=outs, operands=args, attributes=attributes, loc=context.unknown
    )
    return list(op.results)


def _call_one_of(
    symbols: Sequence[str], platform_index: Any, outs: Sequence[Any], args: Sequence[Any]
) -> list[Any]:
    """Call the function with index `platform_index`."""
    case = ir.Operation.create(
        "stablehlo.case",
        results=outs,
        operands=[platform_index],
        regions=len(symbols),
        loc=context.unknown,
    )
    for region, symbol in zip(case.regions, symbols, strict=True):
        with ir.InsertionPoint(region.blocks.append()):
            ir.Operation.create("stablehlo.return", operands=_call(symbol, outs, args))
    return list(case.results)


def _name_of(module: Any) -> str:
    return str(ir.StringAttr(module.operation.attributes["sym_name"]).value)


def _main_of(module: Any) -> Any:
    """Return the attributes of a module's `main`."""
    return next(op.operation.attributes for op in module.body if _symbol_of(op) == "main")


def _symbol_of(op: Any) -> str:
    return str(ir.StringAttr(op.operation.attributes["sym_name"]).value)


def _attribute_dicts(attributes: Any, name: str, count: int) -> list[dict[str, Any]]:
    """Return the attributes of each argument or result as dicts."""
    if name not in attributes:
        return [{} for _ in range(count)]
    return [{a.name: a.attr for a in row} for row in attributes[name]]


def _attribute(attrs: Sequence[dict[str, Any]]) -> ir.Attribute:
    return ir.ArrayAttr.get([ir.DictAttr.get(row) for row in attrs])


# ----------------------------------------------------------------------------- bytes


def to_bytes(module: ir.Module, polymorphic: bool, mixed: bool) -> bytes:
    """Serialize a module so that later versions of the compiler can read it."""
    with module.context:
        module.operation.attributes[_POLYMORPHIC] = ir.BoolAttr.get(polymorphic)
        weeks = hlo.StablehloCompatibilityRequirement.WEEK_4
        version = hlo.get_version_from_compatibility_requirement(weeks)
        return bytes(_jax.mlir.serialize_portable_artifact(module, version, mixed))


def from_bytes(data: bytes) -> ir.Module:
    """Return the module of such bytes, in this thread's context."""
    for dialect in ("func", "stablehlo", "sdy"):
        load_dialect(dialect)
    with context.ir, context.unknown:
        return _jax.mlir.deserialize_portable_artifact(data, context.ir)  # type: ignore[no-any-return]


def text_of(data: bytes) -> str:
    """Return such bytes as text."""
    with context.ir:
        return str(from_bytes(data).operation.get_asm(enable_debug_info=True))


def _walk(operation: Any) -> Iterator[Any]:
    yield operation
    for region in operation.regions:
        for block in region:
            for op in block:
                yield from _walk(op.operation)


@functools.cache
def _stable_targets() -> frozenset[str]:
    """Return the targets of custom calls that are guaranteed stable: JAX's list.

    Source: https://docs.jax.dev/en/latest/export/export.html, "compatibility guarantees".
    """
    real = "orgqr syevd geev gesdd sytrd".split()
    unitary = {"orgqr": "ungqr", "syevd": "heevd", "sytrd": "hetrd"}
    routines = ["potrf", "geqrf", "getrf", "gehrd", "gees", "trsm", "gtsv", *real]
    targets = {
        f"lapack_{kind}{unitary.get(name, name) if kind in 'cz' else name}_ffi"
        for kind in "sdcz"
        for name in routines
    }
    for family, names in (
        ("cusolver", "getrf geqrf orgqr potrf syevd gesvd gesvdj sytrd"),
        ("hipsolver", "getrf geqrf orgqr potrf syevd gesvd gesvdj gesdd sytrd"),
    ):
        targets.update(f"{family}_{name}_ffi" for name in names.split())
    targets.update(
        "cu_lu_pivots_to_permutation hip_lu_pivots_to_permutation cusparse_gtsv2_ffi"
        " cu_threefry2x32_ffi hip_threefry2x32_ffi Sharding SPMDFullToShardShape"
        " SPMDShardToFullShape annotate_device_placement Eigh Qr LuDecomposition"
        " ProductOfElementaryHouseholderReflectors ApproxTopK AllocateBuffer"
        " stablehlo.dynamic_approx_top_k stablehlo.dynamic_reduce_window"
        " stablehlo.dynamic_rng_bit_generator stablehlo.dynamic_top_k shape_assertion"
        " tf.call_tf_function tpu_custom_call mosaic_gpu_v2".split()
    )
    return frozenset(targets)


def check_calls(module: ir.Module, allowed: Sequence[str]) -> None:
    """Raise ValueError for custom calls that another version may not support."""
    stable = _stable_targets().union(allowed)
    if "ALL" in stable:
        return
    unstable = []
    for op in _walk(module.operation):
        target = op.name == "stablehlo.custom_call" and op.attributes["call_target_name"]
        if target and ir.StringAttr(target).value not in stable:
            unstable.append(str(op))
    if unstable:
        raise errors.value_error(
            "Cannot serialize code with custom calls whose targets have no compatibility"
            " guarantees. Examples are:\n" + "\n".join(unstable),
            why="a program may be loaded by another version, which may lack these targets.",
            tries=["disabled_checks=[export.DisabledSafetyCheck.custom_call(target)]"],
        )


# --------------------------------------------------------------------------- merging


def merge(into: Module, module: ir.Module, name: str) -> str:
    """Copy a module's functions into another; return the new symbol of its `main`."""
    symbols: dict[str, str] = {}
    table = ir.SymbolTable
    taken = {_symbol_of(op): str(op) for op in into.module.body}
    with context.ir, context.unknown:
        ops = list(module.body)
        for op in ops:
            old = _symbol_of(op)
            same = op.operation.name == "sdy.mesh" and taken.get(old) == str(op)
            symbols[old] = old if same else _free_symbol(into, old, name, taken)
        # Rename in two steps, since a new name may be another symbol's old name.
        for old, new in symbols.items():
            if old != new:
                table.replace_all_symbol_uses(old, f"{new}.to_be", module.operation)
        for old, new in symbols.items():
            if old != new:
                table.replace_all_symbol_uses(f"{new}.to_be", new, module.operation)
        for op in ops:
            old = _symbol_of(op)
            attributes = op.operation.attributes
            if symbols[old] == old:
                if old in taken:
                    continue
            else:
                attributes["sym_name"] = ir.StringAttr.get(symbols[old])
            if op.operation.name == "func.func":
                attributes["sym_visibility"] = ir.StringAttr.get("private")
                _drop_aliasing(attributes)
                at = ir.InsertionPoint(into.module.body)
            else:
                at = ir.InsertionPoint.at_block_begin(into.module.body)
            with at:
                op.operation.clone()
    return symbols["main"]


def _free_symbol(into: Module, old: str, name: str, taken: Any) -> str:
    """Return a free symbol for a function of a merged module."""
    base = name if old == "main" else old
    symbol = into.symbol(base)
    while symbol in taken:
        symbol = into.symbol(base)
    return symbol


def _drop_aliasing(attributes: Any) -> None:
    """Drop the donation attributes of arguments: `main` has become a private function."""
    if "arg_attrs" in attributes:
        attrs = [
            {a.name: a.attr for a in row if a.name not in _ALIASING}
            for row in attributes["arg_attrs"]
        ]
        attributes["arg_attrs"] = _attribute(attrs)


def shardings_of(into: Module, symbol: str) -> tuple[list[Any], list[Any]]:
    """Return the sharding attributes of a function's arguments and results; None: none."""
    fn: Any = next(
        op.operation.attributes for op in into.module.body if _symbol_of(op) == symbol
    )
    signature = ir.FunctionType(fn["function_type"].value)
    ins = _attribute_dicts(fn, "arg_attrs", len(signature.inputs))
    outs = _attribute_dicts(fn, "res_attrs", len(signature.results))
    shardings: Any = lambda dicts: [attrs.get("sdy.sharding") for attrs in dicts]
    return shardings(ins), shardings(outs)


def refined(
    module: ir.Module, platform_index: int | None, types: Sequence[ir.Type]
) -> ir.Module:
    """Return the module refined to arguments of these MLIR types.

    platform_index: the index of its platform; None: it has only one.
    """
    with context.ir, context.unknown:
        target = Module("refined", "cpu")
        signature = ir.FunctionType(_main_of(module)["function_type"].value)
        symbol = merge(target, module, "refined_main")
        arg_types = list(signature.inputs)
        # Refinement replaces the types of results.
        block = target.function(
            "main", types, list(signature.results), "public", context.unknown
        )
        with ir.InsertionPoint(block):
            args: list[Any] = list(block.arguments)
            if platform_index is not None:
                number = ir.RankedTensorType.get([], ir.IntegerType.get_signless(32))
                value = ir.IntegerAttr.get(number.element_type, platform_index)
                dense = ir.DenseElementsAttr.get_splat(number, value)
                args.insert(
                    0,
                    ir.Operation.create(
                        "stablehlo.constant", results=[number], attributes={"value": dense}
                    ).result,
                )
            args = [converted(x, t) for x, t in zip(args, arg_types, strict=True)]
            results = _call(symbol, list(signature.results), args)
            ir.Operation.create("func.return", operands=results)
        out = io.BytesIO()
        # As bytes: the refinement runs in an MLIR context of its own.
        target.module.operation.write_bytecode(out)
    data = _jax.mlir.refine_polymorphic_shapes(out.getvalue(), True, True, True)
    with context.ir, context.unknown:
        return ir.Module.parse(data)


def converted(x: MlirValue, to: ir.Type) -> MlirValue:
    """Return a value converted to a type with a more, or less, static shape."""
    if x.type == to:
        return x
    return ir.Operation.create("stablehlo.convert", results=[to], operands=[x]).result


def result_types(module: ir.Module) -> list[ir.Type]:
    """Return the MLIR types of the results of a module's `main`."""
    return list(ir.FunctionType(_main_of(module)["function_type"].value).results)


def argument_types(module: ir.Module) -> list[ir.Type]:
    """Return the MLIR types of the arguments of a module's `main`."""
    return list(ir.FunctionType(_main_of(module)["function_type"].value).inputs)
