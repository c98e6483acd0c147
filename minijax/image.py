"""The public module `minijax.image`: resizing of images."""

from __future__ import annotations

from .base.lazy_modules import lazy_module

_TABLE = {"surface.image.resize": "ResizeMethod resize scale_and_translate"}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
