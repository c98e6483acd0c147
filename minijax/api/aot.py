"""Ahead-of-time compilation: `f.trace`, `f.lower` and `f.compile` of a jitted function.

`jit` attaches them to the functions it returns (control/calls/jit.py, `METHODS`).
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..base import config, errors, tree
from ..base.source import function_text
from ..base.tracebacks import boundary
from ..control import hijax_values
from ..control.arguments import NO_STATICS, ArgNames
from ..control.body_staging import tree_difference
from ..control.calls import jit as jitting
from ..control.calls.cache_misses import differences
from ..control.calls.cpp_dispatch import fast_path
from ..control.calls.flattened_calls import FlattenedDispatch
from ..control.calls.jit_shardings import current_layout
from ..control.calls.jitted import Call, Jitted, TracedCall
from ..control.refs.discharge import discharge_jaxpr, is_lasting, ready, values_of, write_back
from ..ir import core, hooks
from ..ir.core import EVAL, STATE
from ..ir.jaxpr import ClosedJaxpr
from ..runtime.lowering import symbolic_sizes
from ..runtime.lowering.portable_artifact import lower_for
from ..runtime.running import device_assignment, dispatch, pacing
from ..runtime.running.device_put import put_operands, retained_constant
from ..runtime.running.program import (
    Form,
    Options,
    Program,
    Request,
    compile_lowered,
    drop_unused,
    lower,
    not_loaded,
)
from ..runtime.sharding import shardings
from ..runtime.sharding.layouts import Format, Layout, layout_mode, layout_of
from ..runtime.sharding.mesh import block_mesh, mesh_made_current
from ..runtime.sharding.placement import on_device
from ..types.avals import AbstractRef
from .eval_shape import ShapeDtypeStruct, aval_like, avals_like, struct_of

if TYPE_CHECKING:
    from jaxlib.mlir import ir

    from ..base.tree import PyTreeDef
    from ..runtime.backends.jaxlib_types import CompiledMemoryStats, Executable
    from ..types.aliases import Aval, DType, PyTree, Shape, Value

jit = jitting.jit
pjit = jitting.pjit
CompilerOptions = dict[str, str | bool]


@dataclasses.dataclass(frozen=True)
class ArgInfo:
    """The type of an argument, and whether it is donated."""

    _aval: Any
    donated: bool

    @property
    def shape(self) -> Shape:
        """The shape of the argument."""
        return self._aval.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> DType:
        """The dtype of the argument."""
        return self._aval.dtype


class Traced:
    """A jitted function traced for some types: `jaxpr`, `out_info`, `lower()`."""

    def __init__(self, jitted: Jitted, call: Call, traced: TracedCall) -> None:
        self._jitted = jitted
        self._call = call
        self._traced = traced

    @property
    def jaxpr(self) -> ClosedJaxpr:
        """The traced program, with its constants."""
        return self._traced.jaxpr

    @property
    def arg_types(self) -> list[Aval]:
        """The types of the leaves of dynamic arguments."""
        return self.jaxpr.in_avals[len(self._traced.hoisted) :]

    @property
    def result_types(self) -> list[Aval]:
        """The types of the leaves of results."""
        return self.jaxpr.out_avals

    @property
    def in_avals(self) -> PyTree:
        """The types of the dynamic arguments, as (args, kwargs)."""
        return tree.unflatten(self.in_tree, self.arg_types)

    @property
    def out_avals(self) -> PyTree:
        """The types of the results, in their structure."""
        return tree.unflatten(self.out_tree, self.result_types)

    @property
    def fun_name(self) -> str:
        """The name of the function."""
        return self._jitted.name

    @property
    def in_tree(self) -> PyTreeDef:
        """The tree of the dynamic arguments, (args, kwargs)."""
        return self._call.in_tree

    @property
    def out_tree(self) -> PyTreeDef:
        """The tree of the result."""
        return self._traced.out_tree

    @property
    def out_info(self) -> PyTree:
        """The types of the results, with their shardings if requested."""
        requested = self._jitted.options.shardings
        outs = list(map(struct_of, self.result_types))
        if requested is not None:
            with mesh_made_current(self._call.mesh):
                leaf_shardings = requested.of_results(self.out_tree)
            pairs = zip(outs, leaf_shardings, strict=True)
            outs = [out.update(sharding=leaf_shardings) for out, leaf_shardings in pairs]
        return tree.unflatten(self.out_tree, outs)

    @property
    def args_info(self) -> PyTree:
        """The types of the dynamic arguments, and which are donated."""
        donated = self._jitted.donated(self._call)
        infos = [ArgInfo(a, d) for a, d in zip(self.arg_types, donated, strict=True)]
        return tree.unflatten(self.in_tree, infos)

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """Which leaves of the arguments are donated."""
        return tuple(i for i, d in enumerate(self._jitted.donated(self._call)) if d)

    def __call__(self, *args: PyTree, **kwargs: PyTree) -> PyTree:
        """Evaluate the traced program at dynamic arguments of the same structure.

        Their types may differ from the traced ones where the operations allow it.
        """
        leaves, in_tree = tree.flatten((args, kwargs))
        if in_tree != self.in_tree:
            raise errors.type_error(
                f"{self.fun_name} was traced for arguments of structure {self.in_tree}, and"
                f" is called with {in_tree}.",
                why="static arguments are part of the trace and must not be passed again.",
                tries=["trace the function for these arguments"],
            )
        outs = self.jaxpr(*self._hoisted(), *leaves)
        return tree.unflatten(self.out_tree, outs)

    def _hoisted(self) -> list[Value]:
        """Return the values that the function closes over, checked to be still valid."""
        for x in self._traced.hoisted:
            if not is_lasting(x):
                raise core.leak_error(x)
        check_ready(self._traced.hoisted, self.fun_name)
        return self._traced.hoisted

    def with_rules(self, rules: tuple[tuple[Any, Any], ...]) -> Traced:
        """Return a copy in which these lowering rules precede the primitives' own."""
        if not rules:
            return self
        closed = hooks.overridden.call(self.jaxpr, rules)
        traced = self._traced._replace(jaxpr=closed)
        return Traced(self._jitted, self._call, traced)

    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> Lowered:
        """Lower to StableHLO, for the default platform or for the named ones.

        A program for several platforms takes the platform's number as first argument.
        """
        self._hoisted()
        return Lowered(self, lowering_platforms)


