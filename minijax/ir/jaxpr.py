"""Jaxprs: a typed, functional intermediate representation.

    { lambda constvars ; invars . let eqns in (outvars) }

An equation applies a primitive to atoms (variables or literals).  A `Jaxpr` is open:
its constvars have no values; a `ClosedJaxpr` carries them.  All is plain data; text is
made in printer.py, checks in check.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from typing import Any, NamedTuple

from ..base import depth, errors
from ..base.source import Source
from ..base.util import pick
from ..types.avals import DEVICE, AbstractRef, ShapedArray
from . import core, explicit_sharding, hooks, manual_axis_rules
from .core import Primitive, stack_text
from .names import within

no_effects: frozenset[Any] = frozenset()


class Var:
    """A variable: its identity is its name."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval.str_short(True)}"


class DropVar(Var):
    """An output that nobody reads."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "_"


class Literal:
    """A scalar constant inside an equation."""

    __slots__ = ("aval", "val")

    def __init__(self, val: Any, aval: Any = None) -> None:
        self.val = val
        self.aval = core.aval_of(val) if aval is None else aval

    def __repr__(self) -> str:
        return f"{self.val}:{self.aval.str_short(True)}"


Atom = Var | Literal


class DebugInfo(NamedTuple):
    """What a program was traced for, of which function, and what its values are called."""

    traced_for: str
    func_src_info: str | None
    arg_names: tuple[str, ...] | None
    result_paths: tuple[str, ...] | None

    @property
    def func_name(self) -> str:
        return (self.func_src_info or "").partition(" ")[0]

    def replace_func_name(self, name: str) -> DebugInfo:
        """The same of a function of another name."""
        place = (self.func_src_info or "").partition(" ")[2]
        return self._replace(func_src_info=f"{name} {place}".rstrip())

    def with_unknown_names(self) -> DebugInfo:
        """The same, without names of values."""
        return self._replace(arg_names=None, result_paths=None)

    def safe_arg_names(self, expected_count: int) -> tuple[str, ...]:
        """The names of so many arguments, empty where they are not known."""
        return self.arg_names or ("",) * expected_count

    def safe_result_paths(self, expected_count: int) -> tuple[str, ...]:
        """The names of so many results, empty where they are not known."""
        return self.result_paths or ("",) * expected_count

    def filter_arg_names(self, keep: Sequence[bool]) -> tuple[str, ...] | None:
        """The names of the flagged arguments."""
        return None if self.arg_names is None else tuple(pick(self.arg_names, keep))

    def filter_result_paths(self, keep: Sequence[bool]) -> tuple[str, ...] | None:
        """The names of the flagged results."""
        paths = self.result_paths
        return None if paths is None else tuple(pick(paths, keep))


def named_by(told: DebugInfo) -> dict[str, Any]:
    """The fields of a jaxpr that a `DebugInfo` says."""
    name = (told.func_src_info or "").partition(" ")[0]
    return {"name": name, "arg_names": tuple(told.arg_names or ())}


class NameStack(str):
    """The names of scopes and transformations around an operation: `outer/jvp(inner)`."""

    __slots__ = ()

    def extend(self, name: str) -> NameStack:
        """The stack with a scope inside."""
        return self + name

    def transform(self, name: str) -> NameStack:
        """The stack inside of a transformation."""
        return NameStack(f"{name}({self})")

    def __add__(self, other: str) -> NameStack:
        return NameStack("/".join(filter(None, (str(self), str(other)))))


class SourceInfo(NamedTuple):
    """Where an operation was written, and under which names."""

    traceback: Source | None
    name_stack: NameStack

    def replace(self, **changes: Any) -> SourceInfo:
        """A copy with some fields changed."""
        return self._replace(**changes)


class EquationContext:
    """What is to be current while an equation is evaluated by hand: nothing else."""

    __slots__ = ()

    @property
    def manager(self) -> AbstractContextManager[None]:
        return nullcontext()


_CONTEXT = EquationContext()


class Params(dict[str, Any]):
    """The params of an equation that holds programs: those of the primitive, and what
    interfaces call otherwise, made when it is asked for."""

    __slots__ = ("primitive",)

    def __init__(self, primitive: Primitive, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.primitive = primitive

    def __missing__(self, name: str) -> Any:
        return hooks.param_by_jax_name.call(self.primitive, self, name)

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    def copy(self) -> Params:
        return Params(self.primitive, self)

    def __reduce__(self) -> Any:
        return Params, (self.primitive, dict(self))


def params_of(primitive: Primitive, params: dict[str, Any]) -> dict[str, Any]:
    """The params of an equation: `Params` where it holds programs."""
    return params if primitive.regions is None else Params(primitive, params)


_ALL = object()  # in the place of an equation's second input: the first holds all


class Equation:
    """`outvars = primitive[params] invars`, made at `source` under names `names`.

    A jaxpr may have many thousands, each of which the garbage collector walks, and what
    it holds: one or two inputs and one output are held without a tuple.
    """

    __slots__ = ("_in", "_out", "_second", "names", "params", "primitive", "source")

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
    def ins(self) -> Sequence[Any]:
        """The inputs, to be read."""
        second = self._second
        if second is None:
            return (self._in,)
        return self._in if second is _ALL else (self._in, second)

    @property
    def outs(self) -> Sequence[Var]:
        """The outputs, to be read."""
        out: Any = self._out
        kind = type(out)
        return out if kind is tuple or kind is list else (out,)

    # Users read lists, which they may change.
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

    @property
    def source_info(self) -> SourceInfo:
        return SourceInfo(self.source, NameStack(self.names))

    @property
    def ctx(self) -> EquationContext:
        return _CONTEXT

    def replace(self, **changes: Any) -> Equation:
        """A copy with some fields changed."""
        if (info := changes.pop("source_info", None)) is not None:
            changes["source"], changes["names"] = info.traceback, str(info.name_stack)
        for derived in ("effects", "ctx"):  # which follow from the others
            changes.pop(derived, None)
        fields = dict(
            primitive=self.primitive,
            invars=self.ins,
            outvars=self.outs,
            params=self.params,
            source=self.source,
            names=self.names,
        )
        new = {**fields, **changes}
        new["params"] = params_of(new["primitive"], new["params"])
        return Equation(**new)

    def __reduce__(self) -> Any:
        # A place in the source is a code object, which cannot be pickled.
        ins, outs = list(self.ins), list(self.outs)
        return Equation, (self.primitive, ins, outs, self.params, None, self.names)

    def __repr__(self) -> str:
        return str(hooks.equation_text.call(self))


Equation.__name__ = "JaxprEqn"  # what programs look for that ask for its class


class Jaxpr:
    """An open jaxpr."""

    __slots__ = (
        "__weakref__",
        "_effects",
        "arg_names",
        "constvars",
        "eqns",
        "invars",
        "memo",
        "name",
        "outvars",
    )
    is_high = False  # there is one level of programs

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
          effects: None: those of the equations.
          debug_info: says the name and those of the arguments, in the interface's form.
          is_high: of no meaning here, where there is one level of programs.
        """
        self.constvars = list(constvars)
        self.invars = list(invars)
        self.outvars = list(outvars)
        self.eqns = list(eqns)
        told = {} if debug_info is None else named_by(debug_info)
        self.name = told.get("name", name)
        self.arg_names = told.get("arg_names", arg_names)
        self._effects = None if effects is None else frozenset(effects)
        self.memo: dict[Any, Any] = {}  # what transformations computed of it

    def __reduce__(self) -> Any:
        told = DebugInfo("", self.name, tuple(self.arg_names), None)
        fields = (self.constvars, self.invars, self.outvars, self.eqns, None, told)
        return Jaxpr, fields

    @property
    def effects(self) -> frozenset[Any]:
        if self._effects is None:
            found: frozenset[Any] = no_effects
            for eqn in self.eqns:
                if eqn.primitive.effects is not None:
                    found = found | eqn.primitive.effects(eqn.params)
            if found and not any(
                isinstance(v.aval, AbstractRef) for v in (*self.constvars, *self.invars)
            ):  # what is done to references made inside is seen by nobody
                found = frozenset(e for e in found if not getattr(e, "on_references", False))
            self._effects = found
        return self._effects

    @property
    def debug_info(self) -> DebugInfo:
        names = tuple(self.arg_names) or None
        return DebugInfo("jit", self.name or None, names, None)

    @property
    def in_avals(self) -> list[Any]:
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[Any]:
        return [v.aval for v in self.outvars]

    def replace(self, **changes: Any) -> Jaxpr:
        """A copy with some fields changed."""
        if (told := changes.pop("debug_info", None)) is not None:
            changes |= named_by(told)
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


