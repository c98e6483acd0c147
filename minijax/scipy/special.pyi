"""The public module `minijax.scipy.special`: special functions."""

from ..surface.nn.normalization import logsumexp as logsumexp
from ..surface.scipy.special.along_axes import log_softmax as log_softmax
from ..surface.scipy.special.along_axes import softmax as softmax
from ..surface.scipy.special.bessel import bessel_jn as bessel_jn
from ..surface.scipy.special.bessel import i0 as i0
from ..surface.scipy.special.bessel import i0e as i0e
from ..surface.scipy.special.bessel import i1 as i1
from ..surface.scipy.special.bessel import i1e as i1e
from ..surface.scipy.special.dawson import dawsn as dawsn
from ..surface.scipy.special.dilogarithm import spence as spence
from ..surface.scipy.special.exponential_integrals import exp1 as exp1
from ..surface.scipy.special.exponential_integrals import expi as expi
from ..surface.scipy.special.exponential_integrals import expn as expn
from ..surface.scipy.special.faddeeva import erfcx as erfcx
from ..surface.scipy.special.faddeeva import wofz as wofz
from ..surface.scipy.special.gamma import bernoulli as bernoulli
from ..surface.scipy.special.gamma import beta as beta
from ..surface.scipy.special.gamma import betaln as betaln
from ..surface.scipy.special.gamma import comb as comb
from ..surface.scipy.special.gamma import factorial as factorial
from ..surface.scipy.special.gamma import gamma as gamma
from ..surface.scipy.special.gamma import gammaln as gammaln
from ..surface.scipy.special.gamma import gammasgn as gammasgn
from ..surface.scipy.special.gamma import loggamma as loggamma
from ..surface.scipy.special.gamma import multigammaln as multigammaln
from ..surface.scipy.special.gamma import poch as poch
from ..surface.scipy.special.gaussian import erf as erf
from ..surface.scipy.special.gaussian import erfc as erfc
from ..surface.scipy.special.gaussian import erfinv as erfinv
from ..surface.scipy.special.gaussian import log_ndtr as log_ndtr
from ..surface.scipy.special.gaussian import ndtr as ndtr
from ..surface.scipy.special.gaussian import ndtri as ndtri
from ..surface.scipy.special.hypergeometric import hyp1f1 as hyp1f1
from ..surface.scipy.special.hypergeometric import hyp2f1 as hyp2f1
from ..surface.scipy.special.incomplete import betainc as betainc
from ..surface.scipy.special.incomplete import gammainc as gammainc
from ..surface.scipy.special.incomplete import gammaincc as gammaincc
from ..surface.scipy.special.legendre import lpmn as lpmn
from ..surface.scipy.special.legendre import lpmn_values as lpmn_values
from ..surface.scipy.special.legendre import sph_harm_y as sph_harm_y
from ..surface.scipy.special.logarithms import boxcox as boxcox
from ..surface.scipy.special.logarithms import boxcox1p as boxcox1p
from ..surface.scipy.special.logarithms import entr as entr
from ..surface.scipy.special.logarithms import expit as expit
from ..surface.scipy.special.logarithms import kl_div as kl_div
from ..surface.scipy.special.logarithms import logit as logit
from ..surface.scipy.special.logarithms import rel_entr as rel_entr
from ..surface.scipy.special.logarithms import xlog1py as xlog1py
from ..surface.scipy.special.logarithms import xlogy as xlogy
from ..surface.scipy.special.owens import owens_t as owens_t
from ..surface.scipy.special.trigonometric_integrals import fresnel as fresnel
from ..surface.scipy.special.trigonometric_integrals import sici as sici
from ..surface.scipy.special.zeta import digamma as digamma
from ..surface.scipy.special.zeta import polygamma as polygamma
from ..surface.scipy.special.zeta import zeta as zeta

__all__ = [
    "bernoulli", "bessel_jn", "beta", "betainc", "betaln", "boxcox", "boxcox1p", "comb",
    "dawsn", "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp1", "expi",
    "expit", "expn", "factorial", "fresnel", "gamma", "gammainc", "gammaincc",
    "gammaln", "gammasgn", "hyp1f1", "hyp2f1", "i0", "i0e", "i1", "i1e", "kl_div",
    "log_ndtr", "log_softmax", "loggamma", "logit", "logsumexp", "lpmn", "lpmn_values",
    "multigammaln", "ndtr", "ndtri", "owens_t", "poch", "polygamma", "rel_entr", "sici",
    "softmax", "spence", "sph_harm_y", "wofz", "xlog1py", "xlogy", "zeta"
]
