"""The public module `minijax.interpreters.batching`."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "api.vmappables": "register_vmappable unregister_vmappable",
    "passes.batch": "BatchTrace BatchTracer AxisData=Axis",
    "views.rules": """
        axis_primitive_batchers bdim_at_front broadcast defbroadcasting defreducer
        defvectorized fancy_primitive_batchers moveaxis not_mapped primitive_batchers
    """,
}

_REMOVED = {"jax.interpreters.batching.{} is deprecated.": "NotMapped"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE, removed=_REMOVED)
