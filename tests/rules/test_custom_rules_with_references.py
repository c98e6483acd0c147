"""References that custom derivative rules use, one in every lane."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp


def three():
    return mj.new_ref(jnp.arange(3.0))


def same(x, want):
    np.testing.assert_allclose(np.asarray(x), want, rtol=1e-6)


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


def test_custom_rules_write_in_every_lane():
    @mj.custom_vjp
    def f(r, x):
        r[...] += x
        return 2 * x

    f.defvjp(lambda r, x: (f(r, x), None), lambda _, ct: (None, ct))
    r = three()
    same(mj.vmap(f)(r, jnp.ones(3)), [2, 2, 2])
    same(r[...], [1, 2, 3])
