"""Lowering: jaxpr -> StableHLO module.

One driver visits the equations; each primitive's `lower` rule emits operations through
`Lowering`, which caches types and attributes, and sets the source location and name of
every operation. A called jaxpr becomes a function, lowered once. Captured arrays, except
short NumPy arrays, become hidden arguments of `main`, which are passed to the functions
that use them; regions of control flow refer to them directly.

Elements of extended dtypes (random keys) are stored in trailing axes. A primitive without
support for them is lowered as its own batch over those axes (`lowers_key_arrays` marks the
primitives that have it).

This module names no operation of `prims/`.  Next: lower_jaxpr.py.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _stablehlo as hlo

from ...analysis.contents import closed_jaxprs_in, types_in
from ...analysis.rereads import chains
from ...base import config, errors, option, util
from ...base.source import Source
from ...ir import core, hooks
from ...ir.core import ByPlatform, Primitive
from ...ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Literal, cached_on_jaxpr
from ...ir.names import within
from ...passes.batch import Axis, batch_flat, move_lane, no_name
from ...passes.stage import stage
from ...symbolic.dims import dimension_variables, unexpected
from ...text.tracer_errors import leaked, leaked_into_rule
from ...types import dtypes
from ...types.avals import AbstractToken, shaped
from ...types.type_sharding import type_sharding
from ..sharding.partition_spec import PartitionSpec, axes_of
from . import frontend_attributes
from .mlir_context import context, load_dialect
from .module import Depth, Module
from .recorded_lowering import (
    MAX_RECIPES,
    NotReplayable,
    create,
    is_value_param,
    record_lowering,
)

if TYPE_CHECKING:
    from ...types.aliases import Aval, DType, MlirValue, Value
    from ..sharding.mesh import Mesh
    from ..sharding.shardings import NamedSharding

MAX_CALL_DEPTH = 16  # nested; deeper calls are emitted in place, see nesting.py
MAX_FLAT_BRANCHES = 64  # of one `case`; more are emitted in two levels


def physical(aval: Aval) -> Aval:
    """Return the type in which a value is stored: keys as trailing axes of numbers."""
    dtype: Any = getattr(aval, "dtype", None)
    if dtypes.is_extended(dtype):
        sharding = aval.type_sharding.explicit
        if sharding is not None:
            sharding = sharding.with_spec((*sharding.spec, *[None] * len(dtype.base_shape)))
        shape = aval.shape + dtype.base_shape
        division = type_sharding(sharding)
        return shaped(shape, dtype.base_dtype, False, aval.memory_space, division)
    return aval


_NO_ELEMENTS = shaped((0,), dtypes.bool_)


def main_aval(aval: Aval) -> Aval:
    """Return the type of an argument or result of `main`; a token is an empty array there."""
    return _NO_ELEMENTS if isinstance(aval, AbstractToken) else physical(aval)


class NotLowerable(TypeError):
    """Raised by rules of primitives that a program may contain only as dead code."""


class Lowering:
    """The context of a lowering rule: the equation's types, and methods that emit
    operations.

    `avals_in` and `avals_out` belong to the current equation; they are restored after a
    rule has lowered a nested jaxpr.
    """

    __slots__ = (
        "avals_in",
        "avals_out",
        "axes",
        "consts",
        "copied",
        "depth",
        "loc",
        "locations",
        "manual",
        "module",
        "prefix",
        "recipes",
        "repeated",
        "scopes",
        "token",
        "types",
    )

    def __init__(self, module: Module, prefix: str = "") -> None:
        self.module = module
        self.avals_in: Sequence[Aval] = ()
        self.avals_out: Sequence[Aval] = ()
        self.consts: dict[int, Any] = {}
        self.loc: ir.Location = context.unknown
        self.depth = module.depth
        self.types = context.types
        self.recipes = context.recipes[module.platform]
        self.locations: dict[Any, Any] = {}
        self.prefix = prefix
        self.scopes: dict[str, dict[Any, Any]] = {prefix: self.locations}
        self.axes: tuple[tuple[Any, int], ...] = ()
        # The manual mesh axes: along them, values here are shards.
        self.manual: frozenset[Any] = frozenset()
        self.token: MlirValue | None = None
        # Scalars that were broadcast in this block, each once per type.
        self.repeated: dict[Any, Any] = {}
        # Operations with regions, by recipe and location: cloned for the next equal
        # equation.
        self.copied: dict[Any, Any] = {}

    @property
    def platform(self) -> str:
        """'cpu', 'cuda' or 'tpu'."""
        return self.module.platform

    @property
    def placement(self) -> Any:
        """The placement of a partitioned program; None on one device or if all axes are
        manual."""
        placement = self.module.placement
        return (
            None
            if placement is None or self.manual.issuperset(placement.mesh.axis_names)
            else placement
        )

    @property
    def is_sharded_by_compiler(self) -> bool:
        """Whether the compiler shards the values here over several devices."""
        placement = self.placement
        return placement is not None and len(placement.devices) > 1

    def begin(
        self, values: Sequence[MlirValue], avals: Sequence[Aval], names: Sequence[str]
    ) -> None:
        """Emit operations at the start of a program with inputs of these types and names."""

    # ---- types and attributes
    def type(self, aval: Aval) -> ir.Type:
        """Return the MLIR type of a value of type `aval`."""
        mlir_type = context.types.get(aval)
        if mlir_type is None:
            if isinstance(aval, AbstractToken):
                mlir_type = hlo.TokenType.get()
            else:
                p = physical(aval)
                if names := dimension_variables(p.shape):
                    raise unexpected(names[0], ())
                mlir_type = ir.RankedTensorType.get(p.shape, context.elements[p.dtype])
            context.types[aval] = mlir_type
        return mlir_type  # type: ignore[no-any-return]

    def new_token(self) -> MlirValue:
        """Return a token without dependencies."""
        kind = [hlo.TokenType.get()]
        return self.create("stablehlo.create_token", kind, []).result

    def tensor(self, shape: Sequence[int], dtype: DType) -> ir.Type:
        """Return the MLIR type of an array of this shape and dtype."""
        return self.type(shaped(tuple(shape), dtype))

    def i64s(self, values: Sequence[int]) -> ir.Attribute:
        """Return a dense array attribute of 64-bit integers."""
        key = ("i64s", tuple(values))
        attribute = context.attributes.get(key)
        if attribute is None:
            attribute = ir.DenseI64ArrayAttr.get([int(v) for v in values])
            context.attributes[key] = attribute
        return attribute  # type: ignore[no-any-return]

    def bools(self, values: Sequence[bool]) -> ir.Attribute:
        """Return a dense array attribute of booleans."""
        return ir.DenseBoolArrayAttr.get([bool(v) for v in values])

    def i64(self, value: int) -> ir.Attribute:
        """Return a 64-bit integer attribute."""
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), int(value))

    def i32(self, value: int) -> ir.Attribute:
        """Return a 32-bit integer attribute."""
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), int(value))

    def bool(self, value: bool) -> ir.Attribute:
        """Return a boolean attribute."""
        return ir.BoolAttr.get(bool(value))

    def string(self, value: str) -> ir.Attribute:
        """Return a string attribute."""
        return ir.StringAttr.get(value)

    def parse(self, text: str) -> ir.Attribute:
        """Return an attribute from its text, such as `#stablehlo<fft_type FFT>`."""
        attribute = context.attributes.get(text)
        if attribute is None:
            if text.startswith("#"):
                load_dialect(text[1:].partition("<")[0].partition(".")[0])
            attribute = context.attributes[text] = ir.Attribute.parse(text)
        return attribute  # type: ignore[no-any-return]

    def sharding(
        self,
        sharding: NamedSharding,
        aval: Aval,
        free: frozenset[int] = frozenset(),
        more: Any = False,
    ) -> ir.Attribute:
        """Return the sharding attribute of a value of type `aval`."""
        sharding = sharding.on(self.module.placement.devices)
        symbol = self.module.mesh(sharding.mesh)
        ndim = len(physical(aval).shape)
        return self.parse(sharding.shardy(ndim, symbol, free, more))

    def constrain(self, x: MlirValue, aval: Aval) -> MlirValue:
        """Return a value constrained to the sharding of its type."""
        if aval.type_sharding.explicit is None:
            return x
        more = len(aval.type_sharding.explicit.mesh.explicit_axes) < len(
            aval.type_sharding.explicit.mesh.axis_names
        )
        attr = self.sharding(aval.type_sharding.explicit, aval, more=more)
        types = [self.type(aval)]
        return self.create("sdy.sharding_constraint", types, [x], sharding=attr).result

    def as_typed(self, x: MlirValue, aval: Aval) -> MlirValue:
        """Return an intermediate value of a rule, constrained to the sharding of its type."""
        return x if self.placement is None else self.constrain(x, aval)

    def gathered(self, x: MlirValue, aval: Aval) -> MlirValue:
        """Return a value constrained to be replicated, in a partitioned program."""
        if self.placement is None or isinstance(aval, AbstractToken):
            return x
        attr = self.sharding(self.module.placement.replicated, aval)
        types = [self.type(aval)]
        return self.create("sdy.sharding_constraint", types, [x], sharding=attr).result

    def on_one_device(self, results: int, i: int = 0) -> dict[str, Any]:
        """Return the attribute of an operation that runs only on device `i`."""
        if self.placement is None:
            return {}
        one = f"<@{self.module.one_device(i)}, []>"
        shardings = ", ".join([one] * max(results, 1))
        return {"sdy.sharding": self.parse(f"#sdy.sharding_per_value<[{shardings}]>")}

    # ---- operations
    def create(
        self,
        name: str,
        results: Sequence[ir.Type],
        operands: Sequence[MlirValue],
        **attrs: ir.Attribute,
    ) -> ir.Operation:
        """Emit operation `name` (with its dialect) with these MLIR result types."""
        return self.emit(name, results, operands, attrs)

    def emit(
        self,
        name: str,
        results: Sequence[ir.Type],
        operands: Sequence[MlirValue],
        attributes: dict[str, ir.Attribute],
        regions: int = 0,
    ) -> ir.Operation:
        """Emit an operation. All emitting methods call this one: see `create`."""
        return create(name, results, operands, attributes, None, regions, self.loc)

    def library_call(
        self, avals_out: Sequence[Aval], operands: Sequence[MlirValue], **attrs: ir.Attribute
    ) -> ir.Operation:
        """Emit a call of a library routine; attributes may fix the layouts of its operands."""
        types = [self.type(a) for a in avals_out]
        return self.create("stablehlo.custom_call", types, operands, **attrs)

    def op(
        self, name: str, aval: Aval, *operands: MlirValue, **attrs: ir.Attribute
    ) -> MlirValue:
        """Emit `stablehlo.<name>` with one result of type `aval`; return the result."""
        return self.emit("stablehlo." + name, [self.type(aval)], operands, attrs).result

    def chlo(
        self, name: str, aval: Aval, *operands: MlirValue, **attrs: ir.Attribute
    ) -> MlirValue:
        """Emit `chlo.<name>` with one result of type `aval`; return the result."""
        return self.create("chlo." + name, [self.type(aval)], operands, **attrs).result

    def repeat(self, x: MlirValue, aval: Aval) -> MlirValue:
        """Return a scalar, broadcast to type `aval`."""
        key = id(x), aval
        cached = self.repeated.get(key)
        if cached is None:
            y = self.op("broadcast_in_dim", aval, x, broadcast_dimensions=self.i64s(()))
            cached = self.repeated[key] = y, x  # keeps x alive: its id is the key
        return cached[0]

    def may_be_zero(self, x: MlirValue) -> Any:
        """Whether an integer value may be 0: unless it is a nonzero constant or a broadcast
        of one."""
        producer = x.owner
        if isinstance(producer, ir.Block):
            return True
        if producer.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
            return self.may_be_zero(producer.operands[0])
        if producer.name != "stablehlo.constant":
            return True
        elements: Any = producer.attributes["value"]
        if elements.is_splat:
            return not ir.IntegerAttr(elements.get_splat_value()).value
        return not np.asarray(elements).all()

    def constant(self, value: Value, aval: Aval) -> MlirValue:
        """Emit a constant; a Python or NumPy scalar is broadcast to the shape of `aval`."""
        if isinstance(aval, AbstractToken):
            raise TypeError("minijax bug: a token has no constant")
        aval = physical(aval)
        return self.op("constant", aval, value=self.dense(value, aval))

    @staticmethod
    def dense(value: Value, aval: Aval) -> ir.Attribute:
        """Return the attribute with the elements of a constant."""
        x = dtypes.stored(value, aval.dtype)
        splat = x.ndim == 0
        element = context.elements[aval.dtype]
        # MLIR's buffer reader does not know ml_dtypes: pass the bits as integers.
        if aval.dtype in _BIT_VIEWS:
            x = x.view(np.uint16 if aval.dtype == dtypes.bfloat16 else np.uint8)
        elif aval.dtype in (dtypes.int4, dtypes.int2):
            x = x.astype(np.int8)
        elif aval.dtype in (dtypes.uint4, dtypes.uint2):
            x = x.astype(np.uint8)
        if splat:
            x = np.ascontiguousarray(x).reshape(())
        get: Any = ir.DenseElementsAttr.get
        return get(np.asarray(x, order="C"), type=element, shape=aval.shape)  # type: ignore[no-any-return]

    @contextmanager
    def block(self, region: ir.Region, *types: ir.Type) -> Iterator[Sequence[MlirValue]]:
        """Append a block with arguments of these MLIR types, and emit into it."""
        block = region.blocks.append(*types, arg_locs=[self.loc] * len(types))
        # A value of a region is not visible outside, so broadcasts are shared within a block.
        outside, self.repeated = self.repeated, {}
        depth = self.depth
        depth.reach(1)
        depth.now += 1
        try:
            with ir.InsertionPoint(block):
                yield block.arguments
        finally:
            self.repeated = outside
            depth.now -= 1

    def region_op(
        self,
        name: str,
        results: Sequence[ir.Type],
        operands: Sequence[MlirValue],
        regions: int = 1,
        **attrs: ir.Attribute,
    ) -> ir.Operation:
        """Emit an operation with empty regions, to be filled with `block`."""
        return self.emit(name, results, operands, attrs, regions)

    def manual_region(
        self,
        mesh: Mesh,
        manual: frozenset[Any],
        operands: Sequence[MlirValue],
        ins: Sequence[tuple[Any, Any]],
        outs: Sequence[tuple[Any, Any]],
        shard_avals: Sequence[Aval],
        body: Callable[..., Sequence[Any]],
    ) -> list[MlirValue]:
        """Emit `sdy.manual_computation`: `body` emits its region, from shards of the
        operands.

        ins, outs: types of the global values, and their specs over the manual axes.
        shard_avals: the types of the operands' shards.
        """
        if not self.module.is_partitioned:  # on one device a shard is the full value
            return list(body(*operands))
        symbol = self.module.mesh(mesh)
        free = "" if self.manual | manual >= {*mesh.axis_names} else "?"

        def spec_attribute(pairs: Sequence[tuple[Any, Any]]) -> Any:
            texts = []
            for aval, spec in pairs:
                entries = [[f'"{a}"' for a in axes_of(entry)] for entry in spec]
                entries += [[] for _ in range(len(physical(aval).shape) - len(entries))]
                dims = ["{" + ", ".join([*e, *free]) + "}" for e in entries]
                names = [f'"{a}"' for a in mesh.axis_names if a in spec.unreduced]
                terms = f", unreduced={{{', '.join(names)}}}" if names else ""
                texts.append(f"<@{symbol}, [{', '.join(dims)}]{terms}>")
            return self.parse(f"#sdy.sharding_per_value<[{', '.join(texts)}]>")

        axes = ", ".join(f'"{a}"' for a in mesh.axis_names if a in manual)
        op = self.region_op(
            "sdy.manual_computation",
            [self.type(a) for a, _ in outs],
            operands,
            in_shardings=spec_attribute(ins),
            out_shardings=spec_attribute(outs),
            manual_axes=self.parse(f"#sdy<manual_axes{{{axes}}}>"),
        )
        with self.block(op.regions[0], *map(self.type, shard_avals)) as values:
            self.create("sdy.return", [], list(body(*values)))
        return list(op.results)

    def op_of_each_device(self, emit: Callable[[], Any], aval: Aval) -> MlirValue:
        """Emit with `emit`, in a region where the remaining mesh axes are manual as well."""
        placement = self.placement
        if placement is None or not self.manual:
            return emit()  # type: ignore[no-any-return]
        mesh = placement.mesh
        rest = frozenset(mesh.axis_names) - self.manual
        replicated = [(aval, PartitionSpec())]
        return self.manual_region(mesh, rest, [], [], replicated, [], lambda: [emit()])[0]

    def case(
        self,
        index: MlirValue,
        branches: Sequence[Callable[[], Sequence[Any]]],
        types: Sequence[Any],
    ) -> list[Any]:
        """Emit `stablehlo.case`: the branch at `index` determines the results, of these
        MLIR types.

        Many branches are emitted as nested cases: XLA's compile time of one case grows with
        the cube of the number of branches.
        """
        if len(branches) > MAX_FLAT_BRANCHES:
            return self._case_of_cases(index, branches, types)
        tokens = [self.token] if self.token is not None else []
        results = [*(t.type for t in tokens), *types]
        case = self.region_op("stablehlo.case", results, [index], len(branches))
        for region, branch in zip(case.regions, branches, strict=True):
            with self.block(region):
                if tokens:
                    self.token = tokens[0]
                out = branch()
                self.return_(*([self.token] if tokens else []), *out)  # type: ignore[arg-type]
        values = list(case.results)
        if tokens:
            self.token = values.pop(0)
        return values

    def _case_of_cases(
        self, index: Any, branches: Sequence[Callable[[], Sequence[Any]]], types: Sequence[Any]
    ) -> list[Any]:
        """Emit a case in two levels; an index out of range selects the last branch."""
        n = len(branches)
        size = math.isqrt(n - 1) + 1
        i32, u32 = (shaped((), d) for d in (dtypes.int32, dtypes.uint32))
        last, width = (self.constant(np.uint32(k), u32) for k in (n - 1, size))
        at = self.op("minimum", u32, self.op("convert", u32, index), last)
        outer = self.op("divide", u32, at, width)
        inner = self.op("remainder", u32, at, width)
        outer, inner = (self.op("convert", i32, x) for x in (outer, inner))
        groups = [
            functools.partial(self.case, inner, branches[i : i + size], types)
            for i in range(0, n, size)
        ]
        return self.case(outer, groups, types)

    def return_(self, *values: MlirValue) -> None:
        """End a StableHLO region."""
        self.create("stablehlo.return", [], list(values))

    # ---- nested programs
    def label(self, scope: str) -> str:
        """Return the name of a scope inside the current equation: `jit(f)/loop/while/body`."""
        name = getattr(self.loc, "name_str", None)  # ends with the primitive's name
        outer = self.prefix if name is None else name.rpartition("/")[0]
        return f"{outer}/{scope}" if outer and scope else outer or scope

    def rename(self, scope: str, *, fills: Any = False) -> None:
        """Replace the primitive's name in the locations of the equation's next operations.

        fills: whether the name is a scope that fills empty marks before it: `jvp(scope)`.
        """
        before, child = self.loc, getattr(self.loc, "child_loc", None)
        label = within(self.label(""), scope) if fills else self.label(scope)
        self.loc = ir.Location.name(label, childLoc=child)
        if tagged := self.module.tagged:
            tagged.setdefault(str(self.loc), tagged.get(str(before), {}))

    def jaxpr(self, closed: ClosedJaxpr, *args: MlirValue, scope: str = "") -> list[Any]:
        """Emit a closed jaxpr in place; `scope` becomes part of its operations' names."""
        closed = core.within_axes(self.axes, hooks.discharge_jaxpr.call, closed)
        consts = [
            self.const_value(c, v.aval)
            for c, v in zip(closed.consts, closed.jaxpr.constvars, strict=True)
        ]
        saved = self.avals_in, self.avals_out, self.loc, self.prefix, self.locations
        self.prefix = label = self.label(scope)
        self.locations = self.scopes.setdefault(label, {})
        try:
            return emit_jaxpr(self, closed.jaxpr, consts, args)
        finally:
            (self.avals_in, self.avals_out, self.loc, self.prefix, self.locations) = saved

    def const_value(self, const: Value, aval: Aval) -> MlirValue:
        """Return the value of a captured constant inside the current function."""
        value = self.consts.get(id(const))
        if value is None:
            if isinstance(const, core.Tracer):
                error = leaked(const, core.STATE.trace)
                raise leaked_into_rule(error, "a function in the program")
            value = self.constant(const, aval)
        return value

    def fun(
        self, fun: Callable[..., Any], *operands: MlirValue, avals: Sequence[Any] | None = None
    ) -> list[Any]:
        """Emit a Python function of primitives in place; always a list of results."""
        avals = self.avals_in if avals is None else avals

        def flat(*args: Any) -> Sequence[Any]:
            out = fun(*args)
            return out if isinstance(out, (tuple, list)) else (out,)

        jaxpr, consts = core.within_axes(self.axes, stage, flat, avals, text="lowering")
        return self.jaxpr(ClosedJaxpr(jaxpr, consts), *operands)

    def call(self, closed: ClosedJaxpr, name: str, args: Sequence[Any]) -> list[Any]:
        """Call a closed jaxpr as a function; equal ones are lowered once."""
        module = self.module
        # Constants by id: arrays cannot be hashed. `module.lowered` keeps them alive.
        key = (closed.jaxpr, tuple(map(id, closed.consts)), self.axes, self.manual)
        function = module.functions.get(key)
        if function is None:
            if module.calls >= MAX_CALL_DEPTH:
                return self.jaxpr(closed, *args)
            module.calls += 1
            function = self._function(closed, name)
            module.calls -= 1
            module.functions[key] = function
            module.lowered.append(closed)
        symbol, hidden = function
        passed = [self.consts[id(c)] for c in hidden]
        tokens = [self.token] if self.token is not None else []
        results = [self.type(a) for a in closed.out_avals]
        if tokens:
            results = [tokens[0].type, *results]
        out = self.create(
            "func.call",
            results,
            [*tokens, *passed, *args],
            callee=ir.FlatSymbolRefAttr.get(symbol),
        )
        values = list(out.results)
        if tokens:
            self.token, *values = values
        return values

    def stored(self, x: MlirValue) -> MlirValue:
        """Return a value that the compiler must store: the result of a call that is not
        inlined."""
        functions, key = self.module.functions, ("stored", x.type)
        if key not in functions:
            symbol = self.module.symbol("stored")
            block = self.module.function(symbol, [x.type], [x.type], "private", self.loc)
            with ir.InsertionPoint(block):
                self.create("func.return", [], list(block.arguments))
            functions[key] = symbol, []
        return self.create(
            "func.call",
            [x.type],
            [x],
            callee=ir.FlatSymbolRefAttr.get(functions[key][0]),
            **{"mhlo.frontend_attributes": self.parse('{inlineable = "false"}')},
        ).result

    def symbol_of(self, closed: ClosedJaxpr, name: str) -> str:
        """Return the symbol of a function of the module, for an operation that calls it."""
        functions, key = self.module.functions, (closed.jaxpr, "symbol")
        if key not in functions:
            token, self.token = self.token, None
            functions[key] = self._function(closed, name)
            self.token = token
            self.module.lowered.append(closed)
        return str(functions[key][0])

    def _function(self, closed: ClosedJaxpr, name: str) -> tuple[str, list[Any]]:
        symbol = self.module.symbol(name)
        hidden = [c for c in captured_consts(closed) if id(c) in self.consts]
        types = [self.consts[id(c)].type for c in hidden]
        types += [self.type(a) for a in closed.in_avals]
        outs = [self.type(a) for a in closed.out_avals]
        if self.token is not None:
            types, outs = [self.token.type, *types], [self.token.type, *outs]
        block = self.module.function(symbol, types, outs, "private", self.loc)
        inner = Lowering(self.module, "")
        inner.axes, inner.manual = self.axes, self.manual
        with ir.InsertionPoint(block):
            args = list(block.arguments)
            if self.token is not None:
                inner.token = args.pop(0)
            inner.consts = {id(c): v for c, v in zip(hidden, args, strict=False)}
            values = inner.jaxpr(closed, *args[len(hidden) :])
            if inner.token is not None:
                values = [inner.token, *values]
            ir.Operation.create("func.return", operands=values, loc=inner.loc)
        return symbol, hidden


