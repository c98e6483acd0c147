"""Jaxprs: a typed, functional intermediate representation.

    { lambda constvars ; invars . let eqns in (outvars) }

An equation applies a primitive to atoms (variables or literals).  A `Jaxpr` is open: its
constvars have no values; a `ClosedJaxpr` has their values.  All of it is plain data;
analysis/check.py verifies it, and text/printer.py prints it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial, wraps
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, final

from ..base import depth, util
from ..base.above import LibraryAttribute
from ..base.source import Source
from ..types.avals import AbstractRef
from . import core, hooks
from .core import Primitive
from .names import within

if TYPE_CHECKING:
    from ..types.aliases import Aval, AxisName, Param, Reduced, Value
    from ..views.attributes import DebugInfo

T = TypeVar("T")
no_effects: frozenset[Any] = frozenset()
_MISSING: Any = object()


def cached_on_jaxpr(fun: Callable[..., T]) -> Callable[..., T]:
    """Cache a function of a jaxpr on the jaxpr, by its other arguments.

    These must be hashable; lists count as tuples. The result must depend on nothing else:
    neither on options nor on the axes in scope. For functions that trace, see `remembered`
    in passes/stage.py.
    """

    @wraps(fun)
    def cached(jaxpr: Jaxpr, *args: Any) -> T:
        key: Any = (fun, *args) if args else fun
        try:
            value = jaxpr.memo.get(key, _MISSING)
        except TypeError:
            key = (fun, *util.hashable(args))
            value = jaxpr.memo.get(key, _MISSING)
        if value is _MISSING:
            value = jaxpr.memo.setdefault(key, fun(jaxpr, *args))
        return value  # type: ignore[no-any-return]

    util.cached_functions.append(util.CachedFunction(cached, fun, True))
    return cached


class Var:
    """A variable: its identity is its name."""

    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval.str_short(True)}"


class DropVar(Var):
    """An output that no equation reads."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "_"


@final
class Literal:
    """A scalar constant inside an equation."""

    __slots__ = ("aval", "val")

    def __init__(self, val: Value, aval: Aval | None = None) -> None:
        self.val = val
        self.aval = core.aval_of(val) if aval is None else aval

    def __repr__(self) -> str:
        return f"{self.val}:{self.aval.str_short(True)}"


Atom = Var | Literal


