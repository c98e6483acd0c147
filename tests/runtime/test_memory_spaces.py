"""Values in host memory: `device_put` to a memory, and operations there."""

import functools

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.ad_checkpoint import checkpoint_name
from minijax.memory import Space

policies = mj.checkpoint_policies
X = np.arange(4, dtype=np.float32)


def kind(x):
    return x.sharding.memory_kind


def test_a_value_goes_to_the_host_and_back():
    on_host = mj.device_put(X, Space.Host)
    assert kind(on_host) == "pinned_host"
    assert on_host.aval.memory_space is Space.Host
    assert str(on_host.aval) == "float32<host>[4]"
    back = mj.device_put(on_host, Space.Device)
    assert kind(back) == "device" and back.aval.memory_space is Space.Device
    np.testing.assert_array_equal(on_host, X)
    np.testing.assert_array_equal(back, X)


def test_a_sharding_names_a_memory():
    sharding = jnp.ones(2).sharding.with_memory_kind("unpinned_host")
    x = mj.device_put(X, sharding)
    assert x.sharding == sharding
    assert x.aval.memory_space is Space.Host
    with pytest.raises(ValueError, match=r"Could not find memory.*Got memory kind: foo"):
        sharding.with_memory_kind("foo")


@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit], ids=["eager", "jit"])
def test_results_stay_where_the_operands_are(wrap):
    on_host = mj.device_put(X, Space.Host)
    for _ in range(2):  # the second call takes the C++ fast path
        out = wrap(lambda x: x + 1)(on_host)
        assert kind(out) == "pinned_host"
        np.testing.assert_array_equal(out, X + 1)
        home = wrap(lambda x: mj.device_put(x, Space.Device) * 2)(on_host)
        assert kind(home) == "device"
        np.testing.assert_array_equal(home, X * 2)
        np.testing.assert_array_equal(wrap(lambda x: x.sum())(on_host), X.sum())


def test_results_over_a_mesh_are_in_the_memory_of_their_type():
    mesh = mj.make_mesh((2,), ("x",), axis_types=(mj.sharding.AxisType.Auto,))
    x = mj.device_put(X, mj.NamedSharding(mesh, mj.P("x")))
    for _ in range(2):
        here, there = mj.jit(lambda x: (x * 2, mj.device_put(x, Space.Host)))(x)
        assert here.sharding.spec == there.sharding.spec == mj.P("x")
        assert (kind(here), kind(there)) == ("device", "pinned_host")


def test_one_function_for_both_memories():
    f = mj.jit(lambda x: x * 3)
    for x in (mj.device_put(X, s) for s in (Space.Device, Space.Host) * 2):
        assert kind(f(x)) == kind(x)


@pytest.mark.parametrize("wrap", [lambda f: f, mj.jit], ids=["eager", "jit"])
def test_two_memories_do_not_mix(wrap):
    f = wrap(lambda x, y: x + y)
    on_host = mj.device_put(X, Space.Host)
    with pytest.raises(ValueError, match=r"memory_space.*`add`.*must be the same") as e:
        f(on_host, X)
    assert "float32<host>[4] and float32[4]" in str(e.value)
    assert "device_put" in str(e.value)


def test_bad_memory_kinds_are_rejected():
    for bad in ("pinned_host", 3, Space.Any):
        with pytest.raises(ValueError, match=r"device_put.*only accepts"):
            mj.device_put(X, bad)
        with pytest.raises(ValueError, match=r"device_put.*only accepts"):
            mj.jit(lambda x, bad=bad: mj.device_put(x, bad))(X)


def test_the_jaxpr_shows_memories():
    text = str(mj.make_jaxpr(lambda x: mj.device_put(x, Space.Host))(X))
    assert "b:f32<host>[4] = device_put[" in text
    assert "devices=(MemorySpace.Host,)" in text
    assert "copy_semantics=(ArrayCopySemantics.REUSE_INPUT,)" in text


def test_branches_agree_about_the_memory():
    with pytest.raises(TypeError, match="float32<host>"):
        lax.cond(True, lambda x: mj.device_put(x, Space.Host), lambda x: x, jnp.ones(2))


