"""`custom_partitioning`: a function that says itself how it is computed in parts.

On one device it is the function.  In a program over several it is one operation, of which
the partitioner knows a sharding rule; once it has laid out the operands and results, it
asks `partition` for the program of each device's part.

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
from ...runtime.sharding.partitioned_placement import partitioned_placement
from ...runtime.sharding.shardings import GSPMDSharding, NamedSharding, SingleDeviceSharding
from ...types.avals import shaped
from ..arguments import Statics, check_callable, check_values, resolve_statics, signature_of
from ..body_staging import stage_body
from ..flat import FlatFun
from ..refs.discharge import FunctionPrimitive
from .jit_primitive import closed_call_p
from .sdy_sharding_rule import SdyShardingRule, rule_of

custom_partitioning_p = FunctionPrimitive("custom_partitioning")
def_region_rules(custom_partitioning_p, Call("call"))
custom_partitioning_p.impl = custom_partitioning_p.evaluated(
    lambda *args, call, **_: call(*args)
)
# What it says of its parts is said of the function itself alone.
custom_partitioning_p.linearize = custom_partitioning_p.dce = None
custom_partitioning_p.jvp = lambda primals, tangents, *, call, **_: closed_call_p.jvp(
    primals, tangents, call_jaxpr=call
)
custom_partitioning_p.transpose = lambda cts, *args, call, **_: closed_call_p.transpose(
    cts, *args, call_jaxpr=call
)
custom_partitioning_p.batch = lambda axis, args, dims, *, call, **_: closed_call_p.batch(
    axis, args, dims, call_jaxpr=call
)

_TARGET = "CustomSPMDPartitioning"
_numbers = itertools.count()
# What programs that are being compiled ask, by what stands in them.
_asked: weakref.WeakValueDictionary[bytes, _Parts] = weakref.WeakValueDictionary()


class _Parts:
    """What the partitioner asks of one operation."""

    __slots__ = ("__weakref__", "mesh", "params", "platform")

    def __init__(self, params: dict[str, Any], mesh: Mesh, platform: str) -> None:
        self.params = params
        self.mesh = mesh
        self.platform = platform

    def _struct(self, shape: Any, hlo: Any) -> Any:
        """A whole array's type, and how it lies."""
        sizes = tuple(shape.dimensions())
        sharding = self._named(hlo, len(sizes))
        return _Laid(sizes, shape.numpy_dtype(), sharding)

    def _named(self, hlo: Any, ndim: int) -> Any:
        if hlo is None:
            return None
        if not self.params["decode_shardings"]:
            return GSPMDSharding(self.mesh.flat, hlo)
        found = shardings.named(hlo, self.mesh, ndim)
        if not isinstance(found, NamedSharding):
            return found
        spec = [*found.spec, *[None] * (ndim - len(found.spec))]
        return NamedSharding(self.mesh, PartitionSpec(*spec))

    def _types(self, kind: str, shapes: Sequence[Any], lies: Sequence[Any]) -> Any:
        found = map(self._struct, shapes, lies)
        return tree.unflatten(self.params[kind], list(found))

    def partition(
        self, shapes: Sequence[Any], lies: Sequence[Any], result: Any, lie: Any
    ) -> tuple[bytes, list[Any], Any]:
        """The program of a part, and how operands and results are to lie."""
        params = self.params
        many = result.is_tuple()
        results = result.tuple_shapes() if many else [result]
        mesh, fun, out, ins = params["partition"](
            *params["static_args"],
            self.mesh,
            self._types("in_tree", shapes, lies),
            self._types("out_tree", results, lie.tuple_elements() if many else [lie]),
        )
        ins = broadcast_sharding_prefix("arg_shardings", params["in_tree"], ins)
        outs = broadcast_sharding_prefix("result_shardings", params["out_tree"], out)
        parts = list(map(_part, shapes, ins))
        wanted = list(map(_part, results, outs))
        flat = FlatFun(fun, params["in_tree"], "custom_partitioning", fun)
        jaxpr, consts = core.within_axes(mesh.shape_tuple, flat.stage, parts)
        closed = ClosedJaxpr(jaxpr, consts)
        given = [(a.shape, a.dtype) for a in closed.out_avals]
        if given != [(a.shape, a.dtype) for a in wanted]:
            raise errors.value_error(
                f"Mismatch in result shapes. {closed.out_avals} vs {wanted}",
                why="each device computes its part of the result.",
            )
        laid = list(map(_hlo, outs, results))
        whole = compat.HloSharding.tuple_sharding(result, laid) if many else laid[0]
        return (_program(closed, mesh, self.platform), list(map(_hlo, ins, shapes)), whole)

    def infer(self, shapes: Sequence[Any], lies: Sequence[Any], result: Any) -> Any:
        """How results lie, from how operands do."""
        params = self.params
        many = result.is_tuple()
        results = result.tuple_shapes() if many else [result]
        out = params["infer_sharding_from_operands"](
            *params["static_args"],
            self.mesh,
            self._types("in_tree", shapes, lies),
            self._types("out_tree", results, [None] * len(results)),
        )
        outs = broadcast_sharding_prefix("result_shardings", params["out_tree"], out)
        laid = list(map(_hlo, outs, results))
        return compat.HloSharding.tuple_sharding(result, laid) if many else laid[0]

    def propagate(self, lie: Any, shape: Any) -> Any:
        """How the result lies, from how its user wants it."""
        given = self.params["propagate_user_sharding"]
        if given is None:
            return lie
        found = given(*self.params["static_args"], self.mesh, self._struct(shape, lie))
        return _hlo(found, shape)


