"""The calls around rules: results that are functions, their types, and messages."""

import functools

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import custom_derivatives as cd
from minijax import lax

float0 = mj.dtypes.float0


def f(x):
    return jnp.sin(x) * x


# ------------------------------------------------------- rules without classes


def test_custom_gradient():
    g = mj.custom_gradient(lambda x: (x**2, lambda ct: (ct * x * 10,)))
    for d in (mj.grad(g), mj.jit(mj.grad(g)), mj.grad(mj.jit(g))):
        assert d(3.0) == 30
    assert mj.vmap(mj.grad(g))(jnp.arange(2.0)).tolist() == [0, 10]
    assert mj.grad(mj.grad(g))(3.0) == 10
    h = mj.custom_gradient(lambda x, y: (x * y, lambda ct: (ct * y, 20 * ct * x)))
    assert mj.grad(h, (0, 1))(2.0, 3.0) == (3, 40)
    k = mj.custom_gradient(lambda x: ({"a": x}, lambda ct: ct["a"] * 7))
    assert mj.grad(lambda x: k(x)["a"])(1.0) == 7

    def closing(y):
        return mj.grad(mj.custom_gradient(lambda x: (x * y, lambda ct: ct * y * 10)))(2.0)

    assert closing(3.0) == mj.jit(closing)(3.0) == 30
    assert mj.vmap(closing)(jnp.arange(2.0)).tolist() == [0, 10]
    assert mj.grad(closing)(3.0) == 10
    for bad in (lambda x: x, lambda x: (x, 3)):
        with pytest.raises(TypeError, match="must return a pair of a value and a function"):
            mj.grad(mj.custom_gradient(bad))(1.0)


def test_closure_convert():
    def held(y):
        new, consts = mj.closure_convert(lambda x: x * y, 1.0)
        assert len(consts) == isinstance(y, mj.core.Tracer)
        return new(2.0, *consts)

    assert held(3.0) == mj.jit(held)(3.0) == 6
    assert mj.grad(held)(3.0) == 2
    new, consts = mj.closure_convert(lambda d: d["a"] * 2, {"a": 1.0})
    assert consts == [] and new({"a": 3.0}) == 6
    for args in ((3.0,), ({"a": 3.0}, 1.0), ()):
        with pytest.raises(
            TypeError,
            match="The inputs to the closure produced by closure_convert must have the same"
            " Pytree structure as the example arguments",
        ):
            new(*args)


def test_linear_call():
    def g(r, x):
        return cd.linear_call(
            lambda r, d: {"s": d["a"] * r + d["b"]},
            lambda r, ct: {"a": 10 * ct["s"] * r, "b": ct["s"]},
            r,
            x,
        )["s"]

    x = {"a": 3.0, "b": 1.0}
    assert g(2.0, x) == mj.jit(g)(2.0, x) == 7
    assert mj.grad(g, 1)(2.0, x) == mj.jit(mj.grad(g, 1))(2.0, x) == {"a": 20, "b": 1}
    assert mj.jvp(lambda x: g(2.0, x), (x,), (x,))[1] == 7
    assert mj.vmap(mj.grad(g, 1), (0, None))(jnp.arange(2.0), x)["a"].tolist() == [0, 10]
    assert mj.linear_transpose(lambda x: g(2.0, x), x)(1.0) == ({"a": 20, "b": 1},)
    with pytest.raises(NotImplementedError, match="with respect to its residual arguments"):
        mj.grad(g)(2.0, x)


@pytest.mark.parametrize(
    "transposed",
    [lambda r, ct: (ct, ct), lambda r, ct: jnp.ones(3), lambda r, ct: jnp.int32(1)],
)
def test_linear_call_checks_the_transpose(transposed):
    with pytest.raises(TypeError, match="the transpose must return what the function"):
        cd.linear_call(lambda r, x: r * x, transposed, 2.0, 3.0)


def test_small_names():
    assert cd.zero_from_primal(jnp.ones(2)).tolist() == [0, 0]
    assert cd.zero_from_primal(3).dtype == float0
    assert type(cd.zero_from_primal(1.0, symbolic_zeros=True)) is cd.SymbolicZero
    zeros = cd.zero_from_primal({"a": jnp.ones(2), "b": (1.0, 2, None)})
    assert zeros["a"].tolist() == [0, 0] and zeros["b"][0] == 0.0
    assert isinstance(zeros["b"][0], mj.Array) and zeros["b"][0].weak_type
    assert isinstance(cd.zero_from_primal(np.float32(2)), mj.Array)
    assert zeros["b"][1].dtype == float0 and zeros["b"][2] is None
    marks = cd.zero_from_primal((jnp.ones(2), [3]), symbolic_zeros=True)
    assert [m.aval.shape for m in mj.tree.leaves(marks)] == [(2,), ()]
    with pytest.raises(TypeError, match="'a'"):
        cd.zero_from_primal(["a"])
    tree = {"a": cd.CustomVJPPrimal(1.0, True), "none": None}
    assert cd.custom_vjp_primal_tree_values(tree) == {"a": 1.0, "none": None}
    with pytest.raises(TypeError, match="unexpected leaf type"):
        cd.custom_vjp_primal_tree_values({"a": 1.0})


