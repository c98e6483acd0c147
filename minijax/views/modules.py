"""Programs lowered by libraries: into the module at hand, or into one of their own.

Next: programs.py.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from jaxlib.mlir import ir

from ..base import errors
from ..control.effects.callbacks import emit_callback
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
# XLA's numbers of what a channel joins.
DEVICE_TO_DEVICE_TYPE, SEND_TO_HOST_TYPE, RECV_FROM_HOST_TYPE = 1, 2, 3
# All effects may be in a program; these are the kinds that a library has said so of.
lowerable_effects = EffectTypeSet()


class ConstantHandler(Protocol):
    """What makes MLIR values of a constant of a library's type."""

    def __call__(self, val: Any, aval: Any) -> Any: ...


@dataclasses.dataclass(frozen=True)
class LoweringParameters:
    """What lowering is told.

    override_lowering_rules: pairs (primitive, rule), which go before the primitives' own.
    for_export: whether the module is to be kept: it then holds no Python callbacks.
    The others are of no meaning here, where constants are the program's own.
    """

    override_lowering_rules: tuple[tuple[Primitive, LoweringRule], ...] | None = None
    global_constant_computation: bool = False
    for_export: bool = False
    export_ignore_forward_compatibility: bool = False
    hoist_constants_as_args: bool = False


class ShapePolyLoweringState(NamedTuple):
    """The sizes that are not known, and the platforms that a module is for."""

    dim_vars: tuple[str, ...]
    lowering_platforms: tuple[str, ...] | None


class LoweringResult(NamedTuple):
    """A module, and what must live as long as the program."""

    module: ir.Module
    keepalive: Any
    host_callbacks: list[Any]
    shape_poly_state: ShapePolyLoweringState


class TokenSet:
    """For each ordered effect, the token that orders it; they do not change."""

    __slots__ = ("_tokens",)

    def __init__(self, tokens: Mapping[Any, Any] | None = None) -> None:
        self._tokens = dict(tokens or {})

    @classmethod
    def create(cls, effects: Sequence[Any]) -> TokenSet:
        """New tokens, where operations are being inserted."""
        types = [hlo.TokenType.get()]
        made = (ir.Operation.create("stablehlo.create_token", types) for _ in effects)
        return cls(dict(zip(effects, (op.result for op in made), strict=True)))

    def __len__(self) -> int:
        return len(self._tokens)

    def get(self, effect: Any) -> Any:
        """The token of an effect."""
        return self._tokens[effect]

    def items(self) -> Sequence[tuple[Any, Any]]:
        """The effects and their tokens."""
        return tuple(self._tokens.items())

    def effects(self) -> set[Any]:
        """The effects."""
        return set(self._tokens)

    def subset(self, effects: Any) -> TokenSet:
        """The tokens of some of the effects."""
        return TokenSet({e: self._tokens[e] for e in effects})

    def update_tokens(self, tokens: TokenSet) -> TokenSet:
        """The set with the tokens of another in the place of its own."""
        return TokenSet({e: tokens._tokens.get(e, t) for e, t in self._tokens.items()})


