"""`custom_jvp`: rules, what they are given, what they may close over, and messages."""

import functools
from functools import partial

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.custom_derivatives import SymbolicZero

float0 = mj.dtypes.float0


def with_rule(rule, **options):
    @mj.custom_jvp
    def square(x):
        return x**2

    square.defjvp(rule, **options)
    return square


@mj.custom_jvp
def scaled_sin(x, y):
    return jnp.sin(x) * y


@scaled_sin.defjvp
def scaled_sin_jvp(primals, tangents):
    (x, y), (tx, ty) = primals, tangents
    return scaled_sin(x, y), 10 * jnp.cos(x) * y * tx + 100 * jnp.sin(x) * ty


@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit, mj.checkpoint])
def test_the_rule_is_heard(wrap):
    f = wrap(scaled_sin)
    dx, dy = mj.grad(f, (0, 1))(1.0, 2.0)
    np.testing.assert_allclose([dx, dy], [20 * np.cos(1), 100 * np.sin(1)], rtol=1e-6)
    lanes = mj.vmap(mj.grad(f), (0, None))(jnp.arange(3.0), 2.0)
    np.testing.assert_allclose(lanes, 20 * np.cos(np.arange(3)), rtol=1e-5)
    _, t = mj.jvp(lambda x: f(x, 2.0), (1.0,), (1.0,))
    np.testing.assert_allclose(t, 20 * np.cos(1), rtol=1e-6)


def test_rules_inside_rules():
    f = mj.custom_jvp(jnp.sin)
    g = mj.custom_jvp(jnp.cos)
    f.defjvp(lambda p, t: (f(*p), g(p[0]) * t[0]))
    g.defjvp(lambda p, t: (g(*p), -5 * t[0]))
    for d in (mj.grad(mj.grad(f)), mj.hessian(f), mj.jit(mj.grad(mj.grad(f)))):
        assert d(1.0) == -5


@pytest.mark.parametrize(
    "rule, error, words",
    [
        (
            lambda p, t: 3.0,
            TypeError,
            "must produce a pair (list or tuple of length two) representing primal and"
            " tangent outputs, but got 3.0",
        ),
        (lambda p, t: (1.0, 2.0, 3.0), TypeError, "must produce a pair"),
        (
            lambda p, t: (p[0], t),
            TypeError,
            "must produce primal and tangent outputs with equal container (pytree)"
            " structures, but got PyTreeDef(*) and PyTreeDef((*,)) respectively",
        ),
        (
            lambda p, t: (p[0], jnp.ones(3)),
            TypeError,
            "Custom JVP rule must produce primal and tangent outputs with corresponding"
            " shapes and dtypes. Expected float32[] (tangent type of float32[]) but got"
            " float32[3].",
        ),
        (lambda p, t: (p[0], jnp.int32(1)), TypeError, "but got int32[]."),
        (lambda p, t: (p[0], np.zeros((), float0)), TypeError, "but got float0[]."),
        (lambda p, t: ("no", t[0]), TypeError, "is not a valid JAX type"),
    ],
)
def test_invalid_results_of_a_rule(rule, error, words):
    f = with_rule(rule)
    for d in (mj.grad(f), mj.jit(mj.grad(f)), mj.grad(mj.jit(f))):
        with pytest.raises(error) as e:
            d(1.0)
        assert words in str(e.value)


@pytest.mark.parametrize(
    "rule, words",
    [
        (
            lambda p, t: ((p[0],), (t[0],)),
            "had container/pytree structure:\n    PyTreeDef((*,))\nwhile the"
            " custom_jvp-decorated function square had output container/pytree structure:\n"
            "    PyTreeDef(*)",
        ),
        (
            lambda p, t: (jnp.ones(3), jnp.ones(3)),
            "had shapes/dtypes of:\n    float32[3]\nwhile the custom_jvp-decorated function"
            " square had output shapes/dtypes of:\n    float32[]",
        ),
    ],
)
def test_a_rule_returns_the_functions_result(rule, words):
    f = with_rule(rule)
    with pytest.raises(TypeError) as e:
        mj.grad(mj.jit(f))(1.0)  # the function has run, so the type of its result is known
    assert words in str(e.value)


