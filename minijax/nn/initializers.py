"""The public module `minijax.nn.initializers`: initial values of parameters."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "surface.nn.initializers": """
        constant delta_orthogonal glorot_normal glorot_uniform he_normal he_uniform
        kaiming_normal kaiming_uniform lecun_normal lecun_uniform normal ones orthogonal
        truncated_normal uniform variance_scaling xavier_normal xavier_uniform zeros
        Initializer
    """
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