def there_and_back(x):
    return jnp.sin(mj.device_put(mj.device_put(x, Space.Host), Space.Device))


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: mj.grad(lambda x: f(x).sum()),
        lambda f: lambda x: mj.jvp(f, (x,), (x,))[1],
        mj.jacrev,
        mj.jacfwd,
        mj.vmap,
        lambda f: lambda x: mj.linearize(f, x)[1](x),
        lambda f: lambda x: lax.scan(lambda c, _: (f(c), f(c)), x, length=3),
        mj.checkpoint,
    ],
)
def test_transformations_pass_through_the_host(transform):
    expected = transform(jnp.sin)(jnp.asarray(X))
    for wrap in (lambda f: f, mj.jit):
        result = wrap(transform(there_and_back))(jnp.asarray(X))
        mj.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-6), result, expected)


def test_memory_kinds_are_passed_to_accelerators():
    lowered = mj.jit(there_and_back).trace(X).lower(lowering_platforms=("cuda",))
    text = lowered.as_text()
    assert text.count("@annotate_device_placement") == 2
    assert '_xla_buffer_placement = "pinned_host"' in text
    assert '_xla_buffer_placement = "device"' in text


# --------------------------------------------------------------------------- policies


def two_names(x):
    a = checkpoint_name(jnp.sin(x), "a")
    b = checkpoint_name(jnp.sin(a), "b")
    return jnp.sin(b).sum()


OFFLOAD = policies.save_and_offload_only_these_names(
    names_which_can_be_saved=["a"],
    names_which_can_be_offloaded=["b"],
    offload_src="device",
    offload_dst="pinned_host",
)


def test_named_values_are_kept_on_the_host():
    f = mj.grad(mj.checkpoint(two_names, policy=OFFLOAD))
    text = str(mj.make_jaxpr(f)(X))
    assert text.count("f32<host>[4] = device_put") == 1
    assert text.count("sin ") == 3  # no recomputation
    for wrap in (lambda f: f, mj.jit):
        np.testing.assert_allclose(wrap(f)(X), mj.grad(two_names)(X), rtol=1e-6)


def test_in_a_scan_the_host_keeps_every_step():
    def f(x):
        step = mj.checkpoint(lambda c, _: (two_names(c) * c, None), policy=OFFLOAD)
        return lax.scan(step, x, length=3)[0].sum()

    def reference(x):
        for _ in range(3):
            x = two_names(x) * x
        return x.sum()

    text = str(mj.make_jaxpr(mj.grad(f))(X))
    assert "f32<host>[3,4]" in text
    for wrap in (lambda f: f, mj.jit):
        np.testing.assert_allclose(wrap(mj.grad(f))(X), mj.grad(reference)(X), rtol=1e-5)


def test_products_are_kept_on_the_host():
    policy = policies.offload_dot_with_no_batch_dims("device", "pinned_host")
    f = lambda w, x: jnp.sin(jnp.sin(x @ w)).sum()
    w, x = np.eye(4, dtype=np.float32), np.ones((2, 4), np.float32)
    g = mj.grad(mj.checkpoint(f, policy=policy))
    assert "f32<host>[2,4]" in str(mj.make_jaxpr(g)(w, x))
    for wrap in (lambda f: f, mj.jit):
        np.testing.assert_allclose(wrap(g)(w, x), mj.grad(f)(w, x), rtol=1e-6)


def test_bad_policies():
    with pytest.raises(ValueError, match="no memory kind 'disk'"):
        policies.offload_dot_with_no_batch_dims("device", "disk")
    with pytest.raises(ValueError, match="should not intersect"):
        policies.save_and_offload_only_these_names(
            names_which_can_be_saved=["a"],
            names_which_can_be_offloaded=["a", "b"],
            offload_src="device",
            offload_dst="pinned_host",
        )


def test_each_leaf_may_be_donated_or_copied():
    one, two = jnp.ones(3), jnp.ones(3)
    devices = mj.devices()[1]
    mj.device_put([one, two], devices, donate=[True, False])
    assert one.is_deleted() and not two.is_deleted()
    aliased, copied = mj.device_put([two, two], may_alias=[True, False])
    assert aliased.unsafe_buffer_pointer() == two.unsafe_buffer_pointer()
    assert copied.unsafe_buffer_pointer() != two.unsafe_buffer_pointer()
    text = str(mj.make_jaxpr(lambda x: mj.device_put([x, x], donate=[True, False]))(X))
    assert "(ArrayCopySemantics.DONATE_INPUT, ArrayCopySemantics.REUSE_INPUT)" in text