class ClosedJaxpr:
    """A jaxpr with the values of its constvars; callable on flat arguments.

    Equal are those of the same jaxpr with the same values: programs are found by them.
    """

    __slots__ = ("__weakref__", "consts", "jaxpr")
    is_high = False

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any] = ()) -> None:
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
    def in_avals(self) -> list[Any]:
        return self.jaxpr.in_avals

    @property
    def out_avals(self) -> list[Any]:
        return self.jaxpr.out_avals

    @property
    def eqns(self) -> list[Equation]:
        return self.jaxpr.eqns

    @property
    def effects(self) -> frozenset[Any]:
        return self.jaxpr.effects

    @property
    def debug_info(self) -> DebugInfo:
        return self.jaxpr.debug_info

    @property
    def constvars(self) -> list[Var]:
        return self.jaxpr.constvars

    @property
    def invars(self) -> list[Var]:
        return self.jaxpr.invars

    @property
    def outvars(self) -> list[Any]:
        return self.jaxpr.outvars

    @property
    def literals(self) -> list[Any]:
        return self.consts

    def __call__(self, *args: Any) -> list[Any]:
        return eval_jaxpr(self.jaxpr, self.consts, *args)

    def map_jaxpr(self, f: Callable[[Jaxpr], Jaxpr]) -> ClosedJaxpr:
        """`f` of the program, with the same constants."""
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
    jaxpr: Jaxpr, consts: Sequence[Any], *args: Any, propagate_source_info: bool = True
) -> list[Any]:
    """Run a jaxpr under the current trace, one bind an equation.

    Args:
      jaxpr: an open jaxpr.
      consts: the values of its constvars.
      args: the values of its inputs, of their shapes and dtypes, in flat order.
      propagate_source_info: whether what is bound keeps the names and places of the
        equations; otherwise it has those of the caller.

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
    outer, place = state.names, state.source
    try:
        for i, eqn in enumerate(jaxpr.eqns):
            vals = [a.val if type(a) is Literal else env[a] for a in eqn.ins]
            if not propagate_source_info:
                pass
            elif eqn.names:
                state.names = within(outer, eqn.names)
            else:
                state.names = outer
            state.source = (propagate_source_info and eqn.source) or place
            out = eqn.primitive.bind(*vals, **eqn.params)
            if eqn.primitive.multiple_results:
                env.update(zip(eqn.outs, out, strict=True))
            else:
                env[eqn.outs[0]] = out
            for v in last.get(i, ()):
                env.pop(v, None)
    finally:
        state.names, state.source = outer, place
    return [a.val if type(a) is Literal else env[a] for a in jaxpr.outvars]


def read_vars(jaxpr: Jaxpr) -> set[Any]:
    """The variables that an equation or the jaxpr's output reads."""
    read = {a for a in jaxpr.outvars if type(a) is not Literal}
    for eqn in jaxpr.eqns:
        read.update(a for a in eqn.ins if type(a) is not Literal)
    return read


