"""`custom_partitioning`: a function that defines its own partitioning.

On one device it is the function.  In a program over several devices it is one operation,
for which the partitioner has a sharding rule.  Once the partitioner has chosen the
shardings of operands and results, it calls `partition` for the program of each device's
shards.

Source: XLA, `CustomCallPartitioner`.  Next: sdy_sharding_rule.py, its rules as data.
"""

from __future__ import annotations

import functools
import itertools
import math
import os
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from jaxlib.mlir import ir

from ...base import errors, tree
from ...base.source import wraps
from ...ir import core
from ...ir.jaxpr import ClosedJaxpr
from ...ir.regions import Call
from ...passes.region_rules import def_region_rules
from ...prims.sharding_constraint import broadcast_sharding_prefix
from ...runtime.backends import jaxlib_compat as compat
from ...runtime.backends.plugins import watch_plugins
from ...runtime.lowering.context import Lowering
from ...runtime.lowering.mlir_context import context
from ...runtime.lowering.module import Module
from ...runtime.running.compile import OF_THIS_PROCESS, bytecode_of
from ...runtime.sharding import shardings
from ...runtime.sharding.mesh import Mesh, current_mesh
from ...runtime.sharding.partition_spec import PartitionSpec
from ...runtime.sharding.placement import partitions
from ...runtime.sharding.shardings import GSPMDSharding, NamedSharding, SingleDeviceSharding
from ...types.avals import shaped
from ..arguments import Statics, check_callable, check_values, resolve_statics, signature_of
from ..body_staging import stage_body
from ..flat import FlatFun
from ..refs.discharge import FunctionPrimitive
from .jit_primitive import derive_as_call
from .sdy_sharding_rule import SdyShardingRule, rule_of

custom_partitioning_p = FunctionPrimitive("custom_partitioning")
def_region_rules(custom_partitioning_p, Call("call"))
custom_partitioning_p.impl = custom_partitioning_p.evaluated(
    lambda *args, call, **_: call(*args)
)
# The partitioning is defined for the function itself.
derive_as_call(custom_partitioning_p, "call")

_TARGET = "CustomSPMDPartitioning"
_numbers = itertools.count()
# The operations of programs being compiled, by the names that their modules contain.
# Weak: the module keeps its operations alive, and their entries vanish with it.
_partitioners: weakref.WeakValueDictionary[bytes, _Partitioner] = weakref.WeakValueDictionary()


