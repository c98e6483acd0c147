"""What the sweep computes: functions of one number, mpmath's formula, places, borders.

A row is `name: (place of the variable, other arguments, formula, points, singularities)`.
Formulas hold to the last digit in both tails at any precision, so nothing in them
subtracts what is nearly equal.
"""

from mpmath import mp, mpf

# ----------------------------------------------------------------- formulas for mpmath


def log1p(x):
    return mp.log1p(x)


def log1mexp(x):
    """ln(1 - e^-x)"""
    return mp.log(-mp.expm1(-x))


def upper_normal(x):
    return mp.erfc(x / mp.sqrt(2)) / 2


def log_ndtr(x):
    return mp.log(upper_normal(-x)) if x < 0 else mp.log1p(-upper_normal(x))


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)


def log_sigmoid(x):
    return -mp.log1p(mp.exp(-x)) if x > 0 else x - mp.log1p(mp.exp(x))


def logit(x):
    return mp.log(x) - mp.log1p(-x)


def ndtri(p):
    if p > mpf(1) / 2:
        return -ndtri(1 - p)
    start = -mp.sqrt(-2 * mp.log(p)) if p < 0.1 else mpf(0)
    return mp.findroot(lambda x: log_ndtr(x) - mp.log(p), start)


def erfinv(y):
    return mp.erfinv(y)


def lower_gamma(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def upper_gamma(a, x):
    return mp.gammainc(a, x, mp.inf, regularized=True)


def log_of_smaller(p, q):
    """ln p, where p + q = 1."""
    return mp.log(p) if p < 0.5 else mp.log1p(-q)


def lower_beta(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def log_beta(a, b):
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def gamma_logpdf(x, a):
    return (a - 1) * mp.log(x) - x - mp.loggamma(a)


def beta_logpdf(x, a, b):
    return (a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x) - log_beta(a, b)


def t_logpdf(x, v):
    h = mpf(1) / 2
    return -log_beta(v / 2, h) - mp.log(v) / 2 - (v + 1) / 2 * mp.log1p(x * x / v)


def cauchy_below(x):
    return mp.atan2(1, -x) / mp.pi


def i0e(x):
    return mp.exp(-abs(x)) * mp.besseli(0, x)


def i1e(x):
    return mp.exp(-abs(x)) * mp.besseli(1, x)


def dawson(x):
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def spence(z):
    return mp.polylog(2, 1 - z).real


def sinc(x):
    return mp.sinc(mp.pi * x)


def truncated(x, a, b):
    """P(a < Z < x), x <= b."""

    def mass(u, v):
        if u > 0:
            return upper_normal(u) - upper_normal(v)
        return upper_normal(-v) - upper_normal(-u)

    return mass(a, x) / mass(a, b)


def owens(h, a):
    inner = lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t)
    return mp.quad(inner, mp.linspace(0, a, 9)) / (2 * mp.pi)


def log_choices(n, k):
    return mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)


# -------------------------------------------------------------------------------- places

TINY = [1e-30, 1e-10, 1e-4, 1e-2]
MIDDLE = [0.1, 0.4, 0.9, 1.5, 3.0]
LARGE = [6.0, 9.0, 20.0, 100.0, 1e4, 1e10, 1e18]
POSITIVE = TINY + MIDDLE + LARGE
SIGNED = [-x for x in reversed(POSITIVE)] + [0.0] + POSITIVE
NEAR_ONE = [1 - 2.0**-k for k in (2, 4, 8, 16, 22)]
PROBABILITY = [1e-30, 1e-10, 1e-4, 0.02, 0.1, 0.3, 0.5, 0.6, *NEAR_ONE]
MODEST = [x for x in SIGNED if abs(x) <= 20]

# ------------------------------------------------------------------------------ functions

