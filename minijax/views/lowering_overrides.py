"""Programs in which some primitives are lowered by rules of a caller's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir import hooks
from ..ir.core import Primitive
from ..ir.jaxpr import ClosedJaxpr, Jaxpr
from .lowering import adapted


class _Standing(Primitive):
    """A primitive that stands for another, lowered by another rule."""

    __slots__ = ()

    def register(self) -> None:
        """It is in no table: nobody but the lowering sees it."""


def standing(prim: Primitive, rule: Any) -> Primitive:
    """The same primitive, lowered by a rule."""
    found = _Standing(prim.name, prim.multiple_results)
    for slot in Primitive.__slots__:
        if slot not in ("__weakref__", "name", "multiple_results"):
            setattr(found, slot, getattr(prim, slot))
    found.lower, found.lower_by_platform = adapted(prim, rule), {}
    return found


@hooks.overridden.fill
def with_rules(closed: ClosedJaxpr, rules: Sequence[tuple[Primitive, Any]]) -> ClosedJaxpr:
    """The program, and those in it, in which rules go before the primitives' own."""
    stands = {prim: standing(prim, rule) for prim, rule in rules}
    return ClosedJaxpr(_jaxpr(closed.jaxpr, stands), closed.consts)


def _jaxpr(jaxpr: Jaxpr, stands: dict[Primitive, Primitive]) -> Jaxpr:
    eqns = [
        eqn.replace(
            primitive=stands.get(eqn.primitive, eqn.primitive),
            params={k: _inside(v, stands) for k, v in eqn.params.items()},
        )
        for eqn in jaxpr.eqns
    ]
    return jaxpr.replace(eqns=eqns)


def _inside(x: Any, stands: dict[Primitive, Primitive]) -> Any:
    """A param with the programs in it rewritten."""
    if isinstance(x, ClosedJaxpr):
        return ClosedJaxpr(_jaxpr(x.jaxpr, stands), x.consts)
    if isinstance(x, Jaxpr):
        return _jaxpr(x, stands)
    if type(x) in (tuple, list):
        return type(x)(_inside(v, stands) for v in x)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*(_inside(v, stands) for v in x))
    return x