def _drives_devices(jitted: Jitted) -> NotImplementedError:
    """Return the error for lowering a function that starts programs itself."""
    return errors.error(
        NotImplementedError,
        f"jit: {jitted.name} cannot be lowered: it contains a pmap.",
        where=function_text(jitted.fun),
        why="a pmap starts a program on each device from Python, so it cannot be part of"
        " another program.",
        tries=["lower the pmapped function", "call the function, which works"],
    )


class Lowered:
    """A jitted function lowered to StableHLO: `as_text()`, `compile()`."""

    _inputs: Sequence[str] = ()  # names of the inputs

    _symbolic = False  # whether it has symbolic dimensions

    def __init__(
        self, stage: Traced, platforms: Sequence[str] | None = None, *, portable: bool = False
    ) -> None:
        self._stage = stage
        with mesh_made_current(stage._call.mesh):
            request, form = self._request(stage, platforms, portable)
            self._lowered = lower(request, form)
        placement = self._lowered.placement
        self._consts = [retained_constant(c, placement) for c in self._lowered.module.consts]

    def _request(
        self, stage: Traced, platforms: Sequence[str] | None, portable: bool
    ) -> tuple[Request, Form]:
        """Return what to lower, and note how to call it."""
        jitted = stage._jitted
        self._captured = stage._traced.hoisted
        values = [*self._captured, *stage._call.leaves]
        # Captured values come first: references and arrays.
        self._donated = (*(False for _ in self._captured), *jitted.donated(stage._call))
        needs_discharge = [isinstance(a, AbstractRef) for a in stage.jaxpr.in_avals]
        closed, self._written = stage.jaxpr, needs_discharge
        if any(needs_discharge):
            closed, self._written = discharge_jaxpr(stage.jaxpr, needs_discharge)
        self._symbolic = symbolic_sizes.has_symbolic_dims(closed.jaxpr)
        options = Options(
            jitted.name,
            # Sizes of symbolic dimensions are read from arguments, even from those that no
            # operation reads, so none may be dropped.
            keep_unused=jitted.options.keep_unused or self._symbolic,
            compiler=jitted.options.compiler,
            is_aot=True,
        )
        needed, kept_indices = drop_unused(closed, options.keep_unused)
        if dispatch.drives_devices(needed.jaxpr):
            raise _drives_devices(jitted)
        requested = jitted.requested_placement(
            stage._call, stage.out_tree, values, needed, kept_indices
        )
        names = stage.jaxpr.jaxpr.arg_names
        self._inputs = [names[i] for i in kept_indices] if names else ()
        operands = [values[i] for i in kept_indices]
        placement = device_assignment.common_placement(
            operands, jitted.name, requested, self._inputs
        )
        if (device_sharding := jitted.device_sharding()) is not None:
            placement = on_device(device_sharding.devices[0])
        layouts = jitted.layouts_of(stage._call, stage._traced, is_aot=True)
        if layouts is not None:
            # Captured values and the results for written references have default layouts.
            ins = [*[None] * len(self._captured), *layouts[0]]
            outs = [*layouts[1], *[None] * (len(closed.out_avals) - len(layouts[1]))]
            placement = placement.with_layouts(ins, outs)
        form = Form()
        if platforms and len(platforms) > 1:
            form = Form(lower_for, tuple(platforms), literals=True)
        elif platforms or portable:
            (platform,) = platforms or (placement.platform,)
            form = Form(platforms=platform, literals=portable)
        if self._symbolic:
            paths = tree.leaf_names(stage.in_tree)
            form = form._replace(emitter=symbolic_sizes.SymbolicLowering, names=paths)
        return Request(closed, placement, self._donated, options), form

    @property
    def in_tree(self) -> PyTreeDef:
        """The tree of the dynamic arguments, (args, kwargs)."""
        return self._stage.in_tree

    @property
    def out_tree(self) -> PyTreeDef:
        """The tree of the result."""
        return self._stage.out_tree

    @property
    def in_avals(self) -> PyTree:
        """The types of the dynamic arguments, as (args, kwargs)."""
        return self._stage.in_avals

    @property
    def args_info(self) -> PyTree:
        """The types of the dynamic arguments, and which are donated."""
        return self._stage.args_info

    @property
    def out_info(self) -> PyTree:
        """The types of the results."""
        return self._stage.out_info

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """Which leaves of the arguments are donated."""
        return tuple(i for i, d in enumerate(self._donated[len(self._captured) :]) if d)

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """Return the program as text: 'stablehlo' (default) or 'hlo'."""
        if dialect == "hlo":
            computation = self._computation()
            text = (
                computation.get_hlo_module().to_string()
                if debug_info
                else computation.as_hlo_text()
            )
            return str(text)
        module = self.compiler_ir(dialect)
        return str(module.operation.get_asm(enable_debug_info=debug_info))

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """Return the program as an object of the compiler."""
        if dialect in (None, "stablehlo"):
            # Only a copy gets names of arguments and results: `compile` takes the module
            # without them, so that its key in the disk cache is that of a plain call.
            paths = map(tree.keystr, tree.leaf_paths(self.out_tree))
            names = [re.sub(r"<flat index (\d+)>", r"\1", f"result{p}") for p in paths]
            return self._lowered.module.annotated_copy(names, self._inputs)
        if dialect == "hlo":
            return self._computation()
        raise ValueError(f"unknown dialect: {dialect}; TRY 'stablehlo' or 'hlo'.")

    def _computation(self) -> Any:
        from jaxlib import _jax

        text = self.as_text(debug_info=True)
        return _jax.mlir.mlir_module_to_xla_computation(
            text, use_tuple_args=False, return_tuple=False
        )

    def cost_analysis(self) -> dict[str, float]:
        """Return XLA's estimate of the program's cost, as a dict."""
        return self.compile().cost_analysis()

    # Libraries read `lowered._lowering`: here the stage and its lowering are one object.
    @property
    def _lowering(self) -> Lowered:
        return self

    def stablehlo(self) -> ir.Module:
        """Return the module in MLIR."""
        return self.compiler_ir("stablehlo")

    def hlo(self) -> Any:
        """Return the module in XLA's own form (HLO)."""
        return self.compiler_ir("hlo")

    def compile(self, compiler_options: dict[str, Any] | None = None) -> Compiled:
        """Compile for the devices that the arguments imply."""
        if self._symbolic:
            raise errors.value_error(
                f"{self._lowered.request.options.label} has symbolic dimensions and cannot be"
                " compiled",
                why="the compiler needs to know all sizes.",
                tries=[
                    "jax.export.export(f)(...).call(x), which compiles for the sizes of x",
                    "f.lower(...) with arrays, or with shapes without symbolic dimensions",
                ],
            )
        program = compile_lowered(self._lowered, self._consts, compiler_options)
        return self._compiled(program, compiler_options)

    def _compiled(self, program: Program, compiler_options: CompilerOptions | None) -> Compiled:
        return Compiled(self, program, compiler_options)


