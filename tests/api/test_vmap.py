"""vmap: messages, float0, what it looks like inside, and everything that holds functions
under it, lane by lane.  Its values against JAX are in tests/parity/values/maps.py."""

from functools import partial

import numpy as np
import pytest

import minijax as jax
from minijax import lax
from minijax import numpy as jnp
from minijax.custom_batching import custom_vmap, sequential_vmap

A = jnp.arange(12.0).reshape(3, 4) / 10
x3 = jnp.arange(3.0)
flags = jnp.array([True, False, True])
vmap = jax.vmap


def identity(x):
    return x


# ------------------------------------------------------------------------------ messages


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: vmap(identity, in_axes={"a": 0})({"a": A}), TypeError,
         r"tuple of entries corresponding(.|\n)*but got \{'a': 0\}"),
        (lambda: vmap(identity, in_axes="a"), TypeError, "but got a"),
        (lambda: vmap(identity, in_axes=(0.0,)), TypeError,
         r"int, None, or \(nested\) container with those types as leaves, but got \(0.0,"),
        (lambda: vmap(identity, out_axes=0.5), TypeError, r"out_axes must be .* got 0.5"),
        (lambda: vmap(identity, out_axes=None)(A), ValueError,
         "at vmap out_axes, got axis spec None but output was batched on axis 0"),
        (lambda: vmap(lambda x: (x, {"k": [x]}), out_axes=(0, None))(A), ValueError,
         r"at vmap out_axes\[1\]\['k'\]\[0\], got axis spec None"),
        (lambda: vmap(identity, out_axes=2)(A), ValueError,
         "axis 2 is out of bounds for array of dimension 2"),
        (lambda: vmap(lambda x: 1.0, out_axes=1)(A), ValueError,
         "axis 1 is out of bounds for array of dimension 1"),
        (lambda: vmap(identity, in_axes=2)(A), ValueError,
         r"along axis 2, which implies that its rank should be at least 3, but is only 2"
         r" \(its shape is \(3, 4\)\)(.|\n)*Which: x\n"),
        (lambda: vmap(lambda x, y: x)(A, y=1.0), ValueError, r"only 0(.|\n)*Which: y\n"),
        (lambda: vmap(lambda x, y: x, in_axes=(0,))(A, A), ValueError,
         r"len\(in_axes\)=1, len\(args\)=2"),
        (lambda: vmap(identity, in_axes=((0, 0),))((A, A, A)), ValueError,
         r"vmap in_axes specification must be a tree prefix of the corresponding value"
         r"(.|\n)*vmap in_axes\[0\] is a tuple of length 2"),
        (lambda: vmap(lambda x: (x, x), out_axes=(0, 0, 0))(A), ValueError,
         "vmap out_axes specification must be a tree prefix of the corresponding value"),
        (lambda: vmap(lambda: 1.0)(), ValueError,
         "or axis_size must be specified, got empty"),
        (lambda: vmap(identity, in_axes=None)(1.0), ValueError,
         "at least one non-None value in in_axes or axis_size must be specified"),
        (lambda: vmap(lambda x, y: x)(A, "abc"), TypeError,
         r"Argument 'abc' of type <class 'str'> is not a valid JAX type(.|\n)*Which: y\n"),
        (lambda: vmap(lambda x: "a")(A), TypeError,
         "Output from batched function 'a' with type <class 'str'> is not a valid JAX"),
        (lambda: vmap(lambda x: "a", out_axes=None)(A), TypeError, "Output from batched"),
    ],
)  # fmt: skip
def test_messages(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize(
    "call, lines",
    [
        (
            lambda: vmap(lambda x, y: x)(A, jnp.ones(4)),
            [
                "one axis had size 3: axis 0 of argument x of type float32[3,4];",
                "one axis had size 4: axis 0 of argument y of type float32[4]",
            ],
        ),
        (
            lambda: vmap(lambda x, d: x)(A, d={"w": jnp.ones(4), "b": jnp.ones(3)}),
            [
                "most axes (2 of them) had size 3, e.g. axis 0 of argument x of type"
                " float32[3,4];",
                "one axis had size 4: axis 0 of argument d['w'] of type float32[4]",
            ],
        ),
        (
            lambda: vmap(lambda a: a)([jnp.ones(i) for i in (5, 3, 3, 4, 4, 3)]),
            [
                "most axes (3 of them) had size 3, e.g. axis 0 of argument a[1] of type"
                " float32[3];",
                "some axes (2 of them) had size 4, e.g. axis 0 of argument a[3] of type"
                " float32[4];",
                "one axis had size 5: axis 0 of argument a[0] of type float32[5]",
            ],
        ),
        (
            lambda: vmap(identity, axis_size=4)(A),
            [
                "the `axis_size` argument was 4;",
                "one axis had size 3: axis 0 of argument x of type float32[3,4]",
            ],
        ),
    ],
)
def test_sizes_that_differ_are_listed(call, lines):
    with pytest.raises(ValueError) as e:
        call()
    message_lines = str(e.value).splitlines()
    assert message_lines[0] == "vmap got inconsistent sizes for array axes to be mapped:"
    assert message_lines[1 : 1 + len(lines)] == [f"  * {line}" for line in lines]
    assert message_lines[1 + len(lines)].startswith("Where: ")


def test_a_lane_as_text():
    seen = []
    vmap(lambda x: seen.append(repr(x)))(A)
    assert seen == ["VmapTracer(aval=float32[4], batched=float32[3,4])"]


def test_missing_rules_have_jax_words():
    from minijax.ir.core import Primitive

    p = Primitive("no_rules_at_all")
    p.abstract = identity
    for call, words in (
        (lambda: vmap(p.bind)(x3), "Batching rule for 'no_rules_at_all' not implemented"),
        (lambda: jax.jvp(p.bind, (1.0,), (1.0,)), "Differentiation rule for 'no_rules"),
        (lambda: jax.linear_transpose(lambda x: lax.pmax(x, "i"), 1.0), "unbound axis"),
    ):
        with pytest.raises((NotImplementedError, NameError), match=words):
            call()
    lanes = vmap(lambda x: lax.pmax(x, "i"), axis_name="i")
    with pytest.raises(
        NotImplementedError,
        match=r"Transpose rule \(for reverse-mode differentiation\) for 'pmax'",
    ):
        jax.linear_transpose(lanes, x3)(x3)


# -------------------------------------------------------------------------------- float0


def test_float0_stays_float0():
    zeros = np.zeros((3,), jax.float0)
    shared, _ = vmap(lambda t, x: (t, x), (None, 0))(zeros, A)
    assert (shared.dtype, shared.shape) == (jax.float0, (3, 3))
    for made in (
        vmap(lambda i: jax.vjp(lambda i: i * 1.0, i)[1](1.0)[0])(jnp.arange(3)),
        vmap(jax.grad(lambda i: i * 1.0, allow_int=True))(jnp.arange(3)),
        vmap(lambda i, t: jax.jvp(identity, (i,), (t,))[1])(jnp.arange(3), zeros),
        jax.jit(identity)(zeros),
        jnp.asarray(zeros),
        jax.device_put(zeros, jax.devices()[1]),
        lax.scan(lambda c, i: (c, jax.vjp(lambda i: i * c, i)[1](1.0)), 1.0, jnp.arange(3))[1][
            0
        ],
    ):
        assert (made.dtype, made.shape) == (jax.float0, (3,))
        assert np.asarray(made).dtype == jax.float0
    assert vmap(lambda t: t[None])(zeros).shape == (3, 1)
    assert jnp.zeros((2,), jax.float0).dtype == jax.float0


# ------------------------------------------------------- what holds functions, by lanes


@jax.custom_jvp
def scaled(x, y):
    return x * y


scaled.defjvp(lambda p, t: (scaled(*p), 3 * t[0] + t[1]))


@jax.custom_vjp
def clipped(x, y):
    return x * y


clipped.defvjp(lambda x, y: (clipped(x, y), (x, y)), lambda r, g: (g * r[0], g * 7))
f32 = jax.ShapeDtypeStruct((), jnp.float32)


def on_host(x, how):
    return jax.pure_callback(lambda a: np.asarray(a) * 2, f32, x, vmap_method=how)


LANES = {
    "cond": (lambda p, x: lax.cond(p, jnp.sin, lambda x: x**2, x), flags, x3),
    "cond grad": (jax.grad(lambda x, p: lax.cond(p, jnp.sin, lambda x: x**2, x)), x3, flags),
    "switch": (
        lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.tan], x),
        jnp.array([0, 5, -2]),
        x3,
    ),
    "while": (lambda x: lax.while_loop(lambda c: c < 5, lambda c: c + 2, x), x3),
    "while carry": (
        lambda n: lax.while_loop(
            lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2, c[2]), (0, 1.0, 3.0)
        ),
        jnp.arange(3),
    ),
    "fori": (lambda n, x: lax.fori_loop(0, n, lambda i, c: c * 2 + i, x), jnp.arange(3), x3),
    "fori grad": (jax.grad(lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) + i, x)), x3),
    "scan": (lambda a: lax.scan(lambda c, x: (c + x, c * x), 0.0, a, reverse=True), A),
    "scan carry": (lambda x: lax.scan(lambda c, a: (c * a, (c, a)), x, jnp.arange(4.0)), x3),
    "scan grad": (jax.grad(lambda a: lax.scan(lambda c, x: (jnp.sin(c + x), c), 0.0, a)[0]), A),
    "map": (lambda a: lax.map(jnp.sin, a, batch_size=3), A),
    "associative_scan": (lambda a: lax.associative_scan(jnp.multiply, a), A),
    "remat": (jax.grad(jax.checkpoint(lambda a: jnp.sin(jnp.sin(a)).sum())), A),
    "custom_jvp": (jax.value_and_grad(lambda x: scaled(x, 2.0)), x3),
    "custom_vjp": (jax.value_and_grad(lambda x: clipped(x, 2.0)), x3),
    "custom_vjp, both": (jax.grad(clipped, (0, 1)), x3, x3 + 1),
    "jit": (jax.jit(lambda x, y: x @ y), A, A),
    "callback": (lambda x: on_host(x, "sequential"), x3),
    "callback, all": (lambda x: on_host(x, "expand_dims"), x3),
    "linear_solve": (
        jax.grad(
            lambda b: lax.custom_linear_solve(
                lambda x: 2 * x, b, lambda mv, b: b / 2, symmetric=True
            ).sum()
        ),
        A,
    ),
    "root": (
        jax.grad(
            lambda a: lax.custom_root(
                lambda x: x**2 - a,
                1.0,
                lambda f, x: lax.fori_loop(0, 20, lambda i, x: x - f(x) / (2 * x), x),
                lambda g, y: y / g(1.0),
            )
        ),
        x3 + 1,
    ),
    "reduce": (lambda a: lax.reduce(a, 1.0, lambda x, y: x * y + y, (0,)), A),
    "hessian": (jax.hessian(lambda x: jnp.sin(x).prod()), A),
    "linear_transpose": (lambda x: jax.linear_transpose(lambda y: y * x, 1.0)(2.0), x3),
    "eval_shape": (lambda x: jnp.zeros(jax.eval_shape(jnp.outer, x, x).shape) + x, A),
    "named": (jax.named_call(jnp.sin, name="wave"), x3),
    "random": (
        lambda k: (jax.random.uniform(k), jax.random.permutation(k, 4)),
        jax.random.split(jax.random.key(1), 3),
    ),
}


