"""From a jaxpr to a program that runs: the one pipeline.

A `Request` says what to compile: a jaxpr, where it runs, which operands it may overwrite,
and how. `lower` makes a StableHLO module of it, `compile_lowered` a `Program`, and
`program(buffers)` runs that. Eager operations, `jit`, compilation ahead of time, export,
`pmap`, resharding and changes of layout all take these steps, so each of them has the disk
cache, compiler options, logs, pacing, named failures of callbacks, and cost analysis.

This module places no operands, and names no operation.  Next: dispatch.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from ...base import config, errors, log, monitoring
from ...ir import hooks
from ...ir.jaxpr import ClosedJaxpr, Jaxpr, cached_on_jaxpr
from ...passes.dce import dce_jaxpr
from ...types.type_sharding import UNSHARDED
from ..arrays import array as arrays
from ..backends import jaxlib_compat as compat
from ..lowering import lower_jaxpr, nesting
from ..lowering.callback_errors import Failures
from ..lowering.context import Lowering, has_explicit_shardings, main_aval
from ..sharding import layouts
from ..sharding.placement import Placement
from ..sharding.shardings import NamedSharding
from . import compile as compiler
from . import pacing

if TYPE_CHECKING:
    from typing import NoReturn

    from ...types.aliases import Aval, Value
    from ..backends.jaxlib_types import Buffer, CompiledMemoryStats, Executable


class Options(NamedTuple):
    """How a program is lowered and compiled.

    name: the name of the function.
    transform: what the function was made with, for logs and error messages.
    keep_unused: whether the program takes operands that it does not read.
    compiler: names and values of the user's compiler options.
    has_locations: whether its operations carry the user's source lines.
    is_aot: whether it is compiled ahead of time: it may never run.
    """

    name: str
    transform: str = "jit"
    keep_unused: bool = False
    compiler: tuple[tuple[str, Any], ...] = ()
    has_locations: bool = True
    is_aot: bool = False

    @property
    def label(self) -> str:
        """The name of the program in logs and messages."""
        return f"{self.transform}({self.name})"


class Request(NamedTuple):
    """A program to be compiled: what, where, with which operands donated, and how."""

    jaxpr: ClosedJaxpr
    placement: Placement
    donated: Sequence[bool]
    options: Options


class Form(NamedTuple):
    """The form of a module, other than that of a program which runs in this process.

    lower: the function that makes it; `lower_for` makes one for several platforms.
    platforms: the platform or platforms that it takes; None: that of the devices.
    literals: whether captured constants are constants in the module.
    emitter: the class that emits it, and `names` those that it gets for the inputs.
    """

    lower: Callable[..., lower_jaxpr.Lowered] = lower_jaxpr.lower_jaxpr
    platforms: str | Sequence[str] | None = None
    literals: bool = False
    emitter: type[Lowering] = Lowering
    names: Sequence[str] = ()


class Lowered:
    """A request as a StableHLO module.

    jaxpr: the jaxpr without unused inputs; `kept_indices` are those of the others.
    placement: the placement of these inputs and of the results.
    module: the module, with its hidden arguments and callbacks.
    """

    __slots__ = ("jaxpr", "kept_indices", "module", "placement", "request")

    def __init__(self, request: Request, form: Form) -> None:
        closed, placement, donated, options = request
        self.request = request
        self.jaxpr, self.kept_indices = drop_unused(closed, options.keep_unused)
        placement = placement.with_operands(self.kept_indices)
        self.placement = _with_result_types(placement, self.jaxpr)
        log.log_line(
            config.LOG_COMPILES.peek(),
            "Compiling %s with global shapes and types %s.",
            options.label,
            tuple(self.jaxpr.in_avals),
        )
        with monitoring.stage(monitoring.LOWERING, options.label):
            self.module = form.lower(
                self.jaxpr,
                options.name,
                form.platforms or self.placement.platform,
                placement=self.placement,
                donated=[donated[i] for i in self.kept_indices] if any(donated) else (),
                locations=options.has_locations,
                literals=form.literals,
                emitter=form.emitter,
                names=form.names,
            )


_OWN_FORM = Form()


def lower(request: Request, form: Form = _OWN_FORM) -> Lowered:
    """Return a request as a StableHLO module."""
    return Lowered(request, form)


def compile_lowered(
    lowered: Lowered, consts: Sequence[Value], compiler_options: dict[str, Any] | None = None
) -> Program:
    """Compile a module, or load it from the disk cache.

    consts: the captured constants, `lowered.module.consts`, as ArrayImpls at its placement.
    compiler_options: more options for the compiler; they override those of the request.

    Raises:
      TooDeep: the program nests too deeply for the compiler.
    """
    options, module, placement = lowered.request.options, lowered.module, lowered.placement
    nesting.check(module, options.label)
    with monitoring.stage(monitoring.COMPILING, options.label):
        executable = compiler.compile_module(
            module.module,
            placement.devices,
            replicas=placement.num_replicas,
            partitions=placement.num_partitions,
            callbacks=module.callbacks,
            overrides={**dict(options.compiler), **(compiler_options or {})} or None,
            has_locations=options.has_locations,
            is_aot=options.is_aot,
        )
    closed = lowered.jaxpr
    n_in = len(lowered.request.jaxpr.in_avals)
    kept_indices = lowered.kept_indices if len(lowered.kept_indices) < n_in or consts else None
    out_avals = placement.result_types(closed.out_avals)
    program = Program(executable, placement, out_avals, closed.in_avals, consts, kept_indices)
    program.ordered = module.ordered
    program.failures = module.failures
    # Some effects leave no operations in the program: it may take the fast path.
    runs_effects = any(getattr(e, "runs", True) for e in closed.effects)
    program.stable = not runs_effects and module.failures is None
    # C++ refers to these objects by address while the executable lives.
    for item in module.keepalive:
        executable.keep_alive(item) if hasattr(executable, "keep_alive") else None
    return program


def not_loaded(*_: object, **__: object) -> NoReturn:
    """Raise RuntimeError: `run` of a program for devices that this process lacks."""
    raise errors.error(
        RuntimeError,
        "This program was compiled for devices that this process does not have, so it"
        " cannot be called.",
        tries=["compile it for jax.devices()"],
    )


class Program:
    """An executable with everything that a call needs.

    consts: the captured constants, which it takes before its operands.
    kept_indices: the operands that it takes; None: all, and it has no constants.
    operand_layouts: the layouts that these must have; None: all default.
    run: starts the executable on ArrayImpls; `handlers` make arrays of what it returns.
    stable: whether a call needs no more than `run` and `handlers`.
    ordered: whether the next program with ordered effects must wait for it.
    failures: the errors of callbacks, if it runs on several devices.
    has_wrapped_results: whether some results are random keys or tokens.
    """

    __slots__ = (
        "consts",
        "executable",
        "failures",
        "handlers",
        "has_wrapped_results",
        "kept_indices",
        "operand_layouts",
        "ordered",
        "out_avals",
        "out_shardings",
        "pace",
        "placement",
        "run",
        "stable",
    )

    def __init__(
        self,
        executable: Executable,
        placement: Placement,
        out_avals: Sequence[Aval],
        in_avals: Sequence[Aval] = (),
        consts: Sequence[Value] = (),
        kept_indices: list[int] | None = None,
    ) -> None:
        self.executable = executable
        self.placement = placement
        self.consts = list(consts)
        self.kept_indices = kept_indices
        self.out_avals = list(out_avals)
        stored = list(map(main_aval, out_avals))
        self.out_shardings = placement.results(executable, stored, in_avals)
        self.operand_layouts: list[Any] | None = None
        if placement.layouts is not None:
            self.operand_layouts = layouts.argument_layouts(
                executable, len(self.consts), placement.device
            )
        self.handlers = [
            compat.result_handler(a, s, placement.committed)
            for a, s in zip(stored, self.out_shardings, strict=True)
        ]
        self.has_wrapped_results = any(
            a is not s for a, s in zip(out_avals, stored, strict=True)
        )
        # Executables of compile-only devices lack this method.
        self.run = getattr(executable, "execute_sharded", not_loaded)
        self.pace = pacing.pace_of(placement.devices)
        if self.pace is not None:
            self.run = pacing.paced(self.run, self.pace)
        self.stable = True
        self.ordered = False
        self.failures: Failures | None = None

    def __call__(self, buffers: Sequence[Buffer]) -> list[Value]:
        """Run on ArrayImpls; return ArrayImpls."""
        if self.kept_indices is not None:
            buffers = self.consts + [buffers[i] for i in self.kept_indices]
        if self.stable:
            results = self.run(buffers)
            return results.consume_with_handlers(self.handlers)  # type: ignore[no-any-return]
        return self._run_with_effects(buffers)

    def _run_with_effects(self, buffers: Sequence[Any]) -> list[Any]:
        """Run a program with effects; programs with ordered effects run one after another."""
        failures = self.failures
        with nullcontext() if failures is None else failures.watched():
            results = self.run(buffers, with_tokens=True)
            token = results.consume_token()
            out = results.consume_with_handlers(self.handlers)
            # The next program with ordered effects must not run concurrently, and failures must
            # be known before the call returns.
            if self.ordered or failures is not None:
                token.block_until_ready()
        hooks.started.call(token)
        return out  # type: ignore[no-any-return]

    def wrap(self, out: Sequence[Buffer]) -> list[Value]:
        """Return the program's results as arrays; keys and tokens are wrapped."""
        if self.has_wrapped_results:
            return list(map(arrays.wrap, out, self.out_avals))
        return list(out)

    def as_text(self) -> str:
        """Return the optimised HLO."""
        return "\n\n".join(m.to_string() for m in self.executable.hlo_modules())

    def cost_analysis(self) -> dict[str, float]:
        """Return XLA's estimate of the program's cost, as a dict."""
        return compiler.cost_of(self.executable)

    def memory_analysis(self) -> CompiledMemoryStats:
        """Return sizes of arguments, results, temporaries and code, in bytes."""
        return self.executable.get_compiled_memory_stats()