class Compiled:
    """A compiled program, called with arguments of the types it was compiled for."""

    def __init__(
        self, lowered: Any, program: Program, compiler_options: CompilerOptions | None = None
    ) -> None:
        self._lowered = lowered  # a `Lowered`, or its counterpart for a program from bytes
        self._program = program
        self._compiler_options = compiler_options
        name = lowered._stage._jitted.name
        self._cpp = FlattenedDispatch(name, self._run, self._miss, NO_STATICS, (id(self),)).cpp

    @property
    def _kept_indices(self) -> Sequence[int]:
        """The indices, among captured values and arguments, of the program's operands."""
        indices = self._program.kept_indices
        n = len(self._lowered._captured) + self.in_tree.num_leaves
        return range(n) if indices is None else indices

    @property
    def in_tree(self) -> PyTreeDef:
        """The tree of the dynamic arguments, (args, kwargs)."""
        return self._lowered.in_tree

    @property
    def out_tree(self) -> PyTreeDef:
        """The tree of the result."""
        return self._lowered.out_tree

    @property
    def in_avals(self) -> PyTree:
        """The types of the dynamic arguments, as (args, kwargs)."""
        return self._lowered.in_avals

    @property
    def args_info(self) -> PyTree:
        """The types of the dynamic arguments, and which are donated."""
        return self._lowered.args_info

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """Which leaves of the arguments are donated."""
        return self._lowered.donate_argnums

    @property
    def out_info(self) -> PyTree:
        """The types of the results, with their layouts and shardings."""
        with_format = lambda struct, fmt: struct.update(sharding=fmt)
        return tree.map(with_format, self._lowered.out_info, self.output_formats)

    @property
    def input_shardings(self) -> PyTree:
        """The shardings that the program requires of its arguments."""
        n, before = self.in_tree.num_leaves, len(self._lowered._captured)
        operand_numbers = {i - before: k for k, i in enumerate(self._kept_indices)}
        required = [
            self._required(operand_numbers[i]) if i in operand_numbers else None
            for i in range(n)
        ]
        return tree.unflatten(self.in_tree, required)

    @property
    def output_shardings(self) -> PyTree:
        """The shardings of the results."""
        n = self.out_tree.num_leaves
        out_shardings = map(shardings.user_sharding_of, self._program.out_shardings[:n])
        return tree.unflatten(self.out_tree, out_shardings)

    @property
    def input_formats(self) -> PyTree:
        """The layouts and shardings of the arguments."""
        n, before = self.in_tree.num_leaves, len(self._lowered._captured)
        operand_numbers = {i - before: k for k, i in enumerate(self._kept_indices)}
        layouts = self._program.executable.get_parameter_layouts()
        layouts = layouts[len(self._program.consts) :]
        return tree.unflatten(
            self.in_tree,
            [
                Format(
                    layout_of(layouts[operand_numbers[i]]), self._required(operand_numbers[i])
                )
                if i in operand_numbers
                else None
                for i in range(n)
            ],
        )

    @property
    def output_formats(self) -> PyTree:
        """The layouts and shardings of the results."""
        n = self.out_tree.num_leaves
        layouts = map(layout_of, self._program.executable.get_output_layouts()[:n])
        out_shardings = map(shardings.user_sharding_of, self._program.out_shardings[:n])
        return tree.unflatten(self.out_tree, map(Format, layouts, out_shardings))

    def as_text(self) -> str:
        """Return the optimised HLO."""
        return self._program.as_text()

    def cost_analysis(self) -> dict[str, float]:
        """Return XLA's estimate of the program's cost, as a dict."""
        return self._program.cost_analysis()

    def memory_analysis(self) -> CompiledMemoryStats:
        """Return sizes of arguments, results, temporaries and code, in bytes."""
        return self._program.memory_analysis()

    @property
    def _executable(self) -> Compiled:
        return self

    @property
    def xla_executable(self) -> Executable:
        """The loaded executable of jaxlib."""
        return self._program.executable

    def runtime_executable(self) -> Executable:
        """Return the loaded executable of jaxlib."""
        return self._program.executable

    def checked_leaves(
        self, args: tuple[PyTree, ...], kwargs: dict[str, PyTree]
    ) -> list[Value]:
        """Return the dynamic leaves of a call; raise unless their types match."""
        stage = self._lowered._stage
        leaves, in_tree = tree.flatten((args, kwargs))
        for x in leaves:
            if isinstance(x, core.Tracer):
                raise errors.type_error(
                    "Cannot apply JAX transformations to a function lowered and"
                    " compiled for a particular signature. Detected argument of Tracer"
                    f" type {type(x)}.",
                    which=x.origin(),
                    where=f"{stage._jitted.name}; transformations: {core.stack_text()}",
                    why="a compiled program can be called, not transformed.",
                    tries=["transform the function, then compile the result"],
                )
        if in_tree != self.in_tree:
            path, was, now, why = tree_difference(self.in_tree, in_tree)
            label = "args" if not path or path[0].idx == 0 else "kwargs"
            raise errors.type_error(
                "Function compiled with input pytree does not match the input pytree it"
                " was called with.",
                which=f"{label}{tree.keystr(path[1:])} was {was}, and is now {now}: {why}",
                where=stage._jitted.name,
                tries=["leave out static arguments: the program contains their values"],
            )
        wrong = []
        names = stage._jitted.names(stage._call)
        for i, (x, aval) in enumerate(zip(leaves, stage.arg_types, strict=True)):
            got = core.aval_of(x)
            same = type(got) is type(aval) and got.shape == aval.shape
            if not same or got.dtype != aval.dtype:
                wrong.append(
                    f"Argument '{names[i]}' compiled with {aval.str_short(False)} and"
                    f" called with {got.str_short(False)}"
                )
        if wrong:
            more = f"\n  and {len(wrong) - 5} more" if len(wrong) > 5 else ""
            raise errors.type_error(
                "Argument types differ from the types for which this computation was"
                " compiled. The mismatches are:\n  " + "\n  ".join(wrong[:5]) + more,
                where=stage._jitted.name,
                tries=["x.astype(...)", "compile for these types as well"],
            )
        return leaves

    def check_placement(self, leaves: list[Any]) -> None:
        """Raise ValueError unless the arguments have the shardings compiled for."""
        stage = self._lowered._stage
        names = stage._jitted.names(stage._call)
        placement = self._program.placement
        before = len(self._lowered._captured)
        wrong = []
        for k, i in enumerate(self._kept_indices):
            if i < before or device_assignment.matches_operand_sharding(
                leaves[i - before], placement, k
            ):
                continue
            x = leaves[i - before]
            aval = core.aval_of(x).str_short(False)
            wrong.append(
                f"Argument {names[i - before]} with shape {aval}:\n"
                f"  Passed sharding: {x.sharding}\n"
                f"  Required sharding: {self._required(k)}"
            )
        if wrong:
            more = f"\nand {len(wrong) - 5} more" if len(wrong) > 5 else ""
            raise errors.value_error(
                "Computation was compiled for input shardings that disagree with the"
                " shardings of arguments passed to it. Here are the"
                f" {len(wrong)} mismatches:\n" + "\n".join(wrong[:5]) + more,
                where=stage._jitted.name,
                tries=["device_put them first", "compile for these shardings as well"],
            )

    def check_layouts(self, leaves: list[Any]) -> None:
        """Raise ValueError unless committed arguments have the layouts compiled for."""
        program = self._program
        if program.operand_layouts is None and not any(map(current_layout, leaves)):
            return
        before = len(self._lowered._captured)
        required_layouts = program.operand_layouts or [None] * len(self._kept_indices)
        names = self._lowered._stage._jitted.names(self._lowered._stage._call)
        wrong = []
        for required_layout, i in zip(required_layouts, self._kept_indices, strict=True):
            x: Any = leaves[i - before] if i >= before else None
            if not getattr(x, "committed", False) or layout_mode(
                current_layout(x)
            ) == layout_mode(required_layout):
                continue
            shape = core.aval_of(x).shape
            wrong.append(
                f"Argument {names[i - before]} with shape"
                f" {core.aval_of(x).str_short(False)}:\n"
                f"  Passed layout: {x.format.layout}\n"
                f"  Required layout: {required_layout or Layout(tuple(range(len(shape))))}"
            )
        if wrong:
            raise errors.value_error(
                "Computation was compiled for input layouts that disagree with the layouts"
                f" of arguments passed to it. Here are the {len(wrong)} mismatches:\n"
                + "\n".join(wrong[:5]),
                tries=["device_put(x, compiled.input_formats...)"],
            )

    def _required(self, k: int) -> Any:
        """Return the sharding that operand number `k` of the program must have."""
        return self._program.placement.sharding_in(k)

    @property
    def _label(self) -> str:
        """The name of the program in messages."""
        return f"jit({self._lowered._stage._jitted.name})"

    def __call__(self, *args: PyTree, **kwargs: PyTree) -> PyTree:
        return self._cpp(*args, **kwargs)

    def _run(self, *args: PyTree, **kwargs: PyTree) -> PyTree:
        return self._miss(*args, **kwargs)[0]

    @boundary
    def _miss(self, *args: PyTree, **kwargs: PyTree) -> tuple[Any, Any, bool]:
        """Check and run a call of types that the C++ dispatcher has not seen."""
        starts_in_cpp = pacing.starts_in_cpp()
        leaves = self.checked_leaves(args, kwargs)
        if self._program.run is not_loaded:
            not_loaded()
        self.check_placement(leaves)
        self.check_layouts(leaves)
        result = self._evaluate(leaves)
        fast = None
        # Under a trace the results are tracers; and C++ passes only the call's own leaves.
        if STATE.trace is EVAL and not self._lowered._captured:
            fast = fast_path(self._program, leaves, result, starts_in_cpp)
        return result, fast, False

    def _evaluate(self, leaves: list[Any]) -> Any:
        stage = self._lowered._stage
        check_ready(self._lowered._captured, stage._jitted.name)
        args = (*self._lowered._captured, *leaves)
        refs = [isinstance(x, core.Reference) for x in args]
        buffers = put_operands(
            values_of(args, refs),
            self._program.placement,
            self._kept_indices,
            keep_layout=self._program.operand_layouts is not None,
        )
        donated = self._lowered._donated
        # A donated array or a written reference has lost its old value, so the call cannot
        # be repeated eagerly to explain an error.
        runs_once = any(donated) or any(refs)
        runs_once = runs_once or stage.jaxpr is None  # the program was read from bytes
        rerun = None if runs_once else functools.partial(stage.jaxpr, *leaves)
        out = dispatch.run_program(self._program, buffers, self._label, rerun)
        results = self._program.wrap(out)
        n = self.out_tree.num_leaves
        write_back(args, self._lowered._written, results[n:])
        return tree.unflatten(self.out_tree, results[:n])


