"""Axis arguments in several forms: a range, an array, a set, NumPy integers."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import nn

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
THIN = np.ones((1, 1, 4), np.float32)

SEVERAL = {
    "range": range(2),
    "array": np.array([0, 1]),
    "jax array": jnp.array([0, 1]),
    "list": [0, 1],
    "set": {0, 1},
    "numbers": (np.int32(0), np.array(1)),
    "iterator": map(int, "01"),
}

# (function of the axes, whether it is NumPy's under another name, or what it must be)
OF_SEVERAL = {
    "sum": (jnp.sum, np.sum),
    "prod": (jnp.prod, np.prod),
    "max": (jnp.max, np.max),
    "min": (jnp.min, np.min),
    "mean": (jnp.mean, np.mean),
    "std": (jnp.std, np.std),
    "var": (jnp.var, np.var),
    "all": (jnp.all, np.all),
    "any": (jnp.any, np.any),
    "ptp": (jnp.ptp, np.ptp),
    "average": (jnp.average, np.average),
    "nansum": (jnp.nansum, np.nansum),
    "nanmax": (jnp.nanmax, np.nanmax),
    "nanmean": (jnp.nanmean, np.nanmean),
    "nanstd": (jnp.nanstd, np.nanstd),
    "median": (jnp.median, np.median),
    "flip": (jnp.flip, np.flip),
    "count_nonzero": (jnp.count_nonzero, np.count_nonzero),
    "vector_norm": (
        lambda x, axis: jnp.linalg.vector_norm(x, axis=axis),
        np.linalg.vector_norm,
    ),
    "logical_and": (jnp.logical_and.reduce, np.logical_and.reduce),
    "expand_dims": (jnp.expand_dims, np.expand_dims),
    "method": (lambda x, axis: jnp.asarray(x).sum(axis), np.sum),
    "roll": (lambda x, axis: jnp.roll(x, 1, axis), lambda x, axis: np.roll(x, 1, axis)),
    "squeeze": (
        lambda _, axis: jnp.squeeze(THIN, axis),
        lambda _, axis: np.squeeze(THIN, axis),
    ),
    "fftshift": (
        lambda x, axes: jnp.fft.fftshift(x, axes),
        lambda x, axis: np.fft.fftshift(x, axis),
    ),
    "logsumexp": (
        lambda x, axis: nn.logsumexp(x, axis),
        lambda x, axis: np.log(np.exp(x.astype(float)).sum(axis)),
    ),
    "softmax": (lambda x, axis: nn.softmax(x, axis).sum((0, 1)), lambda x, axis: np.ones(4)),
}


@pytest.mark.parametrize(("f", "expected"), OF_SEVERAL.values(), ids=OF_SEVERAL)
def test_several(f, expected):
    expected = expected(X, axis=(0, 1))
    for kind, axis in SEVERAL.items():
        if kind == "iterator":
            axis = (i for i in (0, 1))
        got = f(X, axis)
        np.testing.assert_allclose(got, expected, rtol=1e-5, err_msg=kind)
    one = np.array([1])
    assert f(X, one[:0]).shape == f(X, ()).shape
    if f is not OF_SEVERAL["squeeze"][0]:
        assert f(X, one).shape == f(X, (1,)).shape


ONE = {"array": np.array(1), "jax array": jnp.array(1), "number": np.int64(1)}
OF_ONE = {
    "argmax": jnp.argmax,
    "argmin": jnp.argmin,
    "nanargmax": jnp.nanargmax,
    "sum": jnp.sum,
    "cumulative_sum": lambda x, axis: jnp.cumulative_sum(x, axis=axis),
    "cumulative_prod": lambda x, axis: jnp.cumulative_prod(x, axis=axis),
    "vecdot": lambda x, axis: jnp.vecdot(x, x, axis=axis),
    "argmax by name": lambda x, axis: jnp.argmax(x, axis=axis),
    "method": lambda x, axis: jnp.asarray(x).argmax(axis),
}


@pytest.mark.parametrize("f", OF_ONE.values(), ids=OF_ONE)
def test_one(f):
    expected = np.asarray(f(X, 1))
    for kind, axis in ONE.items():
        assert np.array_equal(f(X, axis), expected), kind
        assert np.array_equal(mj.jit(lambda x, axis=axis: f(x, axis))(X), expected), kind


@pytest.mark.parametrize("axis", [1.0, (0, 1.0), np.array([0.5]), "ab", object()])
def test_what_stands_for_none(axis):
    for f in (jnp.max, jnp.flip, jnp.expand_dims, jnp.argmax, jnp.median):
        with pytest.raises((TypeError, NameError)):
            f(X, axis)


def test_axes_must_exist_and_differ():
    for axis in (range(4), np.array([0, -4]), {3}):
        with pytest.raises(ValueError, match="out of bounds"):
            jnp.sum(X, axis)
    with pytest.raises(ValueError, match="duplicate"):
        jnp.sum(X, np.array([0, -3]))


def test_a_traced_axis_is_refused():
    with pytest.raises(mj.errors.ConcretizationTypeError):
        mj.jit(lambda axis: jnp.sum(X, axis))(np.arange(2))
