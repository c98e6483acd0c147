"""The public module `minijax.interpreters.ad`."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "passes.ad_util": """
        UndefinedPrimal Zero add_tangents:=add instantiate_zeros:=instantiate
        is_undefined_primal:=is_linear
    """,
    "passes.jvp": "JVPTrace JVPTracer",
    "prims.math.algebraic": "add_jaxvals_p=add_any_p",
    "views.derivatives": "jvp linearize",
    "views.rules": """
        add_jaxvals defbilinear defjvp defjvp2 deflinear deflinear2 get_primitive_transpose
        primitive_jvps primitive_transposes zeros_like_aval
    """,
}

_REMOVED = {
    "jax.interpreters.ad.{} was deprecated in v0.9.0. and removed in v0.10.0. It has been"
    " unused since JAX v0.4.38.": "reducing_transposes"
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE, removed=_REMOVED)
