"""Saving by orbax-checkpoint in several processes, under the alias.

`save DIR` stores a sharded tree at steps 0 and 1, and is killed while it writes step 2;
`restore DIR` reads the last whole one, in another number of processes, on another mesh.
"""

import os
import sys
import threading

import jax
import numpy as np
import orbax.checkpoint as ocp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

jax.config.update("jax_platforms", "cpu")
jax.distributed.initialize()
doing, where = sys.argv[1:]
shape = (4, 2) if doing == "save" else (2, 4)
mesh = Mesh(np.array(jax.devices()).reshape(shape), ("a", "b"))
data = np.arange(64.0, dtype=np.float32).reshape(8, 8)


def sharded(x, *spec):
    sharding = NamedSharding(mesh, P(*spec))
    return jax.make_array_from_callback(x.shape, sharding, lambda at: x[at])


def tree(step, *spec):
    return {
        "w": sharded(data + step, *spec),
        "m": [sharded(data.astype("bfloat16"), *spec[::-1])],
        "b": sharded(data[0], None),
        "step": step,
    }


options = ocp.CheckpointManagerOptions(max_to_keep=3)
manager = ocp.CheckpointManager(where, options=options)
if doing == "save":
    for step in (0, 1):
        manager.save(step, args=ocp.args.StandardSave(tree(step, "a", "b")))
        manager.wait_until_finished()
    # Nothing that is begun from here on is ever finished.
    commit = os.rename
    os.rename = lambda *args, **kwargs: threading.Event().wait()
    os.replace = os.rename
    manager.save(2, args=ocp.args.StandardSave(tree(2, "a", "b")))
    print("killed", os.listdir(where), flush=True)
    os.kill(os.getpid(), 9)
else:
    spec = "b", "a"
    like = jax.tree.map(
        lambda x: (
            x
            if isinstance(x, int)
            else jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding)
        ),
        tree(0, *spec),
    )
    last = manager.latest_step()
    restored = manager.restore(last, args=ocp.args.StandardRestore(like))
    for x, y in zip(jax.tree.leaves(restored), jax.tree.leaves(tree(last, *spec)), strict=True):
        if isinstance(y, int):
            assert x == y
            continue
        assert x.sharding == y.sharding
        for a, b in zip(x.addressable_shards, y.addressable_shards, strict=True):
            assert a.index == b.index
            assert (np.asarray(a.data) == np.asarray(b.data)).all()
    print("restored", last, restored["w"].sharding.spec, jax.process_count(), flush=True)
    manager.close()
