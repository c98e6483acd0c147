"""Options of reductions: where=, initial=, dtype=, axis=; and derivatives around nans.

Values are NumPy's; what NumPy refuses, a mask wider than the array, is recorded from
JAX 0.10.2.
"""

import numpy as np
import pytest
from against_numpy import close

import minijax as mj
import minijax.numpy as jnp

X = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
N = np.array([[1, np.nan, 3], [2, 5, 4]], np.float32)
NAN = np.nan
SUMS = "sum prod nansum nanprod".split()
ENDS = "max min nanmax nanmin".split()
MEANS = "mean var std nanmean nanvar nanstd".split()
TRUTHS = ["all", "any"]


def call(name, *args, **kwargs):
    if name in ENDS and "where" in kwargs:
        kwargs.setdefault("initial", 0)
    return getattr(jnp, name)(*args, **kwargs)


# ------------------------------------------------------------------------------- where


@pytest.mark.parametrize("name", SUMS + ENDS + MEANS + TRUTHS)
def test_where_must_be_boolean(name):
    for where in (jnp.array([1, 0, 1]), np.array([1.0, 0, 1]), 1, 0.0, 1j):
        with pytest.raises(ValueError, match=r"where must be None or a boolean array"):
            call(name, X, where=where)
    close(call(name, X, where=True), call(name, X, where=np.ones(3, bool)))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "any", "nansum", "nanmean"])
def test_axes_count_as_in_the_array_where_the_mask_is_wider(name):
    mask = np.array([[[1, 0, 1]], [[0, 0, 1]]], bool)
    repeated = np.broadcast_to(X, (2, 2, 3))
    for axis, positive in [(0, 0), (1, 1), (-1, 1), (None, (0, 1)), ((0, -1), (0, 1))]:
        expected = call(name, repeated, axis=positive, where=mask)
        got = call(name, X, axis=axis, where=mask)
        assert got.shape == expected.shape
        close(got, expected)
    result = call(name, X, axis=-1, where=mask, keepdims=True)
    assert result.shape == (2, 1, 3)


def test_a_wider_mask_repeats_scalars():
    assert jnp.sum(jnp.array(2.0), where=jnp.array([True, False])).tolist() == [2, 0]
    assert jnp.max(jnp.array(2.0), where=jnp.array([True, False]), initial=1).shape == (2,)


@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_means_have_no_wider_masks(name):
    for x, shape in [(X, (4, 2, 3)), (X[:1], (2, 1)), (np.float32(2), (3,))]:
        with pytest.raises(ValueError, match="Incompatible shapes for broadcasting"):
            call(name, x, where=np.ones(shape, bool))


# ----------------------------------------------------------------------- initial, dtype


@pytest.mark.parametrize("name", SUMS + ENDS)
def test_initial_is_a_scalar(name):
    for bad in (jnp.ones(1), np.ones(3), jnp.ones((2, 1))):
        for axis in (None, 0, -1):
            with pytest.raises(ValueError, match=r"initial value must be a scalar\. Got"):
                call(name, X, axis=axis, initial=bad)
    close(call(name, X, axis=0, initial=2), getattr(np, name)(X, axis=0, initial=2))


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.bool_, np.complex64])
def test_sums_of_bools_are_logical(dtype):
    x = np.array([[0, 0, 3, -3], [0, 0, 0, 0], [5, 1, 2, 3]]).astype(dtype)
    for name, ref in [("sum", np.any), ("prod", np.all)]:
        got = call(name, x, axis=-1, dtype=bool)
        assert got.dtype == bool and got.tolist() == ref(x, axis=-1).tolist()
        got = call(f"nan{name}", x, axis=-1, dtype=bool)
        assert got.dtype == bool and got.tolist() == ref(x, axis=-1).tolist()
    assert jnp.sum(x, dtype=bool, where=x > 99, initial=3).item() is True
    assert jnp.sum(x, dtype=bool, where=False).item() is False
    assert jnp.prod(x, dtype=bool, where=x != 0).item() is True
    for name, op in [("cumsum", np.logical_or), ("cumprod", np.logical_and)]:
        for prefix in ("", "nan"):
            got = call(prefix + name, x, axis=-1, dtype=bool)
            assert got.dtype == bool
            assert got.tolist() == op.accumulate(x != 0, axis=-1).tolist()
    assert jnp.cumulative_sum(x[0], dtype=bool, include_initial=True).tolist() == [
        False,
        False,
        False,
        True,
        True,
    ]


def test_dtypes_of_results():
    x = jnp.array([[1, 0, 3]], jnp.int8)
    assert jnp.cumulative_sum(x, axis=1).dtype == jnp.int32
    assert jnp.cumulative_prod(x, axis=1).dtype == jnp.int8
    for name in ("var", "std", "nanvar", "nanstd"):
        assert call(name, x * 1.0, dtype="complex64").dtype == jnp.complex64
    for name in ("var", "nanvar"):
        with pytest.raises(TypeError, match="does not accept dtype bool"):
            call(name, X, dtype=bool)
    for x in (jnp.array([[1.9, 0.1, 5.5]]), jnp.array([[NAN, 1, 5]])):
        got = jnp.var(x, axis=-1, dtype=int)  # integers reduce to an integer
        assert (got.item(), got.dtype, got.weak_type) == (4, jnp.float32, True)
        got = jnp.nanvar(x, axis=-1, dtype=int)
        assert (got.item(), got.dtype, got.weak_type) == (4, jnp.int32, False)
    assert jnp.median(jnp.array([1, 0, 3]).astype("float8_e4m3fn")).dtype.itemsize == 1