class Params(dict[str, Any]):
    """The params of an equation that holds programs.

    A lookup by the name that JAX gives a param works too: its value is made on demand.
    """

    __slots__ = ("primitive",)

    def __init__(self, primitive: Primitive, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.primitive = primitive

    def __missing__(self, name: str) -> Param:
        return hooks.param_by_jax_name.call(self.primitive, self, name)

    def get(self, name: str, default: Param = None) -> Param:
        try:
            return self[name]
        except KeyError:
            return default

    def copy(self) -> Params:
        return Params(self.primitive, self)

    def __reduce__(self) -> Reduced:
        return Params, (self.primitive, dict(self))


def params_of(primitive: Primitive, params: dict[str, Any]) -> dict[str, Any]:
    """Return the params of an equation, as `Params` if it holds programs."""
    return params if primitive.regions is None else Params(primitive, params)


_ALL = object()  # in place of an equation's second input: the first is a tuple of all inputs


class Equation:
    """`outvars = primitive[params] invars`, made at `source` under the name stack `names`.

    A jaxpr may have many thousands of equations, and the garbage collector visits each and
    every container in it.  So one or two inputs and one output are stored without a tuple.
    """

    __slots__ = ("_in", "_out", "_second", "names", "params", "primitive", "source")
    source_info: Any = LibraryAttribute()
    ctx: Any = LibraryAttribute()

    def __init__(
        self,
        primitive: Primitive,
        invars: Sequence[Any],
        outvars: Sequence[Var],
        params: dict[str, Any],
        source: Source | None = None,
        names: str = "",
    ) -> None:
        self.primitive = primitive
        count = len(invars)
        if count == 1:
            (self._in,) = invars
            self._second = None
        elif count == 2:
            self._in, self._second = invars
        else:
            self._in, self._second = tuple(invars), _ALL
        self._out = outvars[0] if len(outvars) == 1 else outvars
        self.params = params
        self.source = source
        self.names = names

    @property
    def ins(self) -> Sequence[Atom]:
        """The inputs, for reading only."""
        second = self._second
        if second is None:
            return (self._in,)
        return self._in if second is _ALL else (self._in, second)

    @property
    def outs(self) -> Sequence[Var]:
        """The outputs, for reading only."""
        out: Any = self._out
        kind = type(out)
        return out if kind is tuple or kind is list else (out,)

    # Users get lists, which they may modify.
    @property
    def invars(self) -> list[Any]:
        if self._second is not _ALL or type(self._in) is not list:
            self._in, self._second = list(self.ins), _ALL
        return self._in

    @property
    def outvars(self) -> list[Var]:
        if type(self._out) is not list:
            self._out = list(self.outs)
        return self._out

    @property
    def effects(self) -> frozenset[Any]:
        rule = self.primitive.effects
        return no_effects if rule is None else rule(self.params)

    def replace(self, **changes: Any) -> Equation:
        """A copy with some fields changed."""
        if (info := changes.pop("source_info", None)) is not None:
            changes["source"], changes["names"] = info.traceback, str(info.name_stack)
        for derived in ("effects", "ctx"):  # these follow from the other fields
            changes.pop(derived, None)
        fields = {k: getattr(self, k) for k in ("primitive", "params", "source", "names")}
        new = {**fields, "invars": self.ins, "outvars": self.outs, **changes}
        new["params"] = params_of(new["primitive"], new["params"])
        return Equation(**new)

    def __reduce__(self) -> Reduced:
        # A source location holds a code object, which cannot be pickled.
        ins, outs = list(self.ins), list(self.outs)
        return Equation, (self.primitive, ins, outs, self.params, None, self.names)

    def __repr__(self) -> str:
        return str(hooks.equation_text.call(self))


Equation.__name__ = "JaxprEqn"  # programs compare the name of its class with JAX's


class Jaxpr:
    """An open jaxpr."""

    __slots__ = (
        *("__weakref__", "_effects", "arg_names", "constvars", "eqns", "invars", "memo"),
        *("name", "outvars"),
    )
    is_high = False  # there is one level of programs
    debug_info: Any = LibraryAttribute()

    def __init__(
        self,
        constvars: Sequence[Var],
        invars: Sequence[Var],
        outvars: Sequence[Any],
        eqns: Sequence[Equation],
        effects: Iterable[Any] | None = None,
        debug_info: DebugInfo | None = None,
        is_high: bool = False,
        *,
        name: str = "",
        arg_names: Sequence[str] = (),
    ) -> None:
        """
        Args:
          effects: the effects; None for those of the equations.
          debug_info: the names of the function and of its arguments, in JAX's form.
          is_high: accepted for JAX's signature; there is only one level of programs here.
        """
        self.constvars = list(constvars)
        self.invars = list(invars)
        self.outvars = list(outvars)
        self.eqns = list(eqns)
        names = {} if debug_info is None else named_by(debug_info)
        self.name = names.get("name", name)
        self.arg_names = names.get("arg_names", arg_names)
        self._effects = None if effects is None else frozenset(effects)
        self.memo: dict[Any, Any] = {}  # results that analyses and transformations cached

    def __reduce__(self) -> Reduced:
        fields = (self.constvars, self.invars, self.outvars, self.eqns)
        return partial(Jaxpr, name=self.name, arg_names=tuple(self.arg_names)), fields

    @property
    def effects(self) -> frozenset[Any]:
        if self._effects is None:
            effects: frozenset[Any] = no_effects
            for eqn in self.eqns:
                if eqn.primitive.effects is not None:
                    effects = effects | eqn.primitive.effects(eqn.params)
            if effects and not any(
                isinstance(v.aval, AbstractRef) for v in (*self.constvars, *self.invars)
            ):  # effects on references made inside are invisible outside
                effects = frozenset(
                    e for e in effects if not getattr(e, "on_references", False)
                )
            self._effects = effects
        return self._effects

    @property
    def in_avals(self) -> list[Aval]:
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[Aval]:
        return [v.aval for v in self.outvars]

    def replace(self, **changes: Any) -> Jaxpr:
        """A copy with some fields changed."""
        if (info := changes.pop("debug_info", None)) is not None:
            changes |= named_by(info)
        changes.pop("is_high", None)  # there is one level of programs
        fields = ("constvars", "invars", "outvars", "eqns", "name", "arg_names")
        return Jaxpr(**{**{k: getattr(self, k) for k in fields}, **changes})

    def pretty_print(self, **settings: Any) -> str:
        try:
            return str(hooks.jaxpr_text.call(self, **settings))
        except RecursionError as error:
            if depth.should_retry(error):
                return str(depth.call_with_more_stack(self.pretty_print, **settings))
            raise

    def __str__(self) -> str:
        return self.pretty_print()

    __repr__ = __str__

    def _repr_pretty_(self, p: Any, cycle: bool) -> None:
        p.text(str(self))


def named_by(debug_info: DebugInfo) -> dict[str, Any]:
    """Return the fields of a jaxpr that its `debug_info`, in JAX's form, determines."""
    name = (debug_info.func_src_info or "").partition(" ")[0]
    return {"name": name, "arg_names": tuple(debug_info.arg_names or ())}


def _of_jaxpr(name: str) -> Any:
    """Return the property of closed jaxprs that reads this field of the jaxpr."""
    return property(attrgetter(f"jaxpr.{name}"))


class ClosedJaxpr:
    """A jaxpr with the values of its constvars; callable on flat arguments.

    Two are equal if they have the same jaxpr and the same values, by identity: compiled
    programs are cached under them.
    """

    __slots__ = ("__weakref__", "consts", "jaxpr")
    is_high = False

    in_avals: list[Aval] = _of_jaxpr("in_avals")
    out_avals: list[Aval] = _of_jaxpr("out_avals")
    eqns: list[Equation] = _of_jaxpr("eqns")
    effects: frozenset[Any] = _of_jaxpr("effects")
    debug_info: Any = _of_jaxpr("debug_info")
    constvars: list[Var] = _of_jaxpr("constvars")
    invars: list[Var] = _of_jaxpr("invars")
    outvars: list[Any] = _of_jaxpr("outvars")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Value] = ()) -> None:
        self.jaxpr = jaxpr
        self.consts = list(consts)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, ClosedJaxpr)
            and self.jaxpr is other.jaxpr
            and list(map(id, self.consts)) == list(map(id, other.consts))
        )

    def __hash__(self) -> int:
        return hash(self.jaxpr)

    @property
    def literals(self) -> list[Any]:
        return self.consts

    def __call__(self, *args: Value) -> list[Value]:
        return eval_jaxpr(self.jaxpr, self.consts, *args)

    def map_jaxpr(self, f: Callable[[Jaxpr], Jaxpr]) -> ClosedJaxpr:
        """Return `f` of the jaxpr, with the same constants."""
        return ClosedJaxpr(f(self.jaxpr), self.consts)

    def replace(self, **changes: Any) -> ClosedJaxpr:
        """A copy with `jaxpr` or `consts` changed."""
        return ClosedJaxpr(changes.get("jaxpr", self.jaxpr), changes.get("consts", self.consts))

    def pretty_print(self, **settings: Any) -> str:
        return self.jaxpr.pretty_print(**settings)

    def __str__(self) -> str:
        return self.pretty_print()

    __repr__ = __str__

    def _repr_pretty_(self, p: Any, cycle: bool) -> None:
        p.text(str(self))


