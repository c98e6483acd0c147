"""Arrays over meshes: their shardings, and computations with them."""

import pickle

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.sharding import AxisType, Mesh, NamedSharding
from minijax.sharding import PartitionSpec as P

MESH = Mesh(np.array(mj.devices()).reshape(4, 2), ("x", "y"))
VALUE = np.arange(32, dtype=np.float32).reshape(8, 4)


def over(*spec, mesh=MESH):
    return NamedSharding(mesh, P(*spec))


def spread(value=VALUE, *spec):
    return mj.device_put(value, over(*spec))


SPECS = [(), ("x",), ("x", "y"), (None, "y"), (("x", "y"),), (("y", "x"),), ("y", "x")]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_shards_follow_the_spec(spec):
    x = spread(VALUE, *spec)
    np.testing.assert_array_equal(x, VALUE)
    assert x.sharding == over(*spec) and x.committed and x.shape == (8, 4)
    where = x.sharding.devices_indices_map(x.shape)
    for shard in x.addressable_shards:
        assert shard.index == where[shard.device]
        np.testing.assert_array_equal(shard.data, VALUE[shard.index])
        assert shard.data.devices() == {shard.device}
        assert shard.data.shape == x.sharding.shard_shape(x.shape)
    assert x.is_fully_replicated is (spec == ())


@pytest.mark.parametrize("source", SPECS[1:4], ids=str)
@pytest.mark.parametrize("target", SPECS, ids=str)
def test_device_put_reshards(source, target):
    x = mj.device_put(spread(VALUE, *source), over(*target))
    assert x.sharding == over(*target)
    np.testing.assert_array_equal(x, VALUE)


# Recorded from JAX 0.10.2: the specs of results.
RESULTS = {
    "x @ x.T": (lambda x: x @ x.T, ("x",)),
    "x.sum(0)": (lambda x: x.sum(0), ("y",)),
    "x.sum()": (lambda x: x.sum(), ()),
    "x + 1": (lambda x: x + 1, ("x", "y")),
    "x == x": (lambda x: x == x, ("x", "y")),
    "x.T": (lambda x: x.T, ("y", "x")),
    "x[0]": (lambda x: x[0], ("y",)),
    "x.reshape(-1)": (lambda x: x.reshape(-1), ("x",)),
    "vmap": (lambda x: mj.vmap(lambda r: r * 2)(x), ("x", "y")),
    "grad": (mj.grad(lambda x: jnp.tanh(x).sum()), ("x", "y")),
    "cumsum": (lambda x: jnp.cumsum(x, 0), None),
    "sort": (lambda x: jnp.sort(x, 0), None),
    "concatenate": (lambda x: jnp.concatenate([x, x]), None),
    "inv": (lambda x: jnp.linalg.inv(x[:4] + jnp.eye(4) * 50), None),
}


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("how", ["eager", "jit"])
def test_computations_run_on_the_devices_of_their_operands(name, how):
    fun, spec = RESULTS[name]
    x = spread(VALUE, "x", "y")
    out = (mj.jit(fun) if how == "jit" else fun)(x)
    assert out.sharding.device_set == set(mj.devices())
    if spec is not None:
        assert out.sharding.is_equivalent_to(over(*spec), out.ndim), out.sharding
    np.testing.assert_allclose(out, fun(jnp.asarray(VALUE)), rtol=1e-5)


def test_a_product_is_summed_over_the_mesh_by_a_collective():
    """Rows over one axis, the contraction over the other: one all-reduce, no gather."""
    a, b = (spread(VALUE, "x", "y"), mj.device_put(np.ones((4, 6), np.float32), over("y")))
    compiled = mj.jit(jnp.dot).lower(a, b).compile()
    text = compiled.as_text()
    assert "all-reduce" in text and "all-gather" not in text
    np.testing.assert_allclose(compiled(a, b), VALUE @ np.ones((4, 6)))
    assert mj.tree.leaves(compiled.input_shardings) == [a.sharding, b.sharding]
    assert compiled.output_shardings == over("x")


