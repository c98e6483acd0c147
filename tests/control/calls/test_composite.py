"""composite: jaxprs and programs as JAX's, transformations through the decomposition."""

import functools

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

X = jnp.arange(6.0).reshape(2, 3)


@functools.partial(lax.composite, name="my.scale", version=2)
def scale(x, y=1, *, by=2, arr=None, flag=True, text="a", pair=(1, 2.5)):
    return x * by, x + y


def test_program():
    """Recorded from JAX 0.10.2."""
    f = lambda x: scale(x, 3, arr=np.arange(3), flag=False, text="q", pair=(1, 2.5))
    text = mj.jit(f).lower(X).as_text()
    assert (
        'stablehlo.composite "my.scale" %arg0, %c {composite_attributes = '
        "{arr = dense<[0, 1, 2]> : tensor<3xi64>, flag = false, "
        'pair = [1, 2.500000e+00], text = "q"}, decomposition = @my.scale, '
        "version = 2 : i32} : (tensor<2x3xf32>, tensor<i32>)"
    ) in text
    for got in (f(X), mj.jit(f)(X)):
        np.testing.assert_array_equal(got[0], X * 2)
        np.testing.assert_array_equal(got[1], X + 3)


def test_jaxpr():
    """Recorded from JAX 0.10.2."""
    twice = lax.composite(lambda x, *, k: x * k, "twice")
    assert str(mj.make_jaxpr(lambda x: twice(x, k=2))(X)) == (
        "{ lambda ; a:f32[2,3]. let\n"
        "    b:f32[2,3] = composite[\n"
        "      attributes=(('k', (2,), PyTreeDef(*)),)\n"
        "      jaxpr={ lambda ; c:f32[2,3]. let d:f32[2,3] = mul c 2.0:f32[] in (d,) }\n"
        "      name=twice\n"
        "      version=0\n"
        "    ] a\n"
        "  in (b,) }"
    )
    # Constants lead the operands; None is not an attribute; nothing is cut off.
    (eqn,) = mj.make_jaxpr(
        lambda x: lax.composite(lambda y, *, k: (y + np.arange(3.0), y), "c")(x, k=None)[0]
    )(X).eqns
    assert [v.aval.shape for v in eqn.invars] == [(3,), (2, 3)]
    assert eqn.params["attributes"] == () and len(eqn.outvars) == 2


def test_transformations_go_through_the_decomposition():
    f = lambda x: scale(jnp.sin(x), by=3.0)[0].sum()
    np.testing.assert_allclose(mj.grad(f)(X), 3 * jnp.cos(X), rtol=1e-6)
    np.testing.assert_allclose(mj.jit(mj.vmap(f))(X), 3 * jnp.sin(X).sum(1), rtol=1e-5)
    hessian = mj.hessian(lambda x: scale(x * x)[0])(3.0)
    assert hessian == 4.0


def test_errors():
    with pytest.raises(mj.errors.UnexpectedTracerError, match="Tracer as an attribute"):
        mj.jit(lambda x: scale(x, by=x.sum()))(X)
    with pytest.raises(mj.errors.UnexpectedTracerError, match="Tracer as a constant"):
        mj.jit(lambda x: lax.composite(lambda y: y + x, "c")(2 * x))(X)
    with pytest.raises(TypeError, match="is not an attribute"):
        mj.jit(lambda x: scale(x, arr=object()))(X)


def test_values_of_the_program():
    assert (lax.stage(2.0), lax.stage(2.0).weak_type) == (2.0, True)
    closed = mj.make_jaxpr(lambda x: (lax.stage(x), lax.stage(2.0)))(1)
    assert not closed.eqns
    np.testing.assert_array_equal(lax.shape_as_value(X.shape), [2, 3])
    assert lax.shape_as_value(()).dtype == jnp.int32
    with pytest.raises(TypeError, match="not a valid JAX type"):
        lax.stage([1])