UNARY = {
    "special.erf": (mp.erf, SIGNED, []),
    "special.erfc": (mp.erfc, SIGNED, []),
    "special.erfcx": (erfcx, [x for x in SIGNED if x > -9], []),
    "special.erfinv": (erfinv, [-x for x in PROBABILITY] + [0.0] + PROBABILITY, [-1, 1]),
    "special.ndtr": (lambda x: upper_normal(-x), SIGNED, []),
    "special.log_ndtr": (log_ndtr, SIGNED, []),
    "special.ndtri": (ndtri, PROBABILITY, [0, 1]),
    "special.expit": (lambda x: mp.exp(log_sigmoid(x)), SIGNED, []),
    "special.logit": (logit, PROBABILITY, [0, 1]),
    "special.entr": (lambda x: -x * mp.log(x), POSITIVE, [0]),
    "special.digamma": (mp.digamma, POSITIVE + [-0.3, -1.7, -7.4], [0]),
    "special.gammaln": (lambda x: mp.loggamma(x).real, POSITIVE + [-0.3, -1.7, -7.4], [0]),
    "special.loggamma": (mp.loggamma, POSITIVE, [0]),
    "special.gamma": (mp.gamma, TINY + MIDDLE + [6.0, 9.0, 20.0, -0.3, -1.7, -7.4], [0]),
    "special.factorial": (mp.factorial, [0.0] + TINY + MIDDLE + [6.0, 9.0, 20.0], []),
    "special.i0": (lambda x: mp.besseli(0, x), MODEST, []),
    "special.i0e": (i0e, [x for x in SIGNED if x], [0]),
    "special.i1": (lambda x: mp.besseli(1, x), MODEST, []),
    "special.i1e": (i1e, [x for x in SIGNED if x], [0]),
    "special.dawsn": (dawson, [x for x in SIGNED if abs(x) < 200], []),
    "special.exp1": (mp.e1, POSITIVE, [0]),
    "special.expi": (mp.ei, [x for x in SIGNED if x and x < 80], [0]),
    "special.spence": (spence, TINY + MIDDLE + LARGE[:5] + [1.0, 1.0001], [0]),
    "special.sici:0": (mp.si, [x for x in SIGNED if abs(x) <= 1e4], []),
    "special.sici:1": (mp.ci, TINY + MIDDLE + LARGE[:5], [0]),
    "special.fresnel:0": (mp.fresnels, [x for x in SIGNED if abs(x) <= 100], []),
    "special.fresnel:1": (mp.fresnelc, [x for x in SIGNED if abs(x) <= 100], []),
    "special.bessel_jn:0": (lambda x: mp.besselj(0, x), MODEST, []),
    "special.bessel_jn:2": (lambda x: mp.besselj(2, x), MODEST, []),
    "numpy.sinc": (sinc, [x for x in SIGNED if abs(x) < 1e5], []),
    "numpy.i0": (lambda x: mp.besseli(0, x), MODEST, []),
    "numpy.log1p": (log1p, [x for x in SIGNED if x > -1] + [-x for x in NEAR_ONE], [-1]),
    "nn.log1mexp": (log1mexp, POSITIVE, [0]),
    "nn.log_sigmoid": (log_sigmoid, SIGNED, []),
    "nn.softplus": (lambda x: -log_sigmoid(-x), SIGNED, []),
}

# name: (the other arguments with None for the variable, formula, points, singularities)
MORE = {}


def more(name, others, formula, points, singular=()):
    MORE[name] = (others, formula, points, list(singular))


for _l in (2.0, 0.5, -3.0):
    more(
        f"special.boxcox[x,{_l}]",
        (None, _l),
        lambda x, p: mp.expm1(p * mp.log(x)) / p,
        [1e-4, *MIDDLE, 1.0, 1.0001, 9.0, 1e4],
        [0],
    )
    more(
        f"special.boxcox1p[x,{_l}]",
        (None, _l),
        lambda x, p: mp.expm1(p * mp.log1p(x)) / p,
        [-0.9, 0.0, *TINY, *MIDDLE, 9.0, 1e4],
        [-1],
    )