def typed_call(ctx: Lowering, config: ir.Attribute) -> dict[str, ir.Attribute]:
    """Return the attributes of a call with XLA's typed interface; `config` has the call's
    own."""
    return {"backend_config": ctx.string(""), "mhlo.backend_config": config}


MAX_CONSTANT_BYTES = 4096  # bytes up to which a captured NumPy array becomes a constant
_BIT_VIEWS = frozenset((dtypes.bfloat16, *dtypes.SMALL_FLOATS))


def _unavailable(name: str) -> Any:
    """Return a property that raises: a recorded rule may not depend on this attribute."""

    def refuse(*_: Any) -> Any:
        raise NotReplayable(name)

    return property(refuse)


class RecordingContext(Lowering):
    """A `Lowering` that has only an equation's types and the platform."""

    __slots__ = ("emitted", "on")
    axes, consts, manual, module, prefix, token = map(
        _unavailable, ("axes", "consts", "manual", "module", "prefix", "token")
    )
    may_be_zero = _unavailable("operands")

    def __init__(self, ctx: Lowering) -> None:
        self.on = ctx.platform
        self.emitted: dict[Any, dict[str, Any]] = {}  # operations and their attributes
        self.avals_in, self.avals_out = ctx.avals_in, ctx.avals_out
        self.loc, self.types, self.repeated = context.unknown, ctx.types, {}
        self.depth = Depth()

    @property
    def platform(self) -> str:
        return self.on

    def emit(self, *args: Any) -> ir.Operation:
        op = super().emit(*args)
        self.emitted[op] = args[3]
        return op


