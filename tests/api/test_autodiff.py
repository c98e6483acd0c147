"""grad, jvp, vjp, linearize, Jacobians: values, trees, composition and messages."""

import collections
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax


def f(x):
    return jnp.sin(x) * x**2


def df(x):
    return np.cos(x) * x**2 + 2 * x * np.sin(x)


def d2f(x):
    return -np.sin(x) * x**2 + 4 * x * np.cos(x) + 2 * np.sin(x)


@pytest.mark.parametrize("wrap", [lambda g: g, mj.jit, lambda g: mj.jit(mj.jit(g))])
def test_first_and_second_derivatives(wrap):
    x = 1.3
    np.testing.assert_allclose(wrap(mj.grad(f))(x), df(x), rtol=1e-6)
    np.testing.assert_allclose(wrap(mj.grad(wrap(mj.grad(f))))(x), d2f(x), rtol=1e-5)
    np.testing.assert_allclose(
        wrap(lambda x: mj.jvp(wrap(mj.grad(f)), (x,), (1.0,))[1])(x), d2f(x), rtol=1e-5
    )


def test_nesting_does_not_confuse_perturbations():
    got = mj.grad(lambda x: x * mj.grad(lambda y: x + y)(1.0))(2.0)
    assert got == 1.0
    got = mj.jvp(lambda x: x * mj.jvp(lambda y: x * y, (3.0,), (1.0,))[1], (2.0,), (1.0,))[1]
    assert got == 4.0


Point = collections.namedtuple("Point", "x y")


@mj.tree_util.register_dataclass
@dataclass
class Box:
    low: object
    high: object


@pytest.mark.parametrize(
    "tree",
    [
        {"a": 1.0, "b": np.float32(2.0)},
        [1.0, (2.0, None)],
        Point(1.0, 2.0),
        collections.OrderedDict(z=1.0, a=2.0),
        Box(1.0, 2.0),
        (),
    ],
    ids=lambda t: type(t).__name__,
)
def test_gradients_have_the_tree_of_the_argument(tree):
    loss = lambda t: sum((jnp.sin(x) for x in mj.tree.leaves(t)), jnp.float32(0))
    got = mj.grad(loss)(tree)
    assert mj.tree.structure(got) == mj.tree.structure(tree)
    for g, x in zip(mj.tree.leaves(got), mj.tree.leaves(tree), strict=True):
        np.testing.assert_allclose(g, np.cos(x), rtol=1e-6)


def test_argnums_aux_and_keywords():
    def g(x, y, *, scale):
        return x * y * scale, {"seen": x}

    (dx, dy), aux = mj.grad(g, argnums=(0, 1), has_aux=True)(2.0, 3.0, scale=10.0)
    assert (dx, dy, aux["seen"]) == (30.0, 20.0, 2.0)
    (value, aux), dy = mj.value_and_grad(g, argnums=-1, has_aux=True)(2.0, 3.0, scale=1.0)
    assert (value, dy) == (6.0, 2.0)
    _, aux = mj.grad(lambda x: (x, "a string"), has_aux=True)(1.0)
    assert aux == "a string"


def test_weak_types_and_dtypes():
    assert mj.grad(f)(1.0).weak_type
    assert not mj.grad(f)(jnp.float32(1)).weak_type
    assert mj.grad(f)(jnp.bfloat16(1)).dtype == jnp.bfloat16
    g = mj.grad(lambda x, n: x * n, allow_int=True, argnums=(0, 1))(2.0, 3)
    assert g[1].dtype == mj.float0


def test_holomorphic():
    z = np.complex64(1 + 2j)
    np.testing.assert_allclose(mj.grad(jnp.sin, holomorphic=True)(z), np.cos(z), rtol=1e-5)
    with pytest.raises(TypeError, match="complex"):
        mj.grad(jnp.sin, holomorphic=True)(1.0)
    got = mj.grad(lambda z: jnp.real(z * jnp.conj(z)))(z)
    np.testing.assert_allclose(got, 2 * np.conj(z), rtol=1e-5)


def test_concrete_control_flow_in_eager_gradients():
    def g(x):
        return x**3 if x > 0 else -x

    assert mj.grad(g)(2.0) == 12.0
    assert mj.grad(g)(-2.0) == -1.0


def test_jacobians_agree():
    a = jnp.arange(6.0).reshape(2, 3)
    fun = lambda x: {"y": a @ jnp.sin(x["v"]), "z": x["s"] * x["v"].sum()}
    x = {"v": jnp.ones(3), "s": jnp.float32(2)}
    fwd, rev = mj.jacfwd(fun)(x), mj.jacrev(fun)(x)
    assert mj.tree.structure(fwd) == mj.tree.structure(rev)
    for p, q in zip(mj.tree.leaves(fwd), mj.tree.leaves(rev), strict=True):
        np.testing.assert_allclose(p, q, rtol=1e-5)
    assert fwd["y"]["v"].shape == (2, 3)
    np.testing.assert_allclose(fwd["y"]["v"], a * np.cos(1.0), rtol=1e-6)
    h = mj.hessian(lambda v: (v**3).sum())(jnp.arange(3.0))
    np.testing.assert_allclose(h, np.diag(6 * np.arange(3.0)))
    jac, aux = mj.jacfwd(lambda x: (x**2, x + 1), has_aux=True)(3.0)
    assert (jac, aux) == (6.0, 4.0)
    jac, aux = mj.jacrev(lambda x: (x**2, x + 1), has_aux=True)(3.0)
    assert (jac, aux) == (6.0, 4.0)


