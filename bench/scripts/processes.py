"""Four processes with two devices each, from their start to a first training step."""

import os
import socket
import subprocess
import sys

COUNT = 4
if "JAX_PROCESS_ID" not in os.environ:
    with socket.create_server(("127.0.0.1", 0)) as s:
        address = f"127.0.0.1:{s.getsockname()[1]}"
    children = [
        subprocess.Popen(
            sys.orig_argv,
            env=os.environ
            | {
                "JAX_COORDINATOR_ADDRESS": address,
                "JAX_PROCESS_ID": str(i),
                "JAX_NUM_CPU_DEVICES": "2",
            },
        )
        for i in range(COUNT)
    ]
    sys.exit(max(abs(child.wait()) for child in children))

import numpy as np  # noqa: E402

import LIB as jax  # noqa: E402
import LIB.numpy as jnp  # noqa: E402

jax.distributed.initialize(
    os.environ["JAX_COORDINATOR_ADDRESS"], COUNT, int(os.environ["JAX_PROCESS_ID"])
)
P = jax.sharding.PartitionSpec
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
sharded, replicated = (jax.sharding.NamedSharding(mesh, P(*s)) for s in (("data",), ()))
data = np.linspace(0, 1, 32 * 64, dtype=np.float32).reshape(32, 64)
x = jax.make_array_from_callback(data.shape, sharded, lambda at: data[at])
w = jax.make_array_from_callback((64, 64), replicated, lambda at: np.eye(64, dtype="f4"))


def loss(w, x):
    for _ in range(4):
        x = jnp.tanh(x @ w)
    return (x**2).mean()


@jax.jit
def step(w, x):
    value, slope = jax.value_and_grad(loss)(w, x)
    return w - 0.1 * slope, value


w, value = step(w, x)
print(float(value))
jax.distributed.shutdown()