def captured_consts(closed: ClosedJaxpr) -> list[Any]:
    """Return the constants of a closed jaxpr and of those inside it that become arguments,
    each once.

    Scalars and short NumPy arrays do not: as constants, the compiler may compute with them
    (XLA divides by a constant in another way), and results equal JAX's to the last digit.
    """
    consts: dict[int, Any] = {}
    for c in closed.consts:
        if isinstance(c, np.ndarray) and c.nbytes <= MAX_CONSTANT_BYTES:
            continue
        if getattr(c, "shape", ()) or dtypes.is_extended(getattr(c, "dtype", None)):
            consts[id(c)] = c
    consts.update(_captured_inside(closed.jaxpr))
    return list(consts.values())


@cached_on_jaxpr
def _captured_inside(jaxpr: Jaxpr) -> dict[int, Any]:
    return {id(c): c for inner in closed_jaxprs_in(jaxpr) for c in captured_consts(inner)}


# ------------------------------------------------------------------------ equations


def emit_jaxpr(
    ctx: Lowering, jaxpr: Jaxpr, consts: Sequence[MlirValue], args: Sequence[MlirValue]
) -> list[MlirValue]:
    """Emit a jaxpr's equations; return the values of its outputs."""
    env = _Env(ctx)
    env.update(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    read: Callable[[Any], MlirValue] = env.__getitem__
    emit = _emit_with_keys if has_keys(jaxpr) else emit_equation
    if ctx.module.placement is not None and has_explicit_shardings(jaxpr):
        emit = functools.partial(_emit_constrained, emit)
    if ctx.module.platform == "cpu" and not ctx.module.is_partitioned:
        stored = chains(jaxpr).stored
        if stored:
            emit = functools.partial(_emit_stored, emit, stored)
    for eqn in jaxpr.eqns:
        prim, ins, outvars = eqn.primitive, eqn.ins, eqn.outs
        values = [*map(read, ins)]
        ctx.avals_in = [*map(_aval, ins)]
        key = eqn.source, eqn.names, prim
        ctx.loc = ctx.locations.get(key) or _location(ctx, key)
        if prim.multiple_results:
            ctx.avals_out = [v.aval for v in outvars]
            env.update(zip(outvars, emit(ctx, eqn, values), strict=True))
        else:
            ctx.avals_out = (outvars[0].aval,)
            env[outvars[0]] = emit(ctx, eqn, values)
    return [
        ctx.constant(a.val, a.aval) if type(a) is Literal else env[a] for a in jaxpr.outvars
    ]


_aval = attrgetter("aval")


class _Env(dict[Any, Any]):
    """The values of a block's atoms: a literal read for the first time becomes a constant,
    shared with equal literals."""

    __slots__ = ("constants", "ctx")

    def __init__(self, ctx: Lowering) -> None:
        self.ctx = ctx
        self.constants: dict[Any, Any] = {}

    def __missing__(self, atom: Any) -> Any:
        if type(atom) is not Literal:
            raise KeyError(atom)
        key = atom.val, type(atom.val), atom.aval
        if not atom.val:  # 0.0 and -0.0 are equal, and differ
            key = str(atom.val), type(atom.val), atom.aval
        value = self.constants.get(key)
        if value is None:
            value = self.constants[key] = self.ctx.constant(atom.val, atom.aval)
        return value


@cached_on_jaxpr
def has_explicit_shardings(jaxpr: Jaxpr) -> bool:
    """Whether the type of any value in a jaxpr has an explicit sharding."""
    return any(a.type_sharding.explicit is not None for a in types_in(jaxpr)) or any(
        has_explicit_shardings(p.jaxpr) for p in closed_jaxprs_in(jaxpr)
    )


def check_one_device(jaxpr: Jaxpr) -> None:
    """Raise ValueError if a type in a program for one device has a sharding over several."""
    if not has_explicit_shardings(jaxpr):
        return
    outs = (v for e in jaxpr.eqns for v in e.outs)
    for v in (*jaxpr.invars, *jaxpr.constvars, *outs):
        sharding = v.aval.type_sharding.explicit
        if sharding is not None and sharding.mesh.size > 1:
            mesh = sharding.mesh
            raise errors.value_error(
                "Length of device assignment 1 is not equal to the size of the mesh"
                f" {mesh.size} of aval {v.aval.str_short(True)}. Please enter your"
                " `jit` into a mesh context via `jax.set_mesh`.",
                why="no argument is on several devices and no mesh is set, so the program"
                " runs on one device.",
                tries=["with jax.set_mesh(mesh): ...", "call the function without jit"],
            )
    for inner in closed_jaxprs_in(jaxpr):
        check_one_device(inner.jaxpr)


def _emit_constrained(emit: Any, ctx: Lowering, eqn: Equation, values: list[Any]) -> Any:
    """Emit an equation, and constrain its results to the shardings of their types."""
    out = emit(ctx, eqn, values)
    avals = [v.aval for v in eqn.outs]
    if ctx.placement is None or all(a.type_sharding.explicit is None for a in avals):
        return out
    outs = out if eqn.primitive.multiple_results else [out]
    # Values inside regions are constrained already. The compiler propagates these shardings
    # out of the region, except unreduced ones, where it would take the sum.
    inside = eqn.primitive.regions is not None
    outs = [
        x if inside and not _is_unreduced(a) else ctx.constrain(x, a)
        for x, a in zip(outs, avals, strict=True)
    ]
    return outs if eqn.primitive.multiple_results else outs[0]


def _is_unreduced(aval: Any) -> bool:
    """Whether each device holds a term of a sum, which is the value."""
    return aval.type_sharding.explicit is not None and bool(
        aval.type_sharding.explicit.spec.unreduced
    )


def _emit_stored(
    emit: Any, stored: frozenset[Any], ctx: Lowering, eqn: Equation, values: list[Any]
) -> Any:
    """Emit an equation, and prevent the compiler from fusing some results with their uses."""
    out = emit(ctx, eqn, values)
    if stored.isdisjoint(eqn.outs):
        return out
    if not eqn.primitive.multiple_results:
        return ctx.stored(out)
    return [ctx.stored(x) if v in stored else x for x, v in zip(out, eqn.outs, strict=True)]


@cached_on_jaxpr
def has_keys(jaxpr: Jaxpr) -> bool:
    """Whether any value in a jaxpr has an extended dtype, such as that of keys."""
    kinds = {getattr(a, "dtype", None) for a in types_in(jaxpr)}
    return any(map(dtypes.is_extended, kinds))


def emit_equation(ctx: Lowering, eqn: Equation, values: list[MlirValue]) -> Any:
    """Emit an equation with its recipe or, if it has none, with its rule."""
    prim, params = eqn.primitive, eqn.params
    rule = prim.lower
    if type(rule) is ByPlatform:
        rule = rule.on(ctx.module.platform)
    avals = *ctx.avals_in, *ctx.avals_out
    key = (rule, option.state(), *avals, *params, *params.values())
    try:
        recipe = ctx.recipes.get(key, UNSEEN)
    except TypeError:  # unhashable
        recipe = None
    if recipe is UNSEEN or recipe is SEEN:
        recipe = _record(ctx, key, eqn, recipe)
    if recipe is None:
        return rule(ctx, *values, **params)
    if recipe.single is not None:  # inlined `replay`: most equations are one operation
        name, types, attributes = recipe.single
        return create(name, types, values, attributes, None, 0, ctx.loc).result
    return recipe.replay(ctx, values)


UNSEEN, SEEN = "unseen", "seen"


def _record(ctx: Lowering, key: tuple[Any, ...], eqn: Equation, state: str) -> Any:
    """Return the recipe of an equation seen before, or None if its rule must run."""
    if state is UNSEEN:
        # Most equations occur once, so record only from the second occurrence on.
        if all(map(is_value_param, eqn.params.values())):
            stored_key = key[0], option.interned_state(), *key[2:]
            util.remember(ctx.recipes, stored_key, SEEN, MAX_RECIPES)
        return None
    types = [ctx.type(a) for a in ctx.avals_in]
    several = eqn.primitive.multiple_results
    recipe = record_lowering(key[0], RecordingContext(ctx), types, eqn.params, several)
    ctx.recipes[key] = recipe
    return recipe


def _emit_with_keys(ctx: Lowering, eqn: Equation, values: list[Any]) -> Any:
    """Emit an equation of a jaxpr with keys."""
    prim = eqn.primitive
    if not prim.facts.lowers_key_arrays and any(
        dtypes.is_extended(getattr(a, "dtype", None)) for a in (*ctx.avals_in, *ctx.avals_out)
    ):
        return _emit_on_keys(ctx, prim, values, eqn.params)
    return emit_equation(ctx, eqn, values)


def _emit_on_keys(
    ctx: Lowering, prim: Primitive, values: list[Any], params: dict[str, Any]
) -> Any:
    """Lower a primitive on keys as its own batch over the keys' trailing axes."""
    avals_in, avals_out = list(ctx.avals_in), list(ctx.avals_out)
    stored = next(
        a.dtype.base_shape  # type: ignore[union-attr]
        for a in (*avals_in, *avals_out)
        if dtypes.is_extended(getattr(a, "dtype", None))
    )
    dims = [a.ndim if dtypes.is_extended(a.dtype) else None for a in avals_in]

    def one_lane(*xs: Any) -> Sequence[Any]:
        out = prim.bind(*xs, **params)
        return out if prim.multiple_results else [out]

    def all_lanes(*xs: Any) -> list[Any]:
        outs, out_dims = batch_flat(one_lane, Axis(no_name, size), xs, dims)
        return [
            move_lane(x, size, d, a.ndim if dtypes.is_extended(a.dtype) else None)
            for x, d, a in zip(outs, out_dims, avals_out, strict=True)
        ]

    size = stored[0] if stored else 0
    fun = all_lanes if stored else one_lane  # without: an element is stored as one number
    out = ctx.fun(fun, *values, avals=[physical(a) for a in avals_in])
    return out if prim.multiple_results else out[0]


def _location(ctx: Lowering, key: tuple[Source | None, str, Primitive]) -> Any:
    """Return the location of an equation with this source, name stack and primitive."""
    source, names, prim = key
    label = "/".join(filter(None, (ctx.prefix, names, prim.name)))
    location = ir.Location.name(label, childLoc=_file_location(source))
    ctx.locations[key] = location
    if (attributes := frontend_attributes.attributes_in_name_stack(names)) is not None:
        ctx.module.tagged[str(location)] = attributes
    return location


def _file_location(source: Source | None) -> Any:
    if source is None:
        return context.unknown
    key = (source.code, source.lasti, config.SOURCE_FILES.value)
    location = context.locations.get(key)
    if location is None:
        line, column = source.position()
        file, pattern = source.file, config.SOURCE_FILES.value
        if pattern is not None:
            file = re.sub(pattern, "", file)
        location = ir.Location.file(file, line, column)
        context.locations[key] = location
    return location
