"""Primitives and types that are made of others, as libraries declare them.

A `HiPrimitive` is evaluated by its `impl` and, in a program, becomes what `to_lojax` does
at once: programs hold no others than ours.  A `VJPHiPrimitive` is a function with its own
cotangents.  A `HiType` is the type of a library's values, which programs take as the arrays
that they are made of (control/hijax_values.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

from ..base import tree
from ..control import hijax_values
from ..control.rules.custom_jvp import custom_jvp
from ..control.rules.custom_vjp import custom_vjp
from ..ir import core
from ..passes.ad_util import Zero, add, instantiate
from ..types.avals import AbstractValue
from .primitives import Primitive


class HiPrimitive(Primitive):
    """A primitive whose rules are methods: impl, abstract_eval, to_lojax, jvp, transpose.

    abstract_eval(*avals, **params) -> (aval | avals, effects).
    """

    # Class attributes, which methods of subclasses stand in for.
    multiple_results = False

    def __init__(self, name: str) -> None:
        kind = type(self)
        several = kind.multiple_results
        rules = {
            rule: getattr(self, rule)
            for rule in ("impl", "jvp", "transpose")
            if callable(vars_of(kind, rule))
        }
        super().__init__(name)
        if isinstance(several, bool):
            self.multiple_results = several
        for rule, given in rules.items():
            setattr(self, rule, given)
        if "impl" in rules:
            self.impl = lambda *args, **params: hijax_values.apply(rules["impl"], args, params)
        self.stage = self._stage

    def _stage(self, trace: core.Trace, args: Any, params: Any) -> Any:
        with core.current(trace):
            return hijax_values.apply(self.to_lojax, args, params)

    def to_lojax(self, *args: Any, **params: Any) -> Any:
        """What it does, said by other operations: how it is evaluated, by default."""
        return self.impl(*args, **params)  # type: ignore[misc]


def vars_of(kind: type, name: str) -> Any:
    """What the subclasses of `HiPrimitive` among a class's ancestors say of a name."""
    for ancestor in kind.__mro__:
        if ancestor is HiPrimitive:
            return None
        if name in vars(ancestor):
            return vars(ancestor)[name]
    return None


class _Accumulator:
    """Takes the cotangent of an argument."""

    __slots__ = ("aval", "found")

    def __init__(self, aval: Any) -> None:
        self.aval = aval
        self.found: Any = Zero(aval)

    def accum(self, ct: Any) -> None:
        """Add to the cotangent."""
        if ct is not None:
            self.found = add(self.found, ct)


class VJPHiPrimitive:
    """A function that says how it is computed, and what its cotangents are.

    A subclass says `in_avals`, `out_aval` and `params`, and has `expand(*args)`.  It may
    have `vjp_fwd(nonzero, *args) -> (out, residuals)`, with
    `vjp_bwd_retval(residuals, ct) -> cts` or `vjp_bwd(residuals, ct, *accumulators)`; or
    `jvp(primals, tangents)`.
    """

    in_avals: Any
    out_aval: Any
    params: dict[str, Any]

    def __init__(self) -> None:
        for name, value in self.params.items():
            setattr(self, name, value)
        self.in_tree = tree.structure(self.in_avals)
        self.out_tree = tree.structure(self.out_aval)

    def expand(self, *args: Any) -> Any:
        """The result, by other operations."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it computes")

    def vjp_fwd(self, nzs_in: Any, /, *args: Any) -> Any:
        """The result, and what the cotangents are computed from."""
        raise NotImplementedError(f"for grad support, {type(self)} needs vjp_fwd")

    def vjp_bwd_retval(self, res: Any, outgrad: Any, /) -> Any:
        """The cotangents of the arguments."""
        raise NotImplementedError(f"for grad support, {type(self)} needs vjp_bwd")

    def vjp_bwd(self, res: Any, outgrad: Any, /, *arg_accums: Any) -> None:
        """The same, handed to accumulators."""
        cts = self.vjp_bwd_retval(res, outgrad)
        tree.map(lambda a, ct: a.accum(ct), tuple(arg_accums), tuple(cts))

    def jvp(self, primals: Any, tangents: Any) -> Any:
        """The result and its tangent."""
        raise NotImplementedError(f"for jvp support, {type(self)} needs jvp")

    def check(self, *arg_tys: Any) -> None:
        """Raise what is wrong with arguments of these types."""

    def _bwd(self, res: Any, ct: Any) -> Any:
        accums = tree.map(_Accumulator, tuple(self.in_avals))
        self.vjp_bwd(res, ct, *accums)
        return tree.map(lambda a: instantiate(a.found), accums)

    def _has(self, rule: str) -> bool:
        return getattr(type(self), rule) is not getattr(VJPHiPrimitive, rule)

    def __call__(self, *args: Any) -> Any:
        self.check(*tree.map(core.aval_of, args))
        if self._has("vjp_fwd"):
            nonzero = tree.map(lambda _: True, tuple(self.in_avals))
            f = custom_vjp(lambda *xs: self.expand(*xs))
            f.defvjp(lambda *xs: self.vjp_fwd(nonzero, *xs), self._bwd)
            return f(*args)
        if self._has("jvp"):
            g = custom_jvp(lambda *xs: self.expand(*xs))
            g.defjvp(self.jvp)
            return g(*args)
        return self.expand(*args)


class HiType(AbstractValue):
    """The type of a library's values, made of values of other types."""

    is_high = True
    has_qdd = False


