"""Calls over meshes: errors, shardings that jit takes, compiled calls, shards."""

import pickle
import warnings

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.sharding import Mesh, NamedSharding, SingleDeviceSharding
from minijax.sharding import PartitionSpec as P

MESH = Mesh(np.array(mj.devices()).reshape(4, 2), ("x", "y"))
SMALL = NamedSharding(Mesh(np.array(mj.devices()[:2]), ("a",)), P("a"))
VALUE = np.arange(32, dtype=np.float32).reshape(8, 4)
ALONE = SingleDeviceSharding(mj.devices()[3])
STRUCT = mj.ShapeDtypeStruct((8, 4), "float32")


def over(*spec):
    return NamedSharding(MESH, P(*spec))


def spread(*spec):
    return mj.device_put(VALUE, over(*spec))


def alone(i=3):
    return mj.device_put(VALUE, mj.devices()[i])


def deep(params, *args, k=0.0):
    return params["w"] + args[0] + k


def pair(x, y):
    return x + y


def constrained(x, y):
    return lax.with_sharding_constraint(x, over("x")) + y


ALL = r"\[0, 1, 2, 3, 4, 5, 6, 7\] on platform CPU"
# Key sentences of JAX 0.10.2.
DEVICES = {
    "by name": (
        lambda: mj.jit(pair)(spread("x"), alone()),
        rf"argument x of pair with shape float32\[8,4\] and with device ids {ALL}"
        r" and argument y of pair with shape float32\[8,4\] and with device ids"
        r" \[3\] on platform CPU",
    ),
    "in trees": (
        lambda: mj.jit(deep)({"w": spread("x")}, alone()),
        r"argument params\['w'\] of deep .* and argument args\[0\] of deep",
    ),
    "by keyword": (
        lambda: mj.jit(deep)({"w": spread("x")}, 1.0, k=alone()),
        "and argument k of deep",
    ),
    "two devices": (
        lambda: mj.jit(pair)(alone(1), alone(3)),
        r"x of pair .* ids \[1\] on .* y of pair .* ids \[3\]",
    ),
    "eager": (lambda: lax.add(spread("x"), alone()), r"args\[1\] of add"),
    "nested": (lambda: mj.vmap(mj.jit(pair))(spread("x"), alone()), r"args\[1\] of pair"),
    "in_shardings": (
        lambda: mj.jit(pair, in_shardings=(over("x"), None))(VALUE, alone()),
        rf"argument y of pair .* \[3\] on platform CPU and .* {ALL}",
    ),
    "inside": (lambda: mj.jit(constrained)(VALUE, alone()), "argument y of constrained"),
    "out_shardings": (
        lambda: mj.jit(jnp.sin, out_shardings=ALONE)(spread("x")),
        r"argument x of sin .* \[3\] on platform CPU",
    ),
    "two asked for": (
        lambda: mj.jit(jnp.sin, in_shardings=over("x"), out_shardings=SMALL)(VALUE),
        rf"ARG_SHARDING with device ids {ALL} and explicit output sharding with"
        r" device ids \[0, 1\] on platform CPU",
    ),
    "two inside": (
        lambda: mj.jit(
            lambda x: lax.with_sharding_constraint(
                lax.with_sharding_constraint(x, over("x")), SMALL
            )
        )(VALUE),
        r"sharding_constraint inside jit with device ids .* \[0, 1\]",
    ),
    "put inside": (
        lambda: mj.jit(lambda x: mj.device_put(x, ALONE))(spread("x")),
        r"argument x of <lambda> .* \[3\]",
    ),
    "types": (
        lambda: mj.jit(pair).lower(
            STRUCT.update(sharding=over("x")), STRUCT.update(sharding=ALONE)
        ),
        r"argument x of pair .* argument y of pair",
    ),
}


@pytest.mark.parametrize("name", DEVICES)
def test_errors_name_operands_on_other_devices(name):
    call, message = DEVICES[name]
    start = "Received incompatible devices for jitted computation. Got .*"
    with pytest.raises(ValueError, match=start + message):
        call()