def test_fast_calls_keep_the_sharding():
    """The second call takes the C++ fast path; another sharding is compiled."""
    f = mj.jit(lambda x, y: (x + y, x.sum()))
    x, y = spread(VALUE, "x"), spread(VALUE, None, "y")
    for _ in range(3):
        total, one = f(x, y)
        np.testing.assert_array_equal(total, 2 * VALUE)
        assert isinstance(total.sharding, NamedSharding) and float(one) == VALUE.sum()
    np.testing.assert_array_equal(f(y, x)[0], 2 * VALUE)
    np.testing.assert_array_equal(f(VALUE, VALUE)[0], 2 * VALUE)
    assert len(f(VALUE, VALUE)[0].devices()) == 1


def test_jit_shards_arguments_and_results():
    f = mj.jit(
        lambda d, w: {"p": d["a"] @ w, "s": d["a"].sum()},
        in_shardings=(over("x"), None),
        out_shardings={"p": over("y"), "s": over()},
    )
    out = f({"a": VALUE}, np.ones((4, 6), np.float32))
    assert out["p"].sharding == over("y") and out["s"].sharding == over()
    np.testing.assert_allclose(out["p"], VALUE @ np.ones((4, 6)))
    inner = mj.jit(lambda x: mj.jit(jnp.sin, out_shardings=over("y"))(x) + 1)
    assert inner(spread(VALUE, "x")).sharding == over("y")


def test_arguments_on_other_devices_are_rejected():
    x = spread(VALUE, "x", "y")
    message = "Received incompatible devices for jitted computation. Got argument"
    with pytest.raises(ValueError, match=message):
        x + mj.device_put(VALUE, mj.devices()[3])
    small = Mesh(np.array(mj.devices()[:2]), ("a",))
    with pytest.raises(ValueError, match=r"device ids \[0, 1\] on platform CPU"):
        x + mj.device_put(VALUE, over("a", mesh=small))
    with pytest.raises(ValueError, match="does not match the sharding on the respective"):
        mj.jit(lambda x: x, in_shardings=over("y"))(x)
    with pytest.raises(ValueError, match="length 2 for an args tuple of length 1"):
        mj.jit(lambda x: x, in_shardings=(over("y"), None))(VALUE)
    np.testing.assert_array_equal(x + jnp.ones((8, 4)), VALUE + 1)  # uncommitted


def test_shardings_that_do_not_fit():
    with pytest.raises(ValueError, match="array axis 0 is partitioned 4 times, but the"):
        mj.device_put(np.ones((6, 4)), over("x"))
    with pytest.raises(ValueError, match="only valid for values of rank at least 2"):
        mj.device_put(np.ones(8), over("x", "y"))
    with pytest.raises(ValueError, match=r"Resource axis: z of P\('z',\) is not found"):
        over("z")
    with pytest.raises(ValueError, match="has duplicate entries for `x`"):
        over("x", "x")
    with pytest.raises(ValueError, match="requires the ndim of its first argument"):
        Mesh(np.array(mj.devices()), ("x", "y"))
    with pytest.raises(ValueError, match="must be >= the product of mesh_shape"):
        mj.make_mesh((4, 4), ("x", "y"))
    with pytest.raises(TypeError, match="Expected PartitionSpec"):
        NamedSharding(MESH, ("x",))


def test_constraints_inside_and_outside_of_programs():
    x = spread(VALUE, "x")
    sharding = over("y")
    assert lax.with_sharding_constraint(x, sharding).sharding == sharding
    f = mj.jit(lambda x: lax.with_sharding_constraint(x * 2, sharding))
    assert f(x).sharding == sharding
    assert f(jnp.asarray(VALUE)).sharding == sharding  # the constraint names the devices
    free = mj.jit(lambda x: lax.with_sharding_constraint(x, over(P.UNCONSTRAINED, "y")))
    assert free(x).sharding.spec == P("x", "y")
    slope = mj.grad(lambda x: lax.with_sharding_constraint(x * x, sharding).sum())(x)
    np.testing.assert_array_equal(slope, 2 * VALUE)
    lanes = mj.vmap(lambda r: lax.with_sharding_constraint(r, over("y")))
    np.testing.assert_array_equal(lanes(x), VALUE)
    assert lanes(x).sharding.spec == P("x", "y")
    outer = mj.vmap(lambda r: lax.with_sharding_constraint(r, over("y")), spmd_axis_name="x")
    assert outer(jnp.asarray(VALUE)).sharding.spec == P("x", "y")