def test_no_rule():
    f = mj.custom_jvp(lambda x: x)
    with pytest.raises(AttributeError, match=r"No JVP defined for custom_jvp function"):
        f(1.0)


def test_arguments_are_found_by_name_and_default():
    @mj.custom_jvp
    def f(x, y=2.0, *, k=3.0):
        return x * y * k

    f.defjvp(lambda p, t: (f(*p), 100 * t[0] + t[1]))
    assert f(1.0) == 6
    assert f(y=3.0, x=1.0) == 9
    assert mj.grad(f)(1.0) == 100
    assert mj.grad(lambda y: f(1.0, y=y))(1.0) == 1


def test_arguments_by_name_after_a_gap():
    """Parameters between the arguments keep their defaults, static or not."""

    @functools.partial(mj.custom_jvp, nondiff_argnums=(1, 2))
    def f(x, power=2, negative=False, scale=1.0, shift=0.0):
        y = scale * x**power + shift
        return -y if negative else y

    f.defjvp(lambda power, negative, p, t: (f(p[0], power, negative, *p[1:]), 100 * t[0]))
    assert f(3.0, shift=1.0) == 10
    assert f(3.0, negative=True, shift=1.0) == -10
    assert mj.grad(lambda x: f(x, negative=True, scale=2.0))(3.0) == 100
    g = mj.custom_vjp(lambda x, y=2.0, z=3.0: x * y + z)
    g.defvjp(lambda x, y, z: (x * y + z, y), lambda y, ct: (ct * y, None, ct))
    assert mj.grad(lambda z: g(1.0, z=z))(5.0) == 1 and g(1.0, z=5.0) == 7


@pytest.mark.parametrize(
    "args, kwargs, words",
    [
        ((1.0,), {}, "missing a required argument: 'y'"),
        ((1.0, 2.0, 3.0), {}, "too many positional arguments"),
        ((1.0,), {"y": 2.0, "k": 3.0}, "could not be resolved to positions: k"),
        ((1.0, 2.0), {"x": 2.0}, "multiple values for argument 'x'"),
    ],
)
def test_unbound_arguments(args, kwargs, words):
    f = mj.custom_jvp(lambda x, y, **more: x)
    f.defjvp(lambda p, t: (p[0], t[0]))
    with pytest.raises(TypeError) as e:
        f(*args, **kwargs)
    assert (
        "The input arguments to the custom_jvp-decorated function <lambda> could not be"
        " resolved to positional-only arguments. Binding failed with the error:\n"
    ) in str(e.value)
    assert words in str(e.value)


def test_values_only():
    f = with_rule(lambda p, t: (p[0], t[0]))
    for call in (f, mj.jit(lambda: f("text"))):
        with pytest.raises(TypeError, match=r"'text' of type <class 'str'> is not a vali"):
            call(*(["text"] if call is f else []))
    g = mj.custom_jvp(lambda x: "text")
    g.defjvp(lambda p, t: ("text", "text"))
    for call in (g, mj.jit(g), mj.grad(g)):
        with pytest.raises(TypeError, match="is not a valid JAX type"):
            call(1.0)


def test_trees_and_none():
    @mj.custom_jvp
    def f(d):
        return {"out": d["a"] * d["b"][0], "none": None}

    @f.defjvp
    def rule(primals, tangents):
        (d,), (t,) = primals, tangents
        assert t["b"][1] is None
        return f(d), {"out": d["a"] * t["b"][0] + 10 * t["a"], "none": None}

    d = {"a": 2.0, "b": (3.0, None)}
    assert mj.grad(lambda d: f(d)["out"])(d) == {"a": 10, "b": (2, None)}
    assert mj.jvp(f, (d,), (d,))[1] == {"out": 26, "none": None}


