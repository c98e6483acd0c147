"""The public module `minijax.cloud_tpu_init`: a name that JAX has removed."""

from __future__ import annotations

from .base.lazy_modules import lazy_module

_TABLE: dict[str, str] = {}

_REMOVED = {
    "jax.{} was deprecated in JAX v0.8.1. You do not need to call this function explicitly;"
    " JAX calls this function automatically.": "cloud_tpu_init"
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE, removed=_REMOVED)