more(
    "special.boxcox[lmbda]",
    (3.0, None),
    lambda x, p: mp.expm1(p * mp.log(x)) / p if p else mp.log(x),
    MODEST,
)
more(
    "special.boxcox1p[lmbda]",
    (0.5, None),
    lambda x, p: mp.expm1(p * mp.log1p(x)) / p if p else mp.log1p(x),
    MODEST,
)
more("special.xlogy[x]", (None, 3.0), lambda x, y: x * mp.log(y), SIGNED)
more("special.xlogy[y]", (2.0, None), lambda x, y: x * mp.log(y), POSITIVE, [0])
more("special.xlog1py[x]", (None, 3.0), lambda x, y: x * mp.log1p(y), SIGNED)
more(
    "special.xlog1py[y]",
    (2.0, None),
    lambda x, y: x * mp.log1p(y),
    [0.0, *POSITIVE, *[-x for x in NEAR_ONE]],
    [-1],
)
more("special.rel_entr[p]", (None, 0.5), lambda p, q: p * mp.log(p / q), POSITIVE + [0.5], [0])
more("special.rel_entr[q]", (0.5, None), lambda p, q: p * mp.log(p / q), POSITIVE + [0.5], [0])
more(
    "special.kl_div[p]",
    (None, 0.5),
    lambda p, q: p * mp.log(p / q) - p + q,
    POSITIVE + [0.5],
    [0],
)
more(
    "special.kl_div[q]",
    (0.5, None),
    lambda p, q: p * mp.log(p / q) - p + q,
    POSITIVE + [0.5],
    [0],
)
for _a in (0.3, 1.0, 2.5, 40.0):
    more(f"special.gammainc[{_a},x]", (_a, None), lower_gamma, POSITIVE[:-3], [0])
    more(f"special.gammaincc[{_a},x]", (_a, None), upper_gamma, POSITIVE[:-3], [0])
for _x in (0.4, 3.0):
    more(
        f"special.gammainc[a,{_x}]",
        (None, _x),
        lower_gamma,
        [1e-4, 1e-2, *MIDDLE, 9.0, 40.0],
        [0],
    )
    more(
        f"special.gammaincc[a,{_x}]",
        (None, _x),
        upper_gamma,
        [1e-4, 1e-2, *MIDDLE, 9.0, 40.0],
        [0],
    )
for _a, _b in ((2.5, 3.5), (0.4, 0.7), (1.0, 1.0), (30.0, 2.0)):
    more(f"special.betainc[{_a},{_b},x]", (_a, _b, None), lower_beta, PROBABILITY, [0, 1])
more(
    "special.beta[a]",
    (None, 2.5),
    lambda a, b: mp.beta(a, b),
    [*TINY, *MIDDLE, 2.5, 9.0, 100.0, 1e4],
    [0],
)
more(
    "special.betaln[a]",
    (None, 2.5),
    log_beta,
    [*TINY, *MIDDLE, 2.5, 9.0, 100.0, 1e4, 1e10],
    [0],
)
more(
    "special.betaln[a,large]",
    (None, 1e4),
    log_beta,
    [*TINY, *MIDDLE, 9.0, 100.0, 1e4, 1e10],
    [0],
)
more("special.comb[N]", (None, 2.5), lambda n, k: mp.binomial(n, k), [3.0, 6.0, 20.0, 1e4])
more(
    "special.comb[k]", (20.0, None), lambda n, k: mp.binomial(n, k), [0.5, 3.0, 9.0, 10.0, 17.0]
)
more("special.poch[z]", (None, 2.5), mp.rf, [*TINY, *MIDDLE, 9.0, 100.0, 1e4], [0])
more("special.poch[m]", (2.5, None), mp.rf, [0.0, *TINY, *MIDDLE, 9.0])
more("special.owens_t[h]", (None, 0.75), owens, [0.0, 1e-2, 0.4, 1.5, 3.0, 6.0])
more("special.owens_t[a]", (1.25, None), owens, [0.0, 1e-2, 0.4, 1.5, 3.0])
more("special.zeta[q]", (2.5, None), mp.zeta, [*MIDDLE, *LARGE[:5]], [0])
more("special.zeta[x]", (None, 2.5), mp.zeta, [1.01, 1.5, 3.0, 9.0, 20.0], [1])
more("special.expn[3,x]", (3, None), lambda n, x: mp.expint(int(n), x), POSITIVE[:-3], [0])
more(
    "special.polygamma[2,x]", (2, None), lambda n, x: mp.polygamma(int(n), x), POSITIVE[2:], [0]
)
more("special.hyp1f1[x]", (1.5, 2.5, None), mp.hyp1f1, MODEST)
more(
    "special.hyp2f1[x]",
    (0.5, 1.5, 2.5, None),
    mp.hyp2f1,
    [-20.0, -3.0, -0.9, -1e-4, 0.0, 1e-4, 0.1, 0.4, 0.9, 0.99],
    [1],
)
more(
    "special.multigammaln[a]",
    (None, 3),
    lambda a, d: (
        mpf(d) * (d - 1) / 4 * mp.log(mp.pi)
        + sum(mp.loggamma(a - mpf(j) / 2) for j in range(int(d)))
    ),
    [1.1, 1.5, 3.0, 9.0, 100.0, 1e10],
    [1],
)

