"""Programs in which a caller's rules lower some of the primitives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir import hooks
from ..ir.core import Primitive
from ..ir.jaxpr import ClosedJaxpr, Jaxpr
from .lowering import adapt_rule


class _Replacement(Primitive):
    """A replacement of a primitive, lowered by another rule."""

    __slots__ = ()

    def register(self) -> None:
        """Do nothing: only lowering reads it, so it is not in a table."""


def replacement(prim: Primitive, rule: Any) -> Primitive:
    """Return a copy of a primitive that is lowered by `rule`."""
    new_prim = _Replacement(prim.name, prim.multiple_results)
    for slot in Primitive.__slots__:
        if slot not in ("__weakref__", "name", "multiple_results"):
            setattr(new_prim, slot, getattr(prim, slot))
    new_prim.lower = adapt_rule(prim, rule)
    return new_prim


@hooks.overridden.fill
def with_rules(closed: ClosedJaxpr, rules: Sequence[tuple[Primitive, Any]]) -> ClosedJaxpr:
    """Return the program, with inner ones, in which rules replace the primitives' own."""
    replacements = {prim: replacement(prim, rule) for prim, rule in rules}
    return ClosedJaxpr(_jaxpr(closed.jaxpr, replacements), closed.consts)


def _jaxpr(jaxpr: Jaxpr, replacements: dict[Primitive, Primitive]) -> Jaxpr:
    eqns = [
        eqn.replace(
            primitive=replacements.get(eqn.primitive, eqn.primitive),
            params={k: _inside(v, replacements) for k, v in eqn.params.items()},
        )
        for eqn in jaxpr.eqns
    ]
    return jaxpr.replace(eqns=eqns)


def _inside(x: Any, replacements: dict[Primitive, Primitive]) -> Any:
    """Rewrite the programs in a param."""
    if isinstance(x, ClosedJaxpr):
        return ClosedJaxpr(_jaxpr(x.jaxpr, replacements), x.consts)
    if isinstance(x, Jaxpr):
        return _jaxpr(x, replacements)
    if type(x) in (tuple, list):
        return type(x)(_inside(v, replacements) for v in x)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*(_inside(v, replacements) for v in x))
    return x
