"""The rules of primitives as JAX's tables: mappings that can be read and written.

`table[prim]` is the rule with JAX's signature, and `table[prim] = rule` sets it.  A
primitive without a rule raises KeyError.  A rule that was set is read back unchanged.

Next: lowering.py.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any

from ..analysis import check
from ..analysis.contents import read_vars
from ..api.vmappables import kinds, recursive_take
from ..base import above
from ..base.util import canonical_axis, flags_of, pick
from ..ir import core
from ..ir.core import Primitive, Rule, Unsupported, registry
from ..ir.jaxpr import Equation, Jaxpr, Var, no_effects
from ..ir.sharding_rules import result_type
from ..passes import dce
from ..passes.ad_util import Zero, core_ops, is_linear
from ..passes.batch import Axis, BatchTrace, lane_to_front, no_name
from ..prims import elementwise
from ..prims.shape.creation import iota


class Adapted:
    """A rule with our signature, made from one with another signature."""

    __slots__ = ("original", "rule")

    def __init__(self, rule: Rule, original: Rule) -> None:
        self.rule = rule
        self.original = original

    def __call__(self, *args: Any, **params: Any) -> Any:
        return self.rule(*args, **params)


class Rules(MutableMapping[Primitive, Rule]):
    """One rule of all primitives, as a mapping."""

    slot: str

    def read(self, prim: Primitive, rule: Rule) -> Rule:
        """Convert our rule to JAX's signature."""
        return rule

    def write(self, prim: Primitive, rule: Rule) -> Rule:
        """Convert a rule with JAX's signature to ours."""
        return rule

    def __getitem__(self, prim: Primitive) -> Rule:
        if prim not in self:
            raise KeyError(prim)
        rule = getattr(prim, self.slot)
        return rule.original if type(rule) is Adapted else self.read(prim, rule)

    def __setitem__(self, prim: Primitive, rule: Rule) -> None:
        setattr(prim, self.slot, self.write(prim, rule))

    def __delitem__(self, prim: Primitive) -> None:
        if prim not in self:
            raise KeyError(prim)
        setattr(prim, self.slot, core.Missing(self.slot, prim.name))

    def __contains__(self, prim: object) -> bool:
        rule = getattr(prim, self.slot, None)
        return rule is not None and not isinstance(rule, Unsupported)

    def __iter__(self) -> Iterator[Primitive]:
        above.load("primitives")
        return (p for p in list(registry.values()) if p in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Jvps(Rules):
    """(primals, tangents, **params) -> (out, out_tangent)."""

    slot = "jvp"

    def write(self, prim: Primitive, rule: Rule) -> Rule:
        prim.linearize = None  # it would take precedence
        return Adapted(
            lambda primals, tangents, /, **params: rule(
                tuple(primals), tuple(tangents), **params
            ),
            rule,
        )


class Transposes(Rules):
    """(ct, *args, **params) -> cts."""

    slot = "transpose"


class FancyBatchers(Rules):
    """(axis, args, dims, **params) -> (out, dims); also called if no operand has lanes."""

    slot = "batch"

    def write(self, prim: Primitive, rule: Rule) -> Rule:
        prim.facts = prim.facts._replace(has_closures=True)
        return Adapted(
            lambda axis, args, dims, /, **params: rule(
                axis, tuple(args), tuple(dims), **params
            ),
            rule,
        )


class Batchers(FancyBatchers):
    """(args, dims, **params) -> (out, dims)."""

    def read(self, prim: Primitive, rule: Rule) -> Rule:
        def batch(args: Any, dims: Any, /, **params: Any) -> Any:
            sizes = [
                core.aval_of(x).shape[d]
                for x, d in zip(args, dims, strict=True)
                if d is not None
            ]
            return rule(Axis(no_name, sizes[0]), args, dims, **params)

        return batch

    def write(self, prim: Primitive, rule: Rule) -> Rule:
        return Adapted(
            lambda axis, args, dims, /, **params: rule(tuple(args), tuple(dims), **params), rule
        )


class AxisBatchers(FancyBatchers):
    """(axis size, axis name, None, args, dims, **params) -> (out, dims)."""

    def read(self, prim: Primitive, rule: Rule) -> Rule:
        fancy = super().read(prim, rule)
        return lambda size, name, _, args, dims, /, **params: fancy(
            Axis(name, size), args, dims, **params
        )

    def write(self, prim: Primitive, rule: Rule) -> Rule:
        prim.facts = prim.facts._replace(has_closures=True)
        return Adapted(
            lambda axis, args, dims, /, **params: rule(
                axis.size, axis.name, None, tuple(args), tuple(dims), **params
            ),
            rule,
        )


class DceRules(Rules):
    """(used results, equation) -> (used operands, equation | None)."""

    slot = "dce"

    def read(self, prim: Primitive, rule: Rule) -> Rule:
        def prune(used: Sequence[bool], eqn: Equation) -> Any:
            new = rule(list(used), eqn)
            if new is None:
                return [False] * len(eqn.ins), None
            return [a in new.ins for a in eqn.ins], new

        return prune

    def write(self, prim: Primitive, rule: Rule) -> Rule:
        return Adapted(lambda used, eqn: rule(list(used), eqn)[1], rule)

    def __delitem__(self, prim: Primitive) -> None:
        if prim not in self:
            raise KeyError(prim)
        prim.dce = None


class TypeChecks(MutableMapping[Primitive, Rule]):
    """(context factory, *operands, **params) -> (types of results, effects)."""

    def __getitem__(self, prim: Primitive) -> Rule:
        rule = check.rules.get(prim)
        if rule is not None:
            return rule.original  # type: ignore[attr-defined, no-any-return]
        if prim not in self:
            raise KeyError(prim)

        def typed(_: Any, /, *atoms: Any, **params: Any) -> Any:
            out = result_type(prim, [a.aval for a in atoms], params)
            effects = prim.effects(params) if prim.effects else no_effects
            return (list(out) if prim.multiple_results else [out]), effects

        return typed

    def __setitem__(self, prim: Primitive, rule: Rule) -> None:
        def ours(avals: Sequence[Any], params: dict[str, Any]) -> Any:
            out, _ = rule(lambda: (None, {}), *map(Var, avals), **params)
            return out if prim.multiple_results else out[0]

        check.rules[prim] = Adapted(ours, rule)

    def __delitem__(self, prim: Primitive) -> None:
        del check.rules[prim]

    def __contains__(self, prim: object) -> bool:
        holds = isinstance(prim, Primitive) and prim.regions is not None
        return holds or prim in check.rules

    def __iter__(self) -> Iterator[Primitive]:
        above.load("primitives")
        return (p for p in list(registry.values()) if p in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


custom_typechecks = TypeChecks()
primitive_jvps = Jvps()
primitive_transposes = Transposes()
fancy_primitive_batchers = FancyBatchers()
primitive_batchers = Batchers()
axis_primitive_batchers = AxisBatchers()
dce_rules = DceRules()


# ------------------------------------------------------------------------ derivatives


def defjvp(primitive: Primitive, *jvprules: Rule | None) -> None:
    """Set a jvp from one rule per operand: (tangent, *primals, **params) -> tangent."""
    elementwise.defjvp(primitive, [rule and _without_result(rule) for rule in jvprules])
    primitive.linearize = None


def _without_result(rule: Rule) -> Rule:
    return lambda t, ans, /, *primals, **params: rule(t, *primals, **params)


def defjvp2(primitive: Primitive, *jvprules: Rule | None) -> None:
    """Set a jvp from rules (tangent, result, *primals, **params) -> tangent."""
    elementwise.defjvp(primitive, jvprules)
    primitive.linearize = None


def deflinear2(primitive: Primitive, transpose_rule: Rule) -> None:
    """Set jvp and transpose of a primitive that is linear in all its operands together.

    transpose_rule: (ct, *args, **params) -> a cotangent for each operand.
    """
    elementwise.linear_jvp(primitive)
    primitive.linearize = None

    def transpose(ct: Any, /, *args: Any, **params: Any) -> Any:
        if type(ct) is Zero:
            return [None] * len(args)
        return transpose_rule(ct, *args, **params)

    primitive.transpose = transpose


def deflinear(primitive: Primitive, transpose_rule: Rule) -> None:
    """Do the same as `deflinear2`, with a rule without operands: (ct, **params) -> cts."""
    deflinear2(primitive, lambda ct, /, *_, **params: transpose_rule(ct, **params))


def defbilinear(prim: Primitive, lhs_rule: Rule, rhs_rule: Rule) -> None:
    """Set jvp and transpose of a primitive that is linear in each of its two operands.

    lhs_rule, rhs_rule: (ct, x, y, **params) -> the cotangent of the first, the second.
    """
    elementwise.defjvp(
        prim,
        [
            lambda t, ans, x, y, /, **params: prim.bind(t, y, **params),
            lambda t, ans, x, y, /, **params: prim.bind(x, t, **params),
        ],
    )
    prim.linearize = None

    def transpose(ct: Any, x: Any, y: Any, /, **params: Any) -> Any:
        if type(ct) is Zero:
            return [None, None]
        if is_linear(x):
            return [lhs_rule(ct, x, y, **params), None]
        return [None, rhs_rule(ct, x, y, **params)]

    prim.transpose = transpose


def get_primitive_transpose(p: Primitive) -> Rule:
    """Return the transpose rule of a primitive; NotImplementedError if it has none."""
    if p in primitive_transposes:
        return primitive_transposes[p]
    raise NotImplementedError(
        f"Transpose rule (for reverse-mode differentiation) for '{p}' not implemented"
    )


def add_jaxvals(x: Any, y: Any) -> Any:
    """Return the sum of two values of one type."""
    return core_ops.add(x, y)


def zeros_like_aval(aval: Any) -> Any:
    """Return zeros of a type."""
    return core_ops.zeros(aval)


# --------------------------------------------------------------------------- batching

not_mapped = None  # instead of a lane axis: all lanes share the value


def bdim_at_front(x: Any, bdim: int | None, size: int, mesh_axis: Any = None) -> Any:
    """Return `x` with its lane axis first; a shared value is repeated."""
    return lane_to_front(x, size, bdim)


def broadcast(x: Any, sz: int, axis: int, mesh_axis: Any = None) -> Any:
    """Repeat a shared value along a lane axis."""
    return core_ops.broadcast_lane(x, sz, axis)


def moveaxis(x: Any, src: int, dst: int) -> Any:
    """Return `x` with an axis moved."""
    return core_ops.move_axis(x, src, dst)


def make_iota(size: Any) -> Any:
    """Return the numbers of the lanes, for an int or a library's own type of size."""
    makers = (kind.make_iota for kind in kinds.values() if kind.size is type(size))
    make = next(filter(None, makers), None)
    return iota("int32", int(size)) if make is None else make(size)


def to_elt(trace: BatchTrace, get_idx: Any, x: Any, spec: Any) -> Any:
    """Return one lane, in a trace, of a value whose lane axes are in `spec`."""

    def one_lane(x: Any, axis: int | None) -> Any:
        ndim = len(core.aval_of(x).shape)
        return trace.wrap(x, None if axis is None else canonical_axis(axis, ndim))

    return recursive_take(one_lane, get_idx)(x, spec)


def defvectorized(prim: Primitive) -> None:
    """Set the batch rule of a primitive that maps each element: the lane axis is unchanged.

    All operands with lanes have them on the same axis.
    """

    def batch(args: Any, dims: Any, /, **params: Any) -> Any:
        return prim.bind(*args, **params), next(d for d in dims if d is not None)

    primitive_batchers[prim] = batch


def defbroadcasting(prim: Primitive) -> None:
    """Set the batch rule of an elementwise primitive whose operands broadcast."""
    elementwise.batch_elementwise(prim)


def defreducer(prim: Primitive) -> None:
    """Set the batch rule of a primitive that reduces the axes in its param `axes`."""

    def batch(args: Any, dims: Any, /, *, axes: Sequence[int], **params: Any) -> Any:
        (x,), (lane,) = args, dims
        moved = tuple(a + (a >= lane) for a in axes)
        return prim.bind(x, axes=moved, **params), lane - sum(a < lane for a in moved)

    primitive_batchers[prim] = batch


# ----------------------------------------------------------------------- dead code


def dce_jaxpr(
    jaxpr: Jaxpr,
    used_outputs: bool | Sequence[bool],
    instantiate: bool | Sequence[bool] = False,
) -> tuple[Jaxpr, list[bool]]:
    """Return the program without unused equations, and which inputs remain.

    Inputs flagged in `instantiate` always remain.
    """
    used = flags_of(used_outputs, len(jaxpr.outvars))
    return dce.dce_jaxpr(jaxpr, used, instantiate)


def dce_jaxpr_consts(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool], list[bool]]:
    """Return the program also without unused constvars, and which of both remain."""
    pruned, used_in = dce_jaxpr(jaxpr, used_outputs, instantiate)
    read = read_vars(pruned)
    used = [v in read for v in jaxpr.constvars]
    return pruned.replace(constvars=pick(jaxpr.constvars, used)), used, used_in


def dce_jaxpr_call_rule(used_outputs: list[bool], eqn: Equation) -> Any:
    """Prune a call: its program and, with it, its operands."""
    return dce_rules[eqn.primitive](used_outputs, eqn)