def _apart(emit: Lowering, **changes: Any) -> Lowering:
    """What emits to the same module, elsewhere in it."""
    found = copy.copy(emit)
    found.locations, found.repeated, found.copied = {}, {}, {}
    for name, value in changes.items():
        setattr(found, name, value)
    return found


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
    """Emit a program where operations are being inserted.

    Args:
      ctx: the module.
      jaxpr: the program.
      name_stack: the names around it.
      tokens: those that order its effects before it.
      consts_for_constvars, args: the values of its constants and inputs.
      dim_var_values, const_lowering, outer_traceback: of no meaning here, where the
        module knows sizes, constants, and where each equation was written.

    Returns:
      (the values of its results, the tokens after it).
    """
    emit = ctx._emit
    prefix = "/".join(filter(None, (emit.prefix, str(name_stack))))
    inner = _apart(emit, prefix=prefix)
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
    **lies: Any,
) -> Any:
    """Add a program to the module as a function.

    Args:
      ctx: the module.
      name: what it is called; it gets a number where that is taken.
      jaxpr: the program; its constants stand in the function.
      effects: those that tokens order; such programs are emitted in place instead.
      num_const_args, in_avals: of no meaning here: inputs are those of the program.
      main_function: whether it is seen from outside.
      input_output_aliases: for each argument, the result that takes its memory.
      xla_donated_args: which arguments' memory any result may take.
      arg_names, result_names: what they are called.
      lies: how values lie over devices, which types say here: refused unless None.

    Returns:
      The `func.func` operation.
    """
    refused = {k: v for k, v in lies.items() if v is not None}
    refused.pop("use_sharding_annotations", None)
    if refused or effects:
        raise errors.value_error(
            f"lower_jaxpr_to_fun does not take {', '.join(refused) or 'effects'}.",
            why="how a value lies, and in which memory, is in its type here; ordered"
            " effects are emitted in place.",
            tries=["with_sharding_constraint in the program", "jaxpr_subcomp"],
        )
    emit = _apart(ctx._emit, consts={}, token=None)
    symbol = emit._function(jaxpr, name)[0]
    emit.module.lowered.append(jaxpr)
    found = ctx.symbol_table[symbol]
    attributes, text = found.operation.attributes, ir.StringAttr.get
    if main_function:
        attributes["sym_visibility"] = text("public")
    n, rows = len(jaxpr.in_avals), [{} for _ in jaxpr.in_avals]  # type: ignore[var-annotated]
    for i, row in zip(range(n), rows, strict=True):
        if arg_names and arg_names[i]:
            row["jax.arg_name"] = text(arg_names[i])
        into = input_output_aliases[i] if input_output_aliases else None
        if into is not None:
            row["tf.aliasing_output"] = emit.i32(into)
        elif xla_donated_args and xla_donated_args[i]:
            row["jax.buffer_donor"] = ir.BoolAttr.get(True)
    if any(rows):
        attributes["arg_attrs"] = ir.ArrayAttr.get(list(map(ir.DictAttr.get, rows)))
    if result_names:
        named = [ir.DictAttr.get({"jax.result_info": text(s)}) for s in result_names]
        attributes["res_attrs"] = ir.ArrayAttr.get(named)
    return found


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
    **lies: Any,
) -> LoweringResult:
    """The module of a program, with a function `main`.

    Args:
      module_name: its name.
      jaxpr: the program; its constants stand in the module.
      platforms: the one it is for.
      axis_context: the devices it is for; several replicate it.
      donated_args: which arguments' memory results may take.
      ordered_effects: those that tokens order in it.
      num_partitions: on how many devices it runs as one program.
      lowering_parameters: what else lowering is told.
      result_names: what its results are called.
      num_const_args, in_avals, backend, arg_names: of no meaning here: inputs and their
        names are those of the program.
      lies: how values lie over devices, which types say here: refused unless None.
    """
    refused = {k: v for k, v in lies.items() if v is not None}
    refused.pop("all_default_mem_kind", None)
    if refused or len(platforms) != 1:
        raise errors.value_error(
            f"lower_jaxpr_to_module does not take {', '.join(refused) or 'several platforms'}.",
            why="how a value lies is in its type; a module is for one platform.",
            tries=["jit(f).lower(...)", "export.export(f, platforms=[...])"],
        )
    told = lowering_parameters.override_lowering_rules
    closed = with_rules(jaxpr, told) if told else jaxpr
    found = lower_jaxpr.lower_jaxpr(
        closed,
        module_name,
        platforms[0],
        partitions=num_partitions,
        donated=tuple(donated_args),
        ordered=bool(ordered_effects),
        literals=True,
    )
    if lowering_parameters.for_export and found.callbacks:
        raise NotImplementedError("a module that is exported holds no Python callbacks")
    made = found.described(result_names)
    made.operation.attributes["sym_name"] = _named(module_name)
    state = ShapePolyLoweringState((), tuple(platforms))
    return LoweringResult(made, found.keepalive, found.callbacks, state)


def _named(name: str) -> Any:
    with context.ir:
        return ir.StringAttr.get(name)


def merge_mlir_modules(
    dst_module: ir.Module, sym_name: str, src_module: ir.Module, dst_symtab: Any = None
) -> str:
    """Move a module's functions into another; the name that its `main` gets there.

    dst_symtab: the symbols of the latter, which are found anew.
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
      ctx: what the rule was handed.
      callback: takes the operands as arrays, gives a sequence of results.
      token: orders it after what came before; None where nothing does.
      operands: values of the types `operand_avals`.
      result_avals: the types of its results.
      has_side_effect: whether it is called even if nobody reads its results.
      returns_token: whether there is a new token: where one is given.
      partitioned: whether each device calls it with its own part: one device does here.
      sharding: where it is called, of several devices: on the first.

    Returns:
      (the values of its results, the new token, what must live as long as the program).
    """
    if partitioned or sharding is not None:
        raise errors.value_error(
            "emit_python_callback calls from one device.", tries=["shard_map around the call"]
        )
    emit = _apart(ctx.emit, token=token)
    emit.avals_in, emit.avals_out = list(operand_avals), list(result_avals)

    def call(*args: Any) -> Any:
        return callback(*args)

    ordered = token is not None
    outs = emit_callback(
        emit, "python_callback", call, list(operands), ordered=ordered, effect=has_side_effect
    )
    return list(outs), emit.token if ordered and returns_token else None, call
