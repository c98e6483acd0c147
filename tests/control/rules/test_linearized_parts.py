"""Linearization splits programs: primal and linear parts stay apart."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

X = np.array([0.4, -0.7, 1.1], np.float32)


def same(x, expected):
    np.testing.assert_allclose(np.asarray(x), expected, rtol=2e-6, atol=2e-6)


def test_a_loop_reads_one_result_of_a_call_and_keeps_the_other():
    """The call does not change from step to step: its cosine is taken out of the loop,
    its sine is the loop's result."""

    def f(x):
        body = lambda i, c: mj.jit(lambda c: jnp.sin(x))(c)
        return (lax.fori_loop(0, 2, body, x) * x).sum()

    slope = np.sin(X) + X * np.cos(X)
    curve = 2 * np.cos(X) - X * np.sin(X)
    same(mj.grad(f)(X), slope)
    same(mj.grad(lambda x: mj.grad(f)(x).sum())(X), curve)
    same(mj.jvp(mj.grad(f), (X,), (X,))[1], curve * X)
    same(mj.jit(mj.grad(lambda x: mj.grad(f)(x).sum()))(X), curve)


CALLS = {
    "jit": lambda f: mj.jit(f),
    "checkpoint": lambda f: mj.checkpoint(f),
    "scan": lambda f: (
        lambda *xs: lax.scan(lambda c, _: (f(*xs), None), f(*xs), None, length=2)[0]
    ),
    "cond": lambda f: lambda *xs: lax.cond(xs[0][0] > 0, f, f, *xs),
    "fori_loop": lambda f: lambda *xs: lax.fori_loop(0, 2, lambda i, c: f(*xs), f(*xs)),
    "map": lambda f: lambda *xs: lax.map(lambda x: f(*x), xs),
    "vmap": lambda f: mj.vmap(mj.jit(f)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_custom_rule_hands_primals_and_tangents_over_together(call):
    @mj.custom_jvp
    def f(x):
        return jnp.sin(x)

    def both(x, t):
        return jnp.sin(x), 3.0 * jnp.cos(x) * t  # unlike the true derivative

    f.defjvp(lambda primals, tangents: call(both)(*primals, *tangents))
    g = lambda x: (f(x) * x).sum()
    slope = np.sin(X) + 3 * X * np.cos(X)
    same(mj.grad(g)(X), slope)
    same(mj.jit(mj.grad(g))(X), slope)
    same(mj.vjp(f, X)[1](X)[0], 3 * np.cos(X) * X)
    y, push = mj.linearize(f, X)
    same(y, np.sin(X))
    same(push(X), 3 * np.cos(X) * X)
    second = 4 * np.cos(X) - 3 * X * np.sin(X)  # the rule returns just the sine
    same(mj.grad(lambda x: mj.grad(g)(x).sum())(X), second)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_custom_rule_is_the_derivative_of_a_call(call):
    """The rule takes the derivative itself, by jvp of a function with a call inside."""
    inner = call(lambda x: jnp.sin(x) * x)
    f = mj.custom_jvp(lambda x: inner(x))
    f.defjvp(lambda primals, tangents: mj.jvp(inner, primals, tangents))
    g = lambda x: (f(x) * jnp.cos(x)).sum()
    reference = lambda x: (jnp.sin(x) * x * jnp.cos(x)).sum()
    same(mj.grad(g)(X), mj.grad(reference)(X))
    same(mj.hessian(g)(X), mj.hessian(reference)(X))
    same(mj.jacrev(mj.jacrev(g))(X), mj.hessian(reference)(X))
