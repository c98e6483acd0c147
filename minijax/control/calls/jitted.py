"""The implementation of a jitted function: argument flattening, traces, evaluation.

C++ caches the signatures it has seen and runs their programs without Python.  For a new
signature, and for anything but evaluation of concrete values, it calls `Jitted.cache_miss`:
trace (cached by function and signature), then either compile and run, or bind `jit_p` under
the current trace.  Next: jit.py, the public functions.
"""

from __future__ import annotations

import functools
import inspect
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from ...analysis.contents import holds_functions
from ...analysis.key_use import use_of
from ...base import config, depth, errors, mixing, monitoring, tree, util
from ...base.source import function_text, name_of, stacklevel
from ...base.tracebacks import simplify
from ...base.tree_diff import static_arrays
from ...ir import core
from ...ir.core import EVAL, STATE, Reference, Tracer
from ...ir.jaxpr import ClosedJaxpr
from ...passes.stage import hoist_tracers
from ...prims.reshard import apply_out_sharding
from ...prims.sharding_constraint import constrain_evenly
from ...runtime.arrays import key_checks
from ...runtime.backends import jaxlib_compat as compat
from ...runtime.lowering import nesting
from ...runtime.running import device_assignment, dispatch, pacing
from ...runtime.running.device_assignment import check_meshes, sharding_mismatch_error
from ...runtime.running.program import Options, Request, drop_unused
from ...runtime.sharding.mesh import block_mesh, mesh_made_current
from ...runtime.sharding.placement import Placement
from ...runtime.sharding.shardings import NamedSharding, SingleDeviceSharding
from ...types import dtypes
from ...types.avals import AbstractRef
from .. import hijax_values
from ..arguments import NO_STATICS, ArgNames, Statics, as_array
from ..flat import FlatFun
from ..refs import discharge
from . import cache_misses
from .cpp_dispatch import dispatcher, fast_path, for_cpp
from .flattened_calls import FlattenedDispatch
from .jit_primitive import jit_p, program_of
from .jit_shardings import JitShardings, Layouts, auto_result_layouts, current_layout


class TracedCall(NamedTuple):
    """The result of tracing a call."""

    jaxpr: ClosedJaxpr
    out_tree: Any
    hoisted: list[Any]  # outer tracers the function closes over
    seconds: float  # spent on tracing
    once: bool = False  # another caller might get an error, so nothing is cached


def _harmless(traced: TracedCall) -> bool:
    return not traced.hoisted and not holds_functions(traced.jaxpr.jaxpr)


_traces = util.cache(util.WeakIdentityCache("traces", _harmless))
util.owns_memos(compat.PjitFunction)
_MOST_TRACES = 4096  # per function: static arguments may take any number of values


class Call(NamedTuple):
    """One call of a jitted function, flattened and split."""

    leaves: list[Any]
    in_tree: Any
    static: tuple[Any, ...]
    positions: tuple[int, ...]  # of the dynamic positional arguments
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    mesh: Any = None  # of an ahead-of-time call: the mesh that was set while it was traced


class _Dynamic(FlatFun):
    """The function of a call's dynamic leaves, with its static arguments inserted."""

    __slots__ = ("source_call", "jitted")

    def __init__(self, jitted: Jitted, source_call: Call) -> None:
        super().__init__(jitted.fun, source_call.in_tree, jitted.options.transform)
        self.jitted = jitted
        self.source_call = source_call

    def call(self, leaves: Sequence[Any]) -> Any:
        args, kwargs = self.jitted.rebuild(self.source_call, leaves)
        return self.fun(*args, **kwargs)


class _ConstrainedDynamic(_Dynamic):
    """The same, with the user's shardings of arguments and results as constraints."""

    __slots__ = ()

    def __call__(self, *leaves: Any) -> list[Any]:
        shardings = self.jitted.options.shardings
        assert shardings is not None
        ins = shardings.of_arguments(self.in_tree)
        names = self.jitted.names(self.source_call)
        constrained = [
            _constrained(x, s, f"arguments with pytree key path {names[i]}")
            for i, (x, s) in enumerate(zip(leaves, ins, strict=True))
        ]
        outs = super().__call__(*constrained)
        out_shardings = shardings.of_results(self.out_tree)
        paths = tree.leaves_with_path(self.out_tree.unflatten(range(len(out_shardings))))
        return [
            _constrained(x, s, f"outputs with pytree key path result{tree.keystr(path)}")
            for x, s, (path, _) in zip(outs, out_shardings, paths, strict=True)
        ]


