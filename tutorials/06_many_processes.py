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
# A machine has so many devices; training often wants more. Then the same script runs in
# several processes, one for each machine, and each of them drives its own devices. To
# the script all devices look like one machine: it makes a mesh of them, and the
# compiler puts in what goes from one to another. This page starts two such processes
# here, on the CPU.
#
# ## Who is there
#
# The first thing that a process does is to say who it is: where process 0 is to be found,
# how many processes there are, and its own number. It waits for all others, and if one does
# not come it says which.

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
    address = f"127.0.0.1:{s.getsockname()[1]}"  # a port that nobody listens on

try:
    jax.distributed.initialize(address, 2, 0, initialization_timeout=1)
except RuntimeError as e:
    print(e)
    assert "process 1 has not come within 1 seconds, of 2 in all" in str(e)

# %%
assert not jax.distributed.is_initialized()

# %% [markdown]
# Under SLURM, Open MPI, Kubernetes, or the launcher below, `initialize()` needs no
# arguments. It must come before the first use of devices: those of others cannot be
# added later.
#
# ## A training step
#
# Here is a script that fits a line. Each process makes its own examples, and
# `make_array_from_process_local_data` puts them together: the global array has the rows
# of all, and no row leaves the process that made it. The step itself says nothing of
# processes.

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
where = NamedSharding(mesh, P("data"))
x = jax.make_array_from_process_local_data(where, rows)
y = jax.make_array_from_process_local_data(where, rows.sum(1))
assert x.shape == (4 * count, 2) and not x.is_fully_addressable
assert [s.data.shape for s in x.addressable_shards] == [(2, 2)] * 2

w = jax.device_put(np.zeros(2, np.float32), NamedSharding(mesh, P()))
for _ in range(3):
    w, loss = step(w, x / 10, y / 10)
    if me == 0:
        print("loss", float(loss))

# What lies on devices of other processes cannot be read; all gather it together.
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
# `python -m minijax.launch` starts the processes of one machine. It puts the number of
# the process before each line, ends with the status of one that fails, and then stops
# the others. With `--alias`, `import jax` in the script means minijax.

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
# Both have gathered the rows of both; neither could read those of the other by itself.

# %%
assert "[1] (8, 2) [0.0, 2.0, 4.0, 6.0, 1.0, 3.0, 5.0, 7.0]" in lines
assert sum("Fetching value for `jax.Array` that spans" in line for line in lines) == 2

# %% [markdown]
# ## The same on one machine
#
# One process with four devices has the same losses: the program is the same, only the
# compiler's collectives go another way.

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
theirs = [float(line.split()[-1]) for line in lines if "loss" in line]
np.testing.assert_allclose(losses, theirs, rtol=1e-6)

# %% [markdown]
# ## What goes wrong
#
# - A process dies, or raises: the others end within two seconds, and name it.
# - The processes do not run the same program, since one of them branches on
#   `process_index()`: before they wait for one another, the first operation that differs is
#   named, with its line.
# - A value that all are to have alike is not: `device_put` onto devices of several
#   processes compares, and so does `multihost_utils.assert_equal`.

# %%
late = "must be called before any JAX calls"
try:
    jax.distributed.initialize(address, 2, 0)
except RuntimeError as e:
    assert late in str(e)

# %% [markdown]
# What processes say to one another is there with one process, too, so that a script need
# not ask how many there are.

# %%
from minijax.experimental import multihost_utils

assert multihost_utils.process_allgather(np.arange(2)).tolist() == [[0, 1]]
assert multihost_utils.broadcast_one_to_all(3).item() == 3

# %% [markdown]
# ## Checkpoints
#
# `jax.experimental.array_serialization` stores arrays by TensorStore (`pip install
# minijax[checkpoint]`): each process writes the parts that it holds, and reads those
# that it is to hold, on any other mesh. orbax-checkpoint works under the alias.

# %%
from minijax.experimental.array_serialization import serialization

spec = serialization.get_tensorstore_spec("/checkpoints/step_100/w")
assert spec["kvstore"] == {"driver": "file", "path": "/checkpoints/step_100/w"}
