"""Primitives that libraries define, under JAX's names.

Ours and theirs have one base class: `isinstance` accepts both, and transformations read the
same attributes.  Next: rules.py, which presents rules as tables.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

from ..ir import core
from ..ir.core import Missing, Rule
from ..ir.jaxpr import ClosedJaxpr, no_effects
from .subfuns import bind_call


class _AnyPrimitive(type):
    """Metaclass: all primitives are instances of the class that libraries use."""

    def __instancecheck__(cls, x: Any) -> bool:
        if cls is Primitive:
            return isinstance(x, core.Primitive)
        return super().__instancecheck__(x)


class Primitive(core.Primitive, metaclass=_AnyPrimitive):
    """An operation that a library defines; see `minijax.ir.core.Primitive`.

    Args:
      name: its name in programs.

    Example:
      >>> import minijax as mj
      >>> twice_p = Primitive('twice')
      >>> twice_p.def_impl(lambda x: 2 * x) and None
      >>> twice_p.bind(3)
      6
    """

    def __init__(self, name: str) -> None:
        kind: Any = type(self)  # its body may define rules that others set later
        super().__init__(name, kind.multiple_results is True)
        self._effects_of: dict[Any, frozenset[Any]] = {}
        self.impl = Missing("Evaluation rule", name)
        base: Any = Primitive
        if kind.impl is not base.impl:
            self.impl = MethodType(kind.impl, self)
        if kind.abstract_eval is not base.abstract_eval:
            self.def_effectful_abstract_eval(self.abstract_eval)

    def register(self) -> None:
        # Ours keep their names: a library may define a primitive with the same one.
        core.registry.setdefault(self.name, self)

    def __reduce__(self) -> Any:
        if core.registry.get(self.name) is self:
            return super().__reduce__()
        raise TypeError(f"cannot pickle: another primitive is registered as {self.name!r}")

    def def_effectful_abstract_eval(self, rule: Rule) -> Rule:
        """Set the rule for the types of its results together with its effects."""

        def abstract(*avals: Any, **params: Any) -> Any:
            out, effects = rule(*avals, **params)
            if effects:
                key = _key(params)
                earlier = self._effects_of.get(key, no_effects)
                self._effects_of[key] = earlier | frozenset(effects)
                self.effects = self._recorded_effects
            return out

        self.abstract = abstract
        return rule

    def _recorded_effects(self, params: dict[str, Any]) -> frozenset[Any]:
        return self._effects_of.get(_key(params), no_effects)

    def def_bind_with_trace(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the implementation of `bind`: rule(trace, args, params)."""
        self.bind = lambda *args, **params: rule(core.STATE.trace, args, params)  # type: ignore[method-assign]
        return rule


def _key(params: dict[str, Any]) -> Any:
    """Return a key of params; params without a hash share one key, and their effects."""
    try:
        hash(key := tuple(params.items()))
    except TypeError:
        return None
    return key


class CallPrimitive(Primitive):
    """A primitive that calls a function, a `WrappedFun`.

    Either `bind(*args, subfuns=(fun,))`, or in the older form `bind(fun, *args)`.
    """

    call_primitive = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.multiple_results = True

    def bind(self, *args: Any, subfuns: Sequence[Any] = (), **params: Any) -> Any:
        fun, *operands = (*subfuns, *args)
        return bind_call(self.name, fun, operands)


call_p = CallPrimitive("call")


def call(*args: Any, **params: Any) -> Any:
    """Call a function as one operation; return its flat results."""
    return call_p.bind(*args, **params)


def call_impl(f: Any, *args: Any, **params: Any) -> Any:
    """Call a function: the evaluation rule of a call."""
    return getattr(f, "call_wrapped", f)(*args, **params)


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr, *args: Any) -> Callable[..., list[Any]]:
    """Return a program as a function of flat arguments, partially applied to `args`."""
    return functools.partial(closed_jaxpr, *args)