def check_ready(consts: Sequence[Value], name: str) -> None:
    """Raise TypeError unless mutable values have the types they had while tracing."""
    if not ready(consts):
        raise errors.type_error(
            f"a mutable value that {name} closes over has another type than when it was"
            " traced.",
            why="a traced program requires the types it was traced for.",
            tries=["trace it again", "call the jitted function"],
        )


def _spec_call(jitted: Jitted, args: Any, kwargs: Any) -> tuple[Call, TracedCall]:
    call = jitted.split(args, kwargs)
    if any(map(hijax_values.is_high, call.leaves)):
        raise errors.type_error(
            "programs compiled ahead of time take arrays, not values of types that"
            " libraries define.",
            why="a call of a jitted function unpacks and updates such values.",
            tries=["call the jitted function"],
        )
    for x in call.leaves:
        if isinstance(x, core.Tracer) and not x._trace.alive:
            raise core.leak_error(x)
    names = ArgNames(jitted.fun, call.in_tree, call.positions)
    avals = tuple(avals_like(call.leaves, jitted.fun, names))
    mesh = block_mesh() if jitted.options.uses_mesh_block else config.MESH.value
    with mesh_made_current(mesh):
        return call._replace(mesh=mesh), jitted.trace_avals(call, avals)


def trace(jitted: Jitted, *args: PyTree, **kwargs: PyTree) -> Traced:
    """Trace for these arguments, or for arguments of these types."""
    return Traced(jitted, *_spec_call(jitted, args, kwargs))


