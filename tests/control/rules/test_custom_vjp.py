"""`custom_vjp`: rules, what they are given, what they may close over, and messages."""

from functools import partial

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.custom_derivatives import SymbolicZero

float0 = mj.dtypes.float0


def with_rules(fun, fwd, bwd, **options):
    f = mj.custom_vjp(fun)
    f.defvjp(fwd, bwd, **options)
    return f


def scaled_sin(**options):
    f = mj.custom_vjp(lambda x, y: jnp.sin(x) * y)
    f.defvjp(
        lambda x, y: (f(x, y), (x, y)),
        lambda r, g: (10 * jnp.cos(r[0]) * g * r[1], 100 * jnp.sin(r[0]) * g),
        **options,
    )
    return f


@pytest.mark.parametrize("options", [{}, {"optimize_remat": True}])
@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit, mj.checkpoint])
def test_the_rules_are_heard(wrap, options):
    f = wrap(scaled_sin(**options))
    dx, dy = mj.grad(f, (0, 1))(1.0, 2.0)
    np.testing.assert_allclose([dx, dy], [20 * np.cos(1), 100 * np.sin(1)], rtol=1e-6)
    lanes = mj.vmap(mj.grad(f), (0, None))(jnp.arange(3.0), 2.0)
    np.testing.assert_allclose(lanes, 20 * np.cos(np.arange(3)), rtol=1e-5)
    # An argument that the lanes share gets the sum of their cotangents.
    total = mj.grad(lambda x: mj.vmap(f, (None, 0))(x, jnp.arange(3.0)).sum())(1.0)
    np.testing.assert_allclose(total, 30 * np.cos(1), rtol=1e-5)


def test_higher_orders_and_other_rules_inside():
    f = with_rules(jnp.sin, lambda x: (f(x), x), lambda x, g: (g * jnp.cos(x) * 2,))
    for d in (mj.grad(mj.grad(f)), mj.jit(mj.grad(mj.grad(f))), mj.jacrev(mj.jacrev(f))):
        np.testing.assert_allclose(d(1.0), -2 * np.sin(1), rtol=1e-6)
    g = with_rules(f, lambda x: mj.vjp(f, x), lambda pull, ct: pull(ct))
    for d in (mj.grad(g), mj.grad(mj.jit(g)), lambda x: mj.vmap(mj.grad(g))(x[None])[0]):
        np.testing.assert_allclose(d(jnp.float32(1)), 2 * np.cos(1), rtol=1e-6)


@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit, mj.vmap])
def test_no_forward_mode(wrap):
    rule = with_rules(jnp.sin, lambda x: (rule(x), x), lambda x, g: (g,))
    f = wrap(rule)
    x = jnp.ones(2)
    _, push = mj.linearize(f, x)  # the linear part itself may be asked for
    for call in (
        lambda: mj.jvp(f, (x,), (x,)),
        lambda: mj.jacfwd(f)(x),
        lambda: mj.hessian(lambda x: f(x).sum())(x),
        lambda: push(x),
    ):
        with pytest.raises(
            TypeError,
            match=r"can't apply forward-mode autodiff \(jvp\) to a custom_vjp function\.",
        ):
            call()


def test_the_linear_part_prints():
    f = scaled_sin()
    text = str(mj.make_jaxpr(lambda x: mj.jvp(lambda y: f(x, y), (x,), (x,)))(1.0))
    assert (
        "custom_lin[\n"
        "      bwd=<lambda>\n"
        "      in_zeros=[True, False]\n"
        "      num_res=2\n"
        "      symbolic_zeros=False\n"
        "    ]" in text
    )


