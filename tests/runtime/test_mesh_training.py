"""Many steps over a mesh: from several threads, ahead of the devices, in flat memory."""

import subprocess
import sys

# In a separate process, because XLA ends it if programs wait for each other forever.
RUN = """
import threading
import numpy as np
import minijax as mj, minijax.numpy as jnp
from minijax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(mj.devices()).reshape(4, 2), ("x", "y"))
over = lambda *spec: NamedSharding(mesh, P(*spec))
x = mj.device_put(np.ones((256, 128), np.float32), over("x", "y"))

def loss(w):
    return jnp.tanh(x @ w).sum()

step = mj.jit(lambda w: w - 0.01 * mj.grad(loss)(w), donate_argnums=0,
              out_shardings=over("y"))

def start():
    return mj.device_put(np.ones((128, 64), np.float32), over("y"))

def train(results, steps):
    w = start()
    for _ in range(steps):
        w = step(w)
    results.append(np.asarray(w))

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

results = []
threads = [threading.Thread(target=train, args=(results, 60)) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
assert len(results) == 8 and all((r == results[0]).all() for r in results)
train([], 300)
before = resident(), len(mj.live_arrays())
train([], 1500)
assert resident() - before[0] < 8 << 20, (before, resident())
assert len(mj.live_arrays()) <= before[1]
print("done")
"""


def test_many_steps_from_many_threads():
    done = subprocess.run(
        [sys.executable, "-c", RUN], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "done\n", done.stderr[-2000:]