def test_integer_means_of_empty_arrays_do_not_crash():
    assert jnp.mean(jnp.zeros((2, 0)), axis=-1, dtype=int).tolist() == [-1, -1]


# -------------------------------------------------------------------------------- axes


@pytest.mark.parametrize("name", ["sum", "max", "mean", "var", "all", "nansum"])
def test_axes_in_any_form(name):
    expected = call(name, X)
    for axis in ((0, 1), [0, 1], range(2), np.array([0, 1]), (-1, 0), None):
        close(call(name, X, axis=axis), expected)
    close(call(name, X, axis=np.array(1)), call(name, X, axis=1))
    close(call(name, X, axis=()), getattr(np, name)(X, axis=()))
    for bad, error in [((0, 0), ValueError), ((0, -2), ValueError), (2, ValueError)]:
        with pytest.raises(error):
            call(name, X, axis=bad)
    for bad in (1.0, (0, None)):
        with pytest.raises(TypeError):
            call(name, X, axis=bad)


def test_named_axes():
    def over(name, axis, **kwargs):
        fun = lambda x: call(name, x, axis=axis, **kwargs)
        return mj.vmap(fun, axis_name="i")(X)

    for name in ("sum", "max", "mean", "var", "std", "nansum", "nanmean", "nanvar"):
        expected = call(name, X)
        close(over(name, (0, "i")), np.array([expected, expected]))
        close(over(name, "i"), np.stack([call(name, X, axis=0)] * 2))
    for name in ("prod", "all", "any", "nanmax"):
        with pytest.raises(NotImplementedError, match="Named reductions"):
            over(name, "i")


# ----------------------------------------------------------------- slopes around nans


def slopes(name, x, **kwargs):
    """Gradient and Hessian of the sum of a reduction."""
    fun = lambda x: call(name, x, axis=-1, **kwargs).sum()
    return mj.jit(lambda x: (mj.grad(fun)(x), mj.hessian(fun)(x)))(x)


NAN_NAMES = "nansum nanprod nanmax nanmin nanmean nanvar nanstd nanmedian".split()


@pytest.mark.parametrize("name", NAN_NAMES)
def test_slopes_ignore_nans(name):
    x = jnp.array([[1.0, NAN, 3.0, NAN, 7.0]])
    valid = np.array([0, 2, 4])
    grad, hess = slopes(name, x)
    want_grad, want_hess = slopes(name[3:], x[:, valid])
    expected = np.zeros((1, 5))
    expected[:, valid] = want_grad
    close(grad, expected)
    expected = np.zeros((5, 5))
    expected[np.ix_(valid, valid)] = np.asarray(want_hess).reshape(3, 3)
    close(np.asarray(hess).reshape(5, 5), expected)


@pytest.mark.parametrize("name", NAN_NAMES)
def test_slopes_of_rows_of_nans_stay_in_their_row(name):
    x = jnp.array([[NAN, NAN, NAN], [1.0, 2.0, 4.0]])
    grad, hess = slopes(name, x)
    expected, _ = slopes(name, x[1:])
    close(grad[1:], expected)
    assert not np.asarray(hess)[1, :, 0].any() and not np.asarray(hess)[0, :, 1].any()
    if name != "nanstd":  # 0 / 0 in a root
        assert not grad[0].any()


@pytest.mark.parametrize("name", ["var", "nanvar", "mean", "nanmean", "sum", "nansum"])
def test_masked_elements_have_zero_slope(name):
    for out in (np.inf, NAN):
        x, where = jnp.array([[1.0, out, 4.0]]), jnp.array([True, False, True])
        grad, hess = slopes(name, x, where=where)
        expected, _ = slopes(name, x[:, np.array([0, 2])])
        close(grad, [[expected[0, 0], 0, expected[0, 1]]])
        assert np.isfinite(np.asarray(hess)).all()
    none, _ = slopes(name, jnp.array([[1.0, 2.0]]), where=jnp.array([False, False]))
    assert not none.any() or name == "mean"


@pytest.mark.parametrize("name", ["median", "nanmedian", "quantile", "nanpercentile"])
def test_order_statistics_with_empty_results(name):
    q = () if "median" in name else (np.array([0.5, 0.7]),)
    f = getattr(jnp, name)
    for shape, axis in (((2, 0, 0), 1), ((2, 0), 0), ((0, 3, 0), (0, 1))):
        x = np.zeros(shape)
        for keepdims in (False, True):
            rest = np.sum(x, axis=axis, keepdims=keepdims).shape
            assert f(x, *q, axis=axis, keepdims=keepdims).shape == (2,) * len(q) + rest
    with pytest.raises(ValueError, match="of no elements"):
        f(np.zeros((2, 0)), *q, axis=1)


def test_the_mean_of_an_empty_array_is_constant():
    x = jnp.zeros((2, 0))
    value, tangent = mj.jvp(lambda x: jnp.nanmean(x, axis=-1), (x,), (x,))
    assert np.isnan(value).all() and tangent.tolist() == [0, 0]