def last_uses(jaxpr: Jaxpr) -> dict[int, list[Var]]:
    """For each equation's index, the variables that nobody reads after it."""
    known = jaxpr.memo.get("last_uses")
    if known is None:
        known = {}
        seen: set[Any] = {a for a in jaxpr.outvars if type(a) is not Literal}
        for i in range(len(jaxpr.eqns) - 1, -1, -1):
            dead = [v for v in jaxpr.eqns[i].outs if v not in seen]
            for a in jaxpr.eqns[i].ins:
                if type(a) is not Literal and a not in seen:
                    seen.add(a)
                    dead.append(a)
            if dead:
                known[i] = dead
        jaxpr.memo["last_uses"] = known
    return known


def contents(jaxpr: Jaxpr) -> list[Any]:
    """What the params of a jaxpr's equations hold, alone or in tuples: programs, say.

    Numbers, names and tuples in tuples, which most params are, are left out.
    """
    found: list[Any] | None = jaxpr.memo.get("contents")
    if found is None:
        params = [eqn.params.values() for eqn in jaxpr.eqns if eqn.params]
        values: Any
        try:
            values = dict.fromkeys(chain.from_iterable(params))  # equal ones once
        except TypeError:  # some have no hash
            values = list(chain.from_iterable(params))
        found = []
        for value in values:
            items = value if isinstance(value, (tuple, list)) else (value,)
            found += [x for x in items if type(x) not in _BARE]
        jaxpr.memo["contents"] = found
    return found


