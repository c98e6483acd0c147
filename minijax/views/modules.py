"""Programs that libraries lower: into the current module, or into a new one.

Next: programs.py.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from jaxlib.mlir import ir

from ..base import errors
from ..control.callbacks.callbacks import emit_callback
from ..ir.core import Primitive
from ..ir.jaxpr import ClosedJaxpr, Jaxpr
from ..runtime.lowering import context as lower
from ..runtime.lowering import lower_jaxpr, portable_artifact
from ..runtime.lowering.context import Lowering
from ..runtime.lowering.mlir_context import context, hlo
from ..runtime.lowering.module import Module
from .hijax import EffectTypeSet
from .lowering import LoweringRuleContext, ModuleContext
from .lowering_overrides import with_rules
from .meshes import ShardingContext, SPMDAxisContext

LoweringRule = Callable[..., Sequence[Any]]
AxisContext = SPMDAxisContext | ShardingContext
MeshAxisName = Any
# XLA's numbers for kinds of channels.
DEVICE_TO_DEVICE_TYPE, SEND_TO_HOST_TYPE, RECV_FROM_HOST_TYPE = 1, 2, 3
# minijax allows all effects in programs; this set only records types that a library added.
lowerable_effects = EffectTypeSet()


class ConstantHandler(Protocol):
    """A function that makes MLIR values of a constant of a library's type."""

    def __call__(self, val: Any, aval: Any) -> Any: ...


@dataclasses.dataclass(frozen=True)
class LoweringParameters:
    """Options of lowering.

    override_lowering_rules: pairs (primitive, rule), which replace the primitives' own.
    for_export: whether the module is to be exported: Python callbacks are then an error.
    The other options have no effect, since constants are part of the program.
    """

    override_lowering_rules: tuple[tuple[Primitive, LoweringRule], ...] | None = None
    global_constant_computation: bool = False
    for_export: bool = False
    export_ignore_forward_compatibility: bool = False
    hoist_constants_as_args: bool = False


class ShapePolyLoweringState(NamedTuple):
    """The symbolic dimensions, and the platforms that a module is for."""

    dim_vars: tuple[str, ...]
    lowering_platforms: tuple[str, ...] | None


class LoweringResult(NamedTuple):
    """A module, and objects that must live as long as the program."""

    module: ir.Module
    keepalive: Any
    host_callbacks: list[Any]
    shape_poly_state: ShapePolyLoweringState


class TokenSet:
    """The token of each ordered effect; a set is immutable."""

    __slots__ = ("_tokens",)

    def __init__(self, tokens: Mapping[Any, Any] | None = None) -> None:
        self._tokens = dict(tokens or {})

    @classmethod
    def create(cls, effects: Sequence[Any]) -> TokenSet:
        """Create new tokens at the current insertion point."""
        types = [hlo.TokenType.get()]
        token_ops = (ir.Operation.create("stablehlo.create_token", types) for _ in effects)
        return cls(dict(zip(effects, (op.result for op in token_ops), strict=True)))

    def __len__(self) -> int:
        return len(self._tokens)

    def get(self, effect: Any) -> Any:
        """Return the token of an effect."""
        return self._tokens[effect]

    def items(self) -> Sequence[tuple[Any, Any]]:
        """Return the effects and their tokens."""
        return tuple(self._tokens.items())

    def effects(self) -> set[Any]:
        """Return the effects."""
        return set(self._tokens)

    def subset(self, effects: Any) -> TokenSet:
        """Return the tokens of some of the effects."""
        return TokenSet({e: self._tokens[e] for e in effects})

    def update_tokens(self, tokens: TokenSet) -> TokenSet:
        """Return the set with its tokens replaced by those of another one."""
        return TokenSet({e: tokens._tokens.get(e, t) for e, t in self._tokens.items()})


def _separate_emitter(emit: Lowering, **changes: Any) -> Lowering:
    """Return an emitter for the same module, at another place in it."""
    emitter = copy.copy(emit)
    emitter.locations, emitter.repeated, emitter.copied = {}, {}, {}
    for name, value in changes.items():
        setattr(emitter, name, value)
    return emitter


