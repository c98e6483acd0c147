"""Compiling for devices that are not there: slices of TPUs by name, H200s by description.

Collectives and bytes are recorded from JAX 0.10.2 with the same plugin (libtpu 0.0.42).
"""

import importlib.util
import re

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.experimental import topologies
from minijax.runtime.backends import client
from minijax.sharding import NamedSharding, SingleDeviceSharding
from minijax.sharding import PartitionSpec as P
from tests.platforms.targets import H200

tpu = pytest.mark.skipif(
    importlib.util.find_spec("libtpu") is None, reason="the wheel libtpu is not installed"
)
cuda = pytest.mark.skipif(
    client.cuda_library() is None, reason="the wheel jax-cuda13-pjrt is not installed"
)


def bf16(*shape):
    return mj.ShapeDtypeStruct(shape, jnp.bfloat16)


def step(weights, x, y):
    """A step of training: three blocks with a residual connection."""

    def loss(weights):
        h = x
        for a, b in weights:
            h = h + mj.nn.gelu(h @ a) @ b
        return jnp.mean((h - y).astype("float32") ** 2)

    value, slopes = mj.value_and_grad(loss)(weights)
    return mj.tree.map(lambda w, s: w - 0.1 * s, weights, slopes), value


def compiled(topology, shape):
    mesh = topologies.make_mesh(topology, shape, ("x", "y"))
    over = lambda *spec: NamedSharding(mesh, P(*spec))
    weights = [(bf16(256, 1024), bf16(1024, 256))] * 3
    shardings = [(over("x", "y"), over("y", "x"))] * 3
    jitted = mj.jit(
        step, in_shardings=(shardings, over("x"), over("x")), out_shardings=(shardings, over())
    )
    return jitted.lower(weights, bf16(512, 256), bf16(512, 256)).compile()


def count(text, name):
    return len(re.findall(rf" {name}(?:-start)?\(", text))


@tpu
@pytest.mark.parametrize(
    "name, shape, reductions, size",
    [("v5e:2x2", (2, 2), 8, 1048576), ("v5e:16x16", (16, 16), 7, 57344)],
)
def test_slices_of_tpus(name, shape, reductions, size):
    made = compiled(topologies.get_topology_desc(name, "tpu"), shape)
    text = made.as_text()
    assert (count(text, "all-reduce"), count(text, "all-gather")) == (reductions, 16)
    assert made.memory_analysis().argument_size_in_bytes == size
    assert made.cost_analysis()["flops"] > 1e7
    assert made.output_shardings[1].spec == P()


@tpu
def test_programs_for_absent_devices_cannot_be_called():
    topology = topologies.get_topology_desc("v5e:2x2")
    on_first = SingleDeviceSharding(topology.devices[0])
    one = mj.jit(jnp.sin, in_shardings=on_first).lower(bf16(8)).compile()
    with pytest.raises(
        RuntimeError, match="compiled for devices that this process does not have"
    ):
        one(np.zeros(8, jnp.bfloat16))
    with pytest.raises(Exception, match="Invalid topology layout"):
        topologies.get_topology_desc("v5e:3x", "tpu")


@cuda
def test_gpus_by_description():
    topology = topologies.get_topology_desc(
        platform="cuda", target_config=H200, topology="1x1x8"
    )
    made = compiled(topology, (4, 2))
    text = made.as_text()
    assert len(topology.devices) == 8 and "all-gather" in text
    assert made.memory_analysis().argument_size_in_bytes > 0
    assert made.cost_analysis()["flops"] > 1e8


def test_attached_devices():
    topology = topologies.get_attached_topology("cpu")
    assert topology.devices == mj.devices("cpu")
    mesh = topologies.make_mesh(topology, (4, 2), ("x", "y"))
    assert mesh.shape_tuple == (("x", 4), ("y", 2))
    with pytest.raises(ValueError, match=r"must equal the product of mesh_shape \(3,\)"):
        topologies.make_mesh(topology, (3,), ("x",))
    with pytest.raises(ValueError, match="2 sizes for axis names"):
        topologies.make_mesh(topology, (4, 2), ("x",))
    for name in ("cpu", "metal"):
        with pytest.raises(NotImplementedError, match="topology not implemented for"):
            topologies.get_topology_desc("", name)


@pytest.mark.parametrize("platform", ["tpu", "cuda"])
def test_without_the_wheel(platform, monkeypatch):
    def missing(*args):
        raise ImportError

    monkeypatch.setattr(client, "tpu_library", missing)
    monkeypatch.setattr(client, "cuda_library", lambda: None)
    with pytest.raises(RuntimeError, match=r"cannot generate (TPU|CUDA) topology"):
        topologies.get_topology_desc("v5e:2x2", platform)
