"""Where, in which groups and in which order to compute; arrays that lie alike.

What the compiler is told is recorded from JAX 0.10.2.
"""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.experimental.compute_on import compute_on, compute_on2
from minijax.experimental.control_deps import control_dep, schedule
from minijax.experimental.fused import fused
from minijax.experimental.scheduling_groups import scheduling_group, xla_metadata_call
from minijax.experimental.shard_alike import shard_alike
from minijax.memory import Space
from minijax.sharding import Mesh, NamedSharding
from minijax.sharding import PartitionSpec as P

X = np.arange(4, dtype=np.float32)


def lines(f, *args, having="frontend"):
    text = mj.jit(f).lower(*args).as_text()
    return [line for line in text.splitlines() if having in line]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("device_host", '{_xla_compute_type = "host"}'),
        ("device", '{_xla_compute_type = "dense"}'),
        ("tpu_sparsecore", '{_xla_compute_type = "sparseoffload"}'),
        ("gpu_stream:1", '{_xla_stream_annotation = "1", inlineable = "false"}'),
    ],
)
def test_calls_and_operations_have_a_compute_type(where, expected):
    def f(x):
        with compute_on(where):
            y = mj.jit(lambda x: x * x)(x)
        return y + 1

    result = lines(f, X)
    assert all(expected in line for line in result)
    kinds = [kind for line in result for kind in ("call", "multiply", "add") if kind in line]
    assert {*kinds} == {"call", "multiply"}


def test_programs_that_compute_on_the_host_run():
    @compute_on("device_host")
    @mj.jit
    def inner(x):
        return jnp.sin(x) * 2

    f = lambda x: inner(x).sum()
    assert np.allclose(mj.jit(mj.grad(f))(X), 2 * np.cos(X))
    host_lines = lines(mj.grad(f), X)
    assert sum("cosine" in line for line in host_lines) == 1
    with pytest.raises(ValueError, match=r"Invalid compute type nope. Current supported"):
        compute_on("nope")


def test_results_of_compute_on_go_to_a_memory_space():
    f = compute_on2(
        lambda x: (x * x, x),
        compute_type="device_host",
        out_memory_spaces=(Space.Device, Space.Host),
        compiler_options={"a": True},
    )
    a, b = mj.jit(f)(X)
    assert np.array_equal(a, X * X) and b.sharding.memory_kind == "pinned_host"
    emitted = lines(f, X)
    assert 'backend_config = "{\\22a\\22: true}"' in emitted[0] and "call @" in emitted[0]
    g = compute_on2(compute_type="device_host", out_memory_spaces=Space.Device)(jnp.square)
    assert mj.vmap(mj.grad(g))(X).tolist() == [0, 2, 4, 6]
    assert "compute_on[" in str(mj.make_jaxpr(mj.grad(g))(1.0))


def test_groups_are_calls_that_bear_a_name():
    f = scheduling_group("1")(lambda x, by=1: x * x * by)
    text = str(mj.make_jaxpr(mj.grad(f))(1.0))
    assert text.count("xla_metadata_call[") == 2 and "scheduling_group=1" in text
    (line,) = lines(f, X)
    assert "call @xla_metadata_call" in line and '{scheduling_group = "1"}' in line
    assert mj.vmap(f)(X).tolist() == [0, 1, 4, 9] and f(2.0, by=3.0) == 12
    assert "stage=a" in str(mj.make_jaxpr(xla_metadata_call(stage="a")(jnp.sin))(1.0))
    with pytest.raises(NotImplementedError, match="an attribute of a call is a string"):
        mj.jit(scheduling_group(1)(jnp.sin)).lower(1.0)
    with pytest.raises(TypeError, match="not a valid JAX type"):
        f("words")


def test_operations_are_put_in_an_order():
    @mj.jit
    def f(x):
        a, b = jnp.sin(x), jnp.cos(x)
        schedule([a, b, c := a + b])
        return c

    assert np.allclose(f(X), np.sin(X) + np.cos(X))
    dependencies = lines(f, X, having="control_dep")
    assert len(dependencies) == 2 and all(
        "has_side_effect = true" in line for line in dependencies
    )
    assert len(control_dep(X, X)) == 0
    with pytest.raises(ValueError, match="cannot be differentiated"):
        mj.grad(lambda x: (control_dep(x, x), x)[1])(1.0)


def test_arrays_with_equal_shardings():
    if mj.device_count() < 2:
        pytest.skip("needs several devices")
    mesh = Mesh(np.array(mj.devices()[:2]), ("x",))
    x = mj.device_put(X, NamedSharding(mesh, P("x")))

    def f(x):
        a, b = shard_alike(x, x + 1)
        return a, shard_alike({"k": b}, {"k": jnp.arange(4.0)})[1]["k"]

    assert f(X)[1].tolist() == [0, 1, 2, 3]
    assert mj.jit(f)(x)[1].sharding.spec == P("x")
    assert len({t.split("group_id=")[1] for t in lines(f, x, having="group_id")}) == 2
    assert mj.jit(lambda x: jnp.arange(4.0))(x).sharding.is_fully_replicated
    g = lambda x: shard_alike(x, x * x)[1].sum()
    assert mj.grad(g)(X).tolist() == [0, 2, 4, 6]
    assert mj.jvp(g, (X,), (X,))[1] == 28
    assert mj.vmap(lambda x: shard_alike(x, x + 1)[1])(X).tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match=r"Trees should be equal. Got x_tree"):
        shard_alike([X], (X,))
    with pytest.raises(ValueError, match=r"should match. Got `x` leaf shape: \(4,\)"):
        shard_alike(X, 1.0)


def test_fused():
    pair = lambda x, y: (jnp.sin(x) * y, x + y)
    f = fused(out_spaces=(Space.Host, Space.Device))(pair)
    x = jnp.arange(4.0)
    (eqn, put) = mj.make_jaxpr(f)(x, x).eqns
    assert (eqn.primitive.name, put.primitive.name) == ("fused_call", "device_put")
    assert put.invars == eqn.outvars[:1]
    out = mj.jit(f)(x, x)
    assert [o.sharding.memory_kind for o in out][1] == "device"
    np.testing.assert_allclose(out[0], np.sin(x) * x, rtol=1e-6)
    text = mj.jit(f).lower(x, x).as_text()
    assert 'MUST_FUSE = "true"' in text and 'inlineable = "false"' in text
    slope = mj.grad(lambda x: fused(out_spaces=[Space.Device] * 2)(pair)(x, x)[0].sum())
    np.testing.assert_allclose(slope(x), np.sin(x) + x * np.cos(x), rtol=1e-5)
    with pytest.raises(ValueError, match="1 out_spaces for 2 results"):
        fused(out_spaces=(Space.Device,))(pair)(x, x)
