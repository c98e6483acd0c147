"""Arithmetic as IEEE 754 defines it, operation by operation: `minijax_ieee_arithmetic`.

XLA does not preserve the rounding of real numbers, even without fast-math:

- `(x + c) - c` becomes `x` for a constant c;
- `x / c` becomes `x * (1 / c)`, and `x / sqrt(y)` becomes `x * rsqrt(y)`;
- `x * y + z` is rounded once;
- half precision is rounded only when a value is stored.

Programs that rely on each rounding, such as compensated sums, set the option. Then
every sum, difference, product and quotient of real floats is followed by `reduce_precision`
to its own format, which XLA keeps. The operands of quotients are behind a barrier. A
product becomes `select(p == p, p, nan)`, so that LLVM cannot fuse it with a sum.

Next: lower_jaxpr.py, which calls `keep_rounding`.
"""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir

# Bits of the exponent and of the fraction, by element type.
_FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}
_ROUNDED = frozenset("stablehlo." + n for n in ("add", "subtract", "multiply", "divide"))


def keep_rounding(module: ir.Module) -> None:
    """Change a module so that the compiled program performs each of its roundings."""
    for function in module.body:
        for op in _arithmetic_operations(function.operation):
            _keep_one(op)


def _arithmetic_operations(op: Any) -> list[Any]:
    """Return the operations to protect, except those in the functions of reductions."""
    ops = []
    for region in op.regions:
        for block in region:
            for inner in block:
                operation = inner.operation
                if operation.name in _ROUNDED:
                    ops.append(operation)
                elif len(operation.regions) and not operation.name.startswith(_APPLY):
                    ops += _arithmetic_operations(operation)
    return ops


_APPLY = tuple(
    "stablehlo." + n
    for n in ("reduce", "scatter", "select_and_scatter", "sort", "all_reduce", "map")
)


def _keep_one(op: Any) -> None:
    result = op.results[0]
    form = _FORMATS.get(str(ir.RankedTensorType(result.type).element_type))
    if form is None:
        return
    if op.name == "stablehlo.divide":
        with ir.InsertionPoint(op):
            hidden = ir.Operation.create(
                "stablehlo.optimization_barrier",
                [result.type] * 2,
                list(op.operands),
                loc=op.location,
            )
        op.operands[0], op.operands[1] = hidden.results
    with ir.InsertionPoint.after(op):
        replacement = rounded = _round(result, form, op.location)
        if op.name == "stablehlo.multiply":
            replacement = _select_self(rounded, op.location)
    result.replace_all_uses_except(replacement, rounded.owner.operation)


def _round(x: Any, form: tuple[int, int], loc: Any) -> Any:
    number = ir.IntegerType.get_signless(32)
    exponent, fraction = (ir.IntegerAttr.get(number, bits) for bits in form)
    return ir.Operation.create(
        "stablehlo.reduce_precision",
        [x.type],
        [x],
        loc=loc,
        attributes={"exponent_bits": exponent, "mantissa_bits": fraction},
    ).result


def _select_self(x: Any, loc: Any) -> Any:
    """Return `x` where it equals itself, and NaN elsewhere."""
    kind = ir.RankedTensorType(x.type)
    truth = ir.RankedTensorType.get(kind.shape, ir.IntegerType.get_signless(1))
    direction = ir.Attribute.parse("#stablehlo<comparison_direction EQ>")
    equal = ir.Operation.create(
        "stablehlo.compare",
        [truth],
        [x, x],
        loc=loc,
        attributes={"comparison_direction": direction},
    ).result
    nan = ir.DenseElementsAttr.get_splat(
        kind, ir.FloatAttr.get(kind.element_type, float("nan"))
    )
    constant = ir.Operation.create(
        "stablehlo.constant", [kind], [], loc=loc, attributes={"value": nan}
    ).result
    operands = [equal, x, constant]
    return ir.Operation.create("stablehlo.select", [kind], operands, loc=loc).result
