"""Primitives and types that are made of others, as libraries declare them.

A `HiPrimitive` is evaluated by its `impl`.  In a program it is expanded immediately to what
`to_lojax` does, so that programs contain only our primitives.  A `VJPHiPrimitive` is a
function with its own cotangents.  A `HiType` is the type of a library's values; programs
take their arrays as operands (control/hijax_values.py).
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

    # Class attributes, which methods of subclasses may replace.
    multiple_results = False

    def __init__(self, name: str) -> None:
        kind = type(self)
        several = kind.multiple_results
        # Read before `__init__`, which sets slots of these names to missing rules.
        rules = {
            rule: getattr(self, rule)
            for rule in ("impl", "jvp", "transpose")
            if callable(vars_of(kind, rule))
        }
        super().__init__(name)
        if isinstance(several, bool):
            self.multiple_results = several
        for rule, method in rules.items():
            setattr(self, rule, method)
        if "impl" in rules:
            self.impl = lambda *args, **params: hijax_values.apply(rules["impl"], args, params)
        self.stage = self._stage

    def _stage(self, trace: core.Trace, args: Any, params: Any) -> Any:
        with core.current(trace):
            return hijax_values.apply(self.to_lojax, args, params)

    def to_lojax(self, *args: Any, **params: Any) -> Any:
        """Compute the result by other operations: by `impl`, by default."""
        return self.impl(*args, **params)  # type: ignore[misc]


def vars_of(kind: type, name: str) -> Any:
    """Return an attribute of the classes between `kind` and `HiPrimitive`, or None."""
    for ancestor in kind.__mro__:
        if ancestor is HiPrimitive:
            return None
        if name in vars(ancestor):
            return vars(ancestor)[name]
    return None


class _Accumulator:
    """Accumulator of the cotangent of an argument."""

    __slots__ = ("aval", "total")

    def __init__(self, aval: Any) -> None:
        self.aval = aval
        self.total: Any = Zero(aval)

    def accum(self, ct: Any) -> None:
        """Add to the cotangent."""
        if ct is not None:
            self.total = add(self.total, ct)


class VJPHiPrimitive:
    """A function that defines its computation and its cotangents.

    A subclass defines `in_avals`, `out_aval` and `params`, and has `expand(*args)`.  It may
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
        """Compute the result by other operations."""
        raise NotImplementedError(f"{type(self).__name__} does not define expand")

    def vjp_fwd(self, nzs_in: Any, /, *args: Any) -> Any:
        """Return the result, and residuals for the cotangents."""
        raise NotImplementedError(f"for grad support, {type(self)} needs vjp_fwd")

    def vjp_bwd_retval(self, res: Any, outgrad: Any, /) -> Any:
        """Return the cotangents of the arguments."""
        raise NotImplementedError(f"for grad support, {type(self)} needs vjp_bwd")

    def vjp_bwd(self, res: Any, outgrad: Any, /, *arg_accums: Any) -> None:
        """Add the cotangents of the arguments to accumulators."""
        cts = self.vjp_bwd_retval(res, outgrad)
        tree.map(lambda a, ct: a.accum(ct), tuple(arg_accums), tuple(cts))

    def jvp(self, primals: Any, tangents: Any) -> Any:
        """Return the result and its tangent."""
        raise NotImplementedError(f"for jvp support, {type(self)} needs jvp")

    def check(self, *arg_tys: Any) -> None:
        """Raise an error if the arguments' types are wrong."""

    def _bwd(self, res: Any, ct: Any) -> Any:
        accums = tree.map(_Accumulator, tuple(self.in_avals))
        self.vjp_bwd(res, ct, *accums)
        return tree.map(lambda a: instantiate(a.total), accums)

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
    """The type of a library's mutable values."""

    is_high = True
    has_qdd = True


class HiPspec:
    """How a library's value is sharded over a mesh."""

    def to_lo(self) -> Any:
        """Return the specs of the arrays that it is made of."""
        raise NotImplementedError("must override")


@dataclasses.dataclass(frozen=True)
class AvalQDD:
    """A type, with properties of the value that may change (quasi-dynamic data)."""

    aval: AbstractValue
    qdd: Any
    is_high = True
    has_qdd = True

    def to_tangent_aval(self) -> AvalQDD:
        """Return the type of tangents."""
        qdd = None if self.qdd is None else self.qdd.to_tangent_qdd()
        return AvalQDD(self.aval.to_tangent(), qdd)


@dataclasses.dataclass
class AvalMutableQDD:
    """A type, with properties of the value that an operation may change."""

    aval: AbstractValue
    mutable_qdd: Any


class aval_method(NamedTuple):
    """A method of values that is defined by their type."""

    fun: Callable[..., Any]


class aval_property(NamedTuple):
    """A property of values that is defined by their type."""

    fget: Callable[[Any], Any]


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], Any]) -> None:
    """Register the function that returns the type of values of a class."""
    hijax_values.register(val_cls, typeof_fn)


def cur_qdd(x: Any) -> Any:
    """Return the current properties of a mutable value.

    Args:
      x: a value of a `MutableHiType`; its class defines them by a method `cur_qdd`.

    Returns:
      The result of that method.

    Example:
      >>> class Box:
      ...     def cur_qdd(self):
      ...         return 'full'
      >>> cur_qdd(Box())
      'full'
    """
    return x.cur_qdd()


class EffectTypeSet:
    """A set of effect types."""

    def __init__(self) -> None:
        self.kinds: set[type] = set()

    def __contains__(self, effect_type: type) -> bool:
        return effect_type in self.kinds

    def add_type(self, effect_type: type) -> None:
        """Add an effect type."""
        self.kinds.add(effect_type)

    def contains(self, eff: Any) -> bool:
        """Whether an effect is of one of the types."""
        return isinstance(eff, tuple(self.kinds))

    def filter_in(self, effects: Any) -> list[Any]:
        """Return the effects of these types."""
        return [e for e in effects if self.contains(e)]

    def filter_not_in(self, effects: Any) -> list[Any]:
        """Return the effects of other types."""
        return [e for e in effects if not self.contains(e)]


# minijax allows all effects in loops, branches and rematerialization; this set only records
# the types that a library has added.
control_flow_allowed_effects = EffectTypeSet()
