"""Specs without a mesh inside of `shard_map`: they are over its mesh.

Types of axes, errors and lowered constraints are recorded from JAX 0.10.2.
"""

from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import P, lax
from minijax.sharding import AxisType, NamedSharding

GRID = np.array(mj.devices()[:4]).reshape(2, 2)
AUTO = mj.sharding.Mesh(GRID, ("x", "y"))
EXPLICIT = mj.sharding.Mesh(GRID, ("x", "y"), (AxisType.Explicit,) * 2)
X = np.arange(16, dtype=np.float32).reshape(4, 4)
SPLIT_SPEC = P(None, "y")
constrain = lax.with_sharding_constraint
over = partial(mj.shard_map, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})


@mj.custom_vjp
def tripled(x):
    return 3 * x


tripled.defvjp(lambda x: (3 * x, ()), lambda _, g: (constrain(3 * g, SPLIT_SPEC),))


def nested(x):
    inner = lambda x: x * lax.axis_size("y")
    return mj.shard_map(inner, in_specs=SPLIT_SPEC, out_specs=SPLIT_SPEC, axis_names={"y"})(x)


# name -> (function of a part, the same of the whole)
FUNCTIONS = {
    "alone": (lambda x: constrain(2 * x, SPLIT_SPEC), lambda x: 2 * x),
    "a tree": (lambda x: constrain({"a": x}, SPLIT_SPEC)["a"], lambda x: x),
    "over the mesh around": (
        lambda x: constrain(x, NamedSharding(mj.sharding.get_abstract_mesh(), SPLIT_SPEC)),
        lambda x: x,
    ),
    "a loop": (
        lambda x: lax.scan(lambda c, _: (constrain(2 * c, SPLIT_SPEC), None), x, length=2)[0],
        lambda x: 4 * x,
    ),
    "a function inside": (
        lambda x: mj.jit(lambda x: 2 * x, in_shardings=SPLIT_SPEC, out_shardings=SPLIT_SPEC)(x),
        lambda x: 2 * x,
    ),
    "lanes": (mj.vmap(lambda r: constrain(2 * r, P("y"))), lambda x: 2 * x),
    "derivatives": (mj.grad(lambda x: (constrain(x, SPLIT_SPEC) ** 2).sum()), lambda x: 2 * x),
    "a derivative rule": (mj.grad(lambda x: tripled(x).sum()), lambda x: 3 + 0 * x),
    "computed again": (
        mj.grad(lambda x: mj.checkpoint(lambda x: constrain(x, SPLIT_SPEC) ** 2)(x).sum()),
        lambda x: 2 * x,
    ),
    "moved": (lambda x: mj.device_put(x, SPLIT_SPEC), lambda x: x),
    "nested": (nested, lambda x: 2 * x),
}


@pytest.mark.parametrize("current", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_spec_is_over_the_mesh_around(name, current):
    part, full = FUNCTIONS[name]
    f = over(part, mesh=AUTO)
    with mj.set_mesh(AUTO) if current else nullcontext():
        np.testing.assert_array_equal(mj.jit(f)(X), full(X))
        np.testing.assert_array_equal(f(X), full(X))
        text = mj.jit(f).lower(X).as_text()
    assert name == "nested" or '[{}, {"y"}]' in text or '[{?}, {"y"}]' in text


def test_a_derivative_outside_shard_map():
    f = over(lambda x: tripled(x), mesh=AUTO)
    text = mj.jit(mj.grad(lambda x: f(x).sum())).lower(X).as_text()
    assert '<@mesh, [{}, {"y"}]> : tensor<2x4xf32>' in text


def test_the_mesh_around():
    seen = []

    def look(x):
        seen.append(mj.sharding.get_abstract_mesh())
        return x

    def outer(x):
        return mj.shard_map(look, in_specs=SPLIT_SPEC, out_specs=SPLIT_SPEC, axis_names={"y"})(
            look(x)
        )

    mj.jit(over(outer, mesh=AUTO))(X)
    manual, auto = AxisType.Manual, AxisType.Auto
    assert [m.axis_types for m in seen] == [(manual, auto), (manual, manual)]
    assert mj.sharding.get_abstract_mesh().empty


def test_eager_results_are_sharded_as_in_programs():
    f = over(FUNCTIONS["alone"][0], mesh=AUTO)
    assert f(X).sharding.spec == mj.jit(f)(X).sharding.spec == P("x", "y")


def test_explicit_axes():
    x = mj.device_put(X, NamedSharding(EXPLICIT, P("x", "y")))
    types = []

    def f(x):
        y = mj.reshard(2 * x, SPLIT_SPEC)
        z = jnp.einsum("ij,jk->ik", x, jnp.ones((4, 4)), out_sharding=SPLIT_SPEC)
        types.append(mj.typeof(x + y + z).str_short(True))
        return x + y + z

    out = over(f, mesh=EXPLICIT)(x)
    np.testing.assert_array_equal(out, 3 * X + X @ np.ones((4, 4)))
    assert types == ["f32[2,4@y]{V:x}"]


@pytest.mark.parametrize(
    "f, says",
    [
        (lambda x: constrain(x, P("x")), "can only refer to Auto axes"),
        (lambda x: constrain(x, NamedSharding(AUTO, P("x"))), "can only refer to Auto"),
        (lambda x: mj.device_put(x, P("x")), "can only refer to Auto axes"),
        (lambda x: constrain(x, P("q")), "Resource axis: q"),
        (lambda x: mj.jit(lambda x: x, in_shardings=P("x"))(x), "Auto"),
    ],
)
def test_manual_axes_are_refused(f, says):
    with pytest.raises(ValueError, match=says):
        over(f, mesh=AUTO)(X)
