"""Whether a jaxpr holds functions of users, which may refer to their callers.

A cached value must not refer to the object that it is cached on: see `WeakIdentityCache` in
base/util.py.
"""

from __future__ import annotations

from typing import Any

from ..base.source import is_own
from ..ir.jaxpr import ClosedJaxpr, Jaxpr, contents


def holds_functions(jaxpr: Jaxpr) -> bool:
    """Whether equations hold functions of users: derivative rules, callbacks."""
    cached: bool | None = jaxpr.memo.get("functions")
    if cached is None:
        cached = any(map(_may_call, contents(jaxpr)))
        jaxpr.memo["functions"] = cached
    return cached


def _may_call(x: Any) -> bool:
    if isinstance(x, ClosedJaxpr):
        x = x.jaxpr
    if isinstance(x, Jaxpr):
        return holds_functions(x)
    if not callable(x) or isinstance(x, type):
        return False
    return not is_own(getattr(x, "written", x))
