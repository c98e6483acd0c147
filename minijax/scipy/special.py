"""The face `minijax.scipy.special`: special functions."""

from __future__ import annotations

from ..base.faces import face

_TABLE = {
    "surface.nn.normalization": "logsumexp",
    "surface.scipy.special.along_axes": "softmax log_softmax",
    "surface.scipy.special.bessel": "i0 i0e i1 i1e",
    "surface.scipy.special.gamma":
        "gammaln gammasgn gamma loggamma beta betaln factorial comb poch multigammaln"
        " bernoulli",
    "surface.scipy.special.gaussian": "erf erfc erfinv ndtr ndtri log_ndtr",
    "surface.scipy.special.incomplete": "gammainc gammaincc betainc",
    "surface.scipy.special.logarithms":
        "xlogy xlog1py entr rel_entr kl_div boxcox boxcox1p logit expit",
    "surface.scipy.special.zeta": "digamma polygamma",
}  # fmt: skip

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
