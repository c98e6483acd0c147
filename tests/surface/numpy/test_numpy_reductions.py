"""Sums, extrema, means, variances, running sums; without nans; order statistics."""

import numpy as np
import pytest
from against_numpy import check, close
from laws import obeys

import minijax as mj
import minijax.numpy as jnp

X = (np.sin(np.arange(24)) * 3).astype(np.float32).reshape(2, 3, 4)
N = np.where(np.arange(24).reshape(2, 3, 4) % 5 == 1, np.nan, X).astype(np.float32)
MASK = (np.arange(24) % 4 != 1).reshape(2, 3, 4)
AXES = [None, 0, -1, (0, 2), ()]
INTS = np.arange(12, dtype=np.int8).reshape(3, 4) - 5


NAMES = "sum prod max min mean var std all any ptp count_nonzero".split()


@pytest.mark.parametrize("name", NAMES)
def test_reductions(name):
    check(name, X, tol=1e-4)
    check(name, X, axis=-1, jit=False, tol=1e-4)
    check(name, X, axis=(0, 2), keepdims=True, tol=1e-4)
    if name != "ptp":
        check(name, X, axis=(), jit=False, tol=1e-4)
    if name not in ("ptp", "count_nonzero"):
        more = {"max": {"initial": -np.inf}, "min": {"initial": np.inf}}.get(name, {})
        check(name, X, axis=2, keepdims=True, where=MASK, tol=1e-4, **more)
        check(name, X, where=MASK[0], jit=False, tol=1e-4, **more)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var", "any", "ptp"])
@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int32, np.bool_, np.float16, np.complex64, jnp.bfloat16]
)
def test_dtypes(name, dtype):
    if name == "ptp" and dtype is np.bool_:
        return
    x = jnp.asarray(INTS % 4 + 1).astype(dtype)
    got = getattr(jnp, name)(x)
    wide = np.asarray(x).astype(np.complex64 if dtype is np.complex64 else np.float64)
    expected = getattr(np, name)(wide if dtype is not np.bool_ else np.asarray(x))
    close(got, expected, 2e-2)
    assert not got.weak_type
    keeps_dtype = {"max", "min", "ptp"}
    widened = {np.int8: "int32", np.uint8: "uint32", np.bool_: "int32"}
    if name in keeps_dtype:
        assert got.dtype == x.dtype
    elif name in ("sum", "prod"):
        assert got.dtype == widened.get(dtype, x.dtype)


def test_results_of_numbers_are_strong():
    for f in (jnp.sum, jnp.mean, jnp.max, jnp.cumsum, jnp.var):
        assert not f(jnp.asarray(2.0)).weak_type
    assert jnp.sum(3).dtype == jnp.int32
    assert jnp.sum(jnp.int8(3), promote_integers=False).dtype == jnp.int8
    assert jnp.sum(X, dtype=jnp.float16).dtype == jnp.float16
    close(jnp.sum(jnp.full(3000, 1, jnp.float16)), 3000.0)


def test_jaxprs():
    def eqns(f, *args):
        return [(e.primitive.name, e.params) for e in mj.make_jaxpr(f)(*args).eqns]

    ((name, params),) = eqns(lambda x: jnp.sum(x, axis=(0, 1)), X)
    assert name == "reduce_sum" and params["axes"] == (0, 1)
    assert [n for n, _ in eqns(lambda x: x.mean(0), X)] == ["reduce_sum", "div"]
    assert [n for n, _ in eqns(lambda x: x.max(), X)] == ["reduce_max"]
    ((name, params),) = eqns(lambda x: jnp.argmax(x, 0), X)
    assert name == "argmax" and params["axes"] == (0,)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_positions(axis):
    for name in ("argmax", "argmin"):
        check(name, X, axis=axis)
        check(name, X, axis=axis, keepdims=True)
    check("nanargmax", N, axis=axis)
    check("nanargmin", N, axis=axis)
    assert int(jnp.nanargmax(jnp.full(3, jnp.nan))) == -1
    assert int(jnp.argmax(jnp.array([1.0, jnp.nan, 2.0]))) == 1


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_running(axis):
    for name in ("cumsum", "cumprod"):
        check(name, X, axis=axis, tol=1e-4)
        check("nan" + name, N, axis=axis, tol=1e-4)
    check("cumsum", X > 0, axis=axis)
    if axis is not None:
        for name in ("cumulative_sum", "cumulative_prod"):
            check(name, X, axis=axis, include_initial=True, tol=1e-4)
    if axis == 0:
        obeys(lambda x: jnp.cumsum(x, axis), X)