def test_vjp_and_linearize_are_callable_trees():
    y, pull = mj.vjp(f, 1.3)
    assert pull(1.0)[0] == pull(1.0)[0]
    np.testing.assert_allclose(
        mj.jit(lambda p, ct: p(ct))(pull, 2.0)[0], 2 * df(1.3), rtol=1e-6
    )
    y2, push = mj.linearize(f, 1.3)
    assert y == y2
    np.testing.assert_allclose(push(2.0), 2 * df(1.3), rtol=1e-6)
    np.testing.assert_allclose(
        mj.vmap(push)(jnp.arange(3.0)), np.arange(3) * df(1.3), rtol=1e-6
    )
    leaves, treedef = mj.tree.flatten(pull)
    assert mj.tree.unflatten(treedef, leaves)(1.0)[0] == pull(1.0)[0]
    made = mj.jit(lambda x: mj.vjp(f, x)[1])(1.3)
    np.testing.assert_allclose(made(1.0)[0], df(1.3), rtol=1e-6)


def test_linear_transpose():
    a = jnp.arange(6.0).reshape(2, 3)
    t = mj.linear_transpose(lambda x: a @ x, jnp.ones(3))
    np.testing.assert_allclose(t(jnp.ones(2))[0], a.sum(0))
    with pytest.raises(TypeError):
        t(jnp.ones(3))


def test_stop_gradient():
    assert mj.grad(lambda x: x * lax.stop_gradient(x))(3.0) == 3.0
    assert mj.jit(mj.grad(lambda x: x * lax.stop_gradient(x)))(3.0) == 3.0


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: mj.grad(jnp.sin)(jnp.ones(3)), TypeError, "scalar-output"),
        (lambda: mj.grad(lambda x: x)(3), TypeError, "real- or complex-valued inputs"),
        (lambda: mj.grad(lambda x: x > 0)(3.0), TypeError, "real-valued outputs"),
        (lambda: mj.grad(lambda x: (x, x))(3.0), TypeError, "scalar-output"),
        (lambda: mj.grad(lambda x: x, argnums=2)(3.0), TypeError, "positional arguments"),
        (lambda: mj.grad(lambda x: "no")(3.0), TypeError, "not a valid JAX type"),
        (lambda: mj.grad(lambda x: x["a"])({"a": "s"}), TypeError, "not a valid JAX type"),
        (lambda: mj.grad(3), TypeError, "callable"),
        (lambda: mj.grad(lambda x: x, has_aux=True)(1.0), TypeError, "has_aux"),
        (lambda: mj.jvp(f, (1.0,), (1,)), TypeError, "tangent"),
        (lambda: mj.jvp(f, (1.0,), (jnp.ones(2),)), ValueError, "shape"),
        (lambda: mj.jvp(f, (1.0,), ((1.0,),)), TypeError, "tree structure"),
        (lambda: mj.jvp(f, 1.0, 1.0), TypeError, "tuples or lists"),
        (lambda: mj.vjp(f, 1.0)[1](jnp.ones(2)), ValueError, "expected float32"),
        (lambda: mj.vjp(f, 1.0)[1]((1.0,)), ValueError, "tree structure"),
        (lambda: mj.linearize(f, 1.0)[1](jnp.ones(2)), ValueError, "tangent"),
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_arrays_pickle():
    x = jnp.arange(3.0)
    y = pickle.loads(pickle.dumps(x))
    assert (x == y).all() and y.dtype == x.dtype


def test_reduce_axes_must_be_empty():
    f = lambda x: x * 3.0
    assert mj.grad(f, reduce_axes=())(1.0) == 3
    assert mj.value_and_grad(f, reduce_axes=None)(1.0)[1] == 3
    assert mj.vjp(f, 1.0, reduce_axes=[])[1](1.0)[0] == 3
    assert mj.linear_transpose(f, 1.0, reduce_axes=())(2.0)[0] == 6
    for name, call in {
        "grad": lambda **k: mj.grad(f, **k),
        "vjp": lambda **k: mj.vjp(f, 1.0, **k),
        "transpose": lambda **k: mj.linear_transpose(f, 1.0, **k),
    }.items():
        with pytest.raises(NotImplementedError, match=f"reduce_axes argument to {name}"):
            call(reduce_axes=("i",))


def test_the_first_cotangent_has_the_type_of_the_result():
    from minijax.api.autodiff import one
    from minijax.types.avals import shaped

    for weak in (False, True, False, True):
        assert one(shaped((), jnp.dtype("float32"), weak)).weak_type is weak
