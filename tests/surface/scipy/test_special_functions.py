"""Special functions against SciPy in float64 and float32, derivatives by differences."""

import numpy as np
import pytest
import scipy.special as scipy

import minijax as mj
from minijax.scipy import special

inf, nan = np.inf, np.nan


def grid(low, high, n=60):
    """Points of an interval, some of them near its ends."""
    return np.linspace(low, high, n) + 1e-3 * np.sin(np.arange(n))


def powers(low, high, n=60):
    """Points of many magnitudes."""
    return 10 ** np.linspace(low, high, n)


def pairs(*axes):
    return [x.ravel() for x in np.meshgrid(*axes)]


SIGNED = np.concatenate([-powers(-8, 1.5), [0.0], powers(-8, 1.5)])
POSITIVE = np.concatenate([powers(-8, 4), [1.0, 2.0, 8.0]])
PROBABILITY = np.concatenate([powers(-30, -0.4), grid(0.02, 0.98)])

# name: (SciPy's function, arguments, relative error in units of float64's last place,
# the same in float32).  Where a function is zero the error is relative to 0.1.
ROWS = {
    "digamma": (scipy.digamma, [POSITIVE], 40, 40),
    "gammaln": (scipy.gammaln, [POSITIVE], 40, 40),
    "gamma": (scipy.gamma, [grid(-4.9, 30)], 400, 400),
    "gammasgn": (scipy.gammasgn, [grid(-5.6, 5)], 0, 0),
    "loggamma": (scipy.loggamma, [POSITIVE], 40, 40),
    "erf": (scipy.erf, [SIGNED], 8, 8),
    "erfc": (scipy.erfc, [grid(-4, 9)], 400, 400),
    "erfinv": (scipy.erfinv, [grid(-0.99, 0.99)], 8, 8),
    "expit": (scipy.expit, [SIGNED], 40, 40),
    "logit": (scipy.logit, [PROBABILITY], 8, 8),
    "entr": (scipy.entr, [np.append(POSITIVE, 0)], 8, 8),
    "ndtr": (scipy.ndtr, [grid(-9, 9)], 400, 400),
    "ndtri": (scipy.ndtri, [PROBABILITY], 8, 8),
    "log_ndtr": (scipy.log_ndtr, [np.append(grid(-60, 30), grid(-2, 6))], 8, 8),
    "i0": (scipy.i0, [grid(-30, 30)], 40, 400),
    "i0e": (scipy.i0e, [SIGNED], 8, 8),
    "i1": (scipy.i1, [grid(-30, 30)], 40, 400),
    "i1e": (scipy.i1e, [SIGNED], 8, 8),
    "factorial": (scipy.factorial, [grid(0, 30)], 400, 400),
    "xlogy": (scipy.xlogy, pairs(grid(-2, 2, 9), POSITIVE[::7]), 8, 8),
    "xlog1py": (scipy.xlog1py, pairs(grid(-2, 2, 9), POSITIVE[::7]), 8, 8),
    "rel_entr": (scipy.rel_entr, pairs(POSITIVE[::7], POSITIVE[3::8]), 40, 40),
    "kl_div": (scipy.kl_div, pairs(POSITIVE[::7], POSITIVE[3::8]), 80, 80),
    "boxcox": (scipy.boxcox, pairs(POSITIVE[::7], grid(-2, 2, 9)), 80, 80),
    "boxcox1p": (scipy.boxcox1p, pairs(POSITIVE[::7], grid(-2, 2, 9)), 80, 80),
    "beta": (scipy.beta, pairs(powers(-2, 1, 9), powers(-2, 1, 8)), 400, 400),
    "betaln": (scipy.betaln, pairs(powers(-2, 0.9, 15), powers(-2, 0.9, 14)), 200, 200),
    "gammainc": (scipy.gammainc, pairs(powers(-1, 1, 8), powers(-1, 1, 9)), 200, 200),
    "gammaincc": (scipy.gammaincc, pairs(powers(-1, 1, 8), powers(-1, 1, 9)), 200, 200),
    "poch": (scipy.poch, pairs(powers(-1, 1, 8), powers(-1, 1, 9)), 400, 400),
    "comb": (scipy.comb, pairs(grid(21, 30, 8), grid(0, 20, 9)), 400, 400),
}  # fmt: skip
# Those that are not differentiated by all arguments: by which.
MOVES = {"gammasgn": ()}


def close(got, expected, units, dtype):
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == np.asarray(np.zeros(0, dtype)).dtype or got.dtype.kind == "c"
    eps = float(np.finfo(dtype).eps)
    np.testing.assert_allclose(
        got.astype(expected.dtype), expected, rtol=units * eps, atol=units * eps / 10
    )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ROWS)
def test_values(name, dtype):
    function, args, *units = ROWS[name]
    args = [x.astype(dtype) for x in args]
    with mj.enable_x64(dtype == "float64"):
        got = getattr(special, name)(*args)
        with np.errstate(all="ignore"):
            expected = function(*[x.astype(np.float64) for x in args])
            if dtype == "float32":
                fits = np.abs(np.asarray(expected)) < 1e38
                expected = np.where(fits, expected, np.sign(expected) * inf)
        close(got, expected, units[dtype == "float32"], dtype)


@pytest.mark.parametrize("name", ROWS)
def test_derivatives(name):
    function, args, *_ = ROWS[name]
    keep = np.linspace(0, len(args[0]) - 1, 24).astype(int)
    args = [x[keep] for x in args]
    with mj.enable_x64(True), np.errstate(all="ignore"):
        f = getattr(special, name)
        for i in MOVES.get(name, range(len(args))):
            rest = list(args)
            x = rest.pop(i)
            x = np.where(np.abs(x) < 1e-3, 0.25, x)

            def of(x, i=i, rest=rest):
                return (*rest[:i], x, *rest[i:])

            step = 2e-4 * np.minimum(np.abs(x), 1)
            _, slope = mj.jvp(lambda x, of=of: f(*of(x)), (x,), (np.ones_like(x),))
            ahead = [function(*of(x + k * step)) for k in (-2, -1, 1, 2)]
            weights = np.array([1, -8, 8, -1]) / 12
            expected = np.tensordot(weights, np.array(ahead), 1) / step
            fine = np.isfinite(expected)
            scale = np.abs(expected) + np.abs(function(*of(x)) / x)
            wrong = np.abs(slope - expected) > 1e-6 * scale
            assert not (wrong & fine).any(), (x[wrong & fine], i)
