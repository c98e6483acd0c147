"""The public module `minijax.experimental.random`: stateful random number generators."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {"surface.random.stateful": "StatefulPRNG stateful_rng"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