def test_the_current_mesh():
    with pytest.raises(RuntimeError, match="requires a non-empty mesh in context"):
        lax.with_sharding_constraint(spread(VALUE), P("x"))
    with pytest.raises(RuntimeError, match="jit requires a non-empty mesh in context"):
        mj.jit(jnp.sin, in_shardings=P("x"))(VALUE)
    later = mj.jit(jnp.sin, in_shardings=P("x"), out_shardings=P("x"))
    with mj.set_mesh(MESH):
        assert mj.sharding.get_abstract_mesh() == MESH.abstract_mesh
        f = mj.jit(lambda x: lax.with_sharding_constraint(x + 1, P("y")))
        assert f(VALUE).sharding == over("y")
        assert jnp.ones(8).sharding == over()
        assert later(VALUE).sharding == over("x")
    assert mj.sharding.get_abstract_mesh().empty
    with pytest.warns(DeprecationWarning), MESH:
        assert f(VALUE).sharding == over("y")
        assert len(jnp.ones(8).devices()) == 1


def test_arrays_of_shards():
    where = over("x", "y")
    x = mj.make_array_from_callback((8, 4), where, lambda at: VALUE[at])
    np.testing.assert_array_equal(x, VALUE)
    parts = [s.data for s in x.addressable_shards]
    y = mj.make_array_from_single_device_arrays((8, 4), where, parts[::-1])
    np.testing.assert_array_equal(y, VALUE)
    z = mj.make_array_from_process_local_data(over(None, "x"), VALUE)
    np.testing.assert_array_equal(z, VALUE)


def test_callbacks_run_once_whatever_the_mesh():
    seen = []

    def host(z):
        seen.append(z.shape)
        return np.asarray(z) * 2

    f = mj.jit(lambda x: mj.pure_callback(host, mj.ShapeDtypeStruct((8, 4), "f4"), x) + 1)
    np.testing.assert_array_equal(f(spread(VALUE, "x", "y")), VALUE * 2 + 1)
    assert seen == [(8, 4)]


def test_donation_over_a_mesh():
    x = spread(VALUE, "x")
    y = mj.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert x.is_deleted() and y.sharding == over("x")
    np.testing.assert_array_equal(y, VALUE + 1)


def test_keys_and_constants_are_on_the_mesh():
    keys = mj.device_put(mj.random.split(mj.random.key(0), 8), over("x"))
    assert keys.sharding == over("x")
    draws = mj.jit(mj.vmap(lambda k: mj.random.normal(k, (3,))))
    np.testing.assert_allclose(
        draws(keys), draws(mj.random.split(mj.random.key(0), 8)), rtol=1e-6
    )
    x = spread(VALUE, "x")
    np.testing.assert_array_equal(mj.jit(lambda a: a + x)(1.0), VALUE + 1)


@pytest.mark.parametrize(
    "value",
    [
        np.zeros((0, 4), np.float32),
        np.float32(3),
        np.arange(8) % 2 == 0,
        np.arange(8, dtype=np.int8),
        np.arange(8, dtype=np.complex64),
        np.arange(8).astype(jnp.bfloat16),
    ],
    ids=lambda v: f"{v.dtype}{v.shape}",
)
def test_all_kinds_of_values(value):
    spec = ("x",) if value.ndim else ()
    x = mj.device_put(value, over(*spec))
    assert x.dtype == value.dtype and x.sharding == over(*spec)
    np.testing.assert_array_equal(np.asarray(x), value)
    np.testing.assert_array_equal(
        np.asarray(jnp.concatenate([jnp.atleast_1d(x)] * 2)),
        np.concatenate([np.atleast_1d(value)] * 2),
    )


