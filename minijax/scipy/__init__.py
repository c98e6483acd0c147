"""The public module `minijax.scipy`: SciPy's interface on minijax arrays."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE: dict[str, str] = {}
_MODULES = (
    "cluster fft integrate interpolate linalg ndimage optimize signal sparse spatial"
    " special stats"
)

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE, _MODULES)