class _Laid:
    """What `partition` is told of an array: a type, and how it lies."""

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


def _part(shape: Any, sharding: Any) -> Any:
    sizes = tuple(shape.dimensions())
    if sharding is not None:
        sizes = sharding.shard_shape(sizes)
    return shaped(sizes, shape.numpy_dtype())


def _hlo(sharding: Any, shape: Any) -> Any:
    if sharding is None or isinstance(sharding, SingleDeviceSharding):
        return compat.HloSharding.replicate()
    return sharding.hlo(len(shape.dimensions()))


def _program(closed: ClosedJaxpr, mesh: Mesh, platform: str) -> bytes:
    """The bytes of a program in which all axes of the mesh are manual."""
    with context.ir, context.unknown:
        module = Module("part", platform, 1, len(mesh.flat))
        module.placement = partitioned_placement(mesh, ())
        ctx = Lowering(module)
        ctx.axes, ctx.manual = mesh.shape_tuple, frozenset(mesh.axis_names)
        types, outs = map(ctx.type, closed.in_avals), map(ctx.type, closed.out_avals)
        block = module.function("main", [*types], [*outs], "public", ctx.loc)
        with ir.InsertionPoint(block):
            values = ctx.jaxpr(closed, *block.arguments)
            ir.Operation.create("func.return", operands=values)
        return bytecode_of(module.module.operation)


# ----------------------------------------------------------------- asked by the compiler


def _partition(shapes: Any, lies: Any, result: Any, lie: Any, name: bytes) -> Any:
    return _asked[name].partition(shapes, lies, result, lie)


def _infer(shapes: Any, lies: Any, result: Any, name: bytes) -> Any:
    return _asked[name].infer(shapes, lies, result)


def _propagate(lie: Any, shape: Any, name: bytes) -> Any:
    return _asked[name].propagate(lie, shape)


@functools.cache
def _register() -> None:
    asked = _propagate, _partition, _infer
    known = compat.register_custom_call_partitioner
    known(_TARGET, *asked, True)
    watch_plugins(lambda api: known(_TARGET, *asked, True, api))


def _lower(ctx: Any, *args: Any, call: ClosedJaxpr, **params: Any) -> list[Any]:
    over = ctx.placement
    if over is None or len(over.devices) == 1:
        return ctx.jaxpr(call, *args)
    mesh = over.mesh
    current = current_mesh()
    if isinstance(current, Mesh) and current.flat == mesh.flat:
        mesh = current
    _register()
    outs = [ctx.type(a) for a in ctx.avals_out]
    told = {}
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
        told["sdy.sharding_rule"] = ctx.parse(rule.attribute(*shapes))
    name = f"{OF_THIS_PROCESS}{os.getpid()}:{next(_numbers)}"
    asked = _asked[name.encode()] = _Parts(params, mesh, ctx.platform)
    ctx.module.keepalive.append(asked)
    op = ctx.create(
        "stablehlo.custom_call",
        outs,
        args,
        call_target_name=ctx.string(_TARGET),
        api_version=ctx.i32(2),
        backend_config=ctx.string(name),
        **told,
    )
    return list(op.results)


custom_partitioning_p.lower = _lower

# ------------------------------------------------------------------------- the function


class custom_partitioning:
    """A function that says itself how it is computed in parts on several devices.

    Args:
      fun: a function of arrays and trees of them.
      static_argnums: positions of arguments that are no arrays (hashable).

    Returns:
      A function of the same arguments.  Before it is called, its method `def_partition`
      says how parts are computed.

    Raises:
      UnexpectedTracerError: `fun` captures a value that is traced.

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

    Differs from JAX: it can be differentiated and batched: the function is.
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
        """Say how the function is computed in parts.

        Args:
          partition: (*static arguments, mesh, arg_shapes, result_shape) -> (mesh, program
            of a part, shardings of results, shardings of arguments); the types, trees of
            them as the function's arguments and results, have a `sharding`.
          infer_sharding_from_operands, propagate_user_sharding: how results lie, for
            partitioners that know no rules.
          decode_shardings: name the mesh's axes where that can be done.
          sharding_rule: which axes are cut together: 'i k, k j -> i j'; an
            `SdyShardingRule`; or (*static arguments, mesh, types, types of results) -> one.
          reduction_factors, need_replication_factors, permutation_factors: names in the
            text of a rule that are of this kind.
          factor_sizes: the sizes of names that are no whole axis.

        Returns:
          `partition`.

        Raises:
          ValueError: the rule cannot be read.
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
                "factors and their sizes belong to a sharding_rule that is a text.",
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
        moving = tuple(x for i, x in enumerate(args) if i not in fixed)
        leaves, in_tree = tree.flatten(moving)
        check_values(leaves, "custom_partitioning")

        def fun(*given: Any) -> Any:
            rest = iter(given)
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
                    why="`partition` is told of arguments alone.",
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
