"""Staging: from a Python function to a jaxpr.

`StageTrace` records one equation per `bind`.  Result types come from the primitives'
abstract rules, cached by (primitive, params, avals).  Values other than tracers of this
trace become literals (scalars) or constants (arrays, outer tracers), each once.

This package names no operation.  Next: jvp.py.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..base import config, option, source, util
from ..base.depth import applied
from ..ir import core, hooks
from ..ir.core import EVAL, STATE, Primitive, Reference, Trace, Tracer
from ..ir.hooks import tracer_errors
from ..ir.jaxpr import (
    ClosedJaxpr,
    Equation,
    Jaxpr,
    Literal,
    Var,
    lift_consts,
    params_of,
)
from ..ir.sharding_rules import DIFFERING, result_type
from ..types.avals import WIDE_SCALARS, AbstractRef, ShapedArray, keeps_wide_dtype, shaped
from ..types.dtypes import is_extended
from .ad_util import core_ops

if TYPE_CHECKING:
    from ..types.aliases import Atom, Aval, Params, Results, Value

T = TypeVar("T")

_SCALARS = (bool, int, float, complex)


class JitTracer(Tracer):
    """A value of a program being staged."""

    __slots__ = ("variable",)

    def __init__(self, trace: StageTrace, aval: Aval, var: Var) -> None:
        self._trace = trace
        self.aval = aval
        self.variable = var

    def origin(self) -> str | None:
        trace = self._trace
        is_staged = isinstance(trace, StageTrace)
        return tracer_errors.origin(trace, self.variable) if is_staged else None


_types: dict[Any, Any] = util.cache({})
_NO_PARAMS: dict[str, Any] = {}  # one for all equations without params


def abstract(prim: Primitive, avals: Sequence[Aval], params: Params) -> Any:
    """Return the type(s) of a primitive's result(s); they are cached."""
    axes = None
    if prim.named_axes is not None:  # its type depends on the axes in scope
        if prim.regions is not None:
            return result_type(prim, avals, params)
        axes = STATE.axes
    try:
        key = (option.state(), prim, tuple(params.items()), tuple(avals), axes)
        out = _types.get(key)
    except TypeError:  # unhashable params cannot be a key
        return result_type(prim, avals, params)
    if out is None:
        out = result_type(prim, avals, params)
        if len(_types) > 100_000:
            _types.clear()
        if not any(map(_lives_on, params.values())):
            _types[option.interned_state(), *key[1:]] = out
    return out


def _lives_on(param: Any) -> bool:
    """Whether a param holds a function or a program, which a cache key would keep alive."""
    if isinstance(param, (tuple, list)):
        return any(map(_lives_on, param))
    return callable(param) or isinstance(param, Jaxpr) or hasattr(param, "memo")


def is_scalar_array(x: Value, aval: Aval) -> bool:
    """Whether `x` is a concrete array of one number."""
    if isinstance(x, Tracer) or type(aval) is not ShapedArray or aval.shape:
        return False
    return not is_extended(aval.dtype)


def _scalar(value: Value, aval: Aval) -> Value:
    """Return a scalar of type `aval`, as a Python number if the type is weak."""
    if aval.weak_type:
        python = float(str(value)) if value.dtype.kind == "f" else value.item()
        if core.aval_of(python) is aval:
            return python
    return value


def _is_concrete(prim: Primitive, args: Sequence[Any], params: dict[str, Any]) -> bool:
    """Whether the operation depends on no traced value and no mapped axis."""
    if any(isinstance(x, (Tracer, Reference)) for x in args):
        return False
    return prim.named_axes is None or not prim.named_axes(params)


# Programs compare the name of a value's class with JAX's.
JitTracer.__name__ = "DynamicJaxprTracer"


