"""Lowering of programs with symbolic dimensions: shapes are computed at run time.

Each dimension variable is computed from the sizes of the arguments
(symbolic/solver.py), their constraints are asserted, and operations whose results
have symbolic shapes take the sizes as operands. When the program is called, the sizes are
known, and the compiler folds all of this.

Calls are lowered in place, so that the dimension variables are visible everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxlib.mlir import ir

from ...analysis.contents import closed_jaxprs_in, types_in
from ...base import errors
from ...ir.jaxpr import ClosedJaxpr, Jaxpr
from ...symbolic.dims import SymbolicDim, dimension_variables
from ...symbolic.solver import solution
from ...types import dtypes
from ...types.avals import AbstractToken, shaped
from ...types.sizes import Size
from .context import Lowering, physical
from .mlir_context import context
from .module import Module

if TYPE_CHECKING:
    from ...types.aliases import Aval, MlirValue, Value

_INT = shaped((), dtypes.int32)
_PLACEHOLDERS = "https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors"

# Operations that take a symbolic result shape as an operand.
_DYNAMIC = {
    "broadcast_in_dim": "dynamic_broadcast_in_dim",
    "reshape": "dynamic_reshape",
    "iota": "dynamic_iota",
}
# Operations whose result shape follows from attributes that are sizes.
_SIZE_ATTRIBUTES = {
    "slice": ("real_dynamic_slice", ("start_indices", "limit_indices", "strides")),
    "pad": ("dynamic_pad", ("edge_padding_low", "edge_padding_high", "interior_padding")),
    "gather": ("dynamic_gather", ("slice_sizes",)),
}
# Operations whose shape the compiler cannot infer if the rank changes.
_SAME_RANK = ("bitcast_convert",)
# Operations that become calls, with the attributes that are sizes as operands.
_CALLS = {"chlo.top_k": ("stablehlo.dynamic_top_k", ("k",))}


def is_symbolic(aval: Aval) -> bool:
    """Whether a type has a symbolic dimension."""
    return any(isinstance(d, SymbolicDim) for d in getattr(aval, "shape", ()))


def has_symbolic_dims(jaxpr: Jaxpr) -> bool:
    """Whether a program has symbolic dimensions."""
    if any(map(is_symbolic, types_in(jaxpr))):
        return True
    # A loop, because `any` with a generator would recurse through C.
    for inner in closed_jaxprs_in(jaxpr):  # noqa: SIM110
        if has_symbolic_dims(inner.jaxpr):
            return True
    return False


class _NoRecipes(dict[Any, Any]):
    """A cache without recipes: sizes are values of this module, so none can be replayed."""

    def get(self, key: Any, default: Any = None) -> Any:
        return None


class _Sizes(tuple[Any, ...]):
    """Sizes of an attribute, some of them symbolic."""


class SymbolicLowering(Lowering):
    """`Lowering` of a program with symbolic dimensions."""

    __slots__ = ("sizes",)

    def __init__(self, module: Module, prefix: str = "") -> None:
        super().__init__(module, prefix)
        self.recipes = _NoRecipes()
        self.sizes: dict[str, Any] = {}

    # ---- sizes as values
    def size(self, dim: SymbolicDim, aval: Aval = _INT) -> MlirValue:
        """Return a size as a value of type `aval`."""
        value = dim.evaluated(self.sizes, _Emitted(self))
        if aval.dtype == _INT.dtype:
            return value  # type: ignore[no-any-return]
        return super().op("convert", aval, value)

    def vector(self, shape: Sequence[Size]) -> MlirValue:
        """Return sizes as an array."""
        one = shaped((1,), _INT.dtype)
        out = shaped((len(shape),), _INT.dtype)
        if not any(isinstance(d, SymbolicDim) for d in shape):
            return super().constant(np.array(shape, np.int32), out)
        emitted = _Emitted(self)
        elements = [
            super(SymbolicLowering, self).op(
                "reshape", one, self.size(d) if isinstance(d, SymbolicDim) else emitted.const(d)
            )
            for d in shape
        ]
        return super().op("concatenate", out, *elements, dimension=self.i64(0))

    def _assert(self, holds: Any, text: str, shown: Sequence[Any]) -> None:
        """Emit a check; each {} in its message is replaced by one of `shown`."""
        for i in range(len(shown)):  # the placeholders {0}, {1} ... are operands
            text = text.replace("{}", f"{{{i}}}", 1)
        text += f". Please see {_PLACEHOLDERS} for more details."
        self.create(
            "stablehlo.custom_call",
            [],
            [holds, *shown],
            call_target_name=self.string("shape_assertion"),
            api_version=self.i32(2),
            has_side_effect=self.bool(True),
            error_message=self.string(text),
        )

    def begin(
        self, values: Sequence[MlirValue], avals: Sequence[Aval], names: Sequence[str]
    ) -> None:
        """Compute the dimension variables from the sizes of arguments, and assert
        constraints."""
        solved = solution([getattr(a, "shape", ()) for a in avals], names)
        obtained: list[tuple[str, Any]] = []

        def assert_(holds: Any, what: str, *args: Any) -> None:
            text = (
                f"Input shapes do not match {what} {solved.text} Obtained dimension"
                f" variables: {''.join(phrase for phrase, _ in obtained)}"
            )
            self._assert(holds, text, [*args, *(x for _, each in obtained for x in each)])

        emitted = _Emitted(self)

        def size_at(i: int, axis: int) -> Any:
            return super(SymbolicLowering, self).op(
                "get_dimension_size", _INT, values[i], dimension=self.i64(axis)
            )

        general = "the polymorphic shapes specification. "
        for step in solved.steps:
            size = size_at(step.argument, step.axis)
            above = size
            if isinstance(step.rest, SymbolicDim) or step.rest:
                rest = step.rest
                rest = self.size(rest) if isinstance(rest, SymbolicDim) else emitted.const(rest)
                above = emitted.op("subtract", size, rest)
            value = above
            if step.factor != 1:
                per = emitted.const(step.factor)
                left = emitted.mod(above, per)
                assert_(
                    emitted.compare("EQ", left, emitted.const(0)),
                    f"{general}Division had remainder {{}} when computing the value of"
                    f" '{step.name}'.",
                    left,
                )
                value = emitted.floordiv(above, per)
            self.sizes[step.name] = value
            origin = (
                f"'{step.name}' = {{}} from specification '{step.size}' for dimension"
                f" {names[step.argument]}.shape[{step.axis}] (= {{}}), "
            )
            obtained.append((origin, [value, size]))
            assert_(
                emitted.compare("GE", value, emitted.const(1)),
                f"{general}Expected value >= 1 for dimension variable '{step.name}'.",
            )
        for d, i, axis in solved.checks:
            size, expected = size_at(i, axis), self.size(d)
            assert_(
                emitted.compare("EQ", size, expected),
                f"{general}Found inconsistency between dimension size"
                f" {names[i]}.shape[{axis}] (= {{}}) and the specification '{d}'"
                f" (= {{}}).",
                size,
                expected,
            )
        for least, constraint in solved.scope.constraints if solved.scope is not None else ():
            if set(dimension_variables([least])) <= set(self.sizes):
                value = self.size(least)
                assert_(
                    emitted.compare("GE", value, emitted.const(0)),
                    f"the symbolic shape constraint {constraint}. Expected '{least}' to be"
                    " greater or equal to 0, but found {}. ",
                    value,
                )

    # ---- types and attributes
    def type(self, aval: Aval) -> ir.Type:
        if isinstance(aval, AbstractToken) or not is_symbolic(aval):
            return super().type(aval)
        p = physical(aval)
        shape = [
            ir.ShapedType.get_dynamic_size() if isinstance(d, SymbolicDim) else d
            for d in p.shape
        ]
        return ir.RankedTensorType.get(shape, context.elements[p.dtype])

    def i64s(self, values: Sequence[Any]) -> Any:
        if any(isinstance(v, SymbolicDim) for v in values):
            return _Sizes(values)
        return super().i64s(values)

    def i64(self, value: Size) -> Any:
        return _Sizes((value,)) if isinstance(value, SymbolicDim) else super().i64(value)

    # ---- operations
    def op(self, name: str, aval: Aval, *operands: MlirValue, **attrs: Any) -> MlirValue:
        emit = super().op
        if name in _SIZE_ATTRIBUTES and any(isinstance(a, _Sizes) for a in attrs.values()):
            dynamic, lists = _SIZE_ATTRIBUTES[name]
            vectors = [self.vector(_as_list(attrs.pop(key))) for key in lists]
            return emit(dynamic, aval, *operands, *vectors, **attrs)
        if name == "dynamic_slice" and isinstance(attrs["slice_sizes"], _Sizes):
            return self._dynamic_slice(aval, *operands, sizes=attrs["slice_sizes"])  # type: ignore[no-any-return]
        if any(isinstance(a, _Sizes) for a in attrs.values()):
            raise self.no_form_error(name)
        same = name not in _SAME_RANK or _rank(operands[0]) == aval.ndim
        if not same and is_symbolic(aval):
            raise self.no_form_error(name)
        if name in _DYNAMIC and is_symbolic(aval):
            shape = self.vector(physical(aval).shape)
            return emit(_DYNAMIC[name], aval, *operands, shape, **attrs)
        return emit(name, aval, *operands, **attrs)

    def _dynamic_slice(self, aval: Any, x: Any, *starts: Any, sizes: _Sizes) -> Any:
        """Emit a slice of symbolic sizes, with the start clamped so that it fits."""
        op, emitted = super().op, _Emitted(self)
        lows = []
        for axis, (start, size) in enumerate(zip(starts, sizes, strict=True)):
            start = op("convert", _INT, start)
            length = self.size(size) if isinstance(size, SymbolicDim) else emitted.const(size)
            full = op("get_dimension_size", _INT, x, dimension=self.i64(axis))
            most = emitted.op("subtract", full, length)
            lows.append(emitted.max(emitted.const(0), emitted.min(start, most)))
        one = shaped((1,), _INT.dtype)
        out = shaped((len(starts),), _INT.dtype)
        elements = [op("reshape", one, v) for v in lows]
        low = op("concatenate", out, *elements, dimension=self.i64(0))
        # In this form the compiler infers the sizes for any start.
        high = op("add", out, low, self.vector(sizes))
        steps = self.vector((1,) * len(starts))
        return op("real_dynamic_slice", aval, x, low, high, steps)

    def constant(self, value: Value, aval: Aval) -> MlirValue:
        if isinstance(value, SymbolicDim):
            scalar = self.size(value, shaped((), aval.dtype))
            return self.repeat(scalar, aval) if aval.shape else scalar
        if not is_symbolic(aval):
            return super().constant(value, aval)
        scalar = super().constant(value, shaped((), physical(aval).dtype))
        return self.repeat(scalar, aval)

    def library_call(
        self, avals_out: Sequence[Aval], operands: Sequence[MlirValue], **attrs: Any
    ) -> ir.Operation:
        """Emit a library call with the shapes of results as further operands."""
        if not any(map(is_symbolic, avals_out)):
            return super().library_call(avals_out, operands, **attrs)
        shapes = [self.vector(physical(a).shape) for a in avals_out]
        n = len(operands)
        at = range(n, n + len(shapes))
        attrs["indices_of_shape_operands"] = self.dense(
            np.array(at, np.int64), shaped((len(at),), np.dtype(np.int64))
        )
        if (layouts := attrs.get("operand_layouts")) is not None:
            row = self.parse("dense<0> : tensor<1xindex>")
            attrs["operand_layouts"] = ir.ArrayAttr.get([*layouts, *[row] * len(at)])
        types = [self.type(a) for a in avals_out]
        return super().emit("stablehlo.custom_call", types, [*operands, *shapes], attrs)

    def emit(
        self,
        name: str,
        results: Sequence[ir.Type],
        operands: Sequence[MlirValue],
        attributes: dict[str, Any],
        regions: int = 0,
    ) -> ir.Operation:
        if name == "stablehlo.custom_call" and not all(map(_is_static, results)):
            target = attributes["call_target_name"]
            raise self.no_form_error(f"a call of {target}")
        if any(isinstance(a, _Sizes) for a in attributes.values()):
            if name not in _CALLS:
                raise self.no_form_error(name)
            target, keys = _CALLS[name]
            sizes = [self.size(d) for key in keys for d in attributes[key]]
            name, operands = "stablehlo.custom_call", [*operands, *sizes]
            attributes = {"call_target_name": self.string(target), "api_version": self.i32(2)}
        return super().emit(name, results, operands, attributes, regions)

    def no_form_error(self, name: str) -> NotImplementedError:
        """Return the error for an operation without a form for symbolic sizes."""
        avals = [*self.avals_in, *self.avals_out]
        return errors.error(
            NotImplementedError,
            f"export: {name} with symbolic dimensions is not supported.",
            which=", ".join(a.str_short(True) for a in avals if is_symbolic(a)) or None,
            why="the compiler has no form of this operation that takes sizes as operands.",
            tries=["export once for each size", "static sizes for these axes"],
        )

    # ---- nested programs
    def call(self, closed: ClosedJaxpr, name: str, args: Sequence[Any]) -> list[Any]:
        return self.jaxpr(closed, *args)


def _rank(value: MlirValue) -> int:
    return ir.RankedTensorType(value.type).rank


def _is_static(kind: Any) -> bool:
    return not isinstance(kind, ir.RankedTensorType) or kind.has_static_shape


def _as_list(attribute: Any) -> Sequence[Any]:
    if isinstance(attribute, _Sizes):
        return attribute
    return list(ir.DenseI64ArrayAttr(attribute))


class _Emitted:
    """Arithmetic with sizes, emitted as operations."""

    def __init__(self, ctx: SymbolicLowering) -> None:
        self.ctx = ctx

    def op(self, name: str, x: Any, y: Any) -> Any:
        return Lowering.op(self.ctx, name, _INT, x, y)

    def const(self, n: int) -> Any:
        return Lowering.constant(self.ctx, np.int32(n), _INT)

    def add(self, x: Any, y: Any) -> Any:
        return self.op("add", x, y)

    def mul(self, x: Any, y: Any) -> Any:
        return self.op("multiply", x, y)

    def max(self, x: Any, y: Any) -> Any:
        return self.op("maximum", x, y)

    def min(self, x: Any, y: Any) -> Any:
        return self.op("minimum", x, y)

    def mod(self, x: Any, y: Any) -> Any:
        # StableHLO's remainder has the sign of x; Python's has the sign of y.
        return self.op("remainder", self.add(self.op("remainder", x, y), y), y)

    def floordiv(self, x: Any, y: Any) -> Any:
        return self.op("divide", self.op("subtract", x, self.mod(x, y)), y)

    def compare(self, direction: str, x: Any, y: Any) -> Any:
        ctx = self.ctx
        return Lowering.op(
            ctx,
            "compare",
            shaped((), dtypes.bool_),
            x,
            y,
            comparison_direction=ctx.parse(f"#stablehlo<comparison_direction {direction}>"),
            compare_type=ctx.parse("#stablehlo<comparison_type SIGNED>"),
        )