class _Partitioner:
    """The partitioner's callbacks for one operation."""

    __slots__ = ("__weakref__", "mesh", "params", "platform")

    def __init__(self, params: dict[str, Any], mesh: Mesh, platform: str) -> None:
        self.params = params
        self.mesh = mesh
        self.platform = platform

    def _struct(self, shape: Any, hlo: Any) -> Any:
        """Return the type and sharding of a global array."""
        sizes = tuple(shape.dimensions())
        sharding = self._named(hlo, len(sizes))
        return _ShardedStruct(sizes, shape.numpy_dtype(), sharding)

    def _named(self, hlo: Any, ndim: int) -> Any:
        if hlo is None:
            return None
        if not self.params["decode_shardings"]:
            return GSPMDSharding(self.mesh.flat, hlo)
        sharding = shardings.sharding_of_hlo(hlo, self.mesh, ndim)
        if not isinstance(sharding, NamedSharding):
            return sharding
        spec = [*sharding.spec, *[None] * (ndim - len(sharding.spec))]
        return NamedSharding(self.mesh, PartitionSpec(*spec))

    def _types(self, kind: str, shapes: Sequence[Any], hlo_shardings: Sequence[Any]) -> Any:
        structs = map(self._struct, shapes, hlo_shardings)
        return tree.unflatten(self.params[kind], list(structs))

    def partition(
        self,
        shapes: Sequence[Any],
        arg_shardings: Sequence[Any],
        result: Any,
        result_sharding: Any,
    ) -> tuple[bytes, list[Any], Any]:
        """Return the program of a shard, and the shardings of operands and results."""
        params = self.params
        many = result.is_tuple()
        results = result.tuple_shapes() if many else [result]
        mesh, fun, out, ins = params["partition"](
            *params["static_args"],
            self.mesh,
            self._types("in_tree", shapes, arg_shardings),
            self._types(
                "out_tree",
                results,
                result_sharding.tuple_elements() if many else [result_sharding],
            ),
        )
        ins = broadcast_sharding_prefix("arg_shardings", params["in_tree"], ins)
        outs = broadcast_sharding_prefix("result_shardings", params["out_tree"], out)
        shard_avals = list(map(_shard_aval, shapes, ins))
        expected = list(map(_shard_aval, results, outs))
        flat = FlatFun(fun, params["in_tree"], "custom_partitioning", fun)
        jaxpr, consts = core.within_axes(mesh.shape_tuple, flat.stage, shard_avals)
        closed = ClosedJaxpr(jaxpr, consts)
        computed = [(a.shape, a.dtype) for a in closed.out_avals]
        if computed != [(a.shape, a.dtype) for a in expected]:
            raise errors.value_error(
                f"Mismatch in result shapes. {closed.out_avals} vs {expected}",
                why="Each device computes its shard of the result.",
            )
        hlo_results = list(map(_hlo, outs, results))
        hlo_result = (
            compat.HloSharding.tuple_sharding(result, hlo_results) if many else hlo_results[0]
        )
        return (_program(closed, mesh, self.platform), list(map(_hlo, ins, shapes)), hlo_result)

    def infer(self, shapes: Sequence[Any], arg_shardings: Sequence[Any], result: Any) -> Any:
        """Return the shardings of results, from those of operands."""
        params = self.params
        many = result.is_tuple()
        results = result.tuple_shapes() if many else [result]
        out = params["infer_sharding_from_operands"](
            *params["static_args"],
            self.mesh,
            self._types("in_tree", shapes, arg_shardings),
            self._types("out_tree", results, [None] * len(results)),
        )
        outs = broadcast_sharding_prefix("result_shardings", params["out_tree"], out)
        hlo_results = list(map(_hlo, outs, results))
        return (
            compat.HloSharding.tuple_sharding(result, hlo_results) if many else hlo_results[0]
        )

    def propagate(self, result_sharding: Any, shape: Any) -> Any:
        """Return the result's sharding, from the one that its user requests."""
        propagate_user = self.params["propagate_user_sharding"]
        if propagate_user is None:
            return result_sharding
        requested = propagate_user(
            *self.params["static_args"], self.mesh, self._struct(shape, result_sharding)
        )
        return _hlo(requested, shape)


class _ShardedStruct:
    """The type and sharding of an array, as passed to `partition`."""

    __slots__ = ("dtype", "shape", "sharding")

    def __init__(self, shape: tuple[int, ...], dtype: Any, sharding: Any) -> None:
        self.shape = shape
        self.dtype = dtype
        self.sharding = sharding

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.shape)} over {self.sharding}"


def _shard_aval(shape: Any, sharding: Any) -> Any:
    sizes = tuple(shape.dimensions())
    if sharding is not None:
        sizes = sharding.shard_shape(sizes)
    return shaped(sizes, shape.numpy_dtype())


def _hlo(sharding: Any, shape: Any) -> Any:
    if sharding is None or isinstance(sharding, SingleDeviceSharding):
        return compat.HloSharding.replicate()
    return sharding.hlo(len(shape.dimensions()))


def _program(closed: ClosedJaxpr, mesh: Mesh, platform: str) -> bytes:
    """Return the bytecode of a program in which all axes of the mesh are manual."""
    with context.ir, context.unknown:
        module = Module("part", platform, 1, len(mesh.flat))
        module.placement = partitions(mesh, ())
        ctx = Lowering(module)
        ctx.axes, ctx.manual = mesh.shape_tuple, frozenset(mesh.axis_names)
        types, outs = map(ctx.type, closed.in_avals), map(ctx.type, closed.out_avals)
        block = module.function("main", [*types], [*outs], "public", ctx.loc)
        with ir.InsertionPoint(block):
            values = ctx.jaxpr(closed, *block.arguments)
            ir.Operation.create("func.return", operands=values)
        return bytecode_of(module.module.operation)


# ---------------------------------------------------------------- called by the compiler


def _partition(
    shapes: Any, arg_shardings: Any, result: Any, result_sharding: Any, name: bytes
) -> Any:
    return _partitioners[name].partition(shapes, arg_shardings, result, result_sharding)


