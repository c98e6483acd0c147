"""Arrays over meshes: assembled from shards, resharded, and together with pmap."""

import numpy as np
import pytest
from laws import obeys

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.memory import Space
from minijax.runtime.arrays import transfers
from minijax.runtime.running import device_put
from minijax.sharding import Mesh, NamedSharding, SingleDeviceSharding
from minijax.sharding import PartitionSpec as P

DEVICES = np.array(mj.devices())
MESH = Mesh(DEVICES.reshape(4, 2), ("x", "y"))
VALUE = np.arange(32, dtype=np.float32).reshape(8, 4)
KEYS = mj.random.split(mj.random.key(0), 8)


def over(*spec, kind=None):
    return NamedSharding(MESH, P(*spec), memory_kind=kind)


def spread(*spec):
    return mj.device_put(VALUE, over(*spec))


PLACES = {
    "x, y": over("x", "y"),
    "y": over("y"),
    "whole": over(),
    "host": over("x", kind="pinned_host"),
    "host, y": over("y", kind="pinned_host"),
    "back": NamedSharding(Mesh(DEVICES[::-1].reshape(2, 4), ("p", "q")), P("q", "p")),
    "few": NamedSharding(Mesh(DEVICES[2:4], ("a",)), P(None, "a")),
    "others": NamedSharding(Mesh(DEVICES[4:6], ("a",)), P("a")),
    "one": SingleDeviceSharding(DEVICES[3]),
    "one, host": SingleDeviceSharding(DEVICES[3], memory_kind="pinned_host"),
}


@pytest.mark.parametrize("target", PLACES)
@pytest.mark.parametrize("source", PLACES)
def test_device_put_between_all_kinds_of_placements(source, target):
    x = mj.device_put(VALUE, PLACES[source])
    y = mj.device_put(x, PLACES[target])
    assert y.sharding == PLACES[target] and y.committed
    assert y.aval == mj.device_put(VALUE, PLACES[target]).aval
    np.testing.assert_array_equal(y, VALUE)
    np.testing.assert_array_equal(x, VALUE)


def test_memory_spaces_keep_the_sharding():
    x = mj.device_put(spread("x"), Space.Host)
    assert x.sharding == over("x", kind="pinned_host")
    assert mj.device_put(x, Space.Device).sharding == over("x")
    result = mj.jit(lambda a: a)(x)
    assert result.sharding == x.sharding
    np.testing.assert_array_equal(result, VALUE)


def test_keys_and_pmap_results_are_resharded():
    keys = mj.device_put(mj.device_put(KEYS, over("x")), PLACES["others"])
    assert keys.sharding == PLACES["others"] and bool((keys == KEYS).all())
    mapped = mj.pmap(lambda row: row + 1)(VALUE)
    np.testing.assert_array_equal(mj.device_put(mapped, over("x")), VALUE + 1)
    # A result of pmap and an array over the mesh, in one program.
    np.testing.assert_array_equal(mj.jit(jnp.add)(mapped, spread("y")), 2 * VALUE + 1)


EXPLICIT = Mesh(DEVICES.reshape(4, 2), ("x", "y"), (mj.sharding.AxisType.Explicit,) * 2)
LIKE = {
    "zeros": jnp.zeros_like,
    "empty": jnp.empty_like,
    "numpy": lambda x, **changes: jnp.full_like(x, 3, **changes),
    "an array": lambda x, **changes: jnp.full_like(x, jnp.float32(3), **changes),
    "lax": lambda x, **changes: lax.full_like(x, 3, **changes),
}


@pytest.mark.parametrize("name", LIKE)
def test_like_functions_keep_the_sharding(name):
    like = LIKE[name]
    for mesh in (MESH, EXPLICIT):
        sharded = mj.device_put(VALUE, NamedSharding(mesh, P("x")))
        for x in (sharded, mj.ShapeDtypeStruct((8, 4), "float32", sharding=sharded.sharding)):
            assert like(x).sharding == like(x, dtype="int32").sharding == sharded.sharding
            assert like(x).aval == sharded.aval
            # Another shape may lack these axes.
            assert len(like(x, shape=(3,)).devices()) == 1
        replicated = mj.device_put(VALUE, NamedSharding(mesh, P(None, None)))
        assert like(replicated, shape=(3,)).sharding == NamedSharding(mesh, P())
    one = mj.device_put(VALUE, DEVICES[3])
    assert like(one).sharding == like(one, shape=(3,)).sharding == one.sharding
    assert not like(jnp.asarray(VALUE)).committed


def test_constant_results_have_the_devices_of_the_operands():
    x = mj.device_put(VALUE, NamedSharding(EXPLICIT, P("x")))
    made = mj.jit(lambda n, x: jnp.zeros_like(x))(2.0, x)
    assert made.aval == x.aval and made.sharding.is_equivalent_to(x.sharding, 2)