@pytest.mark.parametrize("number", [np.int64(1), np.array(1), jnp.int32(1)])
@pytest.mark.parametrize(
    "derivative", [mj.grad, mj.value_and_grad, mj.jacfwd, mj.jacrev, mj.hessian]
)
def test_any_integer_names_an_argument(derivative, number):
    f = lambda x, y: x * y**3
    expected = derivative(f, argnums=1)(2.0, 3.0)
    assert derivative(f, argnums=number)(2.0, 3.0) == expected
    assert derivative(f, argnums=(number,))(2.0, 3.0) != ()


# ----------------------------------------------------------------- messages


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: mj.grad(f, argnums=1)(1.0), TypeError, "at least 2 positional arguments"),
        (lambda: mj.grad(f, argnums=-2)(1.0), ValueError,
         "must have value greater than or equal to -len(args) and less than len(args), but"
         " got value -2 for len(args) == 1"),
        (lambda: mj.grad(f, argnums="a"), TypeError,
         "argnums must be an int or a sequence"),
        (lambda: mj.grad(f, argnums=1.5), TypeError,
         "argnums must be an int or a sequence"),
        (lambda: mj.grad(lambda x: "text")(1.0), TypeError,
         "Argument 'text' of type <class 'str'> is not a valid JAX type"),
        (lambda: mj.grad(lambda x: x, has_aux=True)(1.0), TypeError,
         "expected function with aux output to return a two-element tuple, but got type"),
        (lambda: mj.vjp(lambda x: (x, x, x), 1.0, has_aux=True), TypeError,
         "expected function with aux output to return a two-element tuple, but got type"),
        (lambda: mj.jacfwd(f)(1j), TypeError,
         "jacfwd requires real-valued inputs (input dtype that is a sub-dtype of"
         " np.floating), but got complex64. For holomorphic differentiation, pass"
         " holomorphic=True."),
        (lambda: mj.vjp(f, 1.0)[1](jnp.ones(2)), ValueError,
         "unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got"
         " float32[2], but expected float32[] because the corresponding output of the"
         " differentiated function had JAX type float32[]"),
        (lambda: mj.vjp(lambda x: {"a": x}, 1.0)[1]({"b": 1.0}), ValueError,
         "unexpected tree structure. The argument to a VJP function returned by `jax.vjp`"
         " must match the pytree structure of the differentiated function"),
        (lambda: mj.vjp(f, 1.0)[1](1.0, 2.0), TypeError,
         "functions returned by `jax.vjp` must be called with a single argument"),
        (lambda: mj.vjp(f, 1.0)[1]("text"), TypeError, "is not a valid JAX type"),
        (lambda: mj.linearize(f, 1.0)[1]("text"), TypeError, "is not a valid JAX type"),
        (lambda: mj.linear_transpose(lambda x: x * x, 1.0)(1.0), TypeError,
         "Only linear functions can be transposed"),
        (lambda: mj.linear_transpose(lambda x: x > 0, 1.0), TypeError,
         "linear_transpose only supports [float or complex] -> [float or complex], and"
         " integer -> integer functions, but got [dtype('float32')] -> [dtype('bool')]."),
        (lambda: mj.linear_transpose(lambda x: 3 * x, 1.0)(jnp.ones(2)), TypeError,
         "cotangent type does not match function output, expected float32[] but got"),
        (lambda: mj.linear_transpose(lambda x: {"a": x}, 1.0)({"b": 1.0}), TypeError,
         "cotangent tree does not match function output, expected"),
    ],
)  # fmt: skip
def test_messages(call, error, words):
    with pytest.raises(error) as e:
        call()
    assert words in str(e.value)


# -------------------------------------------------- results that are functions


