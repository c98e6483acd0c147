"""Primitives, traces and tracers, without any mathematics.

`Primitive.bind(*args, **params)` passes an operation to the thread's *current trace*.
A trace is an interpretation: evaluation, staging, jvp, linearize, batching.  Its values
are tracers.  Each tracer belongs to one trace, which unboxes its own tracers, treats
everything else as a constant, and applies the primitive's rule while its parent is
current.  There are no levels: nesting is the chain of parents.  A finished trace is marked
dead, so a leaked tracer is detected in O(1).

A primitive carries its rules as attributes (see `Primitive`), and what is known of it as one
record (facts.py).  `Unsupported` is a rule that raises an error with the reason why there is
none.  Next: jaxpr.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from ..base import above, config, errors
from ..base.above import Hook, LibraryAttribute
from ..base.depth import applied
from ..base.source import Source
from ..base.tracebacks import simplify
from ..types import avals
from ..types.avals import AbstractRef, AbstractValue, ShapedArray
from . import hooks
from .facts import NO_FACTS
from .hooks import tracer_errors

if TYPE_CHECKING:
    from ..runtime.lowering.context import Lowering
    from ..types.aliases import (
        AxisName,
        DType,
        MlirValue,
        NumPyArray,
        Param,
        Params,
        Reduced,
        Results,
        Shape,
        Value,
    )

Rule = Callable[..., Any]


class Unsupported:
    """A rule that is missing for a stated reason; calling it raises."""

    __slots__ = ("error", "reason")

    def __init__(self, reason: str, error: type[Exception] = NotImplementedError) -> None:
        self.reason = reason
        self.error = error

    def __call__(self, *_: object, **__: object) -> NoReturn:
        raise self.error(self.reason)


class Missing(Unsupported):
    """A rule that is not defined."""

    __slots__ = ()

    def __init__(self, rule: str, prim: str) -> None:
        super().__init__(f"{rule} for {prim!r} not implemented")


def unsupported(reason: str, error: type[Exception] = NotImplementedError) -> Any:
    """Declare that a rule is missing, and why."""
    return Unsupported(reason, error)


class ByPlatform:
    """A lowering rule with rules for some platforms; the others use the default."""

    __slots__ = ("default", "rules")

    def __init__(self, default: Rule, **rules: Rule) -> None:
        self.default = default
        self.rules = rules

    def on(self, platform: str) -> Rule:
        """Return the rule for a platform."""
        return self.rules.get(platform, self.default)

    def __call__(self, ctx: Lowering, /, *operands: MlirValue, **params: Param) -> Any:
        return self.on(ctx.platform)(ctx, *operands, **params)


class ShardingRule(NamedTuple):
    """How results are sharded, given the types of the operands; see sharding_rules.py.

    specs(specs, avals, outs, params) -> [spec | None], the spec of each result along
        `Explicit` mesh axes; `specs` are those of the operands, and `specs.mesh` their mesh;
        `avals` and `outs` are the types without them; the default is replicated
    manual(operands, params) -> the `ManualAxes` of the results, given those of the operands;
        the default: results vary along all axes that an operand varies along; "abstract":
        the types that `abstract` returns have them, as for primitives that hold programs
    linear_in: the operands in which it is linear, for unreduced operands: "first"; "together":
        all jointly; "product": each of two; "any": its other rules decide; None: none
    request: the name of the param that requests the result's sharding
    check_request(sharding, specs, avals, params) raises if the request is impossible
    """

    specs: Rule | None = None
    manual: Rule | str | None = None
    linear_in: str | None = None
    request: str | None = None
    check_request: Rule | None = None

    def shards_results(self, params: dict[str, Any]) -> bool:
        """Whether results may be sharded although no operand is."""
        if self.request is not None and params[self.request] is not None:
            return True
        return callable(self.manual)


REPLICATED = ShardingRule()


class Primitive:
    """An operation and its rules.

    abstract(*avals, **params) -> aval | [avals]
    jvp(primals, tangents, **params) -> (out, out_tangent)        tangents may be `Zero`
    linearize(trace, primals, tangents, **params) -> (out, out_tangent)     optional
    transpose(ct, *args, **params) -> [ct | None]      linear args are `UndefinedPrimal(aval)`
    batch(axis, args, dims, **params) -> (out, dim); also called, whatever the operands, if
        `axis.name` is one of `named_axes`
    lower(ctx, *operands, **params) -> value | [values]; may be a `ByPlatform`
    impl(*args, **params): evaluation, unless the primitive alone is compiled
    stage(trace, args, params): recording, unless it is one equation
    effects(params) -> frozenset; named_axes(params) -> names of mapped axes it uses
    dce(used results, eqn) -> the equation without its unused parts, or None
    sharding: how results are sharded over a mesh, a `ShardingRule`; see sharding_rules.py
    regions: how it holds programs, see regions.py
    facts: what analyses, checkers, tools and the printer read, see facts.py
    """

    __slots__ = (
        "__weakref__", "abstract", "batch", "dce", "effects", "facts", "impl", "jvp",
        "linearize", "lower", "multiple_results", "name", "named_axes", "regions", "sharding",
        "stage", "transpose",
    )  # fmt: skip

    bind_with_trace: Any = LibraryAttribute()
    abstract_eval: Any = LibraryAttribute()
    def_impl: Any = LibraryAttribute()
    def_abstract_eval: Any = LibraryAttribute()
    get_bind_params: Any = LibraryAttribute()
    call_primitive: Any = LibraryAttribute()
    map_primitive: Any = LibraryAttribute()

    def __init__(self, name: str, multiple_results: bool = False) -> None:
        self.name = name
        self.multiple_results = multiple_results
        self.abstract: Rule = Missing("Abstract evaluation", name)
        self.jvp: Rule = Missing("Differentiation rule", name)
        self.transpose: Rule = Missing(
            "Transpose rule (for reverse-mode differentiation)", name
        )
        self.batch: Rule = Missing("Batching rule", name)
        self.lower: Rule = Missing("MLIR translation rule", name)
        self.linearize: Rule | None = None
        self.sharding = REPLICATED
        self.impl: Rule | None = None
        self.stage: Rule | None = None
        self.effects: Rule | None = None
        self.named_axes: Rule | None = None
        self.dce: Rule | None = None
        self.regions: Any = None
        self.facts = NO_FACTS
        self.register()

    def register(self) -> None:
        """Enter the primitive in the registry under its name."""
        registry[self.name] = self

    def bind(self, *args: Value, **params: Param) -> Any:
        """Apply the primitive under the current trace."""
        try:
            return STATE.trace.process(self, args, params)
        except Exception as error:
            if isinstance(error, errors.UnexpectedTracerError):
                bare = [unwrapped(x) for x in args]
                if any(x is not y for x, y in zip(bare, args, strict=True)):
                    return self.bind(*bare, **params)
            simplify(error)
            raise

    def def_sharding(self, **fields: Any) -> None:
        """Set fields of the sharding rule."""
        self.sharding = self.sharding._replace(**fields)

    def check_accepts_ref(self, aval: AbstractValue) -> None:
        """Raise unless the primitive takes references, of type `aval`."""
        raise tracer_errors.reference(aval, self.name, STATE.trace)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> Reduced:
        return named, (self.name,)


registry: dict[str, Primitive] = {}
# Primitives that run programs on devices themselves and cannot be part of a compiled
# program.  It is usually empty; then no program has to be searched for them.
host_driven: set[Primitive] = set()


def named(name: str) -> Primitive:
    """Return the primitive of this name, for a pickled program."""
    for group in ("primitives", "rare_primitives"):
        if name not in registry:
            above.load(group)
    if name not in registry:
        raise LookupError(
            errors.message(
                f"There is no primitive {name!r}, which a pickled program uses.",
                tries=["import the module that defines it first"],
            )
        )
    return registry[name]


# ------------------------------------------------------------------------ traces


class Trace:
    """One interpretation in progress; `parent` is the one around it."""

    __slots__ = ("__weakref__", "alive", "memo", "parent")
    transform = "trace"
    is_staging = False  # whether it records a program, which must not change outer state
    is_linear_only = False  # whether it records only operations that depend on tangents
    allows_capture = False  # whether programs inside it may capture its tracers as constants
    parent: Trace
    memo: dict[Any, Any]  # data of higher layers; set by the first layer that needs it
    main: Any = LibraryAttribute()
    full_raise: Any = LibraryAttribute()

    def __init__(self, parent: Trace) -> None:
        self.parent = parent
        self.alive = True

    def process(self, prim: Primitive, args: tuple[Value, ...], params: Params) -> Results:
        """Apply `prim` to arguments, some of which are tracers of this trace."""
        raise TypeError(f"{type(self).__name__} cannot apply {prim}")

    def compiled_rules(self, hook: Hook) -> Rule | None:
        """Return what runs compiled rules of one kind: a function in evaluation, else None."""
        return None

    def describe(self) -> str:
        """Return what is being traced, for messages."""
        return self.transform


class EvalTrace(Trace):
    """Evaluation: the runtime runs each primitive immediately."""

    __slots__ = ()
    transform = "eager"

    def __init__(self) -> None:
        self.alive = True
        self.parent = self

    def process(self, prim: Primitive, args: tuple[Value, ...], params: Params) -> Results:
        if prim.impl is not None:
            return prim.impl(*args, **params)
        return hooks.evaluate.call(prim, args, params)

    def compiled_rules(self, hook: Hook) -> Rule | None:
        return hook.call


EVAL = EvalTrace()


def watch_evaluation(around: Callable[..., Any]) -> None:
    """Evaluate operations with `around(evaluate, prim, args, params)` from now on."""
    evaluate = EVAL.process

    def process(self: EvalTrace, prim: Primitive, args: tuple[Any, ...], params: Any) -> Any:
        return around(evaluate, prim, args, params)

    EvalTrace.process = process  # type: ignore[method-assign]


class TypedAxis(tuple[Any, int]):
    """A mapped axis (name, size); types record whether values vary along it."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is TypedAxis and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


