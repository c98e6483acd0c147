"""Primitives that libraries make, under JAX's names.

Ours and theirs are one kind: `isinstance` says so of both, and each transformation asks
the same slots.  Next: rules.py, their rules as tables.
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
    """All primitives are instances of the class that libraries know."""

    def __instancecheck__(cls, x: Any) -> bool:
        if cls is Primitive:
            return isinstance(x, core.Primitive)
        return super().__instancecheck__(x)


class Primitive(core.Primitive, metaclass=_AnyPrimitive):
    """An operation of a library's own; see `minijax.ir.core.Primitive`.

    Args:
      name: what it is called in programs.

    Example:
      >>> import minijax as mj
      >>> twice_p = Primitive('twice')
      >>> twice_p.def_impl(lambda x: 2 * x) and None
      >>> twice_p.bind(3)
      6
    """

    def __init__(self, name: str) -> None:
        kind: Any = type(self)  # it may say in its body what others set
        super().__init__(name, kind.multiple_results is True)
        self._effects_of: dict[Any, frozenset[Any]] = {}
        self.impl = Missing("Evaluation rule", name)
        base: Any = Primitive
        if kind.impl is not base.impl:
            self.impl = MethodType(kind.impl, self)
        if kind.abstract_eval is not base.abstract_eval:
            self.def_effectful_abstract_eval(self.abstract_eval)

    def register(self) -> None:
        core.registry.setdefault(self.name, self)

    def __reduce__(self) -> Any:
        if core.registry.get(self.name) is self:
            return super().__reduce__()
        raise TypeError(f"a second primitive {self.name!r} cannot be found by its name")

    def def_effectful_abstract_eval(self, rule: Rule) -> Rule:
        """Set the type of its results together with its effects."""

        def abstract(*avals: Any, **params: Any) -> Any:
            out, effects = rule(*avals, **params)
            if effects:
                key = _key(params)
                known = self._effects_of.get(key, no_effects)
                self._effects_of[key] = known | frozenset(effects)
                self.effects = self._said
            return out

        self.abstract = abstract
        return rule

    def _said(self, params: dict[str, Any]) -> frozenset[Any]:
        return self._effects_of.get(_key(params), no_effects)

    def def_bind_with_trace(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set what `bind` does: rule(trace, args, params)."""
        self.bind = lambda *args, **params: rule(core.STATE.trace, args, params)  # type: ignore[method-assign]
        return rule


def _key(params: dict[str, Any]) -> Any:
    """What tells params apart; those without a hash share their effects."""
    try:
        hash(key := tuple(params.items()))
    except TypeError:
        return None
    return key


class CallPrimitive(Primitive):
    """A primitive that calls a function, a `WrappedFun`: `bind(*args, subfuns=(fun,))`,
    or as it used to be `bind(fun, *args)`."""

    call_primitive = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.multiple_results = True

    def bind(self, *args: Any, subfuns: Sequence[Any] = (), **params: Any) -> Any:
        fun, *operands = (*subfuns, *args)
        return bind_call(self.name, fun, operands)


call_p = CallPrimitive("call")


def call(*args: Any, **params: Any) -> Any:
    """Call a function as one operation: its flat results."""
    return call_p.bind(*args, **params)


def call_impl(f: Any, *args: Any, **params: Any) -> Any:
    """Call a function: how a call is evaluated."""
    return getattr(f, "call_wrapped", f)(*args, **params)


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr, *args: Any) -> Callable[..., list[Any]]:
    """A program as a function of flat arguments, of which the first may be given."""
    return functools.partial(closed_jaxpr, *args)