@pytest.mark.parametrize(
    "fwd, bwd, error, words",
    [
        (
            lambda x: x,
            None,
            TypeError,
            "must produce a pair (list or tuple of length two) where the first element"
            " represents the primal output (equal to those of the custom_vjp-decorated"
            " function square)",
        ),
        (lambda x: (x, x, x), None, TypeError, "but instead of a pair the fwd rule"),
        (lambda x: (x, "text"), None, TypeError, "'text' of type <class 'str'> is not a"),
        (
            None,
            lambda r, g: g,
            TypeError,
            "Custom VJP bwd rule must produce an output with the same container (pytree)"
            " structure as the args tuple of the primal function, and in particular must"
            " produce a tuple of length equal to the number of arguments to the primal"
            " function, but got bwd output structure PyTreeDef(*) for primal input structure"
            " PyTreeDef((*,)).",
        ),
        (None, lambda r, g: (g, g), TypeError, "structure PyTreeDef((*, *)) for primal"),
        (None, lambda r, g: ((g,),), TypeError, "structure PyTreeDef(((*,),)) for primal"),
        (None, lambda r, g: None, TypeError, "structure PyTreeDef(None) for primal"),
        (
            None,
            lambda r, g: (jnp.ones(2),),
            ValueError,
            "Custom VJP bwd rule must produce an output with the same type as the args tuple"
            " of the primal function, but at output[0] the bwd rule produced an output of"
            " type float32[2] corresponding to an input of type float32[], so the shapes do"
            " not match",
        ),
        (None, lambda r, g: (g * 1j,), ValueError, "so the dtypes do not match"),
        (None, lambda r, g: ("text",), TypeError, "'text' of type <class 'str'> is not a"),
    ],
)
def test_invalid_results_of_rules(fwd, bwd, error, words):
    def square(x):
        return x**2

    f = with_rules(square, fwd or (lambda x: (x**2, x)), bwd or (lambda x, g: (2 * x * g,)))
    for d in (mj.grad(f), mj.jit(mj.grad(f)), mj.grad(mj.jit(f)), mj.grad(mj.checkpoint(f))):
        with pytest.raises(error) as e:
            d(1.0)
        assert words in str(e.value)


@pytest.mark.parametrize(
    "out, words",
    [
        ((1.0,), "structure:\n    PyTreeDef((*,))\nwhile the custom_vjp-decorated"),
        (np.ones(3, np.float32), "shapes/dtypes of:\n    float32[3]\nwhile the custom"),
        (np.int32(1), "shapes/dtypes of:\n    int32[]\nwhile the custom_vjp-decorated"),
    ],
)
def test_fwd_returns_the_functions_result(out, words):
    f = with_rules(lambda x: x, lambda x: (out, None), lambda r, g: (g,))
    with pytest.raises(TypeError) as e:
        mj.grad(mj.jit(f))(1.0)  # the function has run, so the type of its result is known
    assert words in str(e.value)
    assert "(i.e. values stored from the forward pass" in str(e.value)


@pytest.mark.parametrize(
    "bwd, expected",
    [
        (lambda r, g: ({"a": g, "b": None}, g), ({"a": 1, "b": 0}, 1)),
        (lambda r, g: (None, g), ({"a": 0, "b": 0}, 1)),
        (lambda r, g: (None, None), ({"a": 0, "b": 0}, 0)),
        (lambda r, g: (g, 2.0), ({"a": 1, "b": 1}, 2)),  # a prefix stands for a tree
        (lambda r, g: [g, jnp.bfloat16(2)], ({"a": 1, "b": 1}, 2)),
    ],
)
def test_cotangents_that_are_short_for_others(bwd, expected):
    f = with_rules(lambda d, x: d["a"] * x, lambda d, x: (d["a"] * x, None), bwd)
    for d in (mj.grad(f, (0, 1)), mj.jit(mj.grad(f, (0, 1)))):
        got = d({"a": 1.0, "b": 2.0}, 3.0)
        assert got == expected
        assert {x.dtype for x in mj.tree.leaves(got)} == {np.dtype("float32")}


def test_integers_keys_and_float0():
    seen = []

    def bwd(r, g):
        seen.append((g[1].dtype, g[1].shape))
        key, n = r
        return None, np.zeros((), float0), g[0] * n * mj.random.uniform(key)

    f = with_rules(lambda key, n, x: (n * x, n), lambda key, n, x: ((n * x, n), (key, n)), bwd)
    key = mj.random.key(0)
    expected = 3 * mj.random.uniform(key)
    d = mj.grad(lambda k, n, x: f(k, n, x)[0], 2)
    assert d(key, 3, 1.0) == mj.jit(d)(key, 3, 1.0) == expected
    lanes = mj.vmap(d, (0, 0, None))(mj.random.split(key, 2), jnp.arange(2), 1.0)
    assert lanes[0] == 0 and lanes.shape == (2,)
    assert set(seen) == {(float0, ())}
    both = mj.grad(lambda n, x: f(key, n, x)[0], (0, 1), allow_int=True)(3, 1.0)
    assert both[0].dtype == float0 and both[1] == expected
    # A rule's result for an integer is not a derivative.
    g = with_rules(lambda n, x: n * x, lambda n, x: (n * x, n), lambda n, g: (n, n * g))
    assert mj.grad(g, 1)(3, 1.0) == 3