# --------------------------------------------------------------------- distributions of x


def distribution(name, others, points, singular=(), **formulas):
    for method, formula in formulas.items():
        key = f"stats.{name}.{method}[{','.join(map(str, others))}]"
        more(key, (None, *others), formula, points, singular)


half_log_tau = lambda: mp.log(2 * mp.pi) / 2
distribution(
    "norm",
    (),
    SIGNED,
    logpdf=lambda z: -z * z / 2 - half_log_tau(),
    pdf=lambda z: mp.npdf(z),
    cdf=lambda z: upper_normal(-z),
    sf=upper_normal,
    logcdf=log_ndtr,
    logsf=lambda z: log_ndtr(-z),
)
distribution("norm", (), PROBABILITY, [0, 1], ppf=ndtri, isf=lambda q: -ndtri(q))
distribution(
    "cauchy",
    (),
    SIGNED,
    logpdf=lambda z: -mp.log(mp.pi) - mp.log1p(z * z),
    pdf=lambda z: 1 / mp.pi / (1 + z * z),
    cdf=cauchy_below,
    sf=lambda z: cauchy_below(-z),
    logcdf=lambda z: log_of_smaller(cauchy_below(z), cauchy_below(-z)),
    logsf=lambda z: log_of_smaller(cauchy_below(-z), cauchy_below(z)),
)
distribution(
    "cauchy",
    (),
    PROBABILITY,
    [0, 1],
    ppf=lambda q: -1 / mp.tan(mp.pi * q),
    isf=lambda q: 1 / mp.tan(mp.pi * q),
)
distribution(
    "expon",
    (),
    POSITIVE,
    [0],
    logpdf=lambda z: -z,
    pdf=lambda z: mp.exp(-z),
    cdf=lambda z: -mp.expm1(-z),
    logcdf=log1mexp,
    sf=lambda z: mp.exp(-z),
    logsf=lambda z: -z,
)
distribution("expon", (), PROBABILITY, [0, 1], ppf=lambda q: -mp.log1p(-q))
distribution(
    "laplace",
    (),
    [x for x in SIGNED if x],
    [0],
    logpdf=lambda z: -mp.log(2) - abs(z),
    pdf=lambda z: mp.exp(-abs(z)) / 2,
    cdf=lambda z: mp.exp(z) / 2 if z < 0 else 1 - mp.exp(-z) / 2,
)
distribution(
    "logistic",
    (),
    SIGNED,
    logpdf=lambda z: log_sigmoid(z) + log_sigmoid(-z),
    pdf=lambda z: mp.exp(log_sigmoid(z) + log_sigmoid(-z)),
    cdf=lambda z: mp.exp(log_sigmoid(z)),
    sf=lambda z: mp.exp(log_sigmoid(-z)),
)
distribution("logistic", (), PROBABILITY, [0, 1], ppf=logit, isf=lambda q: -logit(q))
GUMBEL = [x for x in SIGNED if abs(x) <= 100]
distribution(
    "gumbel_r",
    (),
    GUMBEL,
    logpdf=lambda z: -z - mp.exp(-z),
    pdf=lambda z: mp.exp(-z - mp.exp(-z)),
    logcdf=lambda z: -mp.exp(-z),
    cdf=lambda z: mp.exp(-mp.exp(-z)),
    sf=lambda z: -mp.expm1(-mp.exp(-z)),
    logsf=lambda z: log1mexp(mp.exp(-z)),
)
distribution(
    "gumbel_l",
    (),
    GUMBEL,
    logpdf=lambda z: z - mp.exp(z),
    pdf=lambda z: mp.exp(z - mp.exp(z)),
    logsf=lambda z: -mp.exp(z),
    sf=lambda z: mp.exp(-mp.exp(z)),
    cdf=lambda z: -mp.expm1(-mp.exp(z)),
    logcdf=lambda z: log1mexp(mp.exp(z)),
)
distribution("gumbel_r", (), PROBABILITY, [0, 1], ppf=lambda q: -mp.log(-mp.log(q)))
distribution("gumbel_l", (), PROBABILITY, [0, 1], ppf=lambda q: mp.log(-mp.log1p(-q)))
distribution(
    "uniform",
    (),
    [0.1, 0.5, 0.9],
    [0, 1],
    logpdf=lambda z: z * 0,
    pdf=lambda z: 1 + z * 0,
    cdf=lambda z: z,
)

