# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # One program in many processes
#
# Training often needs more devices than one machine has. Then the same script runs in
# several processes, one per machine, and each process drives its own devices. To the
# script, all devices look like one machine. It creates a mesh of them, and the compiler
# inserts the communication. This page starts two such processes on this machine's CPU.
#
# ## Joining the other processes
#
# First, each process gives the address of process 0, the number of processes, and its own
# index. It waits for all others. If one is missing, the error names it.

# %%
import pathlib
import socket
import subprocess
import sys
import tempfile

import numpy as np

import minijax as jax
import minijax.numpy as jnp
from minijax.sharding import Mesh, NamedSharding
from minijax.sharding import PartitionSpec as P

# %%
with socket.create_server(("127.0.0.1", 0)) as s:
    address = f"127.0.0.1:{s.getsockname()[1]}"  # a free port

try:
    jax.distributed.initialize(address, 2, 0, initialization_timeout=1)
except RuntimeError as e:
    print(e)
    assert "process 1" in str(e)

# %%
assert not jax.distributed.is_initialized()

# %% [markdown]
# Under SLURM, Open MPI, Kubernetes, or the launcher below, `initialize()` needs no
# arguments. Call it before the first use of devices: devices of other processes cannot be
# added later.
#
# ## A training step
#
# This script fits a line. Each process creates its own examples, and
# `make_array_from_process_local_data` combines them: the global array has the rows of all
# processes, and no row leaves the process that created it. The step itself does not
# mention processes.

# %%
STEP = """
import jax, jax.numpy as jnp

@jax.jit
def step(w, x, y):
    def loss(w):
        return ((x @ w - y) ** 2).mean()

    value, slope = jax.value_and_grad(loss)(w)
    return w - 0.1 * slope, value
"""

# %%
SCRIPT = """
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

jax.distributed.initialize()
me, count = jax.process_index(), jax.process_count()
print(f"{jax.local_device_count()} of {jax.device_count()} devices")

mesh = Mesh(np.array(jax.devices()), ("data",))
rows = np.arange(8.0, dtype=np.float32).reshape(4, 2) + me  # this process's
sharding = NamedSharding(mesh, P("data"))
x = jax.make_array_from_process_local_data(sharding, rows)
y = jax.make_array_from_process_local_data(sharding, rows.sum(1))
assert x.shape == (4 * count, 2) and not x.is_fully_addressable
assert [s.data.shape for s in x.addressable_shards] == [(2, 2)] * 2

w = jax.device_put(np.zeros(2, np.float32), NamedSharding(mesh, P()))
for _ in range(3):
    w, loss = step(w, x / 10, y / 10)
    if me == 0:
        print("loss", float(loss))

# Shards on devices of other processes cannot be read; all processes gather them together.
try:
    np.asarray(x)
except RuntimeError as e:
    print(str(e).splitlines()[0][:72])
gathered = multihost_utils.process_allgather(x, tiled=True)
print(gathered.shape, gathered[:, 0].tolist())
multihost_utils.sync_global_devices("done")
"""

# %% [markdown]
# ## The launcher
#
# `python -m minijax.launch` starts several processes on one machine. It prefixes each
# line with the index of the process. If a process fails, it stops the others and exits
# with that process's status. With `--alias`, `import jax` in the script means minijax.

# %%
folder = pathlib.Path(tempfile.mkdtemp())
(folder / "train.py").write_text(STEP + SCRIPT)
done = subprocess.run(
    [
        sys.executable,
        "-m",
        "minijax.launch",
        "-n",
        "2",
        "--devices-per-process",
        "2",
        "--alias",
        str(folder / "train.py"),
    ],
    text=True,
    capture_output=True,
    timeout=240,
)
assert done.returncode == 0, done.stderr
# %%
lines = done.stdout.splitlines()
print(*lines, sep="\n")
assert {"[0] 2 of 4 devices", "[1] 2 of 4 devices"} <= set(lines)
# %% [markdown]
# Both processes gathered the rows of both. Neither could read the rows of the other
# alone.

# %%
assert "[1] (8, 2) [0.0, 2.0, 4.0, 6.0, 1.0, 3.0, 5.0, 7.0]" in lines
assert sum("Fetching value for `jax.Array` that spans" in line for line in lines) == 2

# %% [markdown]
# ## The same on one machine
#
# One process with four devices has the same losses. The program is the same; only the
# transport of the collectives differs.

# %%
jax.config.update("jax_num_cpu_devices", 4)
mesh = Mesh(np.array(jax.devices()), ("data",))
rows = np.arange(8.0, dtype=np.float32).reshape(4, 2)
rows = np.concatenate([rows, rows + 1])
x, y = jax.device_put((rows, rows.sum(1)), NamedSharding(mesh, P("data")))


# %%
@jax.jit
def step(w, x, y):
    def loss(w):
        return ((x @ w - y) ** 2).mean()

    value, slope = jax.value_and_grad(loss)(w)
    return w - 0.1 * slope, value


# %%
w, losses = jnp.zeros(2), []
for _ in range(3):
    w, loss = step(w, x / 10, y / 10)
    losses.append(float(loss))
process_losses = [float(line.split()[-1]) for line in lines if "loss" in line]
np.testing.assert_allclose(losses, process_losses, rtol=1e-6)

# %% [markdown]
# ## What can go wrong
#
# - A process dies, or raises an error: the others end within two seconds, and name it.
# - The processes run different programs, because one of them branches on
#   `process_index()`: the error names the first operation that differs, with its line,
#   before the processes wait for each other.
# - A value differs between processes although it must be equal: `device_put` to devices
#   of several processes compares it, and so does `multihost_utils.assert_equal`.

# %%
late = "must be called before any JAX calls"
try:
    jax.distributed.initialize(address, 2, 0)
except RuntimeError as e:
    assert late in str(e)

# %% [markdown]
# Functions for several processes also work with one, so a script does not need to test
# the number.

# %%
from minijax.experimental import multihost_utils

assert multihost_utils.process_allgather(np.arange(2)).tolist() == [[0, 1]]
assert multihost_utils.broadcast_one_to_all(3).item() == 3

# %% [markdown]
# ## Checkpoints
#
# `jax.experimental.array_serialization` stores arrays with TensorStore (`pip install
# minijax[checkpoint]`). Each process writes its own shards, and reads the shards that it
# needs, on any other mesh. orbax-checkpoint works under the alias.

# %%
from minijax.experimental.array_serialization import serialization

spec = serialization.get_tensorstore_spec("/checkpoints/step_100/w")
assert spec["kvstore"] == {"driver": "file", "path": "/checkpoints/step_100/w"}
