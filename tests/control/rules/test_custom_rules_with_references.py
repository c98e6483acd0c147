"""References that custom derivative rules use, one in every lane."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp


def three():
    return mj.new_ref(jnp.arange(3.0))


def same(x, expected):
    np.testing.assert_allclose(np.asarray(x), expected, rtol=1e-6)


def rule_of_reverse_mode():
    @mj.custom_vjp
    def f(r, x):
        return x * r[...]

    f.defvjp(lambda r, x: (f(r, x), r), lambda r, ct: (None, 10 * ct * r[...]))
    return f


def rule_of_forward_mode():
    @mj.custom_jvp
    def f(r, x):
        return x * r[...]

    f.defjvp(lambda p, t: (f(*p), 10 * t[1] * p[0][...]))
    return f


@pytest.mark.parametrize("rule", [rule_of_reverse_mode, rule_of_forward_mode])
def test_custom_rules_with_a_reference_a_lane(rule):
    f, x = rule(), jnp.array([2.0, 3.0, 4.0])
    same(mj.vmap(f)(three(), x), [0, 3, 8])
    same(mj.vmap(mj.jit(f))(three(), x), [0, 3, 8])
    same(mj.vmap(mj.vmap(f, (None, 0)), (0, None))(three(), x)[2], 2 * x)
    same(mj.vmap(mj.grad(f, 1))(three(), x), [0, 10, 20])
    for outer in (mj.jit, mj.grad):  # its rule may be asked for, and knows no lanes
        with pytest.raises(NotImplementedError, match="custom derivative rule"):
            outer(lambda x: mj.vmap(f)(three(), x).sum())(x)


def custom_vjp(f, fwd, bwd):
    f = mj.custom_vjp(f)
    f.defvjp(fwd, bwd)
    return f


def custom_jvp(f, rule):
    f = mj.custom_jvp(f)
    f.defjvp(rule)
    return f


one = lambda x: x
pass_cotangent = lambda res, ct: (ct,)
stored_ref = mj.new_ref(1.0)
# What is refused, and the words of JAX 0.10.2.
REFUSED = {
    "a residual made by fwd": (
        lambda: mj.grad(custom_vjp(one, lambda x: (x, [mj.new_ref(x)]), pass_cotangent))(1.0),
        "custom_vjp fwd function .* returned a mutable array reference of type"
        r" Ref{float32\[\]} at output tree path \[1\]\[0\] that was not an argument",
    ),
    "a residual from outside": (
        lambda: mj.jit(mj.grad(custom_vjp(one, lambda x: (x, stored_ref), pass_cotangent)))(
            1.0
        ),
        r"at output tree path \[1\] that was not an argument",
    ),
    "a result of fwd": (
        lambda: mj.grad(custom_vjp(one, lambda x: (mj.new_ref(x), x), pass_cotangent))(1.0),
        r"at output tree path \[0\], but mutable array references cannot be returned",
    ),
    "a result of the function": (
        lambda: custom_vjp(mj.new_ref, lambda x: (x, x), pass_cotangent)(1.0),
        "custom_vjp primal function .* that was not an argument",
    ),
    "an argument as the result": (
        lambda: custom_vjp(one, lambda x: (x, x), pass_cotangent)(mj.new_ref(1.0)),
        "custom_vjp primal function .* that was not an argument",
    ),
    "a cotangent": (
        lambda: mj.grad(custom_vjp(one, lambda x: (x, x), lambda _, ct: (mj.new_ref(ct),)))(
            1.0
        ),
        r"at output\[0\] the bwd rule produced an output of type Ref{float32\[\]}",
    ),
    "a tangent": (
        lambda: mj.jvp(custom_jvp(one, lambda p, t: (p[0], mj.new_ref(t[0]))), (1.0,), (1.0,)),
        r"Expected float32\[\] .* but got Ref{float32\[\]}",
    ),
    "one reference as two arguments": (
        lambda: custom_vjp(
            lambda r, s, x: x, lambda r, s, x: (x, None), lambda _, ct: (None, None, ct)
        )(stored_ref, stored_ref, 1.0),
        "only one reference to a mutable array may be passed as an argument to a function,"
        r" but custom_vjp function .* got the same mutable array reference of type"
        r" Ref{float32\[\]} at r and s",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_references_are_no_results_of_custom_rules(name):
    call, words = REFUSED[name]
    with pytest.raises((ValueError, TypeError), match=words):
        call()


def test_custom_rules_write_in_every_lane():
    @mj.custom_vjp
    def f(r, x):
        r[...] += x
        return 2 * x

    f.defvjp(lambda r, x: (f(r, x), None), lambda _, ct: (None, ct))
    r = three()
    same(mj.vmap(f)(r, jnp.ones(3)), [2, 2, 2])
    same(r[...], [1, 2, 3])