class StageTrace(Trace):
    """Records the operations on its tracers as equations."""

    __slots__ = (
        *("arg_names", "consts", "constvars", "eqns", "folds", "fun", "invars"),
        *("reads_scalars", "ref_vars", "transform"),
    )
    is_staging = True

    def __init__(self, parent: Trace, fun: str = "", transform: str = "jit") -> None:
        self.parent = parent
        self.reads_scalars = True  # whether scalars on a device become literals
        self.folds = config.FOLDING.value  # whether operations on constants are evaluated
        self.alive = True
        self.eqns: list[Equation] = []
        self.invars: list[Var] = []
        self.consts: list[Any] = []
        self.constvars: dict[int, Var] = {}
        self.ref_vars: dict[int, tuple[Any, Var]] = {}  # references of this program
        self.fun = fun
        self.transform = transform
        self.arg_names: Sequence[str] = ()

    def new_arg(self, aval: Aval, source_info: object = None) -> Value:
        """Add an input to the program; `source_info`, which libraries pass, is unused."""
        var = Var(aval)
        self.invars.append(var)
        tracer = JitTracer(self, aval, var)
        return tracer if type(aval) is ShapedArray else self.to_user_value(tracer)

    def to_user_value(self, tracer: JitTracer) -> Value:
        """Return the object that the traced function gets for an input.

        For a reference that is a `Ref`; `atom` finds its variable by the identity of the
        object, which `ref_vars` keeps alive.
        """
        if type(tracer.aval) is not AbstractRef:
            return tracer
        x = hooks.reference.call(tracer)
        self.ref_vars[id(x)] = x, tracer.variable
        return x

    def atom(self, x: Value) -> Atom:
        """Return the variable or literal for `x` in this program."""
        kind = type(x)
        if kind is JitTracer and x._trace is self:
            return x.variable  # type: ignore[no-any-return]
        if kind in _SCALARS:
            return Literal(x, core.aval_of(x))
        if isinstance(x, (np.ndarray, np.generic)) and not x.shape:
            aval = core.aval_of(x)
            return Literal(np.asarray(x, aval.dtype)[()], aval)
        if id(x) in self.ref_vars:
            return self.ref_vars[id(x)][1]
        var = self.constvars.get(id(x))
        if var is None:
            if isinstance(x, Tracer):
                core.check_reach(x, self)
            elif hasattr(x, "__jax_array__"):
                return self.atom(x.__jax_array__())
            elif isinstance(x, _SCALARS):  # a subclass, for instance an IntEnum
                return Literal(x, core.aval_of(x))
            aval = core.aval_of(x)
            if self.reads_scalars and is_scalar_array(x, aval):
                return Literal(_scalar(np.asarray(x)[()], aval), aval)
            var = self.constvars[id(x)] = Var(aval)
            self.consts.append(x)
        return var

    def process(self, prim: Primitive, args: tuple[Value, ...], params: Params) -> Results:
        if self.folds and _is_concrete(prim, args, params):
            with core.current(self if prim.facts.has_closures else EVAL):
                return EVAL.process(prim, args, params)
        if prim.stage is not None:
            return prim.stage(self, args, params)
        atoms = []
        avals = []
        for x in args:
            if type(x) is JitTracer and x._trace is self:
                atoms.append(x.variable)
                avals.append(x.aval)
            else:
                if (
                    type(x) in WIDE_SCALARS
                    and prim.regions is None  # inner programs have their types already
                    and keeps_wide_dtype(x, args)
                ):
                    a: Any = Literal(x, shaped((), x.dtype))
                else:
                    a = self.atom(x)
                if type(a.aval) is AbstractRef:
                    prim.check_accepts_ref(a.aval)
                atoms.append(a)
                avals.append(a.aval)
        out = abstract(prim, avals, params)
        if out is DIFFERING:
            return self.process(prim, core_ops.match_varying_axes(prim, args, avals), params)
        return self.record(prim, atoms, params, out)

    def record(
        self, prim: Primitive, atoms: Sequence[Atom], params: Params, out: Any
    ) -> Results:
        """Append an equation whose results have type(s) `out`; return its tracers."""
        location = STATE.source
        if location is None:
            frame = source.user_frame(3)
            if frame is not None:
                location = source.source_of_frame(frame)
        params = params or _NO_PARAMS
        names = STATE.names
        if prim.multiple_results:
            outvars = tuple([Var(aval) for aval in out])
            params = params_of(prim, params)
            self.eqns.append(Equation(prim, atoms, outvars, params, location, names))
            return [JitTracer(self, v.aval, v) for v in outvars]
        var = Var(out)
        self.eqns.append(Equation(prim, atoms, (var,), params, location, names))
        return JitTracer(self, out, var)

    def finish(self, outs: Sequence[Any], name: str = "") -> tuple[Jaxpr, list[Any]]:
        """Return the jaxpr with these outputs, and the values of its constvars."""
        self.reads_scalars = False  # outputs are returned as they are, not read
        outvars = [self.atom(x) for x in outs]
        for v in outvars:
            if isinstance(v.aval, AbstractRef):
                raise tracer_errors.staged_reference(self, v)
        jaxpr = Jaxpr(
            list(self.constvars.values()),
            self.invars,
            outvars,
            self.eqns,
            name=name,
            arg_names=self.arg_names,
        )
        self.alive = False
        if config.ENABLE_CHECKS.value:
            hooks.check_jaxpr.call(jaxpr)
        return jaxpr, self.consts

    def describe(self) -> str:
        return f"while tracing {self.fun} for {self.transform}" if self.fun else ""


