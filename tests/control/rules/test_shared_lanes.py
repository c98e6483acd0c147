"""Custom rules under `vmap` with results that all lanes share, against loops."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.control.rules import custom_vjp_call as custom_vjp_rules

LANES = jnp.arange(1.0, 4.0)


@mj.custom_jvp
def forward(x, y):
    return jnp.sin(x), x * y


@forward.defjvp
def forward_jvp(primals, tangents):
    (x, y), (tx, ty) = primals, tangents
    return forward(x, y), (jnp.cos(x) * tx, tx * y + x * ty)


@mj.custom_vjp
def backward(x, y):
    return jnp.sin(x), x * y


backward.defvjp(
    lambda x, y: (backward(x, y), (x, y)),
    lambda res, ct: (jnp.cos(res[0]) * ct[0] + res[1] * ct[1], res[0] * ct[1]),
)

STAGES = {"eager": lambda f: f, "jit": mj.jit, "remat": mj.checkpoint}


@pytest.mark.parametrize("f", [forward, backward], ids=["jvp", "vjp"])
@pytest.mark.parametrize("stage", STAGES)
def test_a_result_that_depends_on_no_lane_is_shared(stage, f):
    shared = STAGES[stage](mj.vmap(f, (None, 0), (None, 0)))
    sine, products = shared(2.0, LANES)
    assert sine.shape == () and float(sine) == pytest.approx(np.sin(2.0))
    np.testing.assert_allclose(products, 2 * LANES)
    twice = mj.vmap(mj.vmap(f, (None, 0), (None, 0)), (None, 0), (None, 0))
    assert [x.shape for x in twice(2.0, jnp.ones((2, 3)))] == [(), (2, 3)]

    def total(x, y):  # the shared result counts once
        sine, products = shared(x, y)
        return sine + products.sum()

    dx, dy = mj.grad(total, (0, 1))(2.0, LANES)
    assert float(dx) == pytest.approx(np.cos(2.0) + 6.0)
    np.testing.assert_allclose(dy, [2.0, 2.0, 2.0])

    def repeated(x, y):  # here once a lane
        return sum(map(jnp.sum, STAGES[stage](mj.vmap(f, (None, 0)))(x, y)))

    dx, dy = mj.grad(repeated, (0, 1))(2.0, LANES)
    assert float(dx) == pytest.approx(3 * np.cos(2.0) + 6.0)
    np.testing.assert_allclose(dy, [2.0, 2.0, 2.0])


@mj.custom_jvp
def scaled(x, y):
    return x * 2.0


scaled.defjvp(lambda p, t: (scaled(*p), t[0] * p[1]))


@mj.custom_vjp
def instead(x, y):
    return x * 1.0


instead.defvjp(lambda x, y: (instead(x, y), None), lambda _, ct: (ct * 0.0, ct))


@pytest.mark.parametrize("stage", STAGES)
def test_rules_may_vary_where_functions_do_not(stage):
    lanes = STAGES[stage](mj.vmap(scaled, (None, 0)))
    out, slope = mj.jvp(lambda x: lanes(x, LANES), (2.0,), (1.0,))
    assert (out.tolist(), slope.tolist()) == ([4.0, 4.0, 4.0], [1.0, 2.0, 3.0])
    lanes = STAGES[stage](mj.vmap(instead, (None, 0)))
    weights = jnp.array([1.0, 2.0, 5.0])
    result = mj.grad(lambda x, y: (weights * lanes(x, y)).sum(), (0, 1))(2.0, LANES)
    assert float(result[0]) == 0 and result[1].tolist() == [1.0, 2.0, 5.0]
    # Nobody differentiates what is just evaluated.
    for rule in (scaled, instead):
        assert mj.vmap(rule, (None, 0), None)(LANES[0], LANES).shape == ()


def test_rules_that_fail_when_they_run():
    f = mj.custom_jvp(lambda x, y: x * 2.0)
    f.defjvp(lambda p, t: 1 / 0)
    assert mj.jit(mj.vmap(f, (None, 0)))(2.0, LANES).tolist() == [4.0, 4.0, 4.0]


def test_a_probed_rule_may_refuse_but_other_errors_propagate(monkeypatch):
    @mj.custom_vjp
    def f(x, y):
        return x * 1.0

    def refuses(res, ct):
        raise KeyError("of the user's")

    f.defvjp(lambda x, y: (f(x, y), None), refuses)
    lanes = mj.vmap(f, (None, 0))
    assert mj.jit(lanes)(2.0, LANES).tolist() == [2.0] * 3  # the rule is not run
    with pytest.raises(KeyError, match="of the user's"):
        mj.grad(lambda y: lanes(2.0, y).sum())(LANES)
    names = {}
    fails = "def fails(*args):\n    raise KeyError('a fault of ours')"
    exec(compile(fails, custom_vjp_rules.__file__, "exec"), names)
    monkeypatch.setattr(custom_vjp_rules, "results_depend", names["fails"])
    with pytest.raises(KeyError, match="a fault of ours"):
        mj.jit(mj.vmap(lambda x, y: instead(x, y), (None, 0)))(2.0, LANES)
