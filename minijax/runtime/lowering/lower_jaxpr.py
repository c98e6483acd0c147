"""Lowering of a jaxpr to a module with a function `main`, ready for the compiler.

The attributes of `main` are added here: hidden arguments, donation, memory kinds, layouts,
and the shardings of arguments and results.  Next: ../running/compile.py.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir

from ...base import config, option
from ...ir import core
from ...ir.jaxpr import ClosedJaxpr
from ...passes.dce import dce_jaxpr
from ...types.avals import HOST, HOST_KINDS, AbstractToken
from ...types.type_sharding import UNSHARDED, TypeFlags
from ..sharding.placement import Placement
from . import frontend_attributes, reports
from .context import (
    Lowering,
    NotLowerable,
    captured_consts,
    check_one_device,
    main_aval,
    physical,
)
from .mlir_context import context, load_dialect
from .module import Module
from .rounding import keep_rounding


class Lowered:
    """A module with what a run of it needs: hidden arguments and callbacks."""

    __slots__ = (
        "callbacks",
        "consts",
        "deepest",
        "annotated_copy",
        "failures",
        "keepalive",
        "module",
        "ordered",
    )

    def __init__(self, module: Module, consts: list[Any], ordered: bool) -> None:
        self.ordered = ordered  # whether it has ordered effects
        self.module = module.module
        self.annotated_copy = module.annotated_copy
        self.deepest = module.depth.deepest
        self.consts = consts
        self.callbacks = module.callbacks
        self.failures = module.failures
        self.keepalive = module.keepalive


@option.recorded
def lower_jaxpr(closed: ClosedJaxpr, *args: Any, **options: Any) -> Lowered:
    """Return the module of a closed jaxpr; see `_lower_jaxpr`.

    The compiler removes dead code. Only if it cannot be lowered, it is removed before.
    """
    try:
        return _lower_jaxpr(closed, *args, **options)
    except NotLowerable:
        jaxpr = closed.jaxpr
        live, _ = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), keep_in=True)
        try:
            return _lower_jaxpr(ClosedJaxpr(live, closed.consts), *args, **options)
        except NotLowerable as error:
            raise TypeError(str(error)) from None


def _lower_jaxpr(
    closed: ClosedJaxpr,
    name: str,
    platform: str,
    *,
    placement: Placement | None = None,
    donated: Sequence[bool] = (),
    locations: bool = True,
    literals: bool = False,
    emitter: type[Lowering] = Lowering,
    names: Sequence[str] = (),
    partitions: int = 1,
) -> Lowered:
    """Return the module of a closed jaxpr, with a function `main`.

    `main` takes the captured constants, then the jaxpr's inputs. If the jaxpr has ordered
    effects, a token is threaded through their operations. With `literals`, captured
    constants are constants in the module. `emitter` is the `Lowering` class; its `begin`
    gets the inputs' `names`. `partitions` is their number where no `placement` is given.
    """
    ordered = any(getattr(e, "ordered", False) for e in closed.effects)
    spmd = placement if placement is not None and placement.is_spmd else None
    replicas = 1 if placement is None else placement.num_replicas
    if spmd is None and TypeFlags.has_sharded_types and replicas == partitions == 1:
        check_one_device(closed.jaxpr)
    arg_attributes: Sequence[dict[str, Any]] = ()
    result_attributes: Sequence[dict[str, Any]] = ()
    with context.ir, context.unknown:
        module = Module(_module_name(name), platform, replicas, partitions)
        hidden = [] if literals else captured_consts(closed)
        module.placement = spmd
        ctx = emitter(module, f"jit({name})" if locations else "")
        ctx.axes = () if placement is None else placement.replica_axes
        hidden_avals = [core.aval_of(c) for c in hidden]
        taken = (*hidden_avals, *closed.in_avals)
        types = [ctx.type(main_aval(a)) for a in taken]
        outs = [ctx.type(main_aval(a)) for a in closed.out_avals]
        shift = len(types) - len(closed.in_avals)
        if any(a.memory_space is HOST for a in (*closed.in_avals, *closed.out_avals)):
            arg_attributes = _with_memories(arg_attributes, closed.in_avals)
            result_attributes = _with_memories(result_attributes, closed.out_avals)
        if placement is not None and placement.layout_modes is not None:
            arg_modes, result_modes = placement.layout_modes
            arg_attributes = _with_layout_modes(arg_attributes, arg_modes)
            result_attributes = _with_layout_modes(result_attributes, result_modes)
        if any(donated):
            donations = _donations(donated, closed.in_avals, closed.out_avals, spmd)
            base = arg_attributes or [{}] * len(donations)
            arg_attributes = [{**a, **d} for a, d in zip(base, donations, strict=True)]
        arg_attributes = [{}] * shift + list(arg_attributes or [{}] * len(closed.in_avals))
        if spmd is not None:
            arg_shardings = [spmd.replicated] * shift + list(
                map(spmd.sharding_in, range(len(closed.in_avals)))
            )
            arg_attributes = _with_shardings(
                ctx, arg_attributes, arg_shardings, [*hidden_avals, *closed.in_avals]
            )
            if spmd.outs is not None:
                result_attributes = _with_shardings(
                    ctx, result_attributes, spmd.outs, closed.out_avals
                )
        attributes = _attributes(arg_attributes, result_attributes)
        block = module.function("main", types, outs, "public", ctx.loc, attributes)
        with ir.InsertionPoint(block):
            args: list[Any] = list(block.arguments)
            # A token is an empty array outside of `main`: exchange it for a StableHLO token.
            for i, a in enumerate(taken):
                if isinstance(a, AbstractToken):
                    args[i] = ctx.new_token()
            if ordered:
                load_dialect("stablehlo")  # needed for the Python class of a token value
                ctx.token = ctx.new_token()
            ctx.consts = {id(c): v for c, v in zip(hidden, args, strict=False)}
            ctx.begin(args[len(hidden) :], closed.in_avals, names)
            values = ctx.jaxpr(closed, *args[len(hidden) :])
            for i, a in enumerate(closed.out_avals):
                if isinstance(a, AbstractToken):
                    values[i] = ctx.constant(0, main_aval(a))
            if spmd is not None:
                values = _drop_redundant_constraints(
                    args, values, arg_attributes, result_attributes, closed.out_avals
                )
            ir.Operation.create("func.return", operands=values)
        if config.IEEE_ARITHMETIC.value:
            keep_rounding(module.module)
        if module.tagged:
            frontend_attributes.tag_all(module.module, module.tagged)
        if hidden:
            reports.check_constants(hidden)
        if config.DUMP_TO.peek():
            reports.dump(closed, name, module.module)
    return Lowered(module, hidden, ordered)


def _module_name(name: str) -> str:
    name = f"jit({name})"
    return "".join(c if c.isalnum() or c in "_.-" else "_" for c in name).rstrip("_")


def _with_memories(
    attributes: Sequence[dict[str, Any]], avals: Sequence[Any]
) -> list[dict[str, Any]]:
    """Return the attributes of arguments or results, with each one's memory kind added."""
    kinds = [HOST_KINDS[0] if a.memory_space is HOST else "device" for a in avals]
    base = attributes or [{}] * len(kinds)
    return [
        {**attrs, "mhlo.memory_kind": ir.StringAttr.get(kind)}
        for attrs, kind in zip(base, kinds, strict=True)
    ]