def jitted(**options):
    return lambda: mj.jit(jnp.sin, **options)(VALUE)


# Key sentences of JAX 0.10.2.
REFUSED = {
    "unconstrained in": (jitted(in_shardings=over(P.UNCONSTRAINED)), ValueError,
                         "Unconstrained dims are not allowed when passed to in_shardings"),
    "unconstrained out": (
        jitted(out_shardings=over(P.UNCONSTRAINED)), ValueError,
        "Unconstrained dims are not allowed when passed to out_shardings"),
    "no sharding": (jitted(in_shardings="x"), TypeError, "in_shardings leaf specif"),
    "a device": (jitted(out_shardings=mj.devices()[3]), TypeError,
                 "out_shardings leaf specifications are expected to be PartitionSpec"),
    "no mesh": (jitted(out_shardings=P("x")), RuntimeError,
                "if you are passing `PartitionSpec`s to out_shardings"),
    "with a device": (jitted(in_shardings=over(), device=mj.devices()[0]), ValueError,
                      "If backend or device is specified on jit, then in_shardings"),
    "with keywords": (lambda: mj.jit(pair, in_shardings=over("x"))(VALUE, y=VALUE),
                      ValueError, "pjit does not support kwargs when in_shardings"),
    "no tuple": (lambda: mj.jit(lambda d: d, in_shardings={"x": None})({"x": VALUE}),
                 ValueError, "is not a tuple: got <class 'dict'> instead"),
    "another tree": (lambda: mj.jit(lambda d: d, in_shardings=({"y": over()},))(
        {"x": VALUE}), ValueError, r"in_shardings\[0\] is a dict with keys 'y'"),
    "too short": (lambda: mj.jit(lambda d: (d, d), out_shardings=(over(),))(VALUE),
                  ValueError, "must be a tree prefix of the corresponding value"),
    "rank of an argument": (
        lambda: mj.jit(lambda p: p, in_shardings=over("x", "y"))({"b": np.ones(8)}),
        ValueError, r"One of pjit arguments with pytree key path p\['b'\] is incompatible"),
    "rank of a result": (
        lambda: mj.jit(lambda x: {"b": x}, out_shardings=over("x"))(1.0), ValueError,
        r"One of pjit outputs with pytree key path result\['b'\] is incompatible .* For"
        r" scalars the PartitionSpec should be P\(\)"),
    "size of an argument": (
        lambda: mj.jit(lambda p: p, in_shardings=over("x"))({"b": np.ones(7)}),
        ValueError, "array axis 0 is partitioned 4 times, but the dimension size is 7"),
    "constraint None": (lambda: lax.with_sharding_constraint(VALUE, None), ValueError,
                        "got sharding None which is not allowed"),
    "put in a program": (
        lambda: mj.jit(lambda x: mj.device_put(x, over("x", "y")))(np.ones(8)), ValueError,
        "One of device_put args is incompatible with its sharding annotation"),
    "put without a mesh": (lambda: mj.device_put(VALUE, P("x")), ValueError,
                           "Please set a mesh via `jax.set_mesh` if a PartitionSpec"),
    "type: no mesh": (lambda: mj.ShapeDtypeStruct((8,), "f4", sharding=P("x")).sharding,
                      TypeError, "the context mesh cannot be empty"),
    "type: rank of a spec": (lambda: mj.ShapeDtypeStruct((), "f4", sharding=P("x")),
                             ValueError, "only valid for values of rank at least 1"),
    "type: no sharding": (lambda: mj.ShapeDtypeStruct((8,), "f4", sharding=3), ValueError,
                          "sharding should be an instance of `jax.sharding.Sharding`"),
    "type: rank": (lambda: mj.ShapeDtypeStruct((8,), "f4", sharding=over("x", "y")),
                   ValueError, "only valid for values of rank at least 2"),
    "dlpack": (lambda: np.from_dlpack(spread("x")), BufferError,
               "to_dlpack can only pack a dlpack tensor from an array on a singular"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_rejected_calls(name):
    call, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        call()


def test_a_spec_in_a_type_is_over_the_mesh_that_reads_it():
    struct = mj.ShapeDtypeStruct((8,), "f4", sharding=P("x"))
    assert repr(struct).endswith("sharding=P('x',))")
    copies = [struct.update(weak_type=False), pickle.loads(pickle.dumps(struct))]
    assert copies == [struct] * 2
    for mesh in (over("x").mesh, Mesh(mj.devices()[:2], ("x",))):
        sharding = mj.NamedSharding(mesh, P("x"))
        original = mj.ShapeDtypeStruct((8,), "f4", sharding=sharding)
        with mj.set_mesh(mesh):
            assert struct.sharding == sharding
            assert struct == original and hash(struct) == hash(original)
            assert all(copy.sharding == sharding for copy in copies)
        assert struct != original


ONE_DEVICE = {
    "in": lambda: mj.jit(jnp.sin, in_shardings=ALONE)(VALUE),
    "in, from elsewhere": lambda: mj.jit(jnp.sin, in_shardings=ALONE)(alone(1)),
    "out": lambda: mj.jit(jnp.sin, out_shardings=ALONE)(VALUE),
    "constraint": lambda: mj.jit(lambda x: lax.with_sharding_constraint(jnp.sin(x), ALONE))(
        VALUE
    ),
    "put": lambda: mj.jit(lambda x: mj.device_put(jnp.sin(x), ALONE))(VALUE),
    "type": lambda: mj.jit(jnp.sin).lower(STRUCT.update(sharding=ALONE)).compile()(VALUE),
}


@pytest.mark.parametrize("name", ONE_DEVICE)
def test_a_single_device_is_a_sharding(name):
    for _ in range(2):
        out = ONE_DEVICE[name]()
        assert out.sharding == ALONE and out.committed
        np.testing.assert_allclose(out, np.sin(VALUE), rtol=1e-5)


def step(c):
    return lax.with_sharding_constraint(c * 2, over("y"))


LOOPS = {
    "scan": lambda x: lax.scan(lambda c, _: (step(c), None), x, None, length=2)[0],
    "fori_loop": lambda x: lax.fori_loop(0, 2, lambda _, c: step(c), x),
    "while_loop": lambda x: lax.while_loop(lambda c: c.sum() < 1000, step, x),
    "cond": lambda x: lax.cond(True, lambda c: step(step(c)), lambda c: c, x),
    "switch": lambda x: lax.switch(1, [jnp.sin, lambda c: step(step(c))], x),
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("where", ["host", "mesh"])
def test_constraints_in_loops_and_branches_run_eagerly(name, where):
    out = LOOPS[name](VALUE if where == "host" else spread("x"))
    assert out.devices() == set(mj.devices())
    assert name in ("cond", "switch") or out.sharding.is_equivalent_to(over("y"), 2)
    np.testing.assert_array_equal(out, 4 * VALUE)


@pytest.mark.parametrize(
    ("source", "target", "freed"), [("x", "x", True), ("x", "y", False), ("x", None, True)]
)
def test_donation_over_a_mesh_reuses_matching_memory(source, target, freed):
    x = spread(source)
    sharding = None if target is None else over(target)
    f = mj.jit(lambda x: x + 1, donate_argnums=0, out_shardings=sharding)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        out = f(x)
    assert x.is_deleted() == freed
    assert freed != any("donated buffers were not usable" in str(w.message) for w in seen)
    np.testing.assert_array_equal(out, VALUE + 1)
    assert sharding is None or out.sharding == sharding


def test_compiled_calls_reject_other_shardings():
    compiled = mj.jit(deep).lower({"w": spread("x")}, spread("x")).compile()
    message = (
        r"Computation was compiled for input shardings that disagree with the shardings of"
        r" arguments passed to it. Here are the 1 mismatches:\nArgument args\[0\] with"
        r" shape float32\[8,4\]:\n  Passed sharding: .*\n  Required sharding: Named"
    )
    for wrong in (spread("y"), alone()):
        with pytest.raises(ValueError, match=message):
            compiled({"w": spread("x")}, wrong)
    out = compiled({"w": VALUE}, jnp.asarray(VALUE))  # uncommitted, so it is moved
    np.testing.assert_array_equal(out, 2 * VALUE)
    one = mj.jit(jnp.sin).lower(VALUE).compile()
    for wrong in (spread("x"), alone()):
        with pytest.raises(ValueError, match="Required sharding: SingleDeviceSharding"):
            one(wrong)
    unused = mj.jit(lambda x, y: x).lower(spread("x"), spread("y")).compile()
    assert unused.input_shardings == ((over("x"), None), {})


def test_types_of_results_have_shardings():
    f = mj.jit(lambda x: (x, x), in_shardings=over("x"), out_shardings=(over("y"), None))
    for info in (f.eval_shape(VALUE), mj.eval_shape(f, VALUE), f.lower(VALUE).out_info):
        assert [s.sharding for s in info] == [over("y"), None]
    for info, result in zip(f.lower(VALUE).compile().out_info, f(VALUE), strict=True):
        assert info.format == result.format
    with mj.set_mesh(MESH):
        assert STRUCT.update(sharding=P("x")).sharding == over("x")


def test_shards_of_keys_and_replica_ids():
    """Shards of keys are keys; devices with the same shard are numbered."""
    keys = mj.random.split(mj.random.key(0), 8)
    parts = mj.device_put(keys, over("x")).addressable_shards
    assert all(p.data.dtype == keys.dtype and p.data.shape == (2,) for p in parts)
    assert parts[3].data[0] == keys[2]
    numbers = [s.replica_id for s in spread("x").addressable_shards]
    assert numbers == [0, 1] * 4
    assert [s.replica_id for s in spread().global_shards] == list(range(8))
    x = spread("x")
    x.delete()
    with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=float32"):
        _ = x.addressable_shards


def test_calls_over_a_mesh_are_traced_once():
    count = []

    def f(x, y):
        count.append(1)
        return x + y

    g = mj.jit(f, in_shardings=(over("x"), None), out_shardings=over("x"))
    for _ in range(3):
        g(VALUE, VALUE)
        g(spread("x"), spread("y"))
    assert len(count) == 1
    g.clear_cache()
    g(VALUE, VALUE)
    assert len(count) == 2


# -------------------------------------------------------- the device of a jitted function


@pytest.mark.filterwarnings("ignore:backend and device argument on jit")
def test_the_device_of_a_function_within_another():
    one, two = mj.devices()[1:3]
    f = mj.jit(lambda x: 2 * x, device=one)
    x = mj.numpy.ones(3)
    for g in (
        mj.jit(f),
        mj.jit(lambda x: f(x) + 1),
        mj.jit(mj.vmap(f)),
        mj.jit(mj.grad(lambda x: f(x).sum())),
        mj.jit(lambda x: lax.scan(lambda c, _: (f(c), None), x, length=2)[0]),
        mj.jit(lambda x: mj.jit(lambda x: 2 * x, device=one, inline=True)(x)),
    ):
        assert g(x).devices() == {one}
        assert g.lower(x).compile()(x).devices() == {one}
    for g, y in (
        (mj.jit(lambda x: f(x)), mj.device_put(x, two)),
        (mj.jit(lambda x: f(x), device=two), x),
        (mj.jit(lambda x: f(x) + mj.jit(lambda x: x, device=two)(x)), x),
        (mj.jit(lambda x: f(x)), mj.device_put(np.ones(8), over("x"))),
    ):
        with pytest.raises(ValueError, match="incompatible devices"):
            g(y)
    with pytest.raises(ValueError, match="must be one device"):
        mj.jit(lambda x: x, device=over("x"))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[np.zeros(0, int)],
        lambda x: x[x > 9],
        lambda x: x[:0].std(ddof=1),
        lambda x: mj.numpy.take_along_axis(x, np.zeros(0, int), 0),
        lambda x: mj.numpy.diag(x[:0]),
        lambda x: mj.numpy.setdiff1d(x, x),
    ],
)
def test_empty_results_stay_on_their_device(f):
    device = mj.devices()[1]
    out = f(mj.device_put(mj.numpy.arange(3.0), device))
    assert out.devices() == {device}
    assert out.committed
