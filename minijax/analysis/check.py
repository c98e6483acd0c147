"""The verifier: is a jaxpr well formed and well typed?

Every variable is bound once and before it is read.  The results of every equation have
the types that the rule of its primitive returns.  With `jax_enable_checks` each staged
program is checked; the tests run in this mode.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..ir import hooks
from ..ir.core import Primitive
from ..ir.jaxpr import Equation, Jaxpr, Literal, cached_on_jaxpr, sub_jaxprs
from ..ir.regions import Region
from ..ir.sharding_rules import result_type
from ..types.avals import same_type

# Type rules that libraries registered: (types of operands, params) -> types of results.
rules: dict[Primitive, Callable[..., Any]] = {}


class JaxprTypeError(TypeError):
    """A jaxpr is malformed: a bug in a rule, or in a hand-made jaxpr."""


@hooks.check_jaxpr.fill
def check_jaxpr(jaxpr: Jaxpr) -> None:
    """Raise JaxprTypeError unless `jaxpr` is well formed and well typed."""
    bound: set[Any] = set()
    for v in (*jaxpr.constvars, *jaxpr.invars):
        if v in bound:
            raise JaxprTypeError(f"variable {v} is bound twice as an input")
        bound.add(v)
    for i, eqn in enumerate(jaxpr.eqns):
        for a in eqn.ins:
            if type(a) is not Literal and a not in bound:
                raise JaxprTypeError(_at(i, eqn, f"reads {a}, which is not bound yet"))
        _check_types(i, eqn)
        for v in eqn.outs:
            if v in bound:
                raise JaxprTypeError(_at(i, eqn, f"binds {v} again"))
            bound.add(v)
    for a in jaxpr.outvars:
        if type(a) is not Literal and a not in bound:
            raise JaxprTypeError(f"output {a} is not bound")


def _check_types(i: int, eqn: Equation) -> None:
    avals = [a.aval for a in eqn.ins]
    if eqn.primitive in rules:
        out = rules[eqn.primitive](avals, eqn.params)
    else:
        out = result_type(eqn.primitive, avals, eqn.params)
    out_avals = list(out) if eqn.primitive.multiple_results else [out]
    if len(out_avals) != len(eqn.outs):
        raise JaxprTypeError(
            _at(i, eqn, f"has {len(eqn.outs)} results, but its rule returns {len(out_avals)}")
        )
    for v, aval in zip(eqn.outs, out_avals, strict=True):
        if not same_type(v.aval, aval):
            types = v.aval.str_short(True), aval.str_short(True)
            what = "has type {}, but its rule returns {}".format(*types)
            raise JaxprTypeError(_at(i, eqn, what))
    with _scope(eqn):
        for sub in sub_jaxprs(eqn.params):
            _check_once(sub)


@cached_on_jaxpr
def _check_once(jaxpr: Jaxpr) -> None:
    check_jaxpr(jaxpr)


def _scope(eqn: Equation) -> AbstractContextManager[None]:
    """The mapped axes that an equation brings into scope for its jaxprs, if any."""
    region = eqn.primitive.regions
    return region.scope(eqn.params) if isinstance(region, Region) else nullcontext()


def _at(i: int, eqn: Equation, what: str) -> str:
    source = f" ({eqn.source})" if eqn.source is not None else ""
    return f"equation {i}, {eqn.primitive}{source}, {what}"
