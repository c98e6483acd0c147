"""Whether a jaxpr holds functions of users, which may hold whatever called them.

What is remembered beside an object must not refer to it: see `Memos` in base/util.py.
"""

from __future__ import annotations

from typing import Any

from ..base.source import is_own
from .jaxpr import ClosedJaxpr, Jaxpr, contents


def holds_functions(jaxpr: Jaxpr) -> bool:
    """Whether equations hold functions of users: rules of derivatives, callbacks."""
    found: bool | None = jaxpr.memo.get("functions")
    if found is None:
        found = any(map(_may_call, contents(jaxpr)))
        jaxpr.memo["functions"] = found
    return found


def _may_call(x: Any) -> bool:
    if isinstance(x, ClosedJaxpr):
        x = x.jaxpr
    if isinstance(x, Jaxpr):
        return holds_functions(x)
    if not callable(x) or isinstance(x, type):
        return False
    return not is_own(getattr(x, "written", x))