_BARE: frozenset[type] = frozenset((int, bool, float, str, tuple, type(None)))


def closed_jaxprs(params: dict[str, Any]) -> list[ClosedJaxpr]:
    """The programs among an equation's params, also those in tuples."""
    found = []
    for value in params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(item, ClosedJaxpr):
                found.append(item)
            elif isinstance(item, Jaxpr):
                found.append(ClosedJaxpr(item))
    return found


def closed_jaxprs_in(jaxpr: Jaxpr) -> list[ClosedJaxpr]:
    """The programs among the params of a jaxpr's equations."""
    return closed_jaxprs({"": contents(jaxpr)})


def sub_jaxprs(params: dict[str, Any]) -> list[Jaxpr]:
    """The jaxprs among an equation's params."""
    return [p.jaxpr for p in closed_jaxprs(params)]


def jaxprs_effects(params: dict[str, Any]) -> frozenset[Any]:
    """The `effects` rule of a primitive whose effects are those of its jaxprs."""
    return no_effects.union(*[p.jaxpr.effects for p in closed_jaxprs(params)])


def axes_of(jaxpr: Jaxpr) -> frozenset[Any]:
    """The names of the mapped axes that a jaxpr's equations use."""
    found: frozenset[Any] | None = jaxpr.memo.get("named_axes")
    if found is None:
        found = frozenset()
        for eqn in jaxpr.eqns:
            if eqn.primitive.named_axes is not None:
                found |= frozenset(eqn.primitive.named_axes(eqn.params))
        jaxpr.memo["named_axes"] = found
    return found


def jaxprs_axes(params: dict[str, Any]) -> frozenset[Any]:
    """The names of the mapped axes that the jaxprs among `params` use."""
    return frozenset().union(*[axes_of(p.jaxpr) for p in closed_jaxprs(params)])


def lift_consts(jaxpr: Jaxpr) -> ClosedJaxpr:
    """The program that takes the jaxpr's constants as its first inputs."""
    found: ClosedJaxpr | None = jaxpr.memo.get("lifted")
    if found is None:
        ins = [*jaxpr.constvars, *jaxpr.invars]
        lifted = Jaxpr([], ins, jaxpr.outvars, jaxpr.eqns, name=jaxpr.name)
        found = jaxpr.memo["lifted"] = ClosedJaxpr(lifted)
    return found