def _constrained(x: Any, sharding: Any, which: str) -> Any:
    if sharding is None or isinstance(x, Reference):  # a reference is never moved
        return x
    if isinstance(sharding, NamedSharding) and not sharding.mesh.auto_axes:
        sharding.check_compatible_aval(core.aval_of(x).shape, f"pjit {which}")
        return apply_out_sharding("jit", x, sharding)
    return constrain_evenly(x, sharding, f"pjit {which}")


def _is_long(x: Any) -> bool:
    """Whether `x` is a Python int that does not fit the default integer dtype."""
    if type(x) is not int:
        return False
    return x.bit_length() >= 8 * dtypes.int_default().itemsize


class _Compiled:
    """A function of ours for C++, compiled even under the user's `disable_jit`."""

    __slots__ = ("__weakref__", "jitted")

    def __init__(self, jitted: Jitted) -> None:
        self.jitted = jitted

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with config.DISABLE_JIT(False):
            return self.jitted.cpp(*args, **kwargs)

    def __repr__(self) -> str:
        return repr(self.jitted.fun)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.jitted.fun)


def _warn_of_static_arrays(name: str, names: Sequence[str]) -> None:
    """Warn now: C++ compares the trees of later calls, and its error names no field."""
    warnings.warn(
        errors.message(
            "jit: arrays cannot be passed as metadata fields.",
            which=f"an array in {', '.join(names)}",
            where=name,
            why="Later calls compare these fields, and arrays have no single truth value:"
            " the next call raises ValueError.",
            tries=["a data field, which is a child of the tree", "a tuple of numbers"],
        ),
        stacklevel=stacklevel(),
    )


class JitOptions(NamedTuple):
    """How a function is jitted; the public arguments are those of `jit`.

    keep_unused, inline: as for `jit`.
    device: the device to run on, or a function that returns it; None: that of the arguments.
    compiler: names and values of the user's compiler options.
    max_traces: how many signatures may be traced; None: any number.
    shardings: the user's shardings of arguments and results.
    uses_mesh_block: whether the mesh of a `with mesh:` block counts, as for `pjit`.
    transform: what the function was made with, for messages.
    inline_traced: whether it is one of our own functions, inlined while it is traced.
    accepts: what decides whether it takes the arguments; if not, it returns NotImplemented.
    floats: whether long Python ints become floats.
    """

    keep_unused: bool = False
    device: Any = None
    inline: bool = False
    compiler: tuple[tuple[str, Any], ...] = ()
    max_traces: int | None = None
    shardings: JitShardings | None = None
    uses_mesh_block: bool = False
    transform: str = "jit"
    inline_traced: bool = False
    accepts: Callable[..., bool] | None = None
    floats: bool = False


_DEFAULTS = JitOptions()


