"""The public module `minijax.experimental.jet`: Taylor series, and rules for them."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "api.jet": "JetTrace JetTracer jet",
    "api.jet_rules": """ZeroSeries ZeroTerm call_param_updaters def_comp def_deriv
        deflinear defzero deriv_prop fact jet2 jet_fun jet_rules jet_subtrace linear_prop
        traceable zero_prop zero_series zero_term""",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