def _infer(shapes: Any, arg_shardings: Any, result: Any, name: bytes) -> Any:
    return _partitioners[name].infer(shapes, arg_shardings, result)


def _propagate(result_sharding: Any, shape: Any, name: bytes) -> Any:
    return _partitioners[name].propagate(result_sharding, shape)


@functools.cache
def _register() -> None:
    callbacks = _propagate, _partition, _infer
    register = compat.register_custom_call_partitioner
    register(_TARGET, *callbacks, True)
    watch_plugins(lambda api: register(_TARGET, *callbacks, True, api))


def _lower(ctx: Any, *args: Any, call: ClosedJaxpr, **params: Any) -> list[Any]:
    placement = ctx.placement
    if placement is None or len(placement.devices) == 1:
        return ctx.jaxpr(call, *args)
    mesh = placement.mesh
    current = current_mesh()
    if isinstance(current, Mesh) and current.flat == mesh.flat:
        mesh = current
    _register()
    outs = [ctx.type(a) for a in ctx.avals_out]
    attributes = {}
    rule = params["sharding_rule"]
    if callable(rule):
        types = [ctx.type(a) for a in ctx.avals_in]
        rule = rule(*params["static_args"], mesh, types, outs)
        sizes: dict[str, int] = {}
        if isinstance(rule, (list, tuple)) and len(rule) == 2:
            rule, sizes = rule
        if isinstance(rule, str):
            rule = rule_of(rule, **sizes)
        elif not isinstance(rule, SdyShardingRule):
            raise errors.value_error(
                "sharding_rule callable must produce either an SdyShardingRule object or"
                " an Einsum-like notation string.",
                which=repr(rule),
            )
    if rule is not None:
        shapes = [[a.shape for a in avals] for avals in (ctx.avals_in, ctx.avals_out)]
        attributes["sdy.sharding_rule"] = ctx.parse(rule.attribute(*shapes))
    # The mark keeps the program out of the disk cache: the name refers to this process.
    name = f"{OF_THIS_PROCESS}{os.getpid()}:{next(_numbers)}"
    partitioner = _partitioners[name.encode()] = _Partitioner(params, mesh, ctx.platform)
    ctx.module.keepalive.append(partitioner)
    op = ctx.create(
        "stablehlo.custom_call",
        outs,
        args,
        call_target_name=ctx.string(_TARGET),
        api_version=ctx.i32(2),
        backend_config=ctx.string(name),
        **attributes,
    )
    return list(op.results)


custom_partitioning_p.lower = _lower

# ------------------------------------------------------------------------- the function