for _a in (0.3, 1.0, 2.5, 40.0):
    distribution(
        "gamma",
        (_a,),
        POSITIVE[:-3],
        [0],
        logpdf=gamma_logpdf,
        pdf=lambda x, a: mp.exp(gamma_logpdf(x, a)),
        cdf=lambda x, a: lower_gamma(a, x),
        sf=lambda x, a: upper_gamma(a, x),
        logcdf=lambda x, a: log_of_smaller(lower_gamma(a, x), upper_gamma(a, x)),
        logsf=lambda x, a: log_of_smaller(upper_gamma(a, x), lower_gamma(a, x)),
    )
for _a in (1.0, 3.0):
    distribution(
        "chi2",
        (_a,),
        POSITIVE[:-3],
        [0],
        logpdf=lambda x, k: gamma_logpdf(x / 2, k / 2) - mp.log(2),
        pdf=lambda x, k: mp.exp(gamma_logpdf(x / 2, k / 2)) / 2,
        cdf=lambda x, k: lower_gamma(k / 2, x / 2),
        sf=lambda x, k: upper_gamma(k / 2, x / 2),
        logcdf=lambda x, k: log_of_smaller(
            lower_gamma(k / 2, x / 2), upper_gamma(k / 2, x / 2)
        ),
        logsf=lambda x, k: log_of_smaller(upper_gamma(k / 2, x / 2), lower_gamma(k / 2, x / 2)),
    )
for _a, _b in ((2.5, 3.5), (0.4, 0.7), (1.0, 1.0), (30.0, 2.0)):
    distribution(
        "beta",
        (_a, _b),
        PROBABILITY,
        [0, 1],
        logpdf=beta_logpdf,
        pdf=lambda x, a, b: mp.exp(beta_logpdf(x, a, b)),
        cdf=lambda x, a, b: lower_beta(a, b, x),
        sf=lambda x, a, b: lower_beta(b, a, 1 - x),
        logcdf=lambda x, a, b: log_of_smaller(lower_beta(a, b, x), lower_beta(b, a, 1 - x)),
        logsf=lambda x, a, b: log_of_smaller(lower_beta(b, a, 1 - x), lower_beta(a, b, x)),
    )
