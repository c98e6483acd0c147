"""What jaxprs hold and read: programs, functions of users, variables.

Next: key_use.py.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from ..base.source import is_own
from ..ir.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var, cached_on_jaxpr, closed_jaxprs


def read_vars(jaxpr: Jaxpr) -> set[Var]:
    """Return the variables that an equation or the jaxpr's output reads."""
    read = {a for a in jaxpr.outvars if type(a) is not Literal}
    for eqn in jaxpr.eqns:
        read.update(a for a in eqn.ins if type(a) is not Literal)
    return read


@cached_on_jaxpr
def types_in(jaxpr: Jaxpr) -> frozenset[Any]:
    """Return the types of a jaxpr's variables, without those of jaxprs inside it."""
    inputs = {v.aval for v in (*jaxpr.constvars, *jaxpr.invars)}
    return frozenset(inputs | {v.aval for eqn in jaxpr.eqns for v in eqn.outs})


@cached_on_jaxpr
def contents(jaxpr: Jaxpr) -> list[Any]:
    """Return the objects in the params of a jaxpr's equations, also those in tuples.

    Numbers, strings and nested tuples, which most params are, are omitted; programs and
    functions are what callers look for.
    """
    params = [eqn.params.values() for eqn in jaxpr.eqns if eqn.params]
    values: Any
    try:
        values = dict.fromkeys(chain.from_iterable(params))  # equal ones once
    except TypeError:  # some have no hash
        values = list(chain.from_iterable(params))
    values_held = []
    for value in values:
        items = value if isinstance(value, (tuple, list)) else (value,)
        values_held += [x for x in items if type(x) not in _BARE]
    return values_held


_BARE: frozenset[type] = frozenset((int, bool, float, str, tuple, type(None)))


def closed_jaxprs_in(jaxpr: Jaxpr) -> list[ClosedJaxpr]:
    """Return the closed jaxprs among the params of a jaxpr's equations."""
    return closed_jaxprs({"": contents(jaxpr)})


@cached_on_jaxpr
def holds_functions(jaxpr: Jaxpr) -> bool:
    """Whether equations hold functions of users: derivative rules, callbacks.

    Functions may refer to their callers, and a cached value must not refer to the object
    that it is cached on: see `WeakIdentityCache` in base/util.py.
    """
    return any(map(_may_call, contents(jaxpr)))


def _may_call(x: Any) -> bool:
    if isinstance(x, ClosedJaxpr):
        x = x.jaxpr
    if isinstance(x, Jaxpr):
        return holds_functions(x)
    if not callable(x) or isinstance(x, type):
        return False
    return not is_own(getattr(x, "written", x))
