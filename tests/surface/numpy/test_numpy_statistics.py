"""Histograms, covariances, convolutions, signals, polynomials."""

import numpy as np
import pytest
from against_numpy import check, close, same
from laws import obeys

import minijax as mj
import minijax.numpy as jnp

V = np.arange(4, dtype=np.float32)
X = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)


def test_histograms():
    for kw in ({}, {"bins": 4}, {"bins": 3, "range": (-1.0, 1.0)}, {"density": True}):
        check("histogram", X, **kw)
    check("histogram", X, weights=np.abs(X))
    check("histogram", X, np.array([-1.0, 0.0, 2.0], np.float32))
    check("histogram_bin_edges", np.ones(3, np.float32), bins=2)
    x, y = X[0], X[1]
    check("histogram2d", x, y, bins=3)
    check("histogram2d", x, y, bins=[2, 3], weights=np.abs(x))
    same(
        jnp.histogram2d(x, y, bins=[np.sort(x), np.sort(y)]),
        np.histogram2d(x, y, bins=[np.sort(x), np.sort(y)]),
    )
    check("histogramdd", X.T, bins=2, density=True)
    check("histogramdd", X.T, bins=[2, 3, 2], range=[[-1, 1], None, [0, 2]])


def test_bincount():
    z = np.array([3, 1, 1, 0])
    check("bincount", z, jit=False)
    check("bincount", z, minlength=7, jit=False)
    check("bincount", z, np.abs(X[0, :4]), jit=False)
    close(mj.jit(lambda z: jnp.bincount(z, length=3))(z), [1, 2, 0])
    with pytest.raises(mj.errors.ConcretizationTypeError, match="length"):
        mj.jit(jnp.bincount)(z)


def test_covariance():
    check("cov", X, tol=1e-4)
    check("cov", X, X[:1], rowvar=True, ddof=0)
    check("cov", X, rowvar=False, bias=True)
    f, a = np.array([1, 2, 1, 0, 3]), np.abs(X[0])
    check("cov", X, fweights=f, aweights=a, tol=1e-4)
    check("cov", X, fweights=f, jit=False)
    check("cov", X[0], X[1] * 1j, ref=lambda x, y: np.cov(x, y))
    check("corrcoef", X, tol=1e-4)
    check("corrcoef", X, rowvar=False, tol=1e-4)
    obeys(jnp.cov, X, exact=False, lanes=False)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions(mode):
    for a, b in ((V, V[:3]), (V[:2], V), (V, V[1:2]), (V[:3] + 1j, V * 1j)):
        check(
            "convolve",
            a.astype(np.result_type(a, np.complex64) if a.dtype.kind == "c" else a.dtype),
            b,
            mode=mode,
        )
        check("correlate", a, b, mode=mode)
    obeys(lambda a, b: jnp.convolve(a, b, mode), V, V[1:], exact=False)


def test_interp():
    xp, fp = np.array([0.0, 1, 3, 4], np.float32), np.array([1.0, 0, 2, 5], np.float32)
    x = np.array([[-1, 0.5], [2.2, 9]], np.float32)
    check("interp", x, xp, fp)
    check("interp", x, xp, fp, left=-5.0, right=7.0)
    check("interp", x, xp, fp, period=5.0)
    check("interp", x, xp, fp * 1j)
    line = jnp.interp(x, xp, fp, left="extrapolate", right="extrapolate")
    close(line, [[2, 0.5], [1.2, 20]])
    obeys(lambda f: jnp.interp(x, xp, f), fp, exact=False)
    obeys(lambda x: jnp.interp(x, xp, fp), x, exact=False, lanes=False)


def test_differences():
    for kw in ({}, {"n": 2}, {"axis": 0}, {"n": 0}, {"n": 9}):
        check("diff", X, **kw)
    check("diff", X, prepend=0.0, append=np.ones((3, 2), np.float32), jit=False)
    check("diff", X > 0)
    check("ediff1d", X, to_begin=np.float32(1), to_end=np.float32(2), jit=False)
    check("gradient", X)
    check("gradient", X, axis=1)
    check("gradient", X, 2.0, np.array([0, 1, 3, 4, 9.0], np.float32), jit=False)
    check("trapezoid", X)
    check("trapezoid", X, dx=0.5, axis=0)
    check("trapezoid", X, np.array([0, 1, 3, 4, 9.0], np.float32))
    check("unwrap", V * 3)
    check("unwrap", X * 9, axis=0, tol=1e-4)
    check("unwrap", np.arange(5) * 4, period=6)
    check("unwrap", np.arange(5) * 5, period=6, discont=4)
    obeys(lambda x: jnp.gradient(x, axis=0), X, exact=False)