def lower_stage(jitted: Jitted, *args, lowering_platforms=None, **kwargs) -> Lowered:
    """Trace and lower for these arguments, or for arguments of these types."""
    return trace(jitted, *args, **kwargs).lower(lowering_platforms=lowering_platforms)


def eval_shape(jitted: Jitted, *args: PyTree, **kwargs: PyTree) -> PyTree:
    """Return the types of the results, without computing them."""
    return trace(jitted, *args, **kwargs).out_info


def signatures(jitted: Jitted) -> list[tuple[Any, ...]]:
    """Return the signatures traced so far: types of dynamic leaves, and static values."""
    return [
        (
            tuple(ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in key[1]),
            key[2],
        )
        # A copy, since another thread may add a trace meanwhile.
        for key in list(jitted.traces)
    ]


def explain(jitted: Jitted, *args: PyTree, **kwargs: PyTree) -> str:
    """Explain why a call with these arguments would be traced again, or would not."""
    call = jitted.split(args, kwargs)
    avals = tuple(aval_like(x) for x in call.leaves)
    reasons = differences(jitted, call, avals)
    if reasons is None:
        return f"{jitted.name}: not traced yet."
    if not reasons:
        return f"{jitted.name}: this signature has been traced; it is not traced again."
    return f"{jitted.name} would be traced again:\n  " + "\n  ".join(reasons)


@hooks.jit_methods.fill
def _methods() -> dict[str, Callable[..., Any]]:
    return _METHODS


_METHODS: dict[str, Callable[..., Any]] = {
    "clear_cache": jitting.clear_cache,
    "eval_shape": eval_shape,
    "explain": explain,
    "lower": lower_stage,
    "signatures": signatures,
    "trace": trace,
}