def test_rules_get_arrays():
    """A cotangent is asked for its dtype and shape even where it is the number 1."""
    f = with_rules(
        lambda x: 2 * x,
        lambda x: (2 * x, None),
        lambda r, g: (g.astype(g.dtype).reshape(g.shape) * 5,),
    )
    for d in (mj.grad(f), mj.jit(mj.grad(f)), mj.checkpoint(mj.grad(f))):
        assert d(1.0) == 5
    assert mj.vjp(f, 1.0)[1](1.0) == (5,)
    assert " 1.0:f32[]" in str(mj.make_jaxpr(mj.grad(f))(1.0))


def test_constants_in_rules_are_no_tangents():
    """A number made in a rule belongs to the value, not to the linear part."""
    f = with_rules(
        lambda x: x, lambda x: (jnp.float32(2), jnp.float32(3)), lambda r, g: (r * g,)
    )
    out, pull = mj.vjp(f, jnp.float32(1))
    assert out == 2 and pull(jnp.float32(1)) == (3,)
    assert mj.grad(lambda x: f(x) * x)(jnp.float32(1)) == 5


def test_nondiff_arguments():
    seen = []

    @partial(mj.custom_vjp, nondiff_argnums=(2,), nondiff_argnames=("g",))
    def f(g, x, k):
        return g(x) * k

    def bwd(g, k, r, ct):
        seen.append(k)
        return (7 * k * ct,)

    f.defvjp(lambda g, x, k: (f(g, x, k), x), bwd)
    assert mj.grad(f, 1)(jnp.sin, 1.0, 2) == 14
    assert mj.jit(mj.grad(lambda x: f(jnp.sin, x, k=2)))(1.0) == 14
    assert mj.vmap(mj.grad(lambda x: f(jnp.sin, x, k=2)))(jnp.ones(2)).tolist() == [14, 14]
    assert seen == [2] * 3
    for call in (
        lambda: mj.jit(lambda k: f(jnp.sin, 1.0, k))(2.0),
        lambda: mj.grad(lambda k: f(jnp.sin, 1.0, k))(2.0),
        lambda: mj.vmap(lambda k: f(jnp.sin, 1.0, k))(jnp.ones(2)),
    ):
        with pytest.raises(
            mj.errors.UnexpectedTracerError,
            match="Found a JAX Tracer object passed as an argument to a custom_vjp function"
            " in a position indicated by nondiff_argnums as non-differentiable",
        ):
            call()


@pytest.mark.parametrize(
    "args, kwargs, words",
    [
        ((1.0,), {}, "missing a required argument: 'y'"),
        ((1.0, 2.0), {"k": 3.0}, "could not be resolved to positions: k"),
    ],
)
def test_unbound_arguments(args, kwargs, words):
    f = with_rules(lambda x, y, *, k=2.0: x * k, lambda x, y: (x, x), lambda r, g: (g, g))
    assert f(1.0, y=2.0) == 2
    with pytest.raises(TypeError, match="to the custom_vjp-decorated function") as e:
        f(*args, **kwargs)
    assert words in str(e.value)
    with pytest.raises(AttributeError, match="No VJP defined for custom_vjp function"):
        mj.custom_vjp(lambda x: x)(1.0)


def test_symbolic_zeros():
    seen = []

    def fwd(x, y):
        seen.append((x.perturbed, y.perturbed))
        return (x.value * y.value, x.value + y.value), (x.value, y.value)

    def bwd(r, cts):
        seen.append(tuple(type(ct) is SymbolicZero for ct in cts))
        return (cts[1] if type(cts[0]) is SymbolicZero else 5 * r[1], cts[0])

    f = with_rules(lambda x, y: (x * y, x + y), fwd, bwd, symbolic_zeros=True)
    for wrap in (lambda f: f, mj.jit, mj.checkpoint):
        seen.clear()
        assert mj.grad(wrap(lambda x: f(x, 3.0)[0]))(2.0) == 15
        assert mj.grad(wrap(lambda x: f(x, 3.0)[1]))(2.0) == 1
        assert mj.vmap(mj.grad(wrap(lambda x: f(x, 3.0)[0])))(jnp.ones(2)).tolist() == [15] * 2
        one = [(True, False), (False, True)]
        assert seen == [*one, (True, False), (True, False), *one]
    assert mj.grad(lambda y: f(2.0, y)[1])(3.0) == 0  # a symbolic zero may be given back