def test_pullbacks_and_linear_maps_are_values():
    x, g = jnp.arange(3.0), jnp.ones(3)
    expected = np.asarray(mj.vmap(mj.grad(f))(x))
    _, pull = mj.vjp(f, x)
    _, push = mj.linearize(f, x)
    for lin in (lambda g: pull(g)[0], push):
        for _ in range(2):  # often
            np.testing.assert_allclose(lin(g), expected, rtol=1e-6)
        np.testing.assert_allclose(mj.jit(lin)(g), expected, rtol=1e-6)
        np.testing.assert_allclose(mj.vmap(lin)(jnp.eye(3)), np.diag(expected), rtol=1e-6)
        rows = lax.scan(lambda c, g, lin=lin: (c, lin(g)), 0.0, jnp.eye(3))[1]
        np.testing.assert_allclose(rows, np.diag(expected), rtol=1e-6)
    for value in (pull, push):
        leaves, treedef = mj.tree.flatten(value)
        assert leaves
        unflattened = mj.tree.unflatten(treedef, leaves)
        np.testing.assert_allclose(np.ravel(unflattened(g)), expected, rtol=1e-6)
        np.testing.assert_allclose(np.ravel(mj.jit(lambda v: v(g))(value)), expected, rtol=1e-6)
        zero = mj.tree.map(lambda leaf: 0 * leaf, value)
        np.testing.assert_array_equal(np.ravel(zero(g)), np.zeros(3))


def test_pullbacks_leave_transformations():
    _, pull = mj.jit(lambda x: mj.vjp(f, x))(2.0)
    np.testing.assert_allclose(pull(1.0)[0], mj.grad(f)(2.0), rtol=1e-6)
    xs = jnp.arange(3.0)
    pulls = lax.scan(lambda c, x: (c, mj.vjp(f, x)[1]), 0.0, xs)[1]
    got = mj.vmap(lambda p: p(1.0)[0])(pulls)
    np.testing.assert_allclose(got, mj.vmap(mj.grad(f))(xs), rtol=1e-6)
    second = mj.grad(lambda x: mj.vjp(f, x)[1](1.0)[0])(2.0)
    np.testing.assert_allclose(second, mj.grad(mj.grad(f))(2.0), rtol=1e-6)
    transposed = mj.linear_transpose(lambda x: xs * x, jnp.ones(3))
    assert len(mj.tree.leaves(transposed)) == 1
    assert mj.jit(lambda t, ct: t(ct))(transposed, jnp.ones(3))[0].tolist() == [0, 1, 2]


def test_fwd_and_bwd():
    for jitted in (True, False):
        fwd, bwd = mj.fwd_and_bwd(lambda x, y: x**2 * y, argnums=(0, 1), jitted=jitted)
        out, res = fwd(2.0, 3.0)
        assert out == 12 and bwd(res, 1.0) == (12, 4)
        fwd, bwd = mj.fwd_and_bwd(lambda x, y: x**2 * y, argnums=1, jitted=jitted)
        assert bwd(fwd(2.0, 3.0)[1], 2.0) == 8
        fwd, bwd = mj.fwd_and_bwd(lambda x: (x**2, {"x": x}), 0, has_aux=True, jitted=jitted)
        out, res, aux = fwd(2.0)
        assert out == 4 and aux == {"x": 2} and bwd(res, 1.0) == 4
    with pytest.raises(ValueError, match="for argument to VJP function"):
        bwd(res, jnp.ones(2))


def test_integer_results_take_any_cotangent():
    out, pull = mj.vjp(lambda x, n: {"x": x * n, "n": n}, 2.0, 3)
    assert out["n"] == 3
    for ct in (np.zeros((), float0), 3):
        dx, dn = pull({"x": 1.0, "n": ct})
        assert dx == 3 and dn.dtype == float0
    assert mj.vjp(lambda x: x > 0, 1.0)[1](np.zeros((), float0)) == (0,)


# ------------------------------------------------------------- conventions


def test_complex_gradients():
    """grad of a real function of z = x + iy is df/dx - i df/dy."""
    z = np.complex64(1 + 2j)
    for g, expected in [
        (lambda z: jnp.abs(z) ** 2, 2 - 4j),
        (jnp.real, 1),
        (jnp.imag, -1j),
        (lambda z: (z * z).imag, 4 - 2j),
    ]:
        np.testing.assert_allclose(mj.grad(g)(z), expected, rtol=1e-6)
    assert mj.vjp(lambda z: z * z, z)[1](z) == (2 * z * z,)
    assert mj.jvp(jnp.conj, (z,), (z,))[1] == np.conj(z)
    for jac in (mj.jacfwd, mj.jacrev):
        assert jac(lambda z: z**2, holomorphic=True)(z) == 2 * z
    np.testing.assert_allclose(mj.hessian(lambda z: z**3, holomorphic=True)(z), 6 * z)