def stage(
    fun: Callable[..., Sequence[Value]],
    in_avals: Sequence[Aval],
    *,
    name: str = "",
    text: str = "",
    transform: str = "jit",
    arg_names: Sequence[str] = (),
    kind: type[StageTrace] = StageTrace,
) -> tuple[Jaxpr, list[Value]]:
    """Trace `fun`, from flat arguments to flat results, into (jaxpr, const values)."""
    trace = kind(STATE.trace, text or source.function_text(fun), transform)
    trace.arg_names = arg_names
    args = [trace.new_arg(aval) for aval in in_avals]

    def record() -> tuple[Jaxpr, list[Any]]:
        STATE.names, STATE.source = config.METADATA.value, None
        return trace.finish(applied(fun, args), name)

    result: tuple[Jaxpr, list[Any]] = core.under(trace, record)
    if config.CHECK_LEAKS.value:
        finished = weakref.ref(trace)
        del trace, args
        tracer_errors.check_leaks(finished)
    return result


def stage_closed(
    fun: Callable[..., Sequence[Value]], in_avals: Sequence[Aval], **kw: Any
) -> ClosedJaxpr:
    """Trace `fun` like `stage`; return a closed jaxpr."""
    jaxpr, consts = stage(fun, in_avals, **kw)
    return ClosedJaxpr(jaxpr, consts)


def hoist_tracers(jaxpr: Jaxpr, consts: list[Value]) -> tuple[ClosedJaxpr, list[Value]]:
    """Turn constants into leading arguments if any is an outer tracer or a reference.

    Returns the closed jaxpr and the values to pass first.  Either all constants become
    arguments or none.
    """
    if not any(isinstance(c, (Tracer, Reference)) for c in consts):
        return ClosedJaxpr(jaxpr, consts), []
    return lift_consts(jaxpr), consts


def remembered(fun: Callable[..., T]) -> Callable[..., T]:
    """Cache a function of a closed jaxpr with the jaxpr.

    The key is all that the result may depend on: the other arguments, which must be hashable
    (lists count as tuples), the identities of the constants, the options that tracing reads,
    and the mapped axes in scope.
    """

    @wraps(fun)
    def cached(closed: ClosedJaxpr, *args: Any) -> T:
        if any(isinstance(c, (Tracer, Reference)) for c in closed.consts):
            return fun(closed, *args)  # a cached result would keep tracers alive
        memo, ids = closed.jaxpr.memo, tuple(map(id, closed.consts))
        key = (fun, config.trace_key(), STATE.axes, *args)
        try:
            entry = memo.get(key)
        except TypeError:
            key = (*key[:3], *util.hashable(args))
            entry = memo.get(key)
        if entry is None or entry[0] != ids:
            # The entry keeps the constants alive, so no other object can get their ids.
            entry = memo[key] = ids, fun(closed, *args), closed.consts
        return entry[1]

    util.cached_functions.append(util.CachedFunction(cached, fun, False))
    return cached