def closing(y, recursive=True):
    """A function and rules that close over a value."""

    @mj.custom_vjp
    def f(x):
        return x * y

    f.defvjp(lambda x: (f(x) if recursive else x * y, x), lambda x, g: (100 * jnp.sin(y) * g,))
    return f


@pytest.mark.parametrize("recursive", [True, False])
def test_closures_over_what_is_staged_or_mapped(recursive):
    def value(y):
        return closing(y, recursive)(3.0)

    def slope(y):
        return mj.grad(closing(y, recursive))(3.0)

    def looped(y):
        return mj.grad(
            lambda x: lax.scan(lambda c, _: (closing(y, recursive)(c), c), x, None, 2)[0]
        )(1.0)

    def later(y):
        return mj.grad(mj.jit(lambda x: closing(y, recursive)(x)))(3.0)

    ys = jnp.arange(3.0)
    expected = 100 * np.sin(np.arange(3))
    for fun, right in (
        (value, 3 * np.arange(3)),
        (slope, expected),
        (looped, expected**2),
        (later, expected),
    ):
        for wrap in (lambda f: f, mj.jit, mj.checkpoint):
            got = [wrap(fun)(y) for y in ys]
            np.testing.assert_allclose(got, right, rtol=1e-5)
            np.testing.assert_allclose(mj.vmap(wrap(fun))(ys), right, rtol=1e-5)
            np.testing.assert_allclose(wrap(mj.vmap(fun))(ys), right, rtol=1e-5)


def test_second_derivatives_of_closures_hear_the_rule():
    def twice(y):
        return mj.grad(mj.jit(mj.grad(lambda x: closing(y)(x) ** 2)))(3.0)

    # d/dx 2 f(x) f'(x), where f' = 100 sin(y) by the rule
    expected = 2 * (100 * np.sin(2.0)) ** 2
    np.testing.assert_allclose(mj.jit(twice)(2.0), expected, rtol=1e-5)
    np.testing.assert_allclose(twice(2.0), expected, rtol=1e-5)


def test_closures_over_what_is_differentiated():
    with pytest.raises(mj.errors.UnexpectedTracerError, match="closes over"):
        mj.grad(lambda y: closing(y)(3.0))(2.0)
    with pytest.raises(
        mj.errors.UnexpectedTracerError,
        match="Detected differentiation of a custom_vjp function with respect to a"
        " closed-over value",
    ):
        mj.grad(mj.jit(lambda y: closing(y)(3.0)))(2.0)
    # A value that is held fixed may be closed over.
    held = mj.jit(lambda y: closing(lax.stop_gradient(y))(y))
    np.testing.assert_allclose(mj.grad(held)(2.0), 100 * np.sin(2), rtol=1e-6)


def test_bwd_alone_may_close_over_what_is_differentiated():
    def slope(y):
        f = with_rules(lambda x: 2 * x, lambda x: (2 * x, None), lambda r, g: (g * y**2,))
        return mj.grad(f)(3.0)

    for d in (mj.grad(slope), mj.jit(mj.grad(slope)), mj.grad(mj.jit(slope))):
        assert d(5.0) == 10


def test_residual_trees_and_collectives():
    f = with_rules(
        lambda x: 2 * x,
        lambda x: (2 * x, {"x": x, "none": None, "n": 3, "np": np.arange(3)}),
        lambda r, g: (g * r["n"] + r["np"].sum(),),
    )
    assert mj.grad(f)(1.0) == mj.jit(mj.grad(f))(1.0) == 6
    total = with_rules(
        lambda x: lax.psum(x, "i"),
        lambda x: (lax.psum(x, "i"), None),
        lambda r, g: (lax.psum(g, "i"),),
    )
    for over in (mj.vmap, mj.pmap):
        assert over(mj.grad(total), axis_name="i")(jnp.arange(3.0)).tolist() == [3] * 3
    lanes = mj.vmap(total, axis_name="i")
    assert mj.grad(lambda x: lanes(x).sum())(jnp.ones(3)).tolist() == [3] * 3