def test_positions_have_the_sharding_of_the_searched_array():
    for place in (PLACES["x, y"], PLACES["y"], PLACES["one"]):
        x = mj.device_put(VALUE, place)
        (at,) = jnp.nonzero(x[0] > 1)
        np.testing.assert_array_equal(at, [2, 3])
        assert at.devices() == x.devices() and at.committed
    assert not jnp.argwhere(jnp.asarray(VALUE)).committed


def test_arrays_of_shards():
    made = mj.make_array_from_callback((8,), over("x"), lambda at: KEYS[at])
    assert made.sharding == over("x") and bool((made == KEYS).all())
    assembled = mj.make_array_from_single_device_arrays(
        (8,), over("x"), [s.data for s in made.addressable_shards]
    )
    assert bool((assembled == KEYS).all())
    tree = mj.make_array_from_process_local_data(over("x"), {"a": VALUE, "b": VALUE})
    assert tree["b"].sharding == over("x")


def parts(*spec):
    return [s.data for s in spread(*spec).addressable_shards]


def of_parts(shards):
    return lambda: mj.make_array_from_single_device_arrays((8, 4), over("x"), shards())


# Key sentences of JAX 0.10.2.
WRONG = {
    "callback: shape": (
        lambda: mj.make_array_from_callback((8, 4), over("x"), lambda at: VALUE),
        ValueError, r"Expected shard shape \(2, 4\) doesn't match the single device array"),
    "callback: dtype": (
        lambda: mj.make_array_from_callback((8, 4), over("x"), lambda at: VALUE[at],
                                            dtype="int32"),
        ValueError, "it must match the dtype of the addressable shards. Got dtype=int32"),
    "too few": (of_parts(lambda: parts("x")[1:]), ValueError,
                "Expected 8 per-device arrays .* but got 7"),
    "one device": (of_parts(lambda: parts("x")[:1] * 8), ValueError,
                   r"must be from distinct devices, but got device IDs \[0, 0, 0, 0"),
    "shape of a part": (of_parts(lambda: parts("y")), ValueError,
                        r"Expected shard shape \(2, 4\) doesn't match"),
    "dtype of a part": (
        of_parts(lambda: [*parts("x")[:-1], parts("x")[-1].astype(int)]), ValueError,
        "must have matching dtypes. Got int32, expected float32"),
    "spread parts": (of_parts(lambda: [spread("x")] * 8), ValueError,
                     r"must have one shard each. An argument array had 8 shard"),
    "NumPy parts": (of_parts(lambda: [VALUE]), TypeError, "Unsupported type for elements"),
    "no list": (of_parts(lambda: VALUE), TypeError, "argument must be a list or tuple"),
    "none": (of_parts(list), ValueError, "`dtype` must be provided via the `dtype`"),
    "elsewhere": (
        lambda: mj.make_array_from_single_device_arrays(
            (8, 4), SingleDeviceSharding(DEVICES[0]), [mj.device_put(VALUE, DEVICES[1])]),
        ValueError, r"Sharding contains devices \{0\} that are not present"),
    "process data": (
        lambda: mj.make_array_from_process_local_data(over("x"), VALUE, (16, 4)),
        ValueError, "global_shape should be None or equal to local_data.shape"),
    "donate and alias": (
        lambda: mj.device_put(spread("x"), over("y"), donate=True, may_alias=True),
        ValueError, "may_alias and donate cannot be True at the same time"),
    "constraint elsewhere": (
        lambda: lax.with_sharding_constraint(spread("x"), PLACES["few"]), ValueError,
        r"Received incompatible devices .* device ids \[2, 3\]"),
    "mapped axis in a constraint": (
        lambda: mj.vmap(lambda r: lax.with_sharding_constraint(r, over("x")),
                        spmd_axis_name="x")(VALUE),
        ValueError, "spmd_axis_name x cannot appear in with_sharding_constraint spec"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_mismatches_are_rejected(name):
    call, kind, message = WRONG[name]
    with pytest.raises(kind, match=message):
        call()


MIDDLE = NamedSharding(Mesh(DEVICES[:2], ("a",)), P(None, "a"))


def within(f):
    return lambda x: lax.with_sharding_constraint(f(x), MIDDLE)


@mj.custom_vjp
def doubled(x):
    return within(jnp.sin)(x) * 2


doubled.defvjp(
    lambda x: (doubled(x), x),
    lambda x, ct: (lax.with_sharding_constraint(2 * ct * jnp.cos(x), MIDDLE),),
)

LAWS = {
    "constraint": within(jnp.sin),
    "remat": mj.checkpoint(within(jnp.sin)),
    "scan": lambda x: lax.scan(lambda c, _: (within(jnp.sin)(c), c), x, None, length=2),
    "cond": lambda x: lax.cond(x[0, 0] > 0, within(jnp.sin), jnp.cos, x),
    "jit": mj.jit(jnp.sin, in_shardings=MIDDLE, out_shardings=MIDDLE),
    "put": lambda x: mj.device_put(jnp.sin(x), MIDDLE),
}


@pytest.mark.parametrize("name", LAWS)
def test_constraints_obey_the_laws(name):
    """The laws hold under jit, jvp, transposition, and vmap over any axis."""
    obeys(LAWS[name], VALUE[:2, :2] / 10 + 0.1, exact=False)


def test_constraints_within_programs_may_shard_unevenly():
    x = np.arange(7, dtype=np.float32)
    f = lambda x: jnp.sin(lax.with_sharding_constraint(x * 2, over("x")))
    np.testing.assert_allclose(mj.jit(f)(x), np.sin(x * 2), rtol=1e-5)
    assert mj.jit(f)(x).sharding == over()  # replicated instead of sharded unevenly
    slope = mj.jit(mj.grad(lambda x: f(x).sum()))(x)
    np.testing.assert_allclose(slope, 2 * np.cos(x * 2), rtol=1e-5)
    with pytest.raises(ValueError, match="dimension size is 7"):
        mj.jit(jnp.sin, out_shardings=over("x"))(x)
    with pytest.raises(ValueError, match=r"at least 2, but was applied to .* rank 1"):
        mj.jit(lambda x: lax.with_sharding_constraint(x, over("x", "y")))(x)


@pytest.mark.parametrize("mesh", [MESH, EXPLICIT])
@pytest.mark.parametrize("spec", [P("x"), P("x", "y"), P(None, "y"), P(("x", "y"))])
def test_rows_of_sharded_arrays_are_uncommitted(mesh, spec):
    x = mj.device_put(VALUE, NamedSharding(mesh, spec))
    rows = list(x)
    assert not any(row.committed for row in rows)
    np.testing.assert_array_equal(sum(rows), VALUE.sum(0))
    np.testing.assert_array_equal(
        rows[7] + mj.device_put(VALUE[1], DEVICES[5]), VALUE[7] + VALUE[1]
    )
    keys = list(mj.device_put(KEYS, NamedSharding(mesh, P(spec[0]))))
    np.testing.assert_array_equal(
        jnp.stack(list(map(mj.random.key_data, keys))), mj.random.key_data(KEYS)
    )


def test_rows_of_replicated_arrays_stay_replicated():
    rows = list(spread())
    assert {row.sharding for row in rows} == {over()}
    np.testing.assert_array_equal(jnp.stack(rows), VALUE)


def test_constraints_in_custom_rules():
    slope = mj.grad(lambda x: doubled(x).sum())(mj.device_put(VALUE, MIDDLE))
    assert slope.sharding == MIDDLE
    np.testing.assert_allclose(slope, 2 * np.cos(VALUE), rtol=1e-5)


# Recorded from JAX 0.10.2: spec and free axes, mapped over an axis of a matrix.
@pytest.mark.parametrize(
    ("axis", "lane", "spec", "free"),
    [
        (0, None, P(P.UNCONSTRAINED, "y"), {0}),
        (1, None, P("y", P.UNCONSTRAINED), {1}),
        (0, "x", P("x", "y"), set()),
    ],
)
def test_specs_under_vmap(axis, lane, spec, free):
    f = mj.vmap(
        lambda r: lax.with_sharding_constraint(r, over("y")), in_axes=axis, spmd_axis_name=lane
    )
    eqn = mj.make_jaxpr(f)(VALUE).jaxpr.eqns[0]
    assert eqn.params["sharding"].spec == spec
    assert eqn.params["unconstrained_dims"] == free
    np.testing.assert_array_equal(f(VALUE), VALUE if axis == 0 else VALUE.T)


def test_eager_callbacks_take_sharded_arrays():
    x, shape = spread("x"), mj.ShapeDtypeStruct((8, 4), "float32")
    out = mj.pure_callback(lambda v, n: np.asarray(v) * n, shape, x, 2)
    assert out.devices() == set(mj.devices())
    np.testing.assert_array_equal(out + x, 3 * VALUE)


@pytest.mark.parametrize("target", ["x, y", "y", "back", "few", "others", "one"])
def test_shards_from_device_to_device(target, monkeypatch):
    """Arrays in the memory of an accelerator do not pass through the host."""
    sources = jnp.asarray(VALUE), spread("x", "y"), spread(None, "y")
    for x in sources:
        with monkeypatch.context() as patch:
            patch.setattr(device_put, "_is_away_from_host", lambda *_: True)
            patch.setattr(transfers, "host_value", None)
            y = mj.device_put(x, PLACES[target])
        check_shards(y, target)


def check_shards(y, target):
    assert y.sharding == PLACES[target] and y.aval == mj.device_put(VALUE, PLACES[target]).aval
    np.testing.assert_array_equal(y, VALUE)
    np.testing.assert_array_equal(mj.jit(jnp.negative)(y), -VALUE)
