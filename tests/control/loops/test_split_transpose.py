"""`scan(_split_transpose=True)`: the backward pass as a chain and a map."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

XS = np.linspace(-1, 1, 15).reshape(5, 3)


def recurrent(w, xs, split, **options):
    def step(c, x):
        h = jnp.sin(c @ w) * x + c
        return h, h.sum()

    c, ys = lax.scan(step, jnp.ones(3), xs, _split_transpose=split, **options)
    return c.sum() + (ys * ys).sum()


def scans(jaxpr):
    return [e for e in jaxpr.eqns if e.primitive.name == "scan"]


@pytest.mark.parametrize("options", [{}, {"reverse": True}, {"unroll": 2}], ids=str)
@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit], ids=["eager", "jit"])
def test_gradients_are_those_of_one_loop(options, wrap):
    w = np.eye(3) * 0.5 + 0.1
    grads = [
        wrap(mj.grad(lambda w, xs, s=s: recurrent(w, xs, s, **options), (0, 1)))(w, XS)
        for s in (False, True)
    ]
    for one, two in zip(*grads, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-6)


def test_the_chain_holds_no_sum_over_steps():
    w = np.eye(3, dtype=np.float32)
    jaxpr = mj.make_jaxpr(mj.grad(lambda w: recurrent(w, XS, True)))(w).jaxpr
    _, chain, rest = scans(jaxpr)
    products = [
        [e for e in loop.params["jaxpr"].jaxpr.eqns if e.primitive.name == "dot_general"]
        for loop in (chain, rest)
    ]
    assert [e.outvars[0].aval.shape for e in products[0]] == [(3,)]  # c's cotangent
    assert [e.outvars[0].aval.shape for e in products[1]] == [(3, 3)]  # w's
    assert chain.params["num_carry"] == rest.params["num_carry"] == 1


def test_a_loop_without_a_chain_stays_one():
    def f(w):
        _, ys = lax.scan(lambda c, x: (c, w * x), 0.0, XS[:, 0], _split_transpose=True)
        return ys.sum()

    forward, backward = scans(mj.make_jaxpr(mj.grad(f))(2.0).jaxpr)
    assert forward.params["reverse"] is not backward.params["reverse"]
    np.testing.assert_allclose(mj.grad(f)(2.0), XS[:, 0].sum(), atol=1e-6)


def test_second_derivatives_and_lanes():
    f = lambda split: mj.hessian(lambda w: recurrent(w, XS, split))
    w = np.eye(3) * 0.3
    np.testing.assert_allclose(f(False)(w), f(True)(w), rtol=2e-4, atol=1e-4)
    g = lambda split: mj.vmap(mj.grad(lambda w: recurrent(w, XS, split)))
    ws = np.stack([w, w * 2])
    np.testing.assert_allclose(g(False)(ws), g(True)(ws), rtol=1e-5)