class MutableHiType(AbstractValue):
    """The type of a library's values that change."""

    is_high = True
    has_qdd = True


class HiPspec:
    """How a library's value is cut over a mesh."""

    def to_lo(self) -> Any:
        """The specs of what it is made of."""
        raise NotImplementedError("must override")


@dataclasses.dataclass(frozen=True)
class AvalQDD:
    """A type, with what is known of the value for now."""

    aval: AbstractValue
    qdd: Any
    is_high = True
    has_qdd = True

    def to_tangent_aval(self) -> AvalQDD:
        """The type of tangents."""
        qdd = None if self.qdd is None else self.qdd.to_tangent_qdd()
        return AvalQDD(self.aval.to_tangent(), qdd)


@dataclasses.dataclass
class AvalMutableQDD:
    """A type, with what is known of the value, which an operation may change."""

    aval: AbstractValue
    mutable_qdd: Any


class aval_method(NamedTuple):
    """A method of values that their type says."""

    fun: Callable[..., Any]


class aval_property(NamedTuple):
    """A property of values that their type says."""

    fget: Callable[[Any], Any]


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], Any]) -> None:
    """Say what type the values of a class have."""
    hijax_values.register(val_cls, typeof_fn)


def cur_qdd(x: Any) -> Any:
    """What is known for now of a value that changes.

    Args:
      x: a value of a `MutableHiType`; its class says it by a method `cur_qdd`.

    Returns:
      What that method gives.

    Example:
      >>> class Box:
      ...     def cur_qdd(self):
      ...         return 'full'
      >>> cur_qdd(Box())
      'full'
    """
    return x.cur_qdd()


class EffectTypeSet:
    """Kinds of effects."""

    def __init__(self) -> None:
        self.kinds: set[type] = set()

    def __contains__(self, effect_type: type) -> bool:
        return effect_type in self.kinds

    def add_type(self, effect_type: type) -> None:
        """Add a kind."""
        self.kinds.add(effect_type)

    def contains(self, eff: Any) -> bool:
        """Whether an effect is of one of the kinds."""
        return isinstance(eff, tuple(self.kinds))

    def filter_in(self, effects: Any) -> list[Any]:
        """The effects that are."""
        return [e for e in effects if self.contains(e)]

    def filter_not_in(self, effects: Any) -> list[Any]:
        """The effects that are not."""
        return [e for e in effects if not self.contains(e)]


# All effects may be in loops and branches, and in what is computed again; these say which
# ones a library has said so of.
control_flow_allowed_effects = EffectTypeSet()
