"""`custom_vmap` and `sequential_vmap`: rules, transformations of them, and messages."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.custom_batching import custom_vmap, sequential_vmap


def with_rule(rule):
    @custom_vmap
    def product(x, y):
        return x * y

    product.def_vmap(rule)
    return product


def tenfold(size, in_batched, x, y):
    return 10 * x * y, True


@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit, mj.checkpoint])
def test_the_rule_is_heard(wrap):
    f = wrap(with_rule(tenfold))
    x, y = jnp.ones(2), jnp.arange(2.0)
    assert f(1.0, 2.0) == 2
    assert mj.vmap(f)(x, y).tolist() == [0, 10]
    assert mj.jit(mj.vmap(f, (0, None)))(x, 3.0).tolist() == [30, 30]
    # A rule that does not call the function again is batched itself, by the outer vmap.
    assert mj.vmap(mj.vmap(f, (0, None)), (None, 0))(x, y).tolist() == [[0, 0], [10, 10]]
    assert mj.vmap(lambda a: f(1.0, 2.0) * a)(x).tolist() == [2, 2]  # nothing is mapped


def test_a_rule_may_vmap_its_function():
    f = custom_vmap(lambda x: x + 1)
    f.def_vmap(lambda size, in_batched, x: (f(x) * 2, in_batched[0]))
    assert mj.vmap(f)(jnp.ones(2)).tolist() == [4, 4]
    assert mj.vmap(mj.vmap(f))(jnp.ones((1, 2))).tolist() == [[8, 8]]


def test_arguments_of_rules():
    seen = []

    @custom_vmap
    def f(d, n):
        return {"a": d["x"] + 1, "n": None}, d["y"]

    @f.def_vmap
    def rule(size, in_batched, d, n):
        seen.append((size, in_batched, d["x"].shape))
        return ({"a": d["x"] + 10, "n": None}, d["y"]), ({"a": True, "n": None}, False)

    axes = ({"x": 1, "y": None}, None)
    out, shared = mj.vmap(f, axes)({"x": jnp.ones((3, 2)), "y": 3.0}, None)
    assert out["a"].tolist() == [[11] * 3] * 2 and out["n"] is None
    assert shared.tolist() == [3, 3]
    assert seen == [(2, [{"x": True, "y": False}, None], (2, 3))]


def test_keywords_and_defaults():
    f = custom_vmap(lambda x, y=2.0: x * y)
    f.def_vmap(tenfold)
    assert f(1.0) == 2 and f(1.0, y=3.0) == 3
    assert mj.vmap(f)(jnp.ones(2)).tolist() == [20, 20]
    with pytest.raises(TypeError, match="to the custom_vmap-decorated function"):
        f(1.0, z=2.0)


@pytest.mark.parametrize(
    "rule, error, words",
    [
        (
            lambda n, b, x, y: (x * y, [True]),
            ValueError,
            "structure of output value and output batching specification returned by custom"
            " vmap rule (<lambda>) do not match",
        ),
        (
            lambda n, b, x, y: ((x, y), (True, True)),
            ValueError,
            "structure of output returned by custom vmap rule (<lambda>) does not match that"
            " of original custom-vmapped function.\nOriginal output: PyTreeDef(*)\n"
            "Rule output: PyTreeDef((*, *))",
        ),
        (lambda n, b, x, y: None, ValueError, "must return a pair (out, out_batched)"),
        (lambda n, b, x, y: ("text", True), TypeError, "is not a valid JAX type"),
    ],
)
def test_invalid_results_of_a_rule(rule, error, words):
    with pytest.raises(error) as e:
        mj.vmap(with_rule(rule))(jnp.ones(2), jnp.ones(2))
    assert words in str(e.value)


def test_no_rule_and_no_values():
    f = custom_vmap(lambda x: x)
    for call in (f, mj.jit(f), lambda x: mj.vmap(f)(x[None])):
        with pytest.raises(
            AttributeError,
            match="No batching rule defined for custom_vmap function <lambda> using def_",
        ):
            call(jnp.float32(1))
    with pytest.raises(TypeError, match="is not a valid JAX type"):
        with_rule(tenfold)("text", 1.0)


def test_derivatives_of_rules_and_rules_of_derivatives():
    f = with_rule(tenfold)
    x, y = jnp.ones(2), jnp.arange(2.0)
    assert mj.grad(f)(1.0, 2.0) == 2
    assert mj.grad(lambda x: mj.vmap(f)(x, y).sum())(x).tolist() == [0, 10]
    primal, tangent = mj.jvp(mj.vmap(f), (x, y), (x, x))
    assert primal.tolist() == [0, 10] and tangent.tolist() == [10, 20]
    lanes = mj.vmap(lambda x: mj.jvp(f, (x, 2.0), (1.0, 1.0)))(x)
    assert [t.tolist() for t in lanes] == [[20, 20], [30, 30]]
    assert mj.hessian(f)(1.0, 2.0) == 0
    assert mj.linear_transpose(lambda x: f(x, 2.0), 1.0)(3.0) == (6,)


def test_in_control_flow_and_over_named_axes():
    f = custom_vmap(lambda x: x + 1)
    f.def_vmap(lambda n, b, x: (2 * x, b[0]))
    x = jnp.ones(3)
    looped = mj.vmap(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, 2)[0])
    assert looped(x).tolist() == [4, 4, 4]
    assert mj.vmap(lambda x: lax.cond(True, f, jnp.sin, x))(x).tolist() == [2, 2, 2]
    total = mj.vmap(lambda x: lax.psum(f(x), "i"), axis_name="i")
    assert total(x).tolist() == [6, 6, 6]


def test_closures():
    def g(y):
        f = custom_vmap(lambda x: x * y)
        f.def_vmap(lambda n, b, x: (10 * x * y, True))
        return f(2.0), mj.vmap(f)(jnp.ones(2))

    for call in (g, mj.jit(g)):
        one, lanes = call(3.0)
        assert one == 6 and lanes.tolist() == [30, 30]


def test_sequential_vmap():
    f = sequential_vmap(lambda x, y: jnp.sin(x) * y)
    x = jnp.arange(3.0)
    np.testing.assert_allclose(mj.vmap(f, (0, None))(x, 2.0), 2 * np.sin(x), rtol=1e-6)
    both = mj.vmap(mj.vmap(f, (0, None)), (None, 0))(x, jnp.ones(2))
    np.testing.assert_allclose(both, [np.sin(x)] * 2, rtol=1e-6)
    assert " scan[" in str(mj.make_jaxpr(mj.vmap(f))(x, x))
    d = mj.grad(lambda x: mj.vmap(f, (0, None))(x, 2.0).sum())(x)
    np.testing.assert_allclose(d, 2 * np.cos(x), rtol=1e-6)


def test_what_wraps_it_hands_on_its_rule():
    @mj.custom_vjp
    @custom_vmap
    def f(x, y):
        return jnp.sin(x) * y

    @f.def_vmap
    def rule(size, batched, x, y):
        return jnp.cos(x) * y, True

    f.defvjp(lambda x, y: (f(x, y), y), lambda y, ct: (ct * y, ct))
    assert mj.vmap(f)(jnp.zeros(3), jnp.ones(3)).tolist() == [1, 1, 1]
    assert mj.grad(f)(0.0, 2.0) == 2
    with pytest.raises(AttributeError, match="object has no attribute 'def_x'"):
        f.def_x