def jaxpr_subcomp(
    ctx: ModuleContext,
    jaxpr: Jaxpr,
    name_stack: Any,
    tokens: TokenSet,
    consts_for_constvars: Sequence[Any],
    *args: Any,
    dim_var_values: Sequence[Any] = (),
    const_lowering: Any = None,
    outer_traceback: Any = None,
) -> tuple[tuple[Any, ...], TokenSet]:
    """Emit a program at the current insertion point.

    Args:
      ctx: the module.
      jaxpr: the program.
      name_stack: the names around it.
      tokens: the tokens that order its effects.
      consts_for_constvars, args: the values of its constants and inputs.
      dim_var_values, const_lowering, outer_traceback: not used, since the module has the
        sizes, the constants, and the source line of each equation.

    Returns:
      (the values of its results, the tokens after it).
    """
    emit = ctx._emit
    prefix = "/".join(filter(None, (emit.prefix, str(name_stack))))
    inner = _separate_emitter(emit, prefix=prefix)
    for _, token in tokens.items():
        inner.token = token
    outs = lower.emit_jaxpr(inner, jaxpr, consts_for_constvars, args)
    if tokens.effects():
        return tuple(outs), TokenSet(dict.fromkeys(tokens.effects(), inner.token))
    emit.token = inner.token
    return tuple(outs), tokens


def lower_jaxpr_to_fun(
    ctx: ModuleContext,
    name: str,
    jaxpr: ClosedJaxpr,
    effects: Sequence[Any] = (),
    *,
    num_const_args: int = 0,
    main_function: bool = False,
    in_avals: Any = None,
    input_output_aliases: Sequence[int | None] | None = None,
    xla_donated_args: Sequence[bool] | None = None,
    arg_names: Any = None,
    result_names: Any = None,
    **shardings: Any,
) -> Any:
    """Add a program to the module as a function.

    Args:
      ctx: the module.
      name: its name; a number is appended if it is taken.
      jaxpr: the program; its constants are inside the function.
      effects: ordered effects; they are an error: emit such programs in place.
      num_const_args, in_avals: not used, since the program has its inputs.
      main_function: whether it is visible outside of the module.
      input_output_aliases: for each argument, the result that uses its memory.
      xla_donated_args: the arguments whose memory any result may use.
      arg_names, result_names: their names.
      shardings: shardings and memories: an error unless None, since types include them.

    Returns:
      The `func.func` operation.
    """
    refused = {k: v for k, v in shardings.items() if v is not None}
    refused.pop("use_sharding_annotations", None)
    if refused or effects:
        raise errors.value_error(
            f"lower_jaxpr_to_fun does not accept {', '.join(refused) or 'effects'}.",
            why="the type of a value includes its sharding and its memory; ordered"
            " effects are emitted in place.",
            tries=["with_sharding_constraint in the program", "jaxpr_subcomp"],
        )
    emit = _separate_emitter(ctx._emit, consts={}, token=None)
    symbol = emit._function(jaxpr, name)[0]
    emit.module.lowered.append(jaxpr)
    func_op = ctx.symbol_table[symbol]
    attributes, text = func_op.operation.attributes, ir.StringAttr.get
    if main_function:
        attributes["sym_visibility"] = text("public")
    n, arg_attrs = len(jaxpr.in_avals), [{} for _ in jaxpr.in_avals]  # type: ignore[var-annotated]
    for i, attrs in zip(range(n), arg_attrs, strict=True):
        if arg_names and arg_names[i]:
            attrs["jax.arg_name"] = text(arg_names[i])
        into = input_output_aliases[i] if input_output_aliases else None
        if into is not None:
            attrs["tf.aliasing_output"] = emit.i32(into)
        elif xla_donated_args and xla_donated_args[i]:
            attrs["jax.buffer_donor"] = ir.BoolAttr.get(True)
    if any(arg_attrs):
        attributes["arg_attrs"] = ir.ArrayAttr.get(list(map(ir.DictAttr.get, arg_attrs)))
    if result_names:
        named = [ir.DictAttr.get({"jax.result_info": text(s)}) for s in result_names]
        attributes["res_attrs"] = ir.ArrayAttr.get(named)
    return func_op


