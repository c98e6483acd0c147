"""The public module `minijax.experimental.key_reuse`: finding random keys that are used twice.

The checks are switched on by `jax_debug_key_reuse`, or `minijax.debug_key_reuse(True)`.
"""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE: dict[str, str] = {}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
