"""Lowering rules of libraries: their contexts, and the functions that they build with.

A rule is called with a `LoweringRuleContext` and MLIR values, and returns a sequence of
values, one per result.  Next: programs.py.
"""

from __future__ import annotations

import dataclasses
import functools
import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from ..ir import core
from ..ir.core import ByPlatform, Primitive, Rule
from ..ir.jaxpr import ClosedJaxpr, Jaxpr
from ..runtime.backends import client
from ..runtime.backends import jaxlib_compat as compat
from ..runtime.lowering import context as lower
from ..runtime.lowering.context import Lowering
from ..runtime.lowering.mlir_context import context, register_own, upstream_dialects
from ..types.avals import AbstractToken, ShapedArray, shaped
from .attributes import NameStack
from .meshes import ShardingContext, SPMDAxisContext
from .rules import Adapted

Value, Token = ir.Value, ir.Token if hasattr(ir, "Token") else ir.Value
_NO_NAMES = NameStack()


class ModuleContext:
    """The module under construction, as rules see it."""

    def __init__(self, emit: Lowering) -> None:
        self._emit = emit

    @property
    def platforms(self) -> tuple[str, ...]:
        return (self._emit.platform,)

    @property
    def backend(self) -> Any:
        return client.backend(self._emit.platform)

    def get_backend(self, optional: bool = False) -> Any:
        """Return the client of the devices that the program is for."""
        return self.backend

    @property
    def context(self) -> ir.Context:
        return context.ir

    @property
    def module(self) -> ir.Module:
        return self._emit.module.module

    @property
    def ip(self) -> ir.InsertionPoint:
        return ir.InsertionPoint(self.module.body)

    @property
    def symbol_table(self) -> ir.SymbolTable:
        return ir.SymbolTable(self.module.operation)

    @property
    def keepalives(self) -> list[Any]:
        return self._emit.module.keepalive

    def add_keepalive(self, keepalive: Any) -> None:
        """Keep an object alive as long as the program."""
        self.keepalives.append(keepalive)

    @property
    def host_callbacks(self) -> list[Any]:
        return self._emit.module.callbacks

    def add_host_callback(self, host_callback: Any) -> None:
        """Register a callback to which a custom call refers by its number."""
        self.host_callbacks.append(host_callback)

    @property
    def axis_context(self) -> SPMDAxisContext | ShardingContext:
        """The devices that the module is for, and the axes that are manual."""
        placement = self._emit.module.placement
        if placement is None:
            return ShardingContext(self._emit.module.partitions)
        if self._emit.manual:
            return SPMDAxisContext(placement.mesh, frozenset(self._emit.manual))
        return ShardingContext(len(placement.devices), tuple(placement.devices))


@dataclasses.dataclass
class LoweringRuleContext:
    """The context of a rule: the types of its equation, and the module."""

    module_context: ModuleContext
    primitive: Primitive | None
    avals_in: Sequence[Any]
    avals_out: Sequence[Any]
    name_stack: NameStack = _NO_NAMES
    traceback: Any = None
    tokens_in: Any = None
    tokens_out: Any = None
    axis_size_env: Any = None
    dim_var_values: Sequence[Any] = ()
    # Constants are emitted where they are used.
    const_lowering: dict[Any, Any] = dataclasses.field(default_factory=dict)
    jaxpr_eqn_ctx: Any = None

    def set_tokens_out(self, tokens_out: Any) -> None:
        """Set the tokens after the operation."""
        self.tokens_out = tokens_out

    @property
    def emit(self) -> Lowering:
        """The emitter of operations, with minijax's own interface."""
        return self.module_context._emit

    @property
    def platforms(self) -> tuple[str, ...]:
        return self.module_context.platforms

    def replace(self, **changes: Any) -> LoweringRuleContext:
        """Return a copy with some fields changed."""
        return dataclasses.replace(self, **changes)


def adapt_rule(prim: Primitive, rule: Rule) -> Adapted:
    """Convert a library's lowering rule to our signature."""

    def emitted(emit: Lowering, /, *values: Any, **params: Any) -> Any:
        module = ModuleContext(emit)
        if (
            not emit.module
        ):  # operations that a rule builds itself cannot be recorded and replayed
            raise TypeError("minijax bug: lowering without a module")
        ctx = LoweringRuleContext(module, prim, tuple(emit.avals_in), emit.avals_out)
        with emit.loc:
            results = flatten_ir_values(rule(ctx, *values, **params))
        return results if prim.multiple_results else results[0]

    return Adapted(emitted, rule)


