"""`custom_vjp` with optimize_remat: where no residual is read, the function itself runs."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax


def make(optimize=True):
    @mj.custom_vjp
    def f(x):
        return jnp.sin(x)

    def fwd(x):
        return jnp.sin(x) * 1.0, jnp.cos(x)

    f.defvjp(fwd, lambda res, g: (2 * res * g,), optimize_remat=optimize)
    return f


def names(jaxpr):
    out = []
    for eqn in jaxpr.eqns:
        out.append(eqn.primitive.name)
        for param in eqn.params.values():
            if hasattr(param, "eqns"):
                out += names(param)
    return out


def same(x, expected):
    np.testing.assert_allclose(np.asarray(x), expected, rtol=1e-6)


def test_checkpoint_runs_the_function_forward_and_the_rule_backward():
    jaxpr = mj.make_jaxpr(mj.grad(mj.checkpoint(make())))(1.0)
    forward, backward = jaxpr.eqns
    assert forward.primitive.name == "jit"
    assert names(forward.params["jaxpr"]) == ["sin"]
    assert backward.primitive.name == "remat2"
    (rule,) = [e for e in backward.params["jaxpr"].eqns if "opt" in e.primitive.name]
    assert rule.primitive is mj.custom_derivatives.remat_opt_p
    assert names(rule.params["fwd_jaxpr"]) == ["cos"]
    assert rule.params["num_res"] == 1
    without = mj.make_jaxpr(mj.grad(mj.checkpoint(make(False))))(1.0)
    assert names(without)[:2] == ["sin", "mul"]


def test_elsewhere_the_rule_runs():
    for wrap in (mj.grad, lambda f: mj.grad(mj.jit(f)), lambda f: mj.jit(mj.grad(f))):
        assert "cos" in names(mj.make_jaxpr(wrap(make()))(1.0))
    eqn = mj.make_jaxpr(mj.grad(make()))(1.0).eqns[0]
    assert eqn.primitive.name == "remat_opt"
    assert names(eqn.params["fwd_jaxpr"]) == ["sin", "mul", "cos"]
    assert names(eqn.params["fun_jaxpr"]) == ["sin"]
    assert names(mj.make_jaxpr(make())(1.0)) == ["custom_vjp_call", "sin"]


@pytest.mark.parametrize(
    "wrap",
    [
        mj.grad,
        lambda f: mj.grad(mj.checkpoint(f)),
        lambda f: mj.jit(mj.grad(mj.jit(f))),
        lambda f: mj.grad(mj.checkpoint(mj.jit(f))),
        lambda f: mj.grad(mj.grad(f)),
        lambda f: mj.grad(mj.grad(mj.checkpoint(f))),
        lambda f: mj.jacfwd(mj.grad(f)),
        lambda f: lambda x: mj.vmap(mj.grad(f))(jnp.array([x, 2.0]))[0],
        lambda f: (
            lambda x: mj.grad(lambda x: mj.checkpoint(mj.vmap(f))(x).sum())(
                jnp.array([x, 2.0])
            )[0]
        ),
        lambda f: mj.grad(
            lambda x: lax.scan(mj.checkpoint(lambda c, _: (f(c), None)), x, None, length=3)[0]
        ),
    ],
    ids=[
        "grad",
        "remat",
        "jit",
        "remat of jit",
        "twice",
        "twice remat",
        "forward",
        "lanes",
        "remat of lanes",
        "scan",
    ],
)
def test_values_are_those_without(wrap):
    same(wrap(make())(0.5), wrap(make(False))(0.5))


def test_residuals_that_are_arguments_are_no_results():
    @mj.custom_vjp
    def f(x, y):
        return {"a": x * y, "b": x}

    f.defvjp(
        lambda x, y: (f(x, y), (x, {"k": y})),
        lambda res, g: (g["a"] * res[0], g["b"] * res[1]["k"]),
        optimize_remat=True,
    )
    eqn = mj.make_jaxpr(lambda x, y: mj.vjp(f, x, y)[0])(1.0, 2.0).eqns[0]
    assert (eqn.params["num_res"], len(eqn.outvars)) == (0, 2)
    call = mj.grad(lambda x, y: mj.checkpoint(f)(x, y)["a"] + f(x, y)["b"], (0, 1))
    same(call(2.0, 3.0), (2, 3))


def test_values_closed_over():
    def g(y, z, x):
        @mj.custom_vjp
        def f(x):
            return jnp.sin(x) * y

        f.defvjp(
            lambda x: (jnp.sin(x) * y, x * z),
            lambda res, ct: (ct * res * y,),
            optimize_remat=True,
        )
        return f(x)

    expected = 4.0 * 3.0 * 2.0
    for inner in (g, mj.checkpoint(g)):
        same(mj.jit(mj.grad(inner, 2))(2.0, 3.0, 4.0), expected)
        same(mj.vmap(mj.grad(inner, 2), (0, None, None))(jnp.array([2.0]), 3.0, 4.0), expected)


def test_no_symbolic_zeros():
    f = mj.custom_vjp(jnp.sin)
    with pytest.raises(NotImplementedError, match="does not support symbolic zeros"):
        f.defvjp(None, None, symbolic_zeros=True, optimize_remat=True)
