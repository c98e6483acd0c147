"""Which mapped axes a jaxpr uses: the `named_axes` rule of primitives that hold jaxprs."""

from __future__ import annotations

from typing import Any

from ..core.jaxpr import Jaxpr, sub_jaxprs


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
    return frozenset().union(*(axes_of(j) for j in sub_jaxprs(params)))