def test_unhashable_and_methods():
    class Scale:
        k = 3.0

        @partial(mj.custom_vjp, nondiff_argnums=(0, 2))
        def apply(self, x, powers):
            return self.k * x

        apply.defvjp(
            lambda self, x, powers: (self.apply(x, powers), x),
            lambda self, powers, r, g: (g * self.k * len(powers),),
        )

    assert mj.grad(Scale().apply)(1.0, [1, 2]) == 6
    assert mj.jit(lambda x: mj.grad(Scale().apply)(x, [1, 2]))(1.0) == 6
    assert Scale.apply.__name__ == "apply"


def test_what_rules_evaluate_is_staged_elsewhere():
    """A call that a rule of eager `grad` evaluates is an equation where one is staged."""
    halve = mj.jit(lambda x: x / 2)
    f = with_rules(halve, lambda x: (f(x), x), lambda x, g: (g,))
    outer = with_rules(f, lambda x: mj.vjp(f, x), lambda pull, ct: pull(ct))
    x = jnp.float32(1)
    assert mj.grad(outer)(x) == 1
    assert "div" in str(mj.make_jaxpr(lambda: halve(x))())


def test_forward_mode_works_if_its_result_is_unused():
    """The value of f is not read, and its derivative is dead code in a program."""

    @mj.custom_vjp
    def f(x):
        return jnp.sin(x)

    f.defvjp(lambda x: (f(x), x), lambda x, g: (jnp.cos(x) * g,))
    second = mj.jit(lambda x: mj.jvp(mj.grad(f), (x,), (1.0,)))(1.0)
    np.testing.assert_allclose(second, (np.cos(1.0), -np.sin(1.0)), rtol=1e-6)
    np.testing.assert_allclose(mj.jit(mj.hessian(f))(1.0), -np.sin(1.0), rtol=1e-6)
    inner = mj.jit(mj.jit(lambda x: mj.jvp(f, (x,), (1.0,))))
    for wrong in (inner, lambda x: mj.jvp(f, (x,), (1.0,)), mj.hessian(f)):
        with pytest.raises(TypeError, match="can't apply forward-mode autodiff") as e:
            wrong(1.0)
        assert type(e.value) is TypeError


LANES = {
    "grad vmap": lambda f, x: mj.grad(lambda x: mj.vmap(f, (0, None))(x, 3.0).sum())(x),
    "jit grad vmap": lambda f, x: mj.jit(
        mj.grad(lambda x: mj.vmap(f, (0, None))(x, 3.0).sum())
    )(x),
    "grad vmap jit": lambda f, x: mj.grad(
        lambda x: mj.vmap(mj.jit(f), (0, None))(x, 3.0).sum()
    )(x),
    "vmap vmap": lambda f, x: mj.grad(
        lambda x: mj.vmap(mj.vmap(f, (0, None)), (0, None))(x, 3.0).sum()
    )(x[None])[0],
    "scan": lambda f, x: mj.grad(
        lambda x: lax.scan(lambda c, _: (mj.vmap(f, (0, None))(c, 3.0), None), x, None, 1)[
            0
        ].sum()
    )(x),
}


@pytest.mark.parametrize("symbolic", [True, False])
@pytest.mark.parametrize("over", LANES.values(), ids=LANES)
def test_python_numbers_stay_such_among_residuals(over, symbolic):
    seen = []

    def fwd(x, y):
        if not symbolic:
            return x * y, (x, y, True, False, 3)
        x, moves, y, fixed = x.value, x.perturbed, y.value, y.perturbed
        return x * y, (x, y, moves, fixed, 3)

    def bwd(res, ct):
        x, y, moves, fixed, three = res
        seen.append((moves, fixed, three))
        zero = jnp.zeros_like
        return (ct * y if moves else zero(x)), (ct * x if fixed else zero(y))

    f = with_rules(lambda x, y: x * y, fwd, bwd, symbolic_zeros=symbolic)
    np.testing.assert_array_equal(over(f, jnp.arange(3.0)), 3.0)
    assert set(seen) == {(True, False, 3)}


def test_shared_arguments_of_lanes_whose_rule_takes_only_numbers():
    # Each lane has a cotangent for the shared argument; they are added.
    f = with_rules(
        lambda x, y: (x, y), lambda x, y: ((x, y), 2), lambda two, cts: (cts[0], two * 1.0)
    )
    slope = mj.grad(lambda y: mj.vmap(f, (0, None))(jnp.zeros(3), y)[0].sum())
    assert slope(1.0) == 6.0


# ------------------------------------------------------- rules that hand on more: flax.fp8