def register_lowering(
    prim: Primitive,
    rule: Rule,
    platform: str | None = None,
    inline: bool = True,
    cacheable: bool = True,
) -> Rule:
    """Set a primitive's lowering rule, for one platform or as the default.

    inline, cacheable: ignored; each equation is emitted in its place.
    """

    adapted_rule = adapt_rule(prim, rule)
    old = prim.lower if isinstance(prim.lower, ByPlatform) else ByPlatform(prim.lower)
    if platform is None:
        prim.lower = ByPlatform(adapted_rule, **old.rules) if old.rules else adapted_rule
    else:
        names = ("cuda", "rocm") if platform == "gpu" else (platform,)
        rules = old.rules | dict.fromkeys(names, adapted_rule)
        prim.lower = ByPlatform(old.default, **rules)
    return rule


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> Rule:
    """Return a lowering rule that traces a function and emits its operations."""

    def rule(ctx: LoweringRuleContext, /, *values: Any, **params: Any) -> list[Any]:
        run = functools.partial(fun, **params)
        return ctx.emit.fun(run, *values, avals=ctx.avals_in)

    return rule


def core_call_lowering(
    ctx: LoweringRuleContext,
    *args: Any,
    name: str,
    backend: Any = None,
    call_jaxpr: ClosedJaxpr | Jaxpr,
) -> list[Any]:
    """Emit a call of a program: the lowering rule of call primitives."""
    closed = ClosedJaxpr(call_jaxpr) if isinstance(call_jaxpr, Jaxpr) else call_jaxpr
    return ctx.emit.call(closed, name, args)


# ----------------------------------------------------------------- types and constants


# Type of abstract values -> (aval) -> its MLIR type, or several for types of libraries.
ir_type_handlers: dict[type, Callable[[Any], Any]] = {
    ShapedArray: lambda aval: _array_type(aval),
    AbstractToken: lambda _: token_type(),
}
# Type of constants -> (value, its abstract value) -> MLIR value, or several.
_constant_handlers: dict[type, Callable[..., Any]] = {}


def register_constant_handler(type_: type, handler_fun: Callable[..., Any]) -> None:
    """Register how `ir_constant` makes constants of a type."""
    _constant_handlers[type_] = handler_fun


def dtype_to_ir_type(dtype: Any) -> ir.Type:
    """Return the MLIR type of elements."""
    return context.elements[np.dtype(dtype)]


def aval_to_ir_type(ctx: Any, aval: Any = None) -> ir.Type:
    """Return the MLIR type of an abstract value."""
    aval = ctx if aval is None else aval
    for kind in type(aval).__mro__:
        if kind in ir_type_handlers:
            with context.ir:
                return ir_type_handlers[kind](aval)
    raise TypeError(f"No ir_type_handler for aval type: {type(aval)}")


def _array_type(aval: Any) -> ir.Type:
    p = lower.physical(aval)
    return ir.RankedTensorType.get(p.shape, context.elements[p.dtype])


def aval_to_ir_types(ctx: Any, aval: Any = None) -> tuple[ir.Type, ...]:
    """Return the MLIR types of an abstract value, as a tuple."""
    types = aval_to_ir_type(ctx, aval)
    return types if isinstance(types, tuple) else (types,)


# The kinds of nodes of trees of MLIR values.
ir_tree_registry = compat.tree_registry()


def flatten_ir_values(xs: Iterable[Any]) -> list[ir.Value]:
    """Flatten values, and tuples of values, to a list."""
    each = (xs,) if isinstance(xs, ir.Value) else tuple(xs)
    values: list[ir.Value] = ir_tree_registry.flatten(each)[0]
    return values


flatten_ir_types = flatten_ir_values


def unflatten_ir_values_like_types(xs: Iterable[ir.Value], ys: Sequence[Any]) -> list[Any]:
    """Group values as types are grouped."""
    it = iter(xs)
    return [tuple([next(it) for _ in y]) if isinstance(y, tuple) else next(it) for y in ys]