class Jitted:
    """A function and the options with which it is jitted."""

    __slots__ = (
        "__weakref__",
        "cpp",
        "direct",
        "donate",
        "fun",
        "high",
        "name",
        "options",
        "statics",
        "traces",
    )

    def __init__(
        self,
        fun: Callable[..., Any],
        statics: Statics,
        donate: Statics = NO_STATICS,
        options: JitOptions = _DEFAULTS,
    ) -> None:
        self.fun = fun
        self.statics = statics
        self.donate = donate
        self.options = options
        self.high: Jitted | None = None  # the same, for hijax values lowered to arrays
        self.name = name_of(fun)
        self.traces = _traces.of(fun if options.shardings is None else self)
        # C++ treats equal functions as one, and crashes where they cannot be compared, so
        # the key holds the function's identity.  `self.fun` keeps that id from being
        # reused.
        key = id(fun), statics, donate, options
        called = _Compiled(self) if options.inline_traced else for_cpp(fun)
        of = (self.name, called, self.cache_miss, statics, key)
        self.direct = None if options.inline_traced else FlattenedDispatch(*of)
        self.cpp = dispatcher(*of) if self.direct is None else self.direct.cpp

    # ---- flattening a call
    def split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """Separate static from dynamic arguments, and flatten the latter."""
        if self.statics == NO_STATICS:
            leaves, in_tree = tree.flatten((args, kwargs))
            return Call(leaves, in_tree, (), tuple(range(len(args))), args, kwargs)
        static, positions, dynamic = self.statics.apart(args, kwargs)
        for key, value in static:
            try:
                hash(value)
            except TypeError:
                raise ValueError(
                    errors.message(
                        "Non-hashable static arguments are not supported, as this can lead"
                        " to unexpected cache-misses. Static argument"
                        f" ({'name' if isinstance(key, str) else 'index'} {key}) of"
                        f" type {type(value)} for function {self.name} is non-hashable.",
                        which=f"static argument {key!r} of type {type(value)}: {value!r}"[:200],
                        where=f"{self.options.transform} of {function_text(self.fun)}",
                        why="Compiled programs are cached by their static values.",
                        tries=["a tuple instead of a list", "drop it from static_arg*"],
                    )
                ) from None
        leaves, in_tree = tree.flatten(dynamic)
        return Call(leaves, in_tree, static, positions, args, kwargs)

    def rebuild(self, call: Call, leaves: Sequence[Any]) -> Any:
        """Return the arguments of `fun` with the dynamic leaves replaced."""
        dynamic, kw = tree.unflatten(call.in_tree, leaves)
        if not call.static:
            return dynamic, kw
        args = list(call.args)
        for i, x in zip(call.positions, dynamic, strict=True):
            args[i] = x
        fixed = {k: v for k, v in call.static if isinstance(k, str)}
        return args, {**kw, **fixed}

    # ---- tracing
    def flat(self, call: Call) -> FlatFun:
        """Return the function of a call's dynamic leaves."""
        return (_Dynamic if self.options.shardings is None else _ConstrainedDynamic)(self, call)

    def names(self, call: Call) -> ArgNames:
        """Return the names of a call's leaves."""
        return ArgNames(self.fun, call.in_tree, call.positions)

    def trace(self, call: Call) -> TracedCall:
        """Return the jaxpr of a call."""
        avals = tuple([self.aval_of(x, i, call) for i, x in enumerate(call.leaves)])
        self.check_references(call, avals)
        return self.trace_avals(call, avals)

    def check_references(self, call: Call, avals: Sequence[Any]) -> None:
        """Raise ValueError if a reference is passed twice."""
        if AbstractRef in map(type, avals):
            names = self.names(call)
            discharge.check_passed_once(call.leaves, self.fun, self.options.transform, names)

    def aval_of(self, x: Any, i: int, call: Call) -> Any:
        """Return the type of leaf `i` of a call's arguments."""
        try:
            return core.aval_of(x)
        except OverflowError as e:
            which = self.names(call)[i]
            raise OverflowError(
                errors.message(
                    "An overflow was encountered while parsing an argument to a jitted"
                    f" computation, whose argument path is {which}. Got {type(x)} with"
                    f" value {x}",
                    why=str(e).splitlines()[0],
                    tries=["a float", "a NumPy scalar of an unsigned dtype"],
                )
            ) from None
        except TypeError as e:
            foreign = isinstance(e, errors.UnexpectedTracerError)
            if foreign or isinstance(x, (bool, int, float, complex)):
                raise
            which = self.names(call)[i]
            raise TypeError(invalid_argument_message(self.fun, x, which)) from e

    def trace_avals(self, call: Call, avals: tuple[Any, ...]) -> TracedCall:
        """Return the trace of the function for these types, cached if possible."""
        key = (
            call.in_tree,
            avals,
            call.static,
            # Types as well: 1, 1.0 and True are equal and have equal hashes.
            tuple(map(_type_of_static, call.static)),
            config.trace_key(),
            STATE.axes,
        )
        cached = self.traces.get(key)
        if cached is not None:
            if not cached.hoisted or discharge.ready(cached.hoisted):
                return cached
            self.traces.pop(key, None)
        if self.options.max_traces is not None and len(self.traces) >= self.options.max_traces:
            raise RuntimeError(self.too_many_traces(avals))
        if config.NO_TRACING.peek() or config.EXPLAIN_MISSES.peek():
            cache_misses.note_tracing(self, call, avals)
        flat = self.flat(call)
        names = self.names(call)
        began = time.perf_counter()
        with (
            monitoring.stage(monitoring.TRACING, self.name),
            cache_misses.notify_listeners("trace", self, key),
            mixing.noted() if self.options.inline_traced else nullcontext() as excused,
        ):
            closed, hoisted = hoist_tracers(*flat.stage(avals, names, self.name))
        if key_checks.is_enabled() and not self.options.inline_traced:
            use_of(closed.jaxpr)
        took = time.perf_counter() - began
        traced = TracedCall(closed, flat.out_tree, hoisted, took)
        if excused is not None and excused.depends_on_caller(call.leaves):
            return traced._replace(once=True)
        discharge.check_closed_over(
            hoisted, call.leaves, self.fun, self.options.transform, names
        )
        if all(map(discharge.is_lasting, hoisted)):
            return util.remember(self.traces, key, traced, _MOST_TRACES)
        return traced

    def too_many_traces(self, avals: Any) -> str:
        """Return the message for a call that would exceed `max_traces`."""
        seen = [", ".join(a.str_short(True) for a in k[1]) for k in list(self.traces)]
        return errors.message(
            f"{self.name} was traced more than max_traces={self.options.max_traces} times.",
            which=f"new signature ({', '.join(a.str_short(True) for a in avals)})",
            where=f"jit of {function_text(self.fun)}",
            why=f"Seen before: {'; '.join(seen[:5])}",
            tries=["pad to few shapes", "raise max_traces"],
        )

    # ---- calling
    def cache_miss(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """Handle a call that C++ has no program for: the result, fast path data, a flag."""
        options = self.options
        if options.accepts is not None and not options.accepts(*args):
            return NotImplemented, None, False
        if options.floats and any(map(_is_long, (*args, *kwargs.values()))):
            args = tuple([float(x) if _is_long(x) else x for x in args])
            kwargs = {k: float(x) if _is_long(x) else x for k, x in kwargs.items()}
            return self.cpp(*args, **kwargs), None, False
        try:
            if options.uses_mesh_block and (mesh := block_mesh()) is not config.MESH.value:
                with mesh_made_current(mesh):
                    return self.cache_miss(*args, **kwargs)
            inlined = options.inline_traced and STATE.trace is not EVAL
            if inlined or (config.DISABLE_JIT.value and not options.inline_traced):
                return self.fun(*args, **kwargs), None, False
            return self._miss(args, kwargs)
        except SystemError as e:  # C++ does not pass on that Python ran out of stack
            if not isinstance(e.__cause__, RecursionError):
                raise
            if depth.should_retry(e.__cause__):
                return depth.call_with_more_stack(self.cache_miss, *args, **kwargs)
            raise e.__cause__ from None
        except Exception as e:
            if depth.should_retry(e):
                return depth.call_with_more_stack(self.cache_miss, *args, **kwargs)
            simplify(e)
            raise

    def _miss(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool]:
        starts_in_cpp = pacing.starts_in_cpp()
        call = self.split(args, kwargs)
        if hijax_values.HIGH and any(map(hijax_values.is_high, call.leaves)):
            return self.on_high(call), None, False
        if config.EXPLICIT_X64.value == "allow":
            # C++ narrows NumPy scalars; as arrays they are narrowed here in the same way.
            scalar = (np.asarray(x) if isinstance(x, np.generic) else x for x in call.leaves)
            call = call._replace(leaves=list(scalar))
        # When a rule evaluates inside a trace, C++ would cache the result as the trace's.
        called_by_trace = config.TRACING.value
        if STATE.trace is EVAL:
            for x in call.leaves:
                if isinstance(x, Tracer):
                    raise core.leak_error(x)
        traced = self.trace(call)
        if STATE.trace is EVAL and not touches_references(traced, call):
            if names := static_arrays([args, kwargs]):
                _warn_of_static_arrays(self.name, names)
            out = self.evaluate(call, traced, starts_in_cpp)
            return (out[0], None, False) if called_by_trace else out
        if STATE.trace is EVAL and self.options.shardings is not None:
            _check_references(call.leaves, self.options.shardings.of_arguments(call.in_tree))
        n = len(traced.hoisted)
        donated = (False,) * n + self.donated(call)
        out = jit_p.bind(
            *traced.hoisted,
            *call.leaves,
            jaxpr=traced.jaxpr,
            name=self.name,
            donated_invars=donated,
            keep_unused=self.options.keep_unused,
            inline=self.options.inline,
            device=self.device_sharding(),
            compiler_options_kvs=self.options.compiler,
        )
        return tree.unflatten(traced.out_tree, out), None, False

    def device_sharding(self) -> SingleDeviceSharding | None:
        """Return the `device` argument of `jit` as a sharding, or None."""
        device = self.options.device() if callable(self.options.device) else self.options.device
        return None if device is None else SingleDeviceSharding(device)

    def on_high(self, call: Call) -> Any:
        """Call with hijax values, lowered to arrays."""
        if self.high is None:
            options = self.options
            if options.shardings is not None:
                options = options._replace(shardings=options.shardings.with_states())
            options = options._replace(inline_traced=False, accepts=None, floats=False)
            lowered = hijax_values.LoweredFunction(self.fun)
            self.high = Jitted(lowered, self.statics, self.donate, options)
        fixed = [key for key, _ in call.static]
        return hijax_values.call(self.high.cpp, call.args, call.kwargs, fixed)

    def donated(self, call: Call) -> tuple[bool, ...]:
        """Return, for each dynamic leaf, whether it is donated."""
        nums, names = self.donate
        if not nums and not names:
            return (False,) * len(call.leaves)
        n = len(call.args)
        chosen = {i if i >= 0 else i + n for i in nums}
        dynamic, kw = tree.unflatten(call.in_tree, call.leaves)
        marks = (
            tuple(
                tree.map(lambda _, d=i in chosen: d, x)
                for i, x in zip(call.positions, dynamic, strict=True)
            ),
            {k: tree.map(lambda _, d=k in names: d, v) for k, v in kw.items()},
        )
        return tuple(tree.leaves(marks))

    def evaluate(
        self, call: Call, traced: TracedCall, starts_in_cpp: bool = False
    ) -> tuple[Any, Any, bool]:
        """Run on concrete values, and return what C++ needs to repeat the call.

        starts_in_cpp: `pacing.starts_in_cpp()` when the call began.
        """
        if key_checks.is_enabled():
            return self.evaluate_checked(call, traced), None, False
        if dispatch.is_host_driven(traced.jaxpr.jaxpr):
            out = [as_array(x) for x in dispatch.eval_host_driven(traced.jaxpr, call.leaves)]
            return tree.unflatten(traced.out_tree, out), None, False
        device_sharding = self.device_sharding()
        device = None if device_sharding is None else device_sharding.devices[0]
        options = self.options
        needed, kept_indices = drop_unused(traced.jaxpr, options.keep_unused)
        requested = self.requested_placement(
            call, traced.out_tree, call.leaves, needed, kept_indices
        )
        # While a mesh is built from another, calls are allowed that C++ must not repeat.
        can_repeat = not options.inline_traced or check_meshes(self.name, call.leaves)
        layouts = self.layouts_of(call, traced)
        # Our own functions run where their arguments are, even if they read no element.
        binding = None if options.inline_traced and requested is None else kept_indices
        buffers, placement = device_assignment.place_values(
            call.leaves,
            self.name,
            device,
            requested,
            traced.jaxpr.jaxpr.arg_names,
            keep_layout=layouts is not None,
            kept_indices=binding,
        )
        if layouts is not None:
            placement = placement.with_layouts(*layouts)
        how = Options(self.name, keep_unused=options.keep_unused, compiler=options.compiler)
        try:
            request = Request(traced.jaxpr, placement, self.donated(call), how)
            program = program_of(request)
        except nesting.TooDeep:
            if dispatch.is_host_driven(traced.jaxpr.jaxpr):
                return self.evaluate(call, traced)
            raise
        rerun = functools.partial(traced.jaxpr, *call.leaves)
        if options.inline_traced:  # our own function: errors name the caller's line
            rerun = functools.partial(self.fun, *call.args, **call.kwargs)
        out = dispatch.run_program(program, buffers, f"jit({self.name})", rerun)
        result = tree.unflatten(traced.out_tree, program.wrap(out))
        fast = None
        if can_repeat and not traced.once:
            fast = fast_path(program, call.leaves, result, starts_in_cpp)
        return result, fast, False

    def evaluate_checked(self, call: Call, traced: TracedCall) -> Any:
        """Run on concrete values, and check that no random key is used twice."""

        def run() -> Any:
            return tree.leaves(self.evaluate(call, traced)[0])

        own = self.options.inline_traced
        out = key_checks.checked_call(run, traced.jaxpr, call.leaves, own)
        return tree.unflatten(traced.out_tree, out)

    def layouts_of(
        self, call: Call, traced: TracedCall, is_aot: bool = False
    ) -> Layouts | None:
        """Return the layouts of arguments and results, or None if all are default ones.

        They come from the user's formats, from the layouts of a program's results, and, if
        it is compiled ahead of time, from the arguments.
        """
        shardings = self.options.shardings
        auto_layouts = auto_result_layouts(traced.jaxpr.jaxpr)
        if shardings is None or not shardings.has_layouts:
            arg_has_layout = is_aot and any(map(current_layout, call.leaves))
            if not arg_has_layout and not any(auto_layouts):
                return None
            shardings = shardings or JitShardings(None, None)
        ins, outs = shardings.layouts_of(
            call.in_tree, call.leaves, self.names(call), traced.out_tree, traced.jaxpr.out_avals
        )
        return ins, [
            requested or automatic
            for requested, automatic in zip(outs, auto_layouts, strict=True)
        ]

    def requested_placement(
        self,
        call: Call,
        out_tree: Any,
        values: Sequence[Any],
        needed: ClosedJaxpr,
        kept_indices: Sequence[int],
    ) -> Placement | None:
        """Return the placement that a call requests itself, or None.

        values: the program's closed-over values, then the leaves; `needed` takes those with
        the indices `kept_indices`.
        """
        n = len(kept_indices)
        if self.options.shardings is None:
            return device_assignment.requested_placement_of([needed.jaxpr], n)
        ins = self.options.shardings.of_arguments(call.in_tree)
        ins = [*[None] * (len(values) - len(ins)), *ins]
        if n < len(values):
            for i in set(range(len(values))).difference(kept_indices):
                device_assignment.check_unread(values[i], ins[i])
            ins = [ins[i] for i in kept_indices]
        return device_assignment.requested_placement_of(
            [needed.jaxpr], n, ins, self.options.shardings.of_results(out_tree)
        )


def _check_references(leaves: Sequence[Any], ins: Sequence[Any]) -> None:
    """Raise if a committed reference does not have the requested sharding."""
    for x, required in zip(leaves, ins, strict=True):
        if required is None or not isinstance(x, discharge.Ref) or not x.committed:
            continue
        if not x.sharding.is_equivalent_to(required, x.ndim):
            raise sharding_mismatch_error(required, x)


def touches_references(traced: TracedCall, call: Call) -> bool:
    """Whether a call takes references, or its program closes over mutable values."""
    return bool(traced.hoisted) or any(isinstance(x, Reference) for x in call.leaves)


def _type_of_static(item: tuple[Any, Any]) -> type:
    return type(item[1])


def invalid_argument_message(fun: Any, x: Any, which: str) -> str:
    """Return the message for an argument of a traced function that is not a value."""
    return errors.message(
        f"Error interpreting argument to {fun} as an abstract array. The problematic"
        f" value is of type {type(x)} and was passed to the function at path {which}.",
        which=f"argument {which} of {name_of(fun)}: {x!r}"[:200],
        why=f"Cannot interpret value of type {type(x)} as an abstract array; it does not"
        " have a dtype attribute.",
        tries=[f"static_argnames={which.split('[')[0]!r}", "close over it"],
    )