@mj.custom_vjp
def counting(x, seen):
    """The identity, whose rule gives for a cotangent of `seen` what is to follow it."""
    return x * 1.0


counting.defvjp(lambda x, seen: (x * 1.0, seen), lambda seen, g: (g, seen + 10.0))


@mj.custom_vjp
def without_first(x, y):
    return x + y


without_first.defvjp(lambda x, y: (x + y, None), lambda res, g: (None, g))

THROUGH_NONE = {  # recorded from JAX 0.10.2
    "at once": (lambda x, s: without_first(counting(x, s), x), (1.0, 12.0)),
    "twice": (lambda x, s: without_first(counting(counting(x, s), s), x), (1.0, 24.0)),
    "in scan": (
        lambda x, s: lax.scan(
            lambda c, _: (without_first(counting(c, s), c), None), x, None, length=2
        )[0],
        (1.0, 24.0),
    ),
    "in remat": (
        lambda x, s: mj.checkpoint(lambda x: without_first(counting(x, s), x))(x),
        (1.0, 12.0),
    ),
    "unused": (lambda x, s: (counting(x, s), x * 1.0)[1], (1.0, 0.0)),
    "stopped": (lambda x, s: lax.stop_gradient(counting(x, s)) + x, (1.0, 0.0)),
}


@pytest.mark.parametrize("name", THROUGH_NONE)
def test_none_is_an_array_of_zeros_for_the_rules_before(name):
    f, expected = THROUGH_NONE[name]
    assert tuple(map(float, mj.grad(f, (0, 1))(1.0, 2.0))) == expected
    assert tuple(map(float, mj.jit(mj.grad(f, (0, 1)))(1.0, 2.0))) == expected


def test_a_cotangent_of_float0_is_zero():
    f = mj.custom_vjp(lambda x: x * 2.0)
    f.defvjp(lambda x: (f(x), None), lambda _, ct: (np.zeros((), mj.dtypes.float0),))
    assert mj.grad(lambda x: f(x) + x)(1.0) == 1.0
    f.defvjp(lambda x: (f(x), None), lambda _, ct: (np.zeros(2, mj.dtypes.float0),))
    with pytest.raises(ValueError, match="same type as the args tuple"):
        mj.grad(f)(1.0)


def rule_reads(y, fwd=False):
    """2x, with a rule that alone reads the value `y` of its closure."""

    @mj.custom_vjp
    def doubled(x):
        return 2 * x

    def forward(x):
        return doubled(x), y * 1.0 if fwd else None

    doubled.defvjp(forward, lambda y_or_none, g: ((y_or_none if fwd else y) * g,))
    return doubled


READERS = {
    "grad of jit": lambda f: mj.grad(mj.jit(lambda y, x: f(y)(x)), 1)(2.0, 3.0),
    "grad of both": lambda f: mj.grad(lambda y: f(y)(y))(2.0),
    "scan": lambda f: mj.grad(
        lambda x: lax.scan(lambda c, y: (f(y)(c), None), x, jnp.ones(3))[0]
    )(1.0),
    "checkpoint": lambda f: mj.grad(mj.checkpoint(lambda x, y: f(y)(x)))(3.0, 2.0),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("fwd", [False, True])
def test_rules_that_read_a_value_that_has_ended(name, fwd):
    with pytest.raises(
        mj.errors.UnexpectedTracerError, match=r"custom derivative rule.* closes over"
    ):
        READERS[name](lambda y: rule_reads(y, fwd))


@pytest.mark.parametrize("fwd", [False, True])
def test_rules_in_branches_that_read_a_value_around_them(fwd):
    def slope(y):
        rule = rule_reads(y, fwd)
        return mj.grad(lambda x: lax.cond(x > 0, rule, lambda x: x, x))(3.0)

    assert mj.jit(slope)(2.0) == 2.0


@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit])
def test_arguments_that_are_integers_alone(wrap):
    @mj.custom_vjp
    def halved(n):
        return n / 2

    halved.defvjp(lambda n: (n / 2, None), lambda _, g: (None,))
    n, zeros = jnp.arange(3), np.zeros(3, mj.dtypes.float0)
    out, back = mj.vjp(wrap(halved), n)
    assert out.tolist() == [0, 0.5, 1]
    assert back(out)[0].dtype == mj.dtypes.float0
    assert mj.linearize(wrap(halved), n)[1](zeros).tolist() == [0, 0, 0]
