"""The verifier: is a jaxpr well formed and well typed?

Every variable is bound once and before it is read; every equation's results have the
types that its primitive's rule gives.  With `jax_enable_checks` each staged program is
checked; the tests run so.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from ..types.avals import same_type
from .core import Primitive
from .jaxpr import Equation, Jaxpr, Literal, result_type, sub_jaxprs
from .regions import Region

# (types of operands, params) -> types of results: of primitives that a library has checked
# by a rule of its own.
rules: dict[Primitive, Callable[..., Any]] = {}


class JaxprTypeError(TypeError):
    """A jaxpr is malformed: a bug in a rule, or in a hand-made jaxpr."""


def check_jaxpr(jaxpr: Jaxpr) -> None:
    """Raise JaxprTypeError unless `jaxpr` is well formed and well typed."""
    known: set[Any] = set()
    for v in (*jaxpr.constvars, *jaxpr.invars):
        if v in known:
            raise JaxprTypeError(f"variable {v} is bound twice as an input")
        known.add(v)
    for i, eqn in enumerate(jaxpr.eqns):
        for a in eqn.ins:
            if type(a) is not Literal and a not in known:
                raise JaxprTypeError(_at(i, eqn, f"reads {a}, which is not bound yet"))
        _check_types(i, eqn)
        for v in eqn.outs:
            if v in known:
                raise JaxprTypeError(_at(i, eqn, f"binds {v} again"))
            known.add(v)
    for a in jaxpr.outvars:
        if type(a) is not Literal and a not in known:
            raise JaxprTypeError(f"output {a} is not bound")


def _check_types(i: int, eqn: Equation) -> None:
    avals = [a.aval for a in eqn.ins]
    if eqn.primitive in rules:
        out = rules[eqn.primitive](avals, eqn.params)
    else:
        out = result_type(eqn.primitive, avals, eqn.params)
    found = list(out) if eqn.primitive.multiple_results else [out]
    if len(found) != len(eqn.outs):
        raise JaxprTypeError(
            _at(i, eqn, f"has {len(eqn.outs)} results, its rule gives {len(found)}")
        )
    for v, aval in zip(eqn.outs, found, strict=True):
        if not same_type(v.aval, aval):
            raise JaxprTypeError(
                _at(
                    i,
                    eqn,
                    f"is typed {v.aval.str_short(True)}, its rule {aval.str_short(True)}",
                )
            )
    with _scope(eqn):
        for sub in sub_jaxprs(eqn.params):
            if not sub.memo.get("checked"):
                check_jaxpr(sub)
                sub.memo["checked"] = True


def _scope(eqn: Equation) -> Any:
    """The mapped axes that an equation brings into scope for its jaxprs, if any."""
    region = eqn.primitive.regions
    return region.scope(eqn.params) if isinstance(region, Region) else nullcontext()


def _at(i: int, eqn: Equation, what: str) -> str:
    place = f" ({eqn.source})" if eqn.source is not None else ""
    return f"equation {i}, {eqn.primitive}{place}, {what}"