def drop_unused(closed: ClosedJaxpr, keep_unused: bool) -> tuple[ClosedJaxpr, list[int]]:
    """Return the program without unused inputs, and the indices of the remaining ones.

    If a result is sharded along `Explicit` axes, one input that is sharded so is kept: it
    determines the devices.
    """
    jaxpr = closed.jaxpr
    if keep_unused:
        return closed, list(range(len(jaxpr.invars)))
    live, kept_indices = _needed(jaxpr)
    return (closed if live is None else ClosedJaxpr(live, closed.consts)), kept_indices


@cached_on_jaxpr
def _needed(jaxpr: Jaxpr) -> tuple[Jaxpr | None, list[int]]:
    """Return the program without unused inputs, None if there are none; and the others."""
    live, used = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))
    if any(map(_has_explicit_sharding, jaxpr.outvars)) and not any(
        map(_has_explicit_sharding, live.invars)
    ):
        first = next(filter(_has_explicit_sharding, jaxpr.invars), None)
        keep = [v is first for v in jaxpr.invars]
        live, used = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), keep)
    return None if all(used) else live, [i for i, u in enumerate(used) if u]


def _has_explicit_sharding(atom: Any) -> bool:
    """Whether a value's type has an explicit sharding."""
    return atom.aval.type_sharding.explicit is not None


def _with_result_types(placement: Placement, closed: ClosedJaxpr) -> Placement:
    """Return the placement with the result shardings that the program's types contain."""
    mesh = placement.mesh
    if not placement.is_spmd or mesh is None or not mesh.are_all_axes_explicit:
        return placement
    same_mesh = all(s is None or s.mesh == mesh for s in placement.ins)
    if same_mesh and not has_explicit_shardings(closed.jaxpr):
        return placement
    requested = placement.outs or (None,) * len(closed.out_avals)
    pairs = zip(requested, closed.out_avals, strict=True)
    return placement.with_results([s or _result_sharding(placement, a) for s, a in pairs])


def _result_sharding(placement: Placement, aval: Any) -> NamedSharding:
    """Return a result's sharding: over its type's mesh, if that has another shape."""
    mesh: Any = placement.mesh
    explicit = getattr(aval, "type_sharding", UNSHARDED).explicit
    if explicit is None or explicit.mesh.shape_tuple == mesh.shape_tuple:
        return NamedSharding(mesh, aval.sharding.spec)
    return explicit.on(placement.devices)