@pytest.mark.parametrize("name", LANES)
def test_each_lane_as_if_it_were_alone(name):
    fun, *args = LANES[name]
    one_by_one = [fun(*(a[i] for a in args)) for i in range(3)]
    expected = jax.tree.map(lambda *rows: np.stack(rows), *one_by_one)
    ways = {
        "vmap": vmap(fun)(*args),
        "jit(vmap)": jax.jit(vmap(fun))(*args),
        "pmap": jax.pmap(fun)(*args),
    }
    twice = vmap(vmap(fun))(*(jnp.stack([a[::-1], a]) for a in args))
    ways["vmap(vmap)"] = jax.tree.map(lambda y: y[1], twice)
    for way, got in ways.items():
        for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(g, w, rtol=2e-6, atol=1e-6, err_msg=way)


def test_closures_over_lanes_of_several_maps():
    got = vmap(lambda x: vmap(lambda y: vmap(lambda z: x * y + z)(x3))(x3))(x3)
    expected = x3[:, None, None] * x3[:, None] + x3
    np.testing.assert_array_equal(got, expected)
    slope = jax.grad(
        lambda w: vmap(jax.grad(lambda x, w: (w * x) ** 3), (0, None))(x3, w).sum()
    )
    np.testing.assert_allclose(slope(2.0), (9 * 4 * x3**2).sum())