@pytest.mark.parametrize("axis", AXES[:4], ids=str)
@pytest.mark.parametrize(
    "name",
    ["nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "nanmedian"],
)
def test_without_nans(name, axis):
    check(name, N, axis=axis, jit=axis is None, tol=1e-4)
    check(name, N, axis=axis, keepdims=True, jit=False, tol=1e-4)


def test_nan_details():
    nans = jnp.full(3, jnp.nan)
    assert np.isnan(jnp.nanmax(nans)) and np.isnan(jnp.nanmean(nans))
    close(jnp.nanmax(nans, initial=1.0), 1.0)
    close(jnp.nansum(nans), 0.0)
    assert np.isnan(jnp.nanvar(jnp.array([1.0, jnp.nan]), ddof=1))
    assert jnp.nansum(INTS).dtype == jnp.int32
    assert np.isnan(jnp.var(jnp.ones(1), ddof=1))


METHODS = ["linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("axis", [None, 1, (0, 2)], ids=str)
def test_quantiles(method, axis):
    for q in (0.31, np.array([0.0, 0.62, 1.0], np.float32)):
        check("quantile", X, q, axis=axis, method=method, jit=axis == 1, tol=1e-4)
        more = {"keepdims": True, "jit": False, "tol": 1e-4}
        check("nanquantile", N, q, axis=axis, method=method, **more)


def test_medians_and_weights():
    check("median", X, axis=1)
    check("median", N, axis=0)
    check("percentile", X, 36.0, axis=0)
    check("nanpercentile", N, 40.0)
    weights = np.arange(1.0, 5, dtype=np.float32)
    check("quantile", X, 0.4, axis=2, method="inverted_cdf", weights=weights)
    assert jnp.median(jnp.arange(4)).dtype == jnp.float32
    obeys(lambda x: jnp.quantile(x, 0.3, axis=1), X[0], exact=False, lanes=False)


def test_average():
    w = np.arange(1, 5, dtype=np.float32)
    check("average", X)
    check("average", X, axis=2, weights=w)
    check("average", X, weights=np.abs(X), axis=(0, 1))
    check("average", X, axis=2, weights=w, returned=True)
    with pytest.raises(ValueError, match="Axis must be specified"):
        jnp.average(X, weights=w)


def test_laws():
    obeys(lambda x: jnp.sum(x, axis=(0, 2)), X)
    obeys(lambda x: jnp.mean(x, axis=2, where=MASK), X, exact=False)
    obeys(lambda x: jnp.max(x, axis=1), X)
    obeys(lambda x: jnp.var(x, axis=1), X, exact=False)
    obeys(lambda x: jnp.prod(x, axis=-1), X[0], exact=False)
    obeys(lambda x: jnp.std(x, ddof=1), X[0], exact=False)


def test_where_without_elements():
    assert np.isnan(jnp.mean(X, where=False))


def test_moments_with_traced_arguments():
    close(mj.jit(lambda d: jnp.var(X, ddof=d))(1), X.var(ddof=1), 1e-4)
    close(jnp.var(X, correction=1), X.var(ddof=1), 1e-4)
    close(jnp.var(X, axis=1, mean=X.mean(1, keepdims=True)), X.var(1), 1e-4)
    c = (X + 1j * X[::-1]).astype(np.complex64)
    got = jnp.var(c)
    assert got.dtype == jnp.float32
    close(got, c.var(), 1e-4)


def test_axis_forms():
    for axis in ([0, 1], np.array(1), jnp.array(1), np.int64(-1)):
        expected = X.sum(tuple(axis) if isinstance(axis, list) else int(axis))
        close(jnp.sum(X, axis=axis), expected, 1e-4)
        close(jnp.asarray(X).sum(axis), expected, 1e-4)
    total = mj.vmap(lambda x: jnp.sum(x, axis="i"), axis_name="i")(X)
    close(total[0], X.sum(0), 1e-4)


ERRORS = [
    ("sum([1, 2])", TypeError, "sum requires ndarray"),
    ("sum(None)", TypeError, "sum requires ndarray"),
    ("sum(x, axis=5)", ValueError, "axis 5 is out of bounds"),
    ("sum(x, axis=(0, 0))", ValueError, "duplicate value in 'axis'"),
    ("sum(x, out=x)", NotImplementedError, "'out' argument"),
    ("max(e)", ValueError, "zero-size array to reduction operation max"),
    ("max(x, where=x > 1)", ValueError, "specify 'initial'"),
    ("argmax(e)", ValueError, "empty sequence"),
    ("var(x, ddof=1, correction=1)", ValueError, "simultaneously"),
    ("cumulative_sum(x)", ValueError, "axis was not set"),
    ("cumulative_sum(jnp.float32(1))", ValueError, "non-scalar"),
    ("quantile(x, 0.5, method='zz')", ValueError, "method can only be"),
    ("quantile(x, [0.5])", TypeError, "quantile requires ndarray"),
    ("quantile(x, x)", ValueError, "rank <= 1"),
    ("quantile(x * 1j, 0.5)", ValueError, "complex"),
    ("percentile(x, 5, weights=x)", NotImplementedError, "inverted_cdf"),
]


@pytest.mark.parametrize("text, kind, match", ERRORS)
def test_errors(text, kind, match):
    space = {"jnp": jnp, "x": jnp.asarray(X), "e": jnp.zeros((0, 3))}
    with pytest.raises(kind, match=match):
        eval("jnp." + text, space)


def test_mean_of_no_complex_numbers_is_nan_in_both_parts():
    out = np.asarray(jnp.nanmean(np.zeros((2, 0), np.complex64), axis=-1))
    assert np.isnan(out.real).all() and np.isnan(out.imag).all()