class _State(threading.local):
    """The state of tracing in this thread."""

    trace: Trace = EVAL
    axes: tuple[tuple[AxisName, int], ...] = ()  # the mapped axes in scope: (name, size)
    names: str = ""  # the name stack
    source: Source | None = None  # the user's line, if it is known already


STATE = _State()


class current:
    """Make `trace` current in this thread for a block."""

    __slots__ = ("before", "trace")

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def __enter__(self) -> Trace:
        self.before = enter(self.trace)
        return self.trace

    def __exit__(self, *_: object) -> None:
        leave(self.before)


def tracing_context() -> tuple[Any, Any]:
    """Return what a trace depends on besides its arguments: options and axes in scope."""
    return config.trace_key(), STATE.axes


def enter(trace: Trace) -> tuple[Trace, bool]:
    """Make `trace` current; return the state that `leave` restores.

    The flag `TRACING` keeps jaxlib's C++ dispatch from running jitted calls while a trace
    other than evaluation is current.  A trace that applies a rule under its parent may
    leave the flag set: the rule's jitted calls then go through Python.
    """
    # Setting the flag crosses into C++, so it is set only where it changes.
    before = STATE.trace, config.TRACING.value
    STATE.trace = trace
    if before[1] is (trace is EVAL):
        config.TRACING.set_local(trace is not EVAL)
    return before