class custom_partitioning:
    """A function that defines how it is partitioned over several devices.

    Args:
      fun: a function of arrays and trees of them.
      static_argnums: positions of arguments that are not arrays (hashable).

    Returns:
      A function of the same arguments.  Call its method `def_partition` before it, to
      define the partitioning.

    Raises:
      UnexpectedTracerError: `fun` captures a traced value.

    Example:
      >>> import minijax as mj
      >>> @custom_partitioning
      ... def wave(x):
      ...   return mj.numpy.sin(x)
      >>> def partition(mesh, arg_shapes, result_shape):
      ...   return mesh, mj.numpy.sin, result_shape.sharding, (arg_shapes[0].sharding,)
      >>> wave.def_partition(partition, sharding_rule="i -> i") is partition
      True
      >>> wave(mj.numpy.zeros(2))
      Array([0., 0.], dtype=float32)

    Differs from JAX: it can be differentiated and batched, if `fun` can.
    """

    def __init__(
        self, fun: Callable[..., Any], static_argnums: int | Sequence[int] = ()
    ) -> None:
        check_callable(fun)
        self.fun = fun
        self.static_argnums: Statics = resolve_statics(fun, static_argnums, None, "static")
        self.partition: Callable[..., Any] | None = None
        self.infer_sharding_from_operands: Callable[..., Any] | None = None
        self.propagate_user_sharding: Callable[..., Any] | None = None
        self.decode_shardings = True
        self.sharding_rule: Any = None
        wraps(fun)(self)

    def def_partition(
        self,
        partition: Callable[..., Any],
        infer_sharding_from_operands: Callable[..., Any] | None = None,
        propagate_user_sharding: Callable[..., Any] | None = None,
        decode_shardings: bool = True,
        sharding_rule: Any = None,
        *,
        reduction_factors: Sequence[str] = (),
        need_replication_factors: Sequence[str] = (),
        permutation_factors: Sequence[str] = (),
        **factor_sizes: int,
    ) -> Callable[..., Any]:
        """Define how the function is partitioned.

        Args:
          partition: (*static arguments, mesh, arg_shapes, result_shape) -> (mesh, program
            of a shard, shardings of results, shardings of arguments); the types are trees
            like the function's arguments and results, and have a `sharding`.
          infer_sharding_from_operands, propagate_user_sharding: the shardings of results,
            for partitioners without sharding rules.
          decode_shardings: name the mesh's axes where possible.
          sharding_rule: which axes are sharded together: 'i k, k j -> i j'; an
            `SdyShardingRule`; or (*static arguments, mesh, types, types of results) -> one.
          reduction_factors, need_replication_factors, permutation_factors: factors of
            these kinds, if the rule is a string.
          factor_sizes: the sizes of factors that are not an entire axis.

        Returns:
          `partition`.

        Raises:
          ValueError: the rule cannot be parsed.
        """
        options = {
            "reduction_factors": reduction_factors,
            "need_replication_factors": need_replication_factors,
            "permutation_factors": permutation_factors,
            **factor_sizes,
        }
        if isinstance(sharding_rule, str):
            sharding_rule = rule_of(sharding_rule, **options)
        elif any(options.values()):
            raise errors.value_error(
                "factors and their sizes belong to a sharding_rule that is a string.",
                tries=["SdyShardingRule(..., reduction_factors=...)"],
            )
        self.partition = partition
        self.infer_sharding_from_operands = infer_sharding_from_operands
        self.propagate_user_sharding = propagate_user_sharding
        self.decode_shardings = decode_shardings
        self.sharding_rule = sharding_rule
        return partition

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.partition is None:
            raise errors.error(
                AttributeError,
                f"No partition defined for custom_partitioning function {self.fun}",
                tries=["f.def_partition(...), before it is called"],
            )
        hints = (self.infer_sharding_from_operands, self.propagate_user_sharding)
        if self.sharding_rule is None and any(hints):
            raise errors.error(
                NotImplementedError,
                "Shardy is used, but sharding propagation callbacks instead of"
                " sharding_rule are provided. Need to provide sharding_rule to migrate to"
                " Shardy.",
                tries=["f.def_partition(..., sharding_rule='... i -> ... i')"],
            )
        signature = signature_of(self.fun)
        if signature is not None:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            args = bound.args
        fixed = {i if i >= 0 else i + len(args) for i in self.static_argnums.nums}
        static = tuple(x for i, x in enumerate(args) if i in fixed)
        dynamic = tuple(x for i, x in enumerate(args) if i not in fixed)
        leaves, in_tree = tree.flatten(dynamic)
        check_values(leaves, "custom_partitioning")

        def fun(*dynamic_leaves: Any) -> Any:
            rest = iter(dynamic_leaves)
            return self.fun(*(x if i in fixed else next(rest) for i, x in enumerate(args)))

        avals = [core.aval_of(x) for x in leaves]
        user = self.fun
        body = stage_body(
            user if not fixed else fun, in_tree, avals, "custom_partitioning", user
        )
        for const in body.consts:
            if isinstance(const, core.Tracer):
                raise errors.error(
                    errors.UnexpectedTracerError,
                    "Found a JAX Tracer as a closed-over value in custom_partitioning.",
                    which=str(const),
                    why="`partition` receives only the arguments.",
                    tries=["pass the value as an argument"],
                )
        out = custom_partitioning_p.bind(
            *leaves,
            call=ClosedJaxpr(body.jaxpr, body.consts),
            partition=self.partition,
            propagate_user_sharding=self.propagate_user_sharding,
            infer_sharding_from_operands=self.infer_sharding_from_operands,
            decode_shardings=self.decode_shardings,
            sharding_rule=self.sharding_rule,
            in_tree=in_tree,
            out_tree=body.out_tree,
            static_args=static,
        )
        return tree.unflatten(body.out_tree, out)
