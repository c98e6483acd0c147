"""Arrays that one program lends and another pulls: both ends in one process."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.experimental import transfer
from minijax.sharding import NamedSharding, SingleDeviceSharding
from minijax.sharding import PartitionSpec as P


def test_arrays_are_lent_and_pulled():
    device = mj.devices()[0]
    server = transfer.start_transfer_server(device.client, "[::]:0", ["127.0.0.1:0"])
    x = {"a": jnp.arange(4.0), "b": jnp.ones((2, 3), "int32")}
    server.await_pull(3, x)
    port = server.address().rpartition(":")[2]
    link = server.connect(f"127.0.0.1:{port}")
    on_device = SingleDeviceSharding(device)
    expected = mj.tree.map(
        lambda v: mj.ShapeDtypeStruct(v.shape, v.dtype, sharding=on_device), x
    )
    got = link.pull(3, expected)
    assert mj.tree.map(lambda a, b: a.dtype == b.dtype, got, x) == {"a": True, "b": True}
    np.testing.assert_array_equal(got["a"] + 1, np.arange(1.0, 5))
    assert got["a"].sharding == on_device and got["b"].sum() == 6
    assert link.pull(4, ()) == ()


def test_an_array_that_is_an_error():
    mesh = mj.make_mesh((2,), ("x",), axis_types=(mj.sharding.AxisType.Auto,))
    for sharding in (SingleDeviceSharding(mj.devices()[0]), NamedSharding(mesh, P("x"))):
        struct = mj.ShapeDtypeStruct((2,), "float32", sharding=sharding)
        x = transfer.make_error_array(struct, "lost")
        assert x.shape == (2,) and x.sharding == sharding
        with pytest.raises(mj.errors.JaxRuntimeError, match="lost"):
            np.asarray(x)