distribution(
    "pareto",
    (2.5,),
    [1.0 + 2.0**-20, 1.01, *MIDDLE[3:], *LARGE],
    [1],
    logpdf=lambda x, b: mp.log(b) - (b + 1) * mp.log(x),
    pdf=lambda x, b: b * x ** -(b + 1),
    cdf=lambda x, b: -mp.expm1(-b * mp.log(x)),
    sf=lambda x, b: x**-b,
    logcdf=lambda x, b: log1mexp(b * mp.log(x)),
    logsf=lambda x, b: -b * mp.log(x),
)
distribution("pareto", (2.5,), PROBABILITY, [0, 1], ppf=lambda q, b: mp.exp(-mp.log1p(-q) / b))
for _v in (1.0, 3.5, 1e4):
    distribution("t", (_v,), SIGNED, logpdf=t_logpdf, pdf=lambda x, v: mp.exp(t_logpdf(x, v)))


def gennorm_size(b):
    return mp.log(b / 2) - mp.loggamma(1 / b)


for _b in (0.5, 1.5, 3.0):
    distribution(
        "gennorm",
        (_b,),
        [x for x in SIGNED if 1e-11 < abs(x) < 1e3],
        [0],
        logpdf=lambda x, b: gennorm_size(b) - abs(x) ** b,
        pdf=lambda x, b: mp.exp(gennorm_size(b) - abs(x) ** b),
        cdf=lambda x, b: (
            upper_gamma(1 / b, (-x) ** b) / 2 if x < 0 else 1 - upper_gamma(1 / b, x**b) / 2
        ),
    )
distribution(
    "vonmises",
    (2.0,),
    [x for x in SIGNED if abs(x) <= 3],
    logpdf=lambda x, k: k * (mp.cos(x) - 1) - mp.log(2 * mp.pi * i0e(k)),
    pdf=lambda x, k: mp.exp(k * (mp.cos(x) - 1)) / (2 * mp.pi * i0e(k)),
)
more(
    "stats.vonmises.logpdf[kappa]",
    (0.5, None),
    lambda x, k: k * (mp.cos(x) - 1) - mp.log(2 * mp.pi * i0e(k)),
    POSITIVE[1:-2],
    [0],
)
distribution(
    "wrapcauchy",
    (0.5,),
    [1e-4, *MIDDLE, 6.0],
    logpdf=lambda x, c: mp.log((1 - c * c) / (2 * mp.pi * (1 + c * c - 2 * c * mp.cos(x)))),
    pdf=lambda x, c: (1 - c * c) / (2 * mp.pi * (1 + c * c - 2 * c * mp.cos(x))),
)
for _a, _b in ((-1.0, 2.0), (3.0, 9.0), (-40.0, -30.0)):
    _w = _b - _a
    distribution(
        "truncnorm",
        (_a, _b),
        [_a + _w * f for f in (1e-3, 0.1, 0.3, 0.5, 0.9, 0.999)],
        [_a, _b],
        logpdf=lambda z, a, b: (
            -z * z / 2 - half_log_tau() - mp.log(upper_normal(a) - upper_normal(b))
        ),
        pdf=lambda z, a, b: mp.npdf(z) / (upper_normal(a) - upper_normal(b)),
        cdf=truncated,
        sf=lambda z, a, b: truncated(-z, -b, -a),
        logcdf=lambda z, a, b: mp.log(truncated(z, a, b)),
        logsf=lambda z, a, b: mp.log(truncated(-z, -b, -a)),
    )

# ---------------------------------------------------------------- of parameters, discrete