def _with_layout_modes(
    attributes: Sequence[dict[str, Any]], modes: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the attributes of arguments or results, with each one's layout mode added."""
    base = attributes or [{}] * len(modes)
    return [
        {**attrs, "mhlo.layout_mode": ir.StringAttr.get(mode)}
        for attrs, mode in zip(base, modes, strict=True)
    ]


def _with_shardings(
    ctx: Lowering,
    attributes: Sequence[dict[str, Any]],
    shardings: Sequence[Any],
    avals: Sequence[Any],
) -> list[dict[str, Any]]:
    """Return the attributes of arguments or results, with each one's sharding added."""
    base = attributes or [{}] * len(avals)
    return [
        attrs if s is None else {**attrs, "sdy.sharding": ctx.sharding(s, a)}
        for attrs, s, a in zip(base, shardings, avals, strict=True)
    ]


_CONSTRAINT, _SHARDING = "sdy.sharding_constraint", "sdy.sharding"


def _drop_redundant_constraints(
    args: Sequence[Any],
    values: Sequence[Any],
    arg_attributes: Sequence[dict[str, Any]],
    result_attributes: Sequence[dict[str, Any]],
    out_avals: Sequence[Any],
) -> list[Any]:
    """Return the results of `main` without constraints that repeat its attributes.

    With both, the compiler would reshard twice, through a replicated value. Two kinds of
    constraints stay. Those of unreduced values: only the constraint marks where the sum
    must not be taken yet. And those of operations whose results have a sharding in their
    types.
    """
    values = list(values)
    for x, attributes in zip(args, arg_attributes, strict=True):
        sharding_attr = attributes.get(_SHARDING)
        for op in [use.owner for use in x.uses] if sharding_attr is not None else ():
            if op.name == _CONSTRAINT and op.attributes["sharding"] == sharding_attr:
                values = [x if v == op.results[0] else v for v in values]
                op.results[0].replace_all_uses_with(x)
                op.erase()
    for i, attributes in enumerate(result_attributes):
        sharding_attr = attributes.get(_SHARDING)
        if sharding_attr is None or "unreduced" in str(sharding_attr):
            continue
        producer = values[i].owner
        while not isinstance(producer, ir.Block):
            if producer.name != _CONSTRAINT or producer.attributes["sharding"] != sharding_attr:
                break
            before = producer.operands[0].owner
            moved = not isinstance(before, ir.Block) and before.name == _CONSTRAINT
            if (
                getattr(out_avals[i], "type_sharding", UNSHARDED).explicit is not None
                and not moved
            ):
                break
            was, values[i] = values[i], producer.operands[0]
            if was not in values and not any(True for _ in was.uses):
                producer.erase()
            producer = values[i].owner
    return values


def _donations(
    donated: Sequence[bool], ins: Sequence[Any], outs: Sequence[Any], placement: Any = None
) -> list[dict[str, Any]]:
    """Return for each argument the attributes that donate its memory, if it can be used.

    A result takes the memory of the first donated argument with its type and sharding. The
    remaining donated arguments may be used for results with the same number of elements, or
    whose sharding the compiler chooses. A warning lists the rest, which are kept.
    """

    def kind(a: Any) -> Any:
        return a.shape, a.dtype, a.memory_space

    def size(a: Any, sharding: Any) -> int:
        shape = physical(a).shape
        return math.prod(shape if sharding is None else sharding.shard_shape(shape))

    def is_compatible(i: int, out: Any, sharding: Any) -> bool:
        if kind(ins[i]) != kind(out) or sharding is None:
            return bool(kind(ins[i]) == kind(out))
        return bool(in_shardings[i].is_equivalent_to(sharding, physical(out).ndim))

    in_shardings: list[Any] = [None] * len(ins)
    out_shardings: Sequence[Any] = [None] * len(outs)
    if placement is not None:
        in_shardings = [placement.sharding_in(i) for i in range(len(ins))]
        out_shardings = placement.outs or out_shardings
    attributes: list[dict[str, Any]] = [{} for _ in ins]
    left = [i for i, d in enumerate(donated) if d]
    sizes = []
    for j, (out, out_sharding) in enumerate(zip(outs, out_shardings, strict=True)):
        i = next((i for i in left if is_compatible(i, out, out_sharding)), None)
        if i is None:
            sizes.append(size(out, out_sharding))
            continue
        left.remove(i)
        if placement is None or out_sharding is not None:
            number = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), j)
            attributes[i]["tf.aliasing_output"] = number
        else:
            attributes[i]["jax.buffer_donor"] = ir.BoolAttr.get(True)
    unusable = []
    for i in left:
        if (n := size(ins[i], in_shardings[i])) in sizes:
            sizes.remove(n)
            attributes[i]["jax.buffer_donor"] = ir.BoolAttr.get(True)
        else:
            unusable.append(ins[i].str_short(False))
    if unusable:
        warnings.warn(
            f"Some donated buffers were not usable: {', '.join(unusable)}.\n"
            "No result has their type or number of elements, so they are kept.",
            stacklevel=2,
        )
    return attributes


def _attributes(
    arg_attributes: Sequence[dict[str, Any]], result_attributes: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return the attributes of `main` from those of its arguments and results."""
    attributes: dict[str, Any] = {}
    if any(arg_attributes):
        attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in arg_attributes])
    if any(result_attributes):
        attributes["res_attrs"] = ir.ArrayAttr.get(
            [ir.DictAttr.get(a) for a in result_attributes]
        )
    return attributes