def test_specs_and_meshes_as_values():
    assert P("x", None) != P("x") and P("x") == P(("x",)) and P("x") != ("x",)
    assert repr(P("x", ("x", "y"), None)) == "P('x', ('x', 'y'), None)"
    assert P("x") + P("y") == P("x", "y") and len(P("x", None)) == 2
    assert repr(over("x")) == (
        "NamedSharding(mesh=Mesh('x': 4, 'y': 2, axis_types=(Auto, Auto)), spec=P('x',),"
        " memory_kind=device)"
    )
    for value in (P("x", None), MESH, over("x")):
        assert pickle.loads(pickle.dumps(value)) == value
        assert hash(pickle.loads(pickle.dumps(value))) == hash(value)
    made = mj.make_mesh((2, 4), ("a", "b"))
    assert made.axis_types == (AxisType.Explicit,) * 2 and made.shape["b"] == 4
    assert MESH.axis_types == (AxisType.Auto,) * 2
    assert over("x").is_equivalent_to(over("x", None), 2)
    assert not over("x").is_equivalent_to(over("y"), 2)


def test_types_have_shardings():
    x = mj.ShapeDtypeStruct((8, 4), "float32", sharding=over("x"))
    compiled = mj.jit(lambda x: x * 2).lower(x).compile()
    assert compiled(spread(VALUE, "x")).sharding == over("x")
    text = mj.jit(lambda x: x * 2).lower(spread(VALUE, "x", "y")).as_text()
    assert 'sdy.mesh @mesh = <["x"=4, "y"=2]>' in text
    assert '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}' in text


def test_loops_and_branches_run_on_the_devices_of_used_operands():
    """Unused operands may be anywhere, and so may a carry that is only passed through."""
    first, second = (mj.device_put(jnp.arange(4.0), mj.devices()[i]) for i in (2, 3))
    calls = [
        lambda: lax.cond(True, lambda a, b: b * 2, lambda a, b: b, second, first),
        lambda: lax.switch(1, [lambda a, b: b, lambda a, b: b * 2], second, first),
        lambda: lax.scan(lambda c, x: (c, x[1] * 2), first[0], (second, first))[1],
        lambda: lax.fori_loop(0, 1, lambda i, c: (c[0], c[1] * 2), (second, first))[1],
    ]
    for call in calls:
        out = call()
        assert out.devices() == first.devices() and out.committed
        assert out.tolist() == [0.0, 2.0, 4.0, 6.0]
    with pytest.raises(ValueError, match="incompatible devices"):
        lax.cond(True, lambda a, b: b, lambda a, b: a, second, first)


def test_a_mesh_in_another_order():
    """Two meshes over the same devices, one in reverse order."""
    back = Mesh(np.array(mj.devices()[::-1]), ("z",))
    x = mj.device_put(VALUE, over("z", mesh=back))
    np.testing.assert_array_equal(x, VALUE)
    np.testing.assert_array_equal(mj.device_put(x, over("x")), VALUE)
    with pytest.raises(ValueError, match="incompatible devices"):
        x + spread(VALUE, "x")
    f = mj.jit(lambda x: lax.with_sharding_constraint(x, over("z", mesh=back)) + 1)
    with pytest.raises(ValueError, match="incompatible devices"):
        f(spread(VALUE, "x"))


def test_the_fast_path_puts_numbers_next_to_sharded_arrays():
    x = spread(VALUE, "x")
    f = mj.jit(lambda x, k: x * k)
    for k in (2, 2.5, np.float32(3), VALUE, True):
        for _ in range(3):
            out = f(x, k)
            np.testing.assert_allclose(out, VALUE * k)
            assert out.sharding == over("x") and out.dtype == np.float32
    for i in (0, 3, -1, -8):
        for _ in range(2):
            np.testing.assert_array_equal(x[i], VALUE[i])
