"""`lax.dce_sink` keeps equations, and computes nothing."""

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.passes.dce import dce_jaxpr


def f(x):
    lax.dce_sink({"a": jnp.sin(x), "b": None})
    jnp.cos(x)
    return 2 * x


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def test_it_survives_the_elimination_of_dead_code():
    jaxpr = mj.make_jaxpr(f)(1.0)
    assert "dce_sink[prevent_mlir_dce=False] b" in str(jaxpr)
    pruned, _ = dce_jaxpr(jaxpr.jaxpr, [True])
    assert names(pruned) == ["sin", "dce_sink", "mul"]
    assert lax.dce_sink(1.0) is None


def test_it_is_transformed():
    x = jnp.ones(3)
    for g in (f, mj.jit(f), mj.vmap(f), mj.checkpoint(f)):
        assert g(x).tolist() == [2, 2, 2]
        assert mj.grad(lambda x, g=g: g(x).sum())(x).tolist() == [2, 2, 2]
        assert mj.jvp(g, (x,), (x,))[1].tolist() == [2, 2, 2]
    out = lax.scan(lambda c, _: (f(c), None), 1.0, None, length=3)[0]
    assert out == 8
    assert "dce_sink" in names(mj.make_jaxpr(mj.vmap(f))(x))