def leave(before: tuple[Trace, bool]) -> None:
    """Restore the state before `enter`."""
    STATE.trace, tracing = before
    if config.TRACING.value is not tracing:
        config.TRACING.set_local(tracing)


def under(trace: Trace, fun: Callable[..., Any], *args: Any) -> Any:
    """Return `fun(*args)`, called while `trace` is current; mark the trace dead afterwards.

    The state before the call is restored even if an interrupt (Ctrl-C) stopped code inside
    that restores its own part: the `finally` block below calls nothing that an interrupt
    could stop before the state is restored.
    """
    before = STATE.trace, STATE.axes, STATE.names, STATE.source
    tracing = config.TRACING.value
    try:
        enter(trace)
        return applied(fun, args)
    finally:
        trace.alive = False
        STATE.trace, STATE.axes, STATE.names, STATE.source = before
        if config.TRACING.value is not tracing:
            config.TRACING.set_local(tracing)


class axis_env:
    """Replace the mapped axes in scope, for a block.

    A class, not a generator, here and below: a generator that an interrupt left open would
    be closed late, by the garbage collector, and would then overwrite newer state.
    """

    __slots__ = ("axes", "before")

    def __init__(self, axes: tuple[tuple[AxisName, int], ...]) -> None:
        self.axes = axes

    def __enter__(self) -> None:
        self.before = STATE.axes
        STATE.axes = self.axes

    def __exit__(self, *_: object) -> None:
        STATE.axes = self.before


def mapped_axis(name: AxisName, size: int) -> axis_env:
    """Add the mapped axis `name` to those in scope, for a block."""
    return axis_env((*STATE.axes, (name, size)))


