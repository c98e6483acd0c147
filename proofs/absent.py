"""The decoder's train step, compiled for devices that this machine lacks.

    python -m minijax.tools.alias -m proofs.absent tpu cuda

The targets are a slice of 16 x 16 TPUs, with parameters sharded over both axes of the mesh,
and 8 H200s as 4 x 2.  The output has one line of JSON per platform: the collectives of the
program, bytes per device, and the times of lowering and compiling.  The extra `platforms`
installs the platforms' plugins.

This program also runs under JAX.
"""

from __future__ import annotations

import collections
import functools
import json
import os
import re
import sys
import time

os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")  # must be set before a plugin loads
os.environ.setdefault("TPU_ACCELERATOR_TYPE", "v5litepod-4")
os.environ.setdefault("TPU_WORKER_HOSTNAMES", "localhost")

import jax
import jax.numpy as jnp
from jax.experimental import topologies
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from proofs import decoder
from tests.platforms.targets import H200

COLLECTIVES = "all-reduce all-gather reduce-scatter all-to-all collective-permute".split()
SIZES = {"tpu": (8, 1024, 64, 256, 64), "cuda": (8, 1024, 64, 256, 64)}


def fully_sharded(layers: int) -> dict:
    """Return the specs of parameters: each matrix over both axes of the mesh."""
    one = {name: P("data", "model") for name in ("q", "k", "v", "up")}
    one.update(out=P("model", "data"), down=P("model", "data"), norm1=P(), norm2=P())
    return {
        "embed": P("data", "model"),
        "place": P(),
        "norm": P(),
        "unembed": P("data", "model"),
        "layers": [one] * layers,
    }


def machine(platform: str) -> tuple:
    """Return the topology of the devices and the shape of their mesh."""
    if platform == "tpu":
        return topologies.get_topology_desc("v5e:16x16", "tpu"), (16, 16)
    return topologies.get_topology_desc(
        platform="cuda", target_config=H200, topology="1x1x8"
    ), (4, 2)


def describe(platform: str) -> dict:
    """Compile the train step for a platform, and describe the program."""
    layers, width, head, length, rows = SIZES[platform]
    topology, shape = machine(platform)
    mesh = topologies.make_mesh(topology, shape, ("data", "model"))
    fresh = jax.eval_shape(
        functools.partial(decoder.init, layers=layers, width=width, length=length),
        jax.eval_shape(lambda: jax.random.key(0)),
    )
    specs = fully_sharded(layers)
    shardings = jax.tree.map(
        lambda s: NamedSharding(mesh, s),
        (specs, specs, specs, P()),
        is_leaf=lambda x: isinstance(x, P),
    )
    state = (fresh, fresh, fresh, jax.ShapeDtypeStruct((), jnp.float32))
    batch = jax.ShapeDtypeStruct((rows, length + 1), jnp.int32)

    def step(state, rows):
        loss, grads = jax.value_and_grad(decoder.loss_of)(state[0], rows, head)
        return decoder.adam(state, grads), loss

    jitted = jax.jit(
        step,
        donate_argnums=0,
        in_shardings=(shardings, NamedSharding(mesh, P("data"))),
        out_shardings=(shardings, NamedSharding(mesh, P())),
    )
    begin = time.perf_counter()
    lowered = jitted.lower(state, batch)
    middle = time.perf_counter()
    compiled = lowered.compile()
    end = time.perf_counter()
    text, memory = compiled.as_text(), compiled.memory_analysis()
    counts = collections.Counter(re.findall(rf" ({'|'.join(COLLECTIVES)})(?:-start)?\(", text))
    return {
        "platform": platform,
        "devices": len(topology.devices),
        "collectives": dict(sorted(counts.items())),
        "arguments": memory.argument_size_in_bytes,
        "results": memory.output_size_in_bytes,
        "shared": memory.alias_size_in_bytes,
        "temporary": memory.temp_size_in_bytes,
        "lower": round(middle - begin, 2),
        "compile": round(end - middle, 2),
    }


if __name__ == "__main__":
    for platform in sys.argv[1:] or ["tpu", "cuda"]:
        print(json.dumps(describe(platform)), flush=True)