def test_integers_keys_and_float0():
    seen = []

    @mj.custom_jvp
    def f(key, n, x):
        return mj.random.uniform(key) * n * x, n

    @f.defjvp
    def rule(primals, tangents):
        seen.append([(t.dtype, t.shape) for t in tangents[:2]])
        return f(*primals), (tangents[2] * 3, np.zeros((), float0))

    key = mj.random.key(0)
    d = mj.grad(lambda k, n, x: f(k, n, x)[0], 2)
    assert d(key, 2, 1.0) == mj.jit(d)(key, 2, 1.0) == 3
    assert mj.vmap(d, (0, None, None))(mj.random.split(key, 3), 2, 1.0).tolist() == [3] * 3
    assert all(pair == [(float0, ()), (float0, ())] for pair in seen)
    assert mj.jvp(lambda x: f(key, 2, x), (1.0,), (1.0,))[1][1].dtype == float0
    wrong = mj.custom_jvp(lambda n: n)
    wrong.defjvp(lambda p, t: (p[0], jnp.int32(0)))
    with pytest.raises(TypeError, match=r"Expected float0\[\] \(tangent type of int32"):
        mj.jvp(lambda x: wrong(jnp.int32(x)), (1.0,), (1.0,))
        mj.jvp(wrong, (2,), (np.zeros((), float0),))


def test_nondiff_arguments():
    @partial(mj.custom_jvp, nondiff_argnums=(2, 0))
    def f(g, x, k):
        return g(x) * k["k"]

    @f.defjvp
    def rule(g, k, primals, tangents):
        return f(g, *primals, k), 7 * tangents[0] * k["k"]

    assert mj.grad(f, 1)(jnp.sin, 1.0, {"k": 2.0}) == 14
    lanes = mj.vmap(lambda x: mj.grad(f, 1)(jnp.sin, x, {"k": 2.0}))(jnp.arange(2.0))
    assert lanes.tolist() == [14, 14]
    # What is not differentiated may be traced, but counts as constant.
    assert mj.jit(lambda k: mj.grad(f, 1)(jnp.sin, 1.0, {"k": k}))(3.0) == 21
    assert mj.grad(lambda k: f(jnp.sin, 1.0, {"k": k}))(3.0) == 0

    named = mj.custom_jvp(lambda x, mode: x, nondiff_argnames="mode")
    named.defjvp(lambda mode, p, t: (p[0], 3 * t[0] if mode == "three" else t[0]))
    assert mj.grad(lambda x: named(x, mode="three"))(1.0) == 3
    with pytest.raises(ValueError, match="nondiff_argnames: 'none' is not an argument"):
        mj.custom_jvp(lambda x: x, nondiff_argnames="none")
    beyond = mj.custom_jvp(lambda x, y: x, nondiff_argnums=5)
    beyond.defjvp(lambda p, t: (p[0], t[0]))
    with pytest.raises(IndexError, match=r"there is no argument 5"):
        beyond(1.0, 2.0)


def test_symbolic_zeros():
    seen = []

    @mj.custom_jvp
    def f(d):
        return d["a"] * d["b"], d["b"]

    @partial(f.defjvp, symbolic_zeros=True)
    def rule(primals, tangents):
        (d,), (t,) = primals, tangents
        seen.append({k: type(v) is SymbolicZero for k, v in t.items()})
        return f(d), (d["b"] * t["a"] * 10, t["b"])

    for wrap in (lambda f: f, mj.jit, mj.checkpoint):
        g = wrap(lambda a: f({"a": a, "b": 2.0})[0])
        assert mj.grad(g)(1.0) == 20
        assert mj.vmap(mj.grad(g))(jnp.ones(2)).tolist() == [20, 20]
    # What `vmap` asks, once in a program, whether the second result varies with lanes.
    unused = seen.pop(seen.index({"a": False, "b": False}))
    assert unused not in seen and seen == [{"a": False, "b": True}] * len(seen)
    _, (_, t) = mj.jvp(lambda a: f({"a": a, "b": 2.0}), (1.0,), (1.0,))
    assert t == 0
    zero = SymbolicZero(mj.typeof(jnp.ones(3, int)).to_tangent())
    assert zero.shape == (3,) and zero.dtype == float0
    assert str(zero.aval) == "float0[3]"