def eval_jaxpr(
    jaxpr: Jaxpr, consts: Sequence[Value], *args: Value, propagate_source_info: bool = True
) -> list[Value]:
    """Run a jaxpr under the current trace, one `bind` per equation.

    Args:
      jaxpr: an open jaxpr.
      consts: the values of its constvars.
      args: the values of its inputs, of their shapes and dtypes, in flat order.
      propagate_source_info: whether new operations keep the names and source locations of
        the equations; otherwise they have those of the caller.

    Returns:
      A list of the values of its results.

    Example:
      >>> import minijax as mj
      >>> closed = mj.make_jaxpr(lambda x: 2 * x)(1.)
      >>> eval_jaxpr(closed.jaxpr, closed.consts, 3.)
      [Array(6., dtype=float32, weak_type=True)]
    """
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    last = last_uses(jaxpr)
    state = core.STATE
    outer_names, outer_source = state.names, state.source
    try:
        for i, eqn in enumerate(jaxpr.eqns):
            vals = [a.val if type(a) is Literal else env[a] for a in eqn.ins]
            if not propagate_source_info:
                pass
            elif eqn.names:
                state.names = within(outer_names, eqn.names)
            else:
                state.names = outer_names
            state.source = (propagate_source_info and eqn.source) or outer_source
            out = eqn.primitive.bind(*vals, **eqn.params)
            if eqn.primitive.multiple_results:
                env.update(zip(eqn.outs, out, strict=True))
            else:
                env[eqn.outs[0]] = out
            for v in last.get(i, ()):
                env.pop(v, None)
    finally:
        state.names, state.source = outer_names, outer_source
    return [a.val if type(a) is Literal else env[a] for a in jaxpr.outvars]