def lower_jaxpr_to_module(
    module_name: str,
    jaxpr: ClosedJaxpr,
    *,
    platforms: Sequence[str],
    axis_context: AxisContext | None = None,
    donated_args: Sequence[bool] = (),
    ordered_effects: Sequence[Any] = (),
    num_partitions: int = 1,
    lowering_parameters: LoweringParameters = LoweringParameters(),
    result_names: Sequence[str] = (),
    num_const_args: int = 0,
    in_avals: Any = None,
    backend: Any = None,
    arg_names: Any = None,
    **shardings: Any,
) -> LoweringResult:
    """Return the module of a program, with a function `main`.

    Args:
      module_name: its name.
      jaxpr: the program; its constants are inside the module.
      platforms: the single platform it is for.
      axis_context: the devices it is for; several devices replicate it.
      donated_args: the arguments whose memory results may use.
      num_partitions: the number of devices on which it runs as one program.
      lowering_parameters: options of lowering.
      result_names: the names of its results.
      num_const_args, in_avals, backend, arg_names, ordered_effects: not used, since the
        program has its inputs, their names and its effects.
      shardings: shardings and memories: an error unless None, since types include them.
    """
    refused = {k: v for k, v in shardings.items() if v is not None}
    refused.pop("all_default_mem_kind", None)
    if refused or len(platforms) != 1:
        raise errors.value_error(
            f"lower_jaxpr_to_module does not accept"
            f" {', '.join(refused) or 'several platforms'}.",
            why="the type of a value includes its sharding; a module is for one platform.",
            tries=["jit(f).lower(...)", "export.export(f, platforms=[...])"],
        )
    override_rules = lowering_parameters.override_lowering_rules
    closed = with_rules(jaxpr, override_rules) if override_rules else jaxpr
    lowered = lower_jaxpr.lower_jaxpr(
        closed,
        module_name,
        platforms[0],
        partitions=num_partitions,
        donated=tuple(donated_args),
        literals=True,
    )
    if lowering_parameters.for_export and lowered.callbacks:
        raise NotImplementedError("a module with Python callbacks cannot be exported")
    module = lowered.annotated_copy(result_names)
    module.operation.attributes["sym_name"] = _named(module_name)
    state = ShapePolyLoweringState((), tuple(platforms))
    return LoweringResult(module, lowered.keepalive, lowered.callbacks, state)


def _named(name: str) -> Any:
    with context.ir:
        return ir.StringAttr.get(name)


def merge_mlir_modules(
    dst_module: ir.Module, sym_name: str, src_module: ir.Module, dst_symtab: Any = None
) -> str:
    """Move a module's functions into another; return the name of its `main` there.

    dst_symtab: not used; the symbols of `dst_module` are looked up again.
    """
    with context.ir, context.unknown:
        into = Module("merged", "cpu")
    into.module = dst_module
    return portable_artifact.merge(into, src_module, sym_name)


def emit_python_callback(
    ctx: LoweringRuleContext,
    callback: Callable[..., Any],
    token: Any,
    operands: Sequence[ir.Value],
    operand_avals: Sequence[Any],
    result_avals: Sequence[Any],
    *,
    has_side_effect: bool,
    returns_token: bool = True,
    partitioned: bool = False,
    sharding: Any = None,
) -> tuple[list[Any], Any, Any]:
    """Emit a call of a Python function.

    Args:
      ctx: the context of the rule.
      callback: a function of arrays that returns a sequence of results.
      token: orders the call after earlier ones; None if it is not ordered.
      operands: values of the types `operand_avals`.
      result_avals: the types of its results.
      has_side_effect: whether it is called even if its results are not used.
      returns_token: whether to return a new token, if `token` is given.
      partitioned: whether each device calls it with its own shard; must be False.
      sharding: the devices that call it; must be None: the first one calls it.

    Returns:
      (the values of its results, the new token, objects that the program keeps alive).
    """
    if partitioned or sharding is not None:
        raise errors.value_error(
            "emit_python_callback calls from one device.", tries=["shard_map around the call"]
        )
    emit = _separate_emitter(ctx.emit, token=token)
    emit.avals_in, emit.avals_out = list(operand_avals), list(result_avals)

    def call(*args: Any) -> Any:
        return callback(*args)

    ordered = token is not None
    outs = emit_callback(
        emit, "python_callback", call, list(operands), ordered=ordered, effect=has_side_effect
    )
    return list(outs), emit.token if ordered and returns_token else None, call
