"""What a placement decides: operands, constants, results, and who must wait."""

import time

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.experimental.layout import Format, Layout
from minijax.runtime.running.device_put import put_operands
from minijax.runtime.sharding import placement as placements
from minijax.sharding import AxisType, Mesh, NamedSharding, SingleDeviceSharding
from minijax.sharding import PartitionSpec as P

X = np.arange(32, dtype=np.float32).reshape(4, 8)
MESH = Mesh(mj.devices()[:4], ("a",), axis_types=(AxisType.Auto,))
ONE = SingleDeviceSharding(mj.devices()[0])
ROWS = NamedSharding(MESH, P("a"))


def test_equal_placements_are_one_object():
    one, other = mj.devices()[:2]
    make = {
        "device": lambda: placements.on_device(one),
        "uncommitted": lambda: placements.on_device(one, committed=False),
        "other": lambda: placements.on_device(other),
        "requested": lambda: placements.on_device(one, ins=[ONE]),
        "mesh": lambda: placements.partitions(MESH, [ROWS, None]),
        "operands": lambda: placements.partitions(MESH, [None, ROWS]),
        "results": lambda: placements.partitions(MESH, [ROWS, None], [ROWS]),
        "layouts": lambda: placements.on_device(one).with_layouts([Layout((1, 0))], [None]),
        "replicas": lambda: placements.replicas(
            MESH.devices, MESH, [ROWS], [ROWS], (("i", 4),)
        ),
    }
    made = {name: f() for name, f in make.items()}
    assert len(set(map(id, made.values()))) == len(make)
    for name, f in make.items():
        assert f() is made[name]


def test_unread_arguments_and_layouts():
    transposed = Format(Layout((1, 0)), ONE)
    f = mj.jit(lambda unread, x: x * 2, in_shardings=(ONE, transposed))
    x = mj.device_put(X, transposed)
    for _ in range(2):
        np.testing.assert_array_equal(f(1.0, x), 2 * X)
    compiled = f.lower(1.0, x).compile()
    np.testing.assert_array_equal(compiled(1.0, x), 2 * X)
    unread, read = compiled.input_formats[0]
    assert unread is None and read.layout.major_to_minor == (1, 0)


@pytest.mark.parametrize("device", [None, 0, 2])
def test_results_are_marked_committed_for_the_compiled_calls_as_well(device):
    x = jnp.asarray(X) if device is None else mj.device_put(X, mj.devices()[device])
    f = mj.jit(lambda x: x + 1)
    for y in (jnp.tanh(x), f(x), f(x), mj.grad(lambda x: (x * x).sum())(x)):
        assert y._committed is y.committed is (device is not None)


CONSTANTS = {
    "numpy": lambda: np.random.default_rng(0).random((4, 8), np.float32),
    "one device": lambda: jnp.sin(X),
    "over the mesh": lambda: mj.device_put(X * 3, ROWS),
    "over its other axis": lambda: mj.device_put(X * 3, NamedSharding(MESH, P(None, "a"))),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_of_programs_over_a_mesh(name):
    constant = CONSTANTS[name]()
    expected = X * 2 + np.asarray(constant) * 1000
    x = mj.device_put(X, ROWS)
    f = mj.jit(lambda x: x * 2 + constant * 1000)
    for result in (f(x), f(x), f.lower(x).compile()(x)):
        np.testing.assert_array_equal(result, expected)
    rows = mj.pmap(lambda x, i: x * 2 + jnp.asarray(constant)[i] * 1000)
    np.testing.assert_array_equal(rows(X, np.arange(4)), expected)
    request = placements.partitions(MESH, [None])
    (put,) = put_operands([constant], request)
    assert put.sharding.is_fully_replicated and len(put.devices()) == 4


def test_an_unread_argument_may_decide_the_devices():
    mesh = Mesh(mj.devices()[4:6], ("b",), axis_types=(AxisType.Explicit,))
    x = mj.device_put(X, NamedSharding(mesh, P("b")))
    for f in (mj.jit(jnp.zeros_like), jnp.zeros_like, mj.jit(lambda x: x * 0 + 1)):
        for _ in range(2):
            y = f(x)
            assert y.devices() == x.devices()
            assert y.sharding.is_equivalent_to(x.sharding, 2)


def test_programs_without_unread_arguments_have_the_shardings_of_the_others():
    mesh = mj.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
    ins = [NamedSharding(mesh, P(*spec)) for spec in (("x",), ("y",), ())]
    assert placements.partitions(mesh, ins).with_operands([0, 2]).ins == (ins[0], ins[2])
    values = np.arange(8.0, dtype=np.float32), np.array([1, 5, 2], np.float32)
    rows, whole = (mj.device_put(v, s) for v, s in zip(values, ins[::2], strict=True))
    assert jnp.setdiff1d(rows, whole).tolist() == [0, 3, 4, 6, 7]  # reads two of five


def test_a_call_waits_for_failures_over_a_mesh():
    def fails_late(x):
        time.sleep(0.2)
        raise ValueError("too late")

    result = mj.ShapeDtypeStruct(X.shape, X.dtype)
    f = mj.jit(lambda x: mj.pure_callback(fails_late, result, x))
    for _ in range(2):
        with pytest.raises(Exception, match="too late"):
            f(mj.device_put(X, ROWS))


OPERATIONS = {
    "operation": mj.lax.neg,
    "bind": lambda x: mj.lax.neg_p.bind(x),
    "numpy": jnp.negative,
    "jit": mj.jit(lambda x: -x),
    "grad": mj.grad(lambda x: jnp.sin(x).sum()),
    "vmap": mj.vmap(jnp.sin),
    "jvp": lambda x: mj.jvp(jnp.sin, (x,), (x,))[1],
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_default_device_precedes_uncommitted_operands(name):
    f, x = OPERATIONS[name], jnp.arange(8.0)
    placed = mj.device_put(x, mj.devices()[2])
    for device in (None, mj.devices()[1], None, mj.devices()[3]):
        with mj.default_device(device):
            assert f(x).devices() == {device or mj.devices()[0]}
            assert f(placed).devices() == {mj.devices()[2]}
    with mj.set_mesh(MESH):
        assert len(f(x).devices()) == 4