@cached_on_jaxpr
def last_uses(jaxpr: Jaxpr) -> dict[int, list[Var]]:
    """Return, for each equation's index, the variables that are not read after it."""
    uses = {}
    seen: set[Any] = {a for a in jaxpr.outvars if type(a) is not Literal}
    for i in range(len(jaxpr.eqns) - 1, -1, -1):
        dead = [v for v in jaxpr.eqns[i].outs if v not in seen]
        for a in jaxpr.eqns[i].ins:
            if type(a) is not Literal and a not in seen:
                seen.add(a)
                dead.append(a)
        if dead:
            uses[i] = dead
    return uses


def closed_jaxprs(params: dict[str, Any]) -> list[ClosedJaxpr]:
    """Return the closed jaxprs among an equation's params, also those in tuples."""
    jaxprs = []
    for value in params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(item, ClosedJaxpr):
                jaxprs.append(item)
            elif isinstance(item, Jaxpr):
                jaxprs.append(ClosedJaxpr(item))
    return jaxprs


def sub_jaxprs(params: dict[str, Any]) -> list[Jaxpr]:
    """Return the jaxprs among an equation's params."""
    return [p.jaxpr for p in closed_jaxprs(params)]


def jaxprs_effects(params: dict[str, Any]) -> frozenset[Any]:
    """Return the effects of the jaxprs in `params`: an `effects` rule."""
    return no_effects.union(*[p.jaxpr.effects for p in closed_jaxprs(params)])


@cached_on_jaxpr
def axes_of(jaxpr: Jaxpr) -> frozenset[AxisName]:
    """Return the names of the mapped axes that a jaxpr's equations use."""
    axis_names: frozenset[Any] = frozenset()
    for eqn in jaxpr.eqns:
        if eqn.primitive.named_axes is not None:
            axis_names |= frozenset(eqn.primitive.named_axes(eqn.params))
    return axis_names


def jaxprs_axes(params: dict[str, Any]) -> frozenset[AxisName]:
    """Return the names of the mapped axes that the jaxprs in `params` use."""
    return frozenset().union(*[axes_of(p.jaxpr) for p in closed_jaxprs(params)])


@cached_on_jaxpr
def lift_consts(jaxpr: Jaxpr) -> ClosedJaxpr:
    """Return the program that takes the jaxpr's constants as its first inputs."""
    ins = [*jaxpr.constvars, *jaxpr.invars]
    return ClosedJaxpr(Jaxpr([], ins, jaxpr.outvars, jaxpr.eqns, name=jaxpr.name))


def permute_jaxpr(
    closed: ClosedJaxpr, ins: Sequence[Any], outs: Sequence[int] | None = None
) -> ClosedJaxpr:
    """Return the program with its inputs and outputs permuted, added to or left out.

    ins: for each input the index of an old input, or the type of an unused new one.
    outs: the indices of the old outputs to return; None for all.
    """
    out_indices = None if outs is None else tuple(outs)
    return ClosedJaxpr(_permuted(closed.jaxpr, tuple(ins), out_indices), closed.consts)


@cached_on_jaxpr
def _permuted(jaxpr: Jaxpr, ins: tuple[Any, ...], outs: tuple[int, ...] | None) -> Jaxpr:
    invars = [jaxpr.invars[i] if type(i) is int else Var(i) for i in ins]
    outvars = jaxpr.outvars if outs is None else [jaxpr.outvars[i] for i in outs]
    return Jaxpr(jaxpr.constvars, invars, outvars, jaxpr.eqns, name=jaxpr.name)