def test_polynomials():
    p, q = np.array([2.0, 0, -1, 3], np.float32), np.array([1.0, 2], np.float32)
    check("polyval", p, X)
    assert check("polyval", np.array([1, 2]), 3).dtype == jnp.int32
    for name in ("polyadd", "polysub", "polymul"):
        check(name, p, q)
        check(name, q, p)
    quotient, rest = jnp.polydiv(p, q)
    close(jnp.polyadd(jnp.polymul(quotient, q), rest), p)
    same(jnp.polydiv(p, q, trim_leading_zeros=True), np.polydiv(p, q))
    for m in (0, 1, 2):
        check("polyder", p, m)
        check("polyint", p, m)
    check("polyint", p, 2, k=np.array([3.0, 4.0], np.float32), jit=False)
    check("poly", np.array([1.0, 2, 3], np.float32), tol=1e-4)
    check("poly", X[:3, :3], tol=1e-3, jit=False)
    check("vander", V)
    check("vander", V, 3, increasing=True)
    check("trim_zeros", np.array([0, 0, 1, 2, 0]), jit=False)
    check("trim_zeros", np.array([0, 0, 1, 2, 0]), "b", jit=False)


def test_roots_and_fits():
    p = np.array([0.0, 1, -6, 11, -6, 0], np.float32)
    close(np.sort_complex(jnp.roots(p)), np.sort_complex(np.roots(p)), 1e-3)
    traced = mj.jit(lambda p: jnp.roots(p, strip_zeros=False))(p[1:5])
    close(np.sort_complex(traced), [1, 2, 3], 1e-3)
    padded = np.asarray(jnp.roots(p, strip_zeros=False))
    close(np.sort(padded[:4].real), [0, 1, 2, 3], 1e-3)
    assert np.isnan(padded[4:]).all() and len(padded) == 5
    assert jnp.roots(jnp.zeros(3)).shape == (0,)
    x = np.linspace(-1, 1, 9).astype(np.float32)
    y = np.stack([x**2, np.cos(x)], 1)
    check("polyfit", x, y, 2, tol=1e-3)
    w = np.linspace(1, 2, 9).astype(np.float32)
    check("polyfit", x, y[:, 1], 1, w=w, tol=1e-3)
    got, expected = (jnp.polyfit(x, y[:, 1], 1, cov=True), np.polyfit(x, y[:, 1], 1, cov=True))
    same(got, expected, 1e-3)
    assert len(jnp.polyfit(x, y[:, 1], 1, full=True)) == 5


ERRORS = [
    ("histogram(x, bins='auto')", TypeError, "string values"),
    ("histogram(x, weights=v)", ValueError, "same shape"),
    ("histogramdd(x, bins=[2])", ValueError, "for each dimension"),
    ("bincount(v)", TypeError, "integer type"),
    ("bincount(jnp.eye(2, dtype=int))", ValueError, "1-dimensional"),
    ("cov(jnp.ones((2, 2, 2)))", ValueError, "more than 2 dimensions"),
    ("cov(x, fweights=v)", RuntimeError, "incompatible numbers"),
    ("convolve(v, x)", ValueError, "1-dimensional"),
    ("convolve(v, v, 'zz')", ValueError, "mode must be one of"),
    ("convolve(v[:0], v)", ValueError, "cannot be empty"),
    ("interp(v, x, x)", ValueError, "one-dimensional"),
    ("interp(v, v, v, left='zz')", ValueError, "extrapolate"),
    ("diff(v, -1)", ValueError, "non-negative"),
    ("diff(jnp.float32(1))", ValueError, "at least one dimensional"),
    ("gradient(v, 1, 2)", TypeError, "Invalid number of spacing"),
    ("gradient(v, v[:2])", ValueError, "same length"),
    ("gradient(v, edge_order=2)", NotImplementedError, "edge_order"),
    ("polyder(v, -1)", ValueError, "must be positive"),
    ("poly(x)", ValueError, "square"),
    ("polyfit(v, v, -1)", ValueError, "deg >= 0"),
    ("polyfit(v, v[:2], 1)", TypeError, "same length"),
    ("roots(x)", ValueError, "rank-1"),
    ("vander(x)", ValueError, "one-dimensional"),
]


@pytest.mark.parametrize("text, kind, match", ERRORS)
def test_errors(text, kind, match):
    space = {"jnp": jnp, "x": jnp.asarray(X), "v": jnp.asarray(V)}
    with pytest.raises(kind, match=match):
        eval("jnp." + text, space)