PARAM = [1e-4, 1e-2, *MIDDLE, 9.0, 100.0, 1e4]
more("stats.gamma.logpdf[a]", (1.3, None), gamma_logpdf, PARAM, [0])
more(
    "stats.gamma.logsf[a]",
    (1.3, None),
    lambda x, a: log_of_smaller(upper_gamma(a, x), lower_gamma(a, x)),
    [1e-2, *MIDDLE, 9.0],
    [0],
)
more(
    "stats.chi2.logpdf[df]",
    (1.3, None),
    lambda x, k: gamma_logpdf(x / 2, k / 2) - mp.log(2),
    PARAM,
    [0],
)
more("stats.beta.logpdf[a]", (0.3, None, 2.0), beta_logpdf, [*PARAM, 2.0], [0])
more("stats.beta.logpdf[b]", (0.3, 2.0, None), beta_logpdf, [*PARAM, 2.0], [0])
more("stats.t.logpdf[df]", (0.7, None), t_logpdf, [*PARAM, 1.0], [0])
more(
    "stats.pareto.logpdf[b]",
    (1.3, None),
    lambda x, b: mp.log(b) - (b + 1) * mp.log(x),
    PARAM,
    [0],
)
more(
    "stats.gennorm.logpdf[beta]",
    (0.7, None),
    lambda x, b: mp.log(b / 2) - mp.loggamma(1 / b) - x**b,
    [0.1, 0.4, 0.9, 1.0, 1.5, 3.0, 9.0],
    [0],
)
more(
    "stats.norm.logsf[scale]",
    (30.0, 0.0, None),
    lambda x, m, s: log_ndtr(-x / s),
    [0.1, 0.4, 1.0, 9.0, 1e4],
    [0],
)
more(
    "stats.poisson.logpmf[mu]",
    (3.0, None),
    lambda k, m: k * mp.log(m) - m - mp.loggamma(k + 1),
    PARAM,
    [0],
)
more(
    "stats.poisson.pmf[mu]",
    (3.0, None),
    lambda k, m: mp.exp(k * mp.log(m) - m - mp.loggamma(k + 1)),
    PARAM[:-2],
    [0],
)
more("stats.poisson.cdf[mu]", (3.0, None), lambda k, m: upper_gamma(k + 1, m), PARAM[:-2], [0])
more("stats.bernoulli.logpmf[p]", (1.0, None), lambda k, p: mp.log(p), PROBABILITY, [0, 1])
more("stats.bernoulli.logpmf[0,p]", (0.0, None), lambda k, p: mp.log1p(-p), PROBABILITY, [0, 1])
more(
    "stats.geom.logpmf[p]",
    (4.0, None),
    lambda k, p: (k - 1) * mp.log1p(-p) + mp.log(p),
    PROBABILITY,
    [0, 1],
)
for _k in (0.0, 3.0, 7.0):
    more(
        f"stats.binom.logpmf[{_k},7,p]",
        (_k, 7.0, None),
        lambda k, n, p: log_choices(n, k) + k * mp.log(p) + (n - k) * mp.log1p(-p),
        PROBABILITY,
        [0, 1],
    )
more(
    "stats.binom.logpmf[n]",
    (3.0, None, 0.25),
    lambda k, n, p: log_choices(n, k) + k * mp.log(p) + (n - k) * mp.log1p(-p),
    [4.0, 6.0, 9.0, 40.0, 1e4],
)
more(
    "stats.nbinom.logpmf[p]",
    (3.0, 4.0, None),
    lambda k, n, p: log_choices(n + k - 1, k) + n * mp.log(p) + k * mp.log1p(-p),
    PROBABILITY,
    [0, 1],
)
more(
    "stats.nbinom.logpmf[n]",
    (3.0, None, 0.25),
    lambda k, n, p: log_choices(n + k - 1, k) + n * mp.log(p) + k * mp.log1p(-p),
    PARAM[1:],
    [0],
)
more(
    "stats.betabinom.logpmf[a]",
    (3.0, 7.0, None, 2.0),
    lambda k, n, a, b: log_choices(n, k) + log_beta(k + a, n - k + b) - log_beta(a, b),
    PARAM[1:],
    [0],
)
more(
    "stats.betabinom.logpmf[b]",
    (3.0, 7.0, 2.0, None),
    lambda k, n, a, b: log_choices(n, k) + log_beta(k + a, n - k + b) - log_beta(a, b),
    PARAM[1:] + [1.0],
    [0],
)


def rows():
    """Every row: name, place of the variable, arguments, formula, points, borders."""
    for name, (formula, points, singular) in UNARY.items():
        yield name, 0, (None,), formula, points, singular
    for name, (others, formula, points, singular) in MORE.items():
        yield name, others.index(None), others, formula, points, singular