def within_axes(
    axes: tuple[tuple[AxisName, int], ...], fun: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """Return `fun(*args, **kwargs)`, called with these mapped axes in scope.

    For callers that enter no trace, instead of `axis_env`: an interrupt cannot leave the
    axes in scope.
    """
    before = STATE.axes
    try:
        STATE.axes = axes
        return fun(*args, **kwargs)
    finally:
        STATE.axes = before


def axis_size(name: AxisName | list[AxisName]) -> int:
    """Return the size of the mapped axis `name`; for several names, the product."""
    if isinstance(name, (tuple, list)):
        total = 1
        for n in name:
            total *= axis_size(n)
        return total
    for axis, size in reversed(STATE.axes):
        if axis == name:
            return int(size)
    names = [str(n) for n, _ in named_axes()]
    raise tracer_errors.no_axis(name, names, STATE.trace)


class Along(frozenset[Any]):
    """The mesh axes over which lanes are sharded, in place of a mapped axis's name."""

    __slots__ = ()


def named_axes() -> list[tuple[AxisName, int]]:
    """Return the mapped axes in scope that have names, with their sizes."""
    return [axis for axis in STATE.axes if type(axis[0]) is not Along]


def axes_of_lanes() -> frozenset[AxisName]:
    """Return the mesh axes over which lanes of `vmap(spmd_axis_name=)` are sharded here."""
    return frozenset([n for a, _ in STATE.axes if type(a) is Along for n in a])


def typed_axes() -> tuple[AxisName, ...]:
    """Return the names of the manual axes in scope that types record."""
    return tuple([axis[0] for axis in STATE.axes if type(axis) is TypedAxis])


class name_scope:
    """Push `name` on the name stack, for a block."""

    __slots__ = ("before", "name")

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        self.before = old = STATE.names
        STATE.names = f"{old}/{self.name}" if old else self.name

    def __exit__(self, *_: object) -> None:
        STATE.names = self.before


def trace_stack() -> list[Trace]:
    """Return the current traces, innermost first, without evaluation."""
    out, t = [], STATE.trace
    while t is not EVAL:
        out.append(t)
        t = t.parent
    return out


def stack_text() -> str:
    """Return the transformation stack as text, outermost first: `jit > vmap > grad`."""
    return str(tracer_errors.stack_of(STATE.trace))


# ----------------------------------------------------------------------- tracers


class Tracer:
    """A value of a trace.  Array methods and operators come from `surface/`."""

    __slots__ = ("__weakref__", "_trace", "aval")
    __array_priority__ = 1000
    _trace: Trace
    aval: AbstractValue
    full_lower: Any = LibraryAttribute()
    to_concrete_value: Any = LibraryAttribute()

    def __init__(self, trace: Trace, aval: AbstractValue) -> None:
        self._trace = trace
        self.aval = aval

    # Attributes that need no value.
    @property
    def shape(self) -> Shape:
        return self.aval.shape

    @property
    def dtype(self) -> DType:
        return self.aval.dtype

    @property
    def weak_type(self) -> bool:
        return self.aval.weak_type

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        return self.aval.size

    def concrete(self) -> Value | None:
        """Return the concrete value inside, or None."""
        return None

    def origin(self) -> str | None:
        """Return where this value comes from, for messages, or None."""
        return None

    # Methods that need a concrete value.
    def __bool__(self) -> bool:
        if (value := self.concrete()) is None:
            raise tracer_errors.no_bool(self, STATE.trace)
        return bool(value)

    def __int__(self) -> int:
        if (value := self.concrete()) is None:
            raise tracer_errors.no_number(self, STATE.trace, int)
        return int(value)

    def __float__(self) -> float:
        raise tracer_errors.no_number(self, STATE.trace, float)

    def __complex__(self) -> complex:
        raise tracer_errors.no_number(self, STATE.trace, complex)

    def __index__(self) -> int:
        if (value := self.concrete()) is None:
            raise tracer_errors.no_index(self, STATE.trace)
        return value.__index__()  # type: ignore[no-any-return]

    def __array__(self, *_: object, **__: object) -> NumPyArray:
        if (value := self.concrete()) is None:
            raise tracer_errors.no_array(self, STATE.trace)
        return value.__array__()  # type: ignore[no-any-return]

    def item(self, *args: int) -> bool | int | float | complex:
        """Return the value as a Python scalar (needs a concrete value)."""
        if (value := self.concrete()) is None:
            raise tracer_errors.no_number(self, STATE.trace, float)
        return value.item(*args)  # type: ignore[no-any-return]

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of unsized object")
        return self.aval.shape[0]

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({self.aval})"

    def __format__(self, spec: str) -> str:
        if spec:
            raise TypeError(
                f"unsupported format string passed to {type(self).__name__}.__format__"
            )
        return repr(self)

    def __copy__(self) -> Tracer:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        return self

    def __getattr__(self, name: str) -> Any:
        raise tracer_errors.no_attribute(self, STATE.trace, name)


class Reference:
    """A mutable value that programs identify by object identity: see control/refs/refs.py."""

    __slots__ = ("__weakref__", "aval")
    aval: AbstractRef


def check_reach(x: Tracer, trace: Trace) -> None:
    """Raise unless the value `x` of an outer trace may be used in `trace`."""
    maker = x._trace
    t = trace
    while t is not maker:
        if t is EVAL:
            if maker.alive and maker.allows_capture and _inside(maker, trace):
                return
            raise leak_error(x)
        t = t.parent
    if not maker.alive:
        raise leak_error(x)


def _inside(inner: Trace, outer: Trace) -> bool:
    while inner is not outer and inner is not EVAL:
        inner = inner.parent
    return inner is outer


def leak_error(x: Tracer) -> Exception:
    """Return the error for a tracer that outlived its trace, or is used outside it."""
    error: Exception = tracer_errors.leaked(x, STATE.trace)
    return error


# --------------------------------------------------------- abstract value of a value

aval_rules: dict[type, Callable[[Any], AbstractValue]] = {
    bool: lambda x: avals.scalar_aval(bool),
    int: lambda x: int_aval(x),
    float: lambda x: avals.scalar_aval(float),
    complex: lambda x: avals.scalar_aval(complex),
}


def int_aval(x: int) -> ShapedArray:
    """Return the aval of a Python int; raise OverflowError if it does not fit."""
    aval = avals.scalar_aval(int)
    if -(2**31) <= x < 2**31:
        return aval
    bits = 8 * aval.dtype.itemsize
    if not -(2 ** (bits - 1)) <= x < 2 ** (bits - 1):
        raise OverflowError(
            f"Python int {x} too large to convert to {aval.dtype}\n"
            "Try: a float, a NumPy scalar of an unsigned dtype, or jax_enable_x64."
        )
    return aval


def register_aval(kind: type, rule: Callable[[Any], AbstractValue]) -> None:
    """Register the rule by which `aval_of` treats values of the type `kind`."""
    aval_rules[kind] = rule


def aval_of(x: Value) -> AbstractValue:
    """Return the abstract value of any value that primitives accept.

    >>> aval_of(1.0)
    ShapedArray(float32[], weak_type=True)
    """
    if isinstance(x, Tracer):
        return x.aval
    rule = aval_rules.get(type(x))
    if rule is not None:
        return rule(x)
    for kind in type(x).__mro__[1:]:
        rule = aval_rules.get(kind)
        if rule is not None:
            aval_rules[type(x)] = rule
            return rule(x)
    custom = getattr(x, "__jax_array__", None)
    if custom is not None:
        return aval_of(custom())
    rule = aval_rules.get(x.__class__)
    if rule is not None:  # a proxy object, whose `__class__` is that of its target
        return rule(x)
    check_foreign(x)
    raise tracer_errors.no_value(x, STATE.trace)


def unwrapped(x: Value) -> Value:
    """Return the array or tracer that `__jax_array__` of an object returns, else `x`."""
    if isinstance(x, Tracer) or type(x) in aval_rules:
        return x
    custom = getattr(x, "__jax_array__", None)
    return x if custom is None else unwrapped(custom())


def check_foreign(x: object) -> None:
    """Raise UnexpectedTracerError if `x` is a tracer of another library."""
    if any(kind.__name__ == "Tracer" for kind in type(x).__mro__):
        raise tracer_errors.foreign(x, STATE.trace)


def is_value(x: object) -> bool:
    """Whether `x` can be an argument of a primitive."""
    if isinstance(x, Tracer) or type(x) in aval_rules:
        return True
    if any(k in aval_rules for k in type(x).__mro__) or hasattr(x, "__jax_array__"):
        return True
    return x.__class__ in aval_rules  # a proxy


def is_concrete(x: Value) -> bool:
    """Whether the value of `x` can be read now."""
    return not isinstance(x, Tracer) or x.concrete() is not None