def test_defjvps():
    f = mj.custom_jvp(lambda x, y: jnp.sin(x) * y)
    f.defjvps(lambda t, out, x, y: 10 * t, None)
    assert mj.grad(f, (0, 1))(1.0, 2.0) == (10, 0)
    f.defjvps(None, None)
    assert mj.grad(f, (0, 1))(1.0, 2.0) == (0, 0)
    f.defjvps(None)
    with pytest.raises(ValueError, match="defjvps of <lambda> was given 1 functions for 2"):
        mj.grad(f)(1.0, 2.0)
    g = mj.custom_jvp(lambda x: {"a": x})
    g.defjvps(lambda t, out, x: {"a": 5 * t})
    assert mj.jvp(g, (1.0,), (1.0,))[1] == {"a": 5}
    with pytest.raises(TypeError, match="Can't use ``defjvps`` with ``nondiff_argnums``"):
        mj.custom_jvp(lambda x: x, nondiff_argnums=(0,)).defjvps(None)


def closing(y):
    """A function and a rule that close over a value."""

    @mj.custom_jvp
    def f(x):
        return x * y

    f.defjvp(lambda p, t: (f(*p), 100 * y * t[0]))
    return f


def test_closures_over_what_is_staged_or_mapped():
    def value(y):
        return closing(y)(3.0)

    def slope(y):
        return mj.grad(closing(y))(3.0)

    ys = jnp.arange(3.0)
    assert mj.jit(value)(2.0) == 6 and mj.jit(slope)(2.0) == 200
    assert mj.vmap(value)(ys).tolist() == [0, 3, 6]  # no argument of it is mapped
    assert mj.vmap(slope)(ys).tolist() == [0, 100, 200]
    assert mj.jit(mj.vmap(value))(ys).tolist() == [0, 3, 6]
    assert mj.vmap(mj.jit(value))(ys).tolist() == [0, 3, 6]
    both = mj.vmap(mj.vmap(lambda y, z: closing(y)(z) + closing(z)(2.0), (0, None)), (None, 0))
    np.testing.assert_allclose(both(ys, ys), np.outer(ys, ys) + 2 * np.c_[ys])


def test_closures_over_what_is_differentiated():
    for wrap in (lambda f: f, mj.jit):
        with pytest.raises(mj.errors.UnexpectedTracerError, match="closes over"):
            mj.grad(wrap(lambda y: closing(y)(3.0)))(2.0)


def test_a_shared_argument_stays_shared_under_vmap():
    f = with_rule(lambda p, t: (p[0], t[0]))
    text = str(mj.make_jaxpr(mj.vmap(lambda x, y: x * f(y), (0, None)))(jnp.ones(3), 2.0))
    assert "f32[3] = custom_jvp_call" not in text and "f32[] = custom_jvp_call" in text


def test_inside_control_flow():
    f = with_rule(lambda p, t: (p[0] ** 2, 5 * t[0]))
    assert mj.grad(lambda x: lax.scan(lambda c, _: (f(c), c), x, None, 3)[0])(1.0) == 125
    assert mj.grad(lambda x: lax.cond(x > 0, f, jnp.sin, x))(1.0) == 5
    assert (
        mj.jvp(
            lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, f(c[1])), (0, x)),
            (1.0,),
            (1.0,),
        )[1][1]
        == 125
    )
    assert mj.pmap(mj.grad(f))(jnp.arange(2.0)).tolist() == [5, 5]
    with mj.disable_jit():
        assert mj.jit(mj.grad(f))(1.0) == 5


def test_constants_in_rules_are_no_tangents():
    """A number made in a rule belongs to the value, not to the linear part."""
    f = mj.custom_jvp(lambda x: jnp.float32(1))
    f.defjvp(lambda p, t: (jnp.float32(1), jnp.float32(3) * t[0]))
    out, pull = mj.vjp(f, jnp.float32(2))
    assert out == 1 and pull(jnp.float32(1)) == (3,)
    assert mj.grad(lambda x: f(x) * x)(jnp.float32(2)) == 7


def test_methods_and_names():
    class Scale:
        k = 3.0

        @partial(mj.custom_jvp, nondiff_argnums=(0,))
        def apply(self, x):
            """Multiply."""
            return self.k * x

        @apply.defjvp
        def rule(self, primals, tangents):
            return self.apply(*primals), 100 * tangents[0]

    assert mj.grad(Scale().apply)(1.0) == 100
    assert Scale.apply.__name__ == "apply" and Scale.apply.__doc__ == "Multiply."
    f = mj.custom_jvp(partial(lambda k, x: k * x, 2.0))
    f.defjvp(lambda p, t: (f(*p), 9 * t[0]))
    assert mj.grad(f)(1.0) == 9


