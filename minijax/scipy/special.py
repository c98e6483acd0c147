"""The public module `minijax.scipy.special`: special functions."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "surface.nn.normalization": "logsumexp",
    "surface.scipy.special.along_axes": "softmax log_softmax",
    "surface.scipy.special.bessel": "i0 i0e i1 i1e bessel_jn",
    "surface.scipy.special.dawson": "dawsn",
    "surface.scipy.special.dilogarithm": "spence",
    "surface.scipy.special.exponential_integrals": "expi exp1 expn",
    "surface.scipy.special.faddeeva": "wofz erfcx",
    "surface.scipy.special.gamma": """
        gammaln gammasgn gamma loggamma beta betaln factorial comb poch multigammaln
        bernoulli
    """,
    "surface.scipy.special.gaussian": "erf erfc erfinv ndtr ndtri log_ndtr",
    "surface.scipy.special.hypergeometric": "hyp1f1 hyp2f1",
    "surface.scipy.special.incomplete": "gammainc gammaincc betainc",
    "surface.scipy.special.legendre": "lpmn lpmn_values sph_harm_y",
    "surface.scipy.special.logarithms": """
        xlogy xlog1py entr rel_entr kl_div boxcox boxcox1p logit expit
    """,
    "surface.scipy.special.owens": "owens_t",
    "surface.scipy.special.trigonometric_integrals": "sici fresnel",
    "surface.scipy.special.zeta": "digamma polygamma zeta",
}

_REMOVED = {
    "jax.scipy.special.{} was deprecated in v0.7.0 and removed in v0.10.0. Use"
    " jax.scipy.special.sph_harm_y instead.": "sph_harm"
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE, removed=_REMOVED)