# -------------------------------------------------------------------------- custom_vmap


@custom_vmap
def marked(x, y):
    return jnp.sin(x) * y


@marked.def_vmap
def _(size, batched, x, y):
    return jnp.sin(x) * y * 100, batched[0] or batched[1]


def test_a_rule_of_its_own():
    expected = np.sin(x3) * x3
    for got, factor in (
        (vmap(marked)(x3, x3), 100),
        (marked(x3, x3), 1),
        (jax.jit(marked)(x3, x3), 1),
        (vmap(jax.jit(marked))(x3, x3), 100),
        (jax.jit(vmap(marked))(x3, x3), 100),
        (vmap(lambda x: marked(x, y=x))(x3), 100),
        (jax.pmap(marked)(x3, x3), 1),
        (vmap(vmap(marked))(x3[None], x3[None])[0], 100),
        (vmap(lambda x: lax.cond(x < 9, lambda x: marked(x, x), jnp.cos, x))(x3), 100),
    ):
        np.testing.assert_allclose(got, expected * factor, rtol=1e-6)
    np.testing.assert_allclose(vmap(marked, (0, None))(x3, 2.0), 200 * np.sin(x3), rtol=1e-6)
    pushed = jax.jvp(vmap(marked), (x3, x3), (x3, x3))[1]
    np.testing.assert_allclose(pushed, 100 * (np.cos(x3) * x3 * x3 + expected), rtol=1e-6)


def rule_gives(result):
    f = custom_vmap(lambda x: (x, x))
    f.def_vmap(lambda size, batched, x: result(x))
    return lambda: vmap(f)(x3)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: vmap(custom_vmap(identity))(x3), AttributeError, "No batching rule"),
        (
            rule_gives(lambda x: (x, True)),
            ValueError,
            "structure of output returned by custom vmap rule(.|\n)*does not match that of",
        ),
        (
            rule_gives(lambda x: ((x, x), True)),
            ValueError,
            "structure of output value and output batching specification",
        ),
    ],
)
def test_rules_that_do_not_fit(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_lane_after_lane():
    seen = []

    @sequential_vmap
    def f(d, y):
        seen.append(d["a"].shape)
        return {"out": d["a"] * y}

    got = vmap(f, ({"a": 1}, None))({"a": A}, 2.0)["out"]
    np.testing.assert_array_equal(got, A.T * 2)
    assert set(seen) == {(3,)}
    slope = jax.grad(lambda a: vmap(partial(f, y=3.0))({"a": a})["out"].sum())
    np.testing.assert_array_equal(slope(A), np.full(A.shape, 3.0))
    assert "scan[" in str(jax.make_jaxpr(vmap(f, (0, None)))({"a": A}, 2.0))