def permute_jaxpr(
    closed: ClosedJaxpr, ins: Sequence[Any], outs: Sequence[int] | None = None
) -> ClosedJaxpr:
    """The same program with other inputs, and some of its outputs, in another order.

    ins: for each input the index of an old one, or the type of one that is not read.
    """
    j = closed.jaxpr
    key = ("permute_jaxpr", tuple(ins), None if outs is None else tuple(outs))
    found = j.memo.get(key)
    if found is None:
        invars = [j.invars[i] if type(i) is int else Var(i) for i in ins]
        outvars = j.outvars if outs is None else [j.outvars[i] for i in outs]
        found = Jaxpr(j.constvars, invars, outvars, j.eqns, name=j.name)
        j.memo[key] = found
    return ClosedJaxpr(found, closed.consts)


def unweaken(aval: Any) -> Any:
    """`aval` with a strong type."""
    if type(aval) is ShapedArray and aval.weak_type:
        return aval.strip_weak_type()
    return aval


# ------------------------------------------------------------------------------ typing


def result_type(prim: Primitive, avals: Sequence[Any], params: dict[str, Any]) -> Any:
    """The type(s) of a primitive's result(s); they are kept where the operands are.

    In their place `varying.DIFFERING`, where operands must be made to vary alike first.
    """
    if prim.manual_axis_rule is not None:
        if prim.manual_axis_rule != "abstract":
            return _varying(prim, avals, params)
    elif prim.regions is None:  # of the others, programs say it
        for a in avals:
            if a.manual_axis_kinds is not None:
                return _varying(prim, avals, params)
    return _placed(prim, avals, params)


def _varying(prim: Primitive, avals: Sequence[Any], params: dict[str, Any]) -> Any:
    """The types of results, and along which manual axes they vary."""
    kinds = manual_axis_rules.of_results(prim, avals, params)
    if isinstance(kinds, manual_axis_rules.Differing):
        return kinds
    out = _placed(prim, [manual_axis_rules.with_kinds(a, None) for a in avals], params)
    if prim.multiple_results:
        return [manual_axis_rules.with_kinds(a, kinds) for a in out]
    return manual_axis_rules.with_kinds(out, kinds)


def _placed(prim: Primitive, avals: Sequence[Any], params: dict[str, Any]) -> Any:
    """The types of results, and where these are."""
    if prim.out_sharding_param is not None and params[prim.out_sharding_param] is not None:
        return explicit_sharding.sharded_result_type(prim, avals, params)
    for a in avals:
        if a.explicit_sharding is not None and (
            prim.sharding_rule is not None or not any(sub_jaxprs(params))
        ):
            return explicit_sharding.sharded_result_type(prim, avals, params)
    out = prim.abstract(*avals, **params)
    for a in avals:
        if a.memory_space is not DEVICE:
            return _kept_there(prim, avals, params, out)
    return out


def _kept_there(prim: Primitive, avals: Sequence[Any], params: dict[str, Any], out: Any) -> Any:
    """The types of results where the operands are; those must be in one memory."""
    if prim.sets_memory_space or any(sub_jaxprs(params)):
        return out
    spaces = {a.memory_space for a in avals if getattr(a, "shape", ())}
    if len(spaces) > 1:
        one = next(a for a in avals if a.memory_space is DEVICE and a.shape)
        other = next(a for a in avals if a.memory_space is not DEVICE)
        raise ValueError(
            errors.message(
                f"memory_space of all inputs passed to `{prim}` must be the same. Got"
                f" {other.str_short(False)} and {one.str_short(False)}.",
                where=stack_text(),
                why="an operation reads one memory: the host's or the device's.",
                tries=["device_put(x, minijax.memory.Space.Device) first"],
            )
        )
    if not spaces or spaces == {DEVICE}:
        return out
    (space,) = spaces

    def place(aval: Any) -> Any:
        return aval.update(memory_space=space)

    return list(map(place, out)) if prim.multiple_results else place(out)