def ir_constant(val: Any, *, const_lowering: Any = None, aval: Any = None) -> ir.Value:
    """Emit a constant at the current insertion point."""
    aval = core.aval_of(val) if aval is None else aval
    for kind in type(val).__mro__:
        if kind in _constant_handlers:
            return _constant_handlers[kind](val, aval)
    attribute = Lowering.dense(val, lower.physical(aval))
    location = ir.Location.current if _has_location() else context.unknown
    op = ir.Operation.create(
        "stablehlo.constant",
        results=[attribute.type],
        attributes={"value": attribute},
        loc=location,
    )
    return op.result


def _has_location() -> bool:
    try:
        return ir.Location.current is not None
    except ValueError:
        return False


def ir_constants(val: Any, *, const_lowering: Any = None, aval: Any = None) -> tuple[ir.Value]:
    """Emit a constant; return a tuple."""
    return (ir_constant(val, aval=aval),)


def i32_attr(i: int) -> ir.Attribute:
    """Return a 32-bit integer attribute."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), int(i))


def i64_attr(i: int) -> ir.Attribute:
    """Return a 64-bit integer attribute."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), int(i))


def _elements(xs: Any, dtype: Any) -> ir.Attribute:
    x = np.asarray(xs, dtype)
    attribute: ir.Attribute = Lowering.dense(x, shaped(x.shape, x.dtype))
    return attribute


def dense_int_elements(xs: Sequence[int]) -> ir.Attribute:
    """Return a tensor attribute of 64-bit integers."""
    return _elements(xs, np.int64)


def dense_bool_elements(xs: Sequence[bool]) -> ir.Attribute:
    """Return a tensor attribute of booleans."""
    return _elements(xs, np.bool_)


dense_int_array = ir.DenseI64ArrayAttr.get
dense_bool_array = ir.DenseBoolArrayAttr.get


def shape_tensor(ctx: Any, sizes: Sequence[Any]) -> ir.Value:
    """Emit the sizes of a shape, as a tensor."""
    return ir_constant(np.asarray(sizes, np.int32))


def ir_attribute(val: Any) -> ir.Attribute:
    """Return the attribute of a Python value."""
    if isinstance(val, (bool, np.bool_)):
        return ir.BoolAttr.get(bool(val))
    if isinstance(val, (int, np.integer)):
        bits = 8 * val.dtype.itemsize if isinstance(val, np.integer) else 64
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(bits), int(val))
    if isinstance(val, (float, np.floating)):
        kind = ir.F32Type if getattr(val, "dtype", None) == np.float32 else ir.F64Type
        return ir.FloatAttr.get(kind.get(), float(val))
    if isinstance(val, str):
        return ir.StringAttr.get(val)
    if isinstance(val, dict):
        return ir.DictAttr.get({k: ir_attribute(v) for k, v in val.items()})
    if isinstance(val, np.ndarray):
        return _elements(val, val.dtype)
    if isinstance(val, (list, tuple)):
        return ir.ArrayAttr.get([ir_attribute(v) for v in val])
    if isinstance(val, np.dtype):
        return ir.TypeAttr.get(dtype_to_ir_type(val))
    raise TypeError(f"a {type(val)} cannot be an attribute: {val!r}")


def make_ir_context() -> ir.Context:
    """Return the MLIR context of this thread, with all dialects."""
    return context.ir


def token_type() -> ir.Type:
    """Return the MLIR type of a token."""
    with context.ir:
        return ir.Type.parse("!stablehlo.token")


def module_to_string(module: ir.Module, enable_debug_info: bool | None = None) -> str:
    """Return the text of a module."""
    return str(module.operation.get_asm(enable_debug_info=bool(enable_debug_info)))


def module_to_bytecode(module: ir.Module) -> bytes:
    """Return the bytecode of a module."""
    out = io.BytesIO()
    module.operation.write_bytecode(file=out)
    return out.getvalue()


class JaxIrContext(ir.Context):
    """An MLIR context that a library creates, with all dialects."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.append_dialect_registry(upstream_dialects)
        self.load_all_available_dialects()
        register_own(self)


def lower_with_sharding_in_types(ctx: LoweringRuleContext, op: ir.Value, aval: Any) -> Any:
    """Constrain a value to the sharding of its type."""
    return ctx.emit.constrain(op, aval)
