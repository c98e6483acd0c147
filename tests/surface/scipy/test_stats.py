"""scipy.stats: distributions against SciPy in float64; derivatives; ends of supports."""

import importlib

import numpy as np
import pytest
import scipy.stats as reference

import minijax as mj
from minijax.tools.stubs import DISTRIBUTIONS

LOC, SCALE = 0.25, 1.5
ANY = [-30.0, -2.5, -0.3, 0.0, 0.7, 4.0, 30.0]
POSITIVE = [1e-3, 0.4, 1.0, 3.5, 40.0]
WHOLE = [0.0, 1.0, 2.0, 4.0]
QUANTILES = ("ppf", "isf")
PLACES = np.array([0.0, 1e-9, 0.2, 0.5, 0.75, 0.999, 1.0])
# name: parameters, places in the support, places out of it (in standard form).
ROWS = {
    "norm": ((), ANY, []), "cauchy": ((), ANY, []),
    "laplace": ((), [-30.0, -1.0, 0.2, 4.0], []),
    "logistic": ((), ANY, []), "gumbel_l": ((), ANY[:-1], []),
    "gumbel_r": ((), ANY[1:], []), "t": ((2.5,), ANY, []),
    "expon": ((), POSITIVE, [-1.0]), "uniform": ((), [0.1, 0.5, 0.9], [-0.1, 1.1]),
    "gamma": ((2.5,), POSITIVE, [-1.0]), "chi2": ((3.0,), POSITIVE, [-1.0]),
    "pareto": ((2.5,), [1.1, 3.0, 50.0], [0.5, -1.0]),
    "beta": ((2.5, 0.8), [0.01, 0.5, 0.99], [-0.1, 1.1]),
    "truncnorm": ((-1.0, 2.0), [-0.99, 0.5, 1.99], [-1.1, 2.1]),
    "gennorm": ((1.5,), ANY, []), "vonmises": ((2.5,), [-3.0, 0.5, 2.0], []),
    "wrapcauchy": ((0.5,), [0.1, 1.0, 6.0], [-0.1, 6.5]),
    "bernoulli": ((0.3,), WHOLE[:2], [-1.0, 2.0]),
    "binom": ((5.0, 0.3), WHOLE, [-1.0, 6.0]),
    "nbinom": ((5.0, 0.3), WHOLE, [-1.0]), "geom": ((0.3,), WHOLE[1:], [0.0, -1.0]),
    "poisson": ((2.5,), WHOLE, [-1.0, 0.5]),
    "betabinom": ((5.0, 2.5, 1.5), WHOLE, [-1.0, 6.0]),
}  # fmt: skip
DENSITIES = ("logpdf", "pdf", "logpmf", "pmf")
BARE = {"gennorm": 0, "vonmises": 0, "wrapcauchy": 0}  # without location and scale


def functions(name):
    module = importlib.import_module(f"minijax.scipy.stats.{name}")
    return {n: getattr(module, n) for n in module.__all__ if n != "entropy"}


def moved(name):
    """Location and scale, as far as there are any."""
    if name in BARE:
        return ()
    return (LOC, SCALE) if "pdf" in functions(name) else (1.0,)


def all_of(name):
    """Every function of a distribution at once: one program.

    Slopes in parameters of shape are those of densities alone.
    """

    def total(x, q, shape, rest):
        out = {}
        for n, f in functions(name).items():
            kept = shape if n in DENSITIES else mj.lax.stop_gradient(shape)
            out[n] = f(q if n in QUANTILES else x, *kept, *rest[: count(name, n)])
        return out

    return total


def count(name, n):
    """How many of location and scale a function takes."""
    return 0 if name == "bernoulli" and n in ("cdf", "ppf") else 2


def expected(name, x, q, shape, rest, step=0.0, direction=None):
    """What SciPy says, a step further."""
    there, out = getattr(reference, name), {}
    dx, dq, dshape, drest = direction or (0, 0, [0] * len(shape), [0] * len(rest))
    x, q = x + step * dx, q + step * dq
    rest = [r + step * d for r, d in zip(rest, drest, strict=True)]
    further = [s + step * d for s, d in zip(shape, dshape, strict=True)]
    for n in functions(name):
        kept = further if n in DENSITIES else shape
        at = q if n in QUANTILES else x
        with np.errstate(all="ignore"):
            out[n] = getattr(there, n)(at, *kept, *rest[: count(name, n)])
            if name == "bernoulli" and n == "ppf":
                out[n] = np.maximum(out[n], 0)  # of 0, where SciPy has -1
    return out


def operands(name):
    shape, inside, outside = ROWS[name]
    rest = moved(name)
    x = np.array(inside + outside)
    if len(rest) > 1:
        x = x * SCALE
    return (x + rest[0] if rest else x), PLACES, shape, rest


def test_every_distribution_has_a_row():
    assert set(ROWS) == set(DISTRIBUTIONS.split()) - {
        "multinomial", "dirichlet", "multivariate_normal"
    }  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_values_and_slopes(name):
    args = operands(name)
    x, q, shape, rest = args
    whole = "pmf" in functions(name)  # nothing moves along whole numbers
    direction = (
        x * 0 + (not whole), q * 0 + (not whole), [0.0 if s == 5 else 0.5 for s in shape],
        [0.0] if whole else [0.3, 0.7][: len(rest)],
    )  # fmt: skip
    want = expected(name, *args)
    ahead, back = (expected(name, *args, h, direction) for h in (1e-6, -1e-6))

    def moving(t):
        dx, dq, dshape, drest = direction
        further = [[a + t * d for a, d in zip(*p, strict=True)]
                   for p in ((shape, dshape), (rest, drest))]  # fmt: skip
        return all_of(name)(x + t * dx, q + t * dq, *further)

    with mj.enable_x64():
        got, slopes = mj.jit(lambda t: mj.jvp(moving, (t,), (t + 1,)))(0.0)
    for n, y in got.items():
        np.testing.assert_allclose(y, want[n], 2e-10, 1e-13, err_msg=n)
        with np.errstate(all="ignore"):
            slope = (ahead[n] - back[n]) / 2e-6
        fine = np.isfinite(want[n]) & np.isfinite(slope)
        fine |= (want[n] == -np.inf) & (x is not q)
        slope = np.where(np.isfinite(want[n]), slope, 0)
        if n in QUANTILES:
            fine &= (q > 1e-3) & (q < 1)
        np.testing.assert_allclose(
            np.asarray(slopes[n])[fine], slope[fine], 1e-5, 1e-6, err_msg=n
        )


@pytest.mark.parametrize("name", ["norm", "t", "pareto", "binom"])
def test_in_single_precision(name):
    args = operands(name)
    want = expected(name, *args)
    for n, y in mj.jit(all_of(name))(*args).items():
        kept = (PLACES > 0) & (PLACES < 1) if n in QUANTILES else np.ones(y.shape, bool)
        np.testing.assert_allclose(
            y[kept], np.asarray(want[n])[kept], 3e-5, 1e-6, err_msg=n
        )