def test_jacobians_of_trees():
    def h(a, b):
        return {"o": a * b["x"], "p": (a.sum(), b["y"] * 2)}

    a, b = jnp.arange(2.0), {"x": jnp.ones(2), "y": 3.0}
    for jac in (mj.jacfwd, mj.jacrev):
        da, db = jac(h, (0, 1))(a, b)["o"]
        assert da.tolist() == [[1, 0], [0, 1]] and db["x"].tolist() == [[0, 0], [0, 1]]
        assert db["y"].tolist() == [0, 0]
        assert jac(h)(a, b)["p"][0].tolist() == [1, 1]
        assert jac(h, 1)(a, b)["p"][1]["y"] == 2
        out, aux = jac(lambda x: (x**2, {"aux": x}), has_aux=True)(a)
        assert out.tolist() == [[0, 0], [0, 2]] and aux["aux"].tolist() == [0, 1]
        assert jac(lambda x: x)(jnp.ones(0)).shape == (0, 0)
        mixed = jac(lambda x, y: x * y.sum(), (0, 1))(np.float32(2), jnp.ones(2, "bfloat16"))
        assert mixed[0] == 2 and mixed[1].tolist() == [2, 2]


@pytest.mark.parametrize("jac", [mj.jacfwd, mj.jacrev])
def test_jacobians_waste_no_equations(jac):
    text = str(mj.make_jaxpr(jac(jnp.sin))(jnp.ones(3)))
    assert "slice" not in text and "split" not in text
    text = str(mj.make_jaxpr(jac(lambda x, y: x * y, (0, 1)))(jnp.ones(3), jnp.ones(3)))
    assert text.count("iota") == 2
    second = jac(jac(lambda x: jnp.sin(x)))(1.0)
    assert second.weak_type  # of a Python number


def test_wrappers_have_the_names_of_what_they_wrap():
    def scaled(x, by=2.0):
        return x * by

    class Model:
        def __call__(self, x):
            return x

    part = functools.partial(functools.partial(scaled), by=3.0)
    for make in (
        mj.vmap,
        mj.pmap,
        mj.jit,
        mj.grad,
        mj.value_and_grad,
        mj.checkpoint,
        mj.jacfwd,
        mj.jacrev,
        mj.hessian,
        mj.named_scope("s"),
    ):
        assert make(scaled).__name__ == make(part).__name__ == "scaled"
        assert make(part).__qualname__ == "scaled"
        assert make(Model()).__name__ == "Model"


# Recorded from JAX 0.10.2, whose jacfwd fails on bools.
NONDIFFERENTIABLE = {
    "int": (lambda x: jnp.round(x).astype(int), jnp.int32, False),
    "uint8": (lambda x: x.astype("uint8"), jnp.uint8, False),
    "bool": (lambda x: x > 1, jnp.bool_, False),
    "number": (lambda x: 3, jnp.int32, True),
    "numpy": (lambda x: np.arange(3, dtype=np.int32), jnp.int32, False),
}


@pytest.mark.parametrize("name", NONDIFFERENTIABLE)
def test_jacobians_of_what_does_not_move_are_zeros_of_its_dtype(name):
    fun, dtype, weak = NONDIFFERENTIABLE[name]
    x = jnp.array([1.0, 2.0])
    shape = np.shape(fun(x))
    for jac in (mj.jacfwd, lambda f: mj.jit(mj.jacfwd(f)), lambda f: mj.jacfwd(f, (0,))):
        (result,) = mj.tree.leaves(jac(fun)(x))
        assert result.shape == (*shape, 2) and result.dtype == dtype
        assert not result.any() and result.weak_type == weak
    twice = mj.jacfwd(mj.jacfwd(fun))(x)
    assert twice.shape == (*shape, 2, 2) and twice.dtype == dtype
    mixed = mj.jacfwd(lambda x: (2 * x, fun(x)))(x)
    assert mixed[0].tolist() == [[2, 0], [0, 2]] and mixed[1].dtype == dtype
    lanes = mj.vmap(mj.jacfwd(fun))(jnp.ones((3, 2)))
    assert lanes.dtype == dtype and lanes.shape[0] == 3


def test_jacobians_by_integers_are_integer_zeros():
    fun = lambda x: 2.0 * x
    result = mj.jacrev(fun, allow_int=True)(jnp.arange(2))
    assert result.dtype == jnp.int32 and result.tolist() == [[0, 0], [0, 0]]
    result = mj.jacrev(fun, allow_int=True)(2)
    assert (result.dtype, result.weak_type, result.item()) == (jnp.int32, True, 0)
    pair = mj.jacrev(lambda x, y: x * y, (0, 1), allow_int=True)(jnp.ones(2), jnp.arange(2))
    assert pair[0].tolist() == [[0, 0], [0, 1]] and pair[1].dtype == jnp.int32


def test_cotangents_of_what_does_not_move_fit_its_shape():
    _, pull = mj.vjp(jnp.argmax, jnp.ones(2))
    for ct in (jnp.ones(2), np.zeros(2, mj.dtypes.float0)):
        with pytest.raises(ValueError, match="unexpected JAX type"):
            pull(ct)
    for ct in (1.0, jnp.int32(1), np.zeros((), mj.dtypes.float0)):
        assert pull(ct)[0].tolist() == [0, 0]
