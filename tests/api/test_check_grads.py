"""`minijax.test_util`: right derivatives pass, wrong ones do not."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.test_util import check_grads, check_jvp, check_vjp

X = np.linspace(-1, 1, 6).reshape(2, 3).astype(np.float32)


@pytest.mark.parametrize("modes", ["fwd", "rev", ["fwd"], ("fwd", "rev")], ids=str)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_right_derivatives_pass(order, modes):
    check_grads(lambda x: jnp.sin(x) * x, (X,), order, modes)
    check_grads(lambda p, n: (p["a"] ** n).sum(), ({"a": X}, 2), order, modes)


def test_double_precision_is_checked_more_finely():
    @mj.custom_jvp
    def nearly(x):
        return jnp.sin(x)

    nearly.defjvps(lambda t, out, x: (jnp.cos(x) + 1e-4) * t)
    check_grads(nearly, (1.0,), 1)
    with mj.enable_x64(), pytest.raises(AssertionError):
        check_grads(nearly, (1.0,), 1)


@pytest.mark.parametrize(
    ("dtype", "limit"),
    [("bfloat16", 1e-1), ("float16", 1e-2), ("float32", 2e-3), ("complex64", 1e-3)],
)
def test_default_tolerances(dtype, limit):
    def off_by(error):
        @mj.custom_jvp
        def scaled(x):
            return 0 * x + 1

        scaled.defjvps(lambda t, out, x: jnp.full_like(t, error))
        return scaled

    x = jnp.ones(3, dtype)
    check_jvp(off_by(limit / 2), lambda x, t: mj.jvp(off_by(limit / 2), x, t), (x,))
    with pytest.raises(AssertionError):
        check_jvp(off_by(limit * 2), lambda x, t: mj.jvp(off_by(limit * 2), x, t), (x,))


def test_complex_and_small_dtypes():
    z = np.array([0.3 + 0.5j, -1.0 + 0.2j], np.complex64)
    check_grads(lambda z: jnp.exp(z) * z, (z,), 2)
    check_grads(lambda z: jnp.abs(z) ** 2, (z,), 2)
    check_grads(lambda z: jnp.conj(z) * z, (z,), 2)
    check_grads(jnp.tanh, (jnp.asarray(X, jnp.bfloat16),), 1)
    check_grads(jnp.tanh, (jnp.asarray(X, jnp.float16),), 1)


def wrong_forward():
    @mj.custom_jvp
    def f(x):
        return jnp.sin(x)

    f.defjvps(lambda t, out, x: -jnp.cos(x) * t)
    return f


def wrong_reverse():
    @mj.custom_vjp
    def f(x):
        return jnp.sin(x)

    f.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (1.5 * jnp.cos(x) * ct,))
    return f


@pytest.mark.parametrize("modes", [["fwd"], ["rev"]], ids=str)
def test_a_wrong_rule_is_found(modes):
    with pytest.raises(AssertionError, match=r"(jvp|vjp) of f at"):
        check_grads(wrong_forward(), (X,), 1, modes)


def test_a_wrong_reverse_rule_is_found():
    with pytest.raises(AssertionError, match="differ by"):
        check_grads(wrong_reverse(), (X,), 1, ["rev"])


def test_a_wrong_second_derivative_is_found():
    @mj.custom_jvp
    def slope(x):
        return jnp.cos(x)

    slope.defjvps(lambda t, out, x: jnp.sin(x) * t)  # the sign is wrong

    @mj.custom_jvp
    def f(x):
        return jnp.sin(x)

    f.defjvps(lambda t, out, x: slope(x) * t)
    check_grads(f, (X,), 1)
    with pytest.raises(AssertionError, match="of the jvp of f"):
        check_grads(f, (X,), 2)


def test_edges_and_bends_nearby_are_stepped_around():
    check_grads(lambda x: jnp.maximum(x, 0.0), (np.float32(1e-3),), 1)
    check_grads(lambda x: jnp.log(-jnp.expm1(x)), (np.float32(-0.0148),), 3, rtol=0.01)
    with pytest.raises(AssertionError):  # the edge is under the short step, too
        check_grads(lambda x: jnp.maximum(x, 0.0), (np.float32(1e-5),), 1)


@pytest.mark.parametrize("modes", ["fwd", "rev"])
def test_a_step_lost_in_rounding_proves_nothing(modes):
    flat = lambda x: mj.lax.stop_gradient(x)  # a slope of 0 where it is 1
    with pytest.raises(AssertionError):
        check_grads(flat, (np.float32(1e4),), 1, modes)


def test_own_rules_are_checked():
    check_jvp(jnp.sin, lambda x, t: (jnp.sin(*x), jnp.cos(*x) * t[0]), (X,))
    check_vjp(jnp.sin, lambda x: (jnp.sin(x), lambda ct: (jnp.cos(x) * ct,)), (X,))
    with pytest.raises(AssertionError):
        check_jvp(jnp.sin, lambda x, t: (jnp.cos(*x), jnp.cos(*x) * t[0]), (X,))
    with pytest.raises(AssertionError):
        check_vjp(jnp.sin, lambda x: (jnp.sin(x), lambda ct: (jnp.sin(x) * ct,)), (X,))


def test_tolerances_are_heard():
    f = wrong_forward()
    check_grads(f, (X,), 1, ["fwd"], atol=10.0)
    check_grads(f, (X,), 1, ["fwd"], rtol=10.0)
    with pytest.raises(AssertionError):
        check_grads(lambda x: x**3, (1.0,), 1, eps=10.0)


def test_tolerances_by_dtype():
    f, g = wrong_forward(), wrong_reverse()
    for kind in (np.float32, "float32", np.dtype("float32"), jnp.float32):
        wide = {kind: 10.0, np.float64: 1e-9}
        check_grads(f, (X,), 1, ["fwd"], atol=wide, rtol=wide)
        check_grads(g, (X,), 1, ["rev"], atol=wide, rtol=wide)
        with pytest.raises(AssertionError):
            check_grads(jnp.sin, (X,), 1, atol={kind: 1e-12}, rtol={kind: 1e-12})
    for other in ({}, {np.float64: 10.0}, {np.int32: 10.0}):
        with pytest.raises(AssertionError):
            check_grads(f, (X,), 1, ["fwd"], atol=other, rtol=other)
        check_grads(jnp.sin, (X,), 1, atol=other, rtol=other)
    check_grads(jnp.sin, (X + 0j,), 1, atol={np.float32: 1e-2}, rtol={np.float32: 1e-2})


def test_bad_arguments():
    with pytest.raises(ValueError, match="unknown mode 'bwd'"):
        check_grads(jnp.sin, (1.0,), 1, ["bwd"])
    with pytest.raises(ValueError, match="at least 1"):
        check_grads(jnp.sin, (1.0,), 0)


def test_nan_agrees_with_nan_alone():
    check_grads(lambda x: x * jnp.nan, (1.0,), 1)
    check_grads(jnp.sin, (jnp.inf,), 1)
    wrong = mj.custom_jvp(jnp.sin)
    wrong.defjvp(lambda p, t: (jnp.sin(*p), jnp.nan * t[0]))
    with pytest.raises(AssertionError):
        check_grads(wrong, (1.0,), 1)