def test_stop_gradient():
    assert mj.grad(lambda x: lax.stop_gradient(x) * x)(3.0) == 3
    tree = {"a": 1, "b": [2.0, None, jnp.arange(2)]}
    assert str(lax.stop_gradient(tree)) == str(tree)
    assert str(mj.make_jaxpr(lax.stop_gradient)(1)).count("stop_gradient") == 1
    key = mj.random.key(0)
    assert str(mj.make_jaxpr(lax.stop_gradient)(key)).count("stop_gradient") == 0
    for x in ("text", object):
        with pytest.raises(TypeError, match="is not a valid JAX type"):
            lax.stop_gradient(x)


@pytest.mark.parametrize("kind", ["jit", "loop", "branch"])
def test_a_rule_that_takes_the_derivative_of_another_program(kind):
    def twin(x):
        if kind == "jit":
            return jnp.sin(mj.jit(jnp.exp)(x))
        if kind == "branch":
            return jnp.sin(lax.cond(x > 0, jnp.sin, jnp.cos, x))
        step = lambda i, c: (c[0] * jnp.sin(c[1]), jnp.where(c[0] > 0.5, c[0], c[1]))
        first, second = lax.fori_loop(0, 3, step, (x, x))
        return jnp.sin(first) * second

    @mj.custom_jvp
    def f(x):
        return twin(x)

    @f.defjvp
    def _(primals, tangents):
        return f(*primals), mj.jvp(twin, primals, tangents)[1]

    assert np.allclose(mj.grad(f)(0.7), mj.grad(twin)(0.7))
    assert np.allclose(mj.jit(mj.grad(f))(0.7), mj.grad(twin)(0.7))
    assert np.allclose(mj.grad(mj.grad(f))(0.7), mj.grad(mj.grad(twin))(0.7))


def rule_reads(y):
    """2x, with a rule that alone reads the value `y` of its closure."""
    doubled = mj.custom_jvp(lambda x: 2 * x)
    doubled.defjvp(lambda p, t: (doubled(*p), y * t[0]))
    return doubled


def with_argument(y):
    """The same of a rule that gets `y` as an argument without derivative."""
    times = mj.custom_jvp(lambda y, x: 2 * x, nondiff_argnums=(0,))
    times.defjvp(lambda y, p, t: (times(y, *p), y * t[0]))
    return lambda x: times(y, x)


@pytest.mark.parametrize("make", [rule_reads, with_argument])
def test_rules_that_read_a_value_that_has_ended(make):
    for run in (
        lambda: mj.grad(mj.jit(lambda y, x: make(y)(x)), 1)(2.0, 3.0),
        lambda: mj.grad(mj.checkpoint(lambda x, y: make(y)(x)))(3.0, 2.0),
    ):
        with pytest.raises(
            mj.errors.UnexpectedTracerError, match="closes over this value, or got it"
        ):
            run()
    slope = mj.vmap(lambda y, x: mj.grad(make(y))(x))(jnp.arange(3.0), jnp.ones(3))
    assert slope.tolist() == [0, 1, 2]


@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit, mj.vmap])
def test_rules_that_call_functions_with_rules_inside_of_loops(wrap):
    def nested(y):
        inner = mj.custom_jvp(lambda x: x * y)
        inner.defjvp(lambda p, t: (inner(*p), 10 * y * t[0]))
        outer = mj.custom_jvp(lambda x: inner(x) + y)
        outer.defjvp(lambda p, t: (outer(*p), 3 * mj.jvp(inner, p, t)[1]))
        return outer

    def slope(y):
        steps = lambda x: lax.scan(lambda c, _: (nested(y)(c), None), x, None, 2)[0]
        return mj.grad(lambda x: steps(x).sum())(y)

    y = jnp.arange(1.0, 4.0)
    np.testing.assert_allclose(wrap(slope)(y), (30 * y) ** 2)
