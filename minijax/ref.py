"""The public module `minijax.ref`: mutable references."""

from __future__ import annotations

from .base.lazy_modules import lazy_module

_TABLE = {
    "control.refs.refs": "Ref addupdate empty_ref free_ref freeze get new_ref set swap",
    "types.avals": "AbstractRef",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
