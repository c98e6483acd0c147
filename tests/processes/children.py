"""What processes of one cluster compute, a line each: `name: value`.

Runs under minijax and under JAX, `python children.py jax|minijax` in each of two processes
with two devices; what JAX 0.10.2 says is in values.txt.
"""

import os
import sys

if sys.argv[1] == "minijax":
    import minijax.tools.alias

    minijax.tools.alias.install()

import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

COUNT, ME = int(os.environ["JAX_NUM_PROCESSES"]), int(os.environ["JAX_PROCESS_ID"])
jax.config.update("jax_num_cpu_devices", 2)
jax.config.update("jax_platforms", "cpu")
jax.distributed.initialize(
    os.environ["JAX_COORDINATOR_ADDRESS"],
    COUNT,
    ME,
    initialization_timeout=60,
    heartbeat_timeout_seconds=60,
    shutdown_timeout_seconds=60,
)

import jax.numpy as jnp  # noqa: E402
from jax.experimental import multihost_utils as hosts  # noqa: E402

DEVICES = jax.devices()
N = len(DEVICES)
row = Mesh(np.array(DEVICES), ("x",))
grid = Mesh(np.array(DEVICES).reshape(COUNT, -1), ("p", "d"))
data = np.arange(4.0 * N, dtype=np.float32)


def over(*spec, mesh=row):
    return NamedSharding(mesh, P(*spec))


def report(x):
    """An array as text: type, sharding, and the parts that are here."""
    if isinstance(x, jax.Array):
        parts = [
            f"{s.device.id}{[(i.start, i.stop) for i in s.index]}#{s.replica_id}"
            f"={np.asarray(s.data).tolist()}"
            for s in x.addressable_shards
        ]
        flags = "".join(
            "ARC"[i]
            for i, f in enumerate((x.is_fully_addressable, x.is_fully_replicated, x.committed))
            if f
        )
        spec = getattr(x.sharding, "spec", "one")
        return f"{x.dtype}{list(x.shape)} {spec} {flags} {' '.join(parts)}"
    if isinstance(x, np.ndarray):
        return f"numpy {x.dtype}{list(x.shape)} {x.tolist()}"
    if isinstance(x, (tuple, list)):
        return "[" + ", ".join(map(report, x)) + "]"
    if isinstance(x, dict):
        return str({k: report(v) for k, v in x.items()})
    return repr(x)


def mapped(f, values=None, **how):
    own_values = np.arange(2, dtype=np.int32) + 10 * ME if values is None else values
    return jax.pmap(f, "i", **how)(own_values)


def ring(n):
    return [(i, (i + 1) % n) for i in range(n)]


def manual(x):
    full = lax.all_gather(x, "x", tiled=True)
    return (
        lax.psum(x, "x")[:1] + lax.axis_index("x"),
        lax.ppermute(x, "x", ring(N)),
        lax.psum_scatter(full, "x", tiled=True),
        lax.all_to_all(full.reshape(N, -1), "x", 0, 1, tiled=True),
    )


def live():
    with hosts.live_devices(DEVICES) as alive:
        return [d.id for d in alive]


def in_mesh(f):
    with jax.set_mesh(row):
        return f()


global_array = jax.make_array_from_callback((4 * N,), over("x"), lambda at: data[at])
copies = jax.make_array_from_callback((3,), over(), lambda at: data[:3])
local_devices = jax.local_devices()
CASES = {
    "counts": lambda: [
        jax.process_index(), jax.process_count(), jax.process_indices(),
        jax.device_count(), jax.local_device_count(), [d.id for d in DEVICES],
        [d.id for d in local_devices], [d.id for d in jax.local_devices(process_index=1)],
        jax.distributed.is_initialized(),
    ],
    "late": lambda: jax.distributed.initialize("127.0.0.1:1", COUNT, ME),
    "mesh": lambda: [str(row.local_mesh), str(grid.local_mesh), row.is_multi_process],
    "global": lambda: global_array,
    "its sharding": lambda: [
        global_array.sharding.is_fully_addressable, global_array.sharding.has_addressable_devices,
        sorted(d.id for d in global_array.sharding.addressable_devices),
        len(global_array.global_shards), sum(s.data is None for s in global_array.global_shards),
    ],
    "repr": lambda: [repr(global_array), str(global_array), repr(copies)],
    "asarray": lambda: np.asarray(global_array),
    "tolist": lambda: global_array.tolist(),
    "device_get": lambda: jax.device_get(global_array),
    "pickle": lambda: __import__("pickle").dumps(global_array),
    "replicated": lambda: [copies, np.asarray(copies), copies.tolist()],
    "sum": lambda: jax.jit(lambda x: x.sum())(global_array),
    "float": lambda: float(jax.jit(lambda x: x.sum())(global_array)),
    "eager": lambda: global_array + 1,
    "eager, NumPy": lambda: global_array + np.ones(4 * N, np.float32),
    "eager, array": lambda: global_array + jnp.float32(2),
    "eager, committed": lambda: global_array + jax.device_put(data, local_devices[0]),
    "index": lambda: [global_array[1], global_array[1:3]],
    "put": lambda: [
        jax.device_put(data, over("x")), jax.device_put(data[:2], over()),
        jax.device_put(3.0, over()), jax.device_put(jnp.asarray(data), over("x")),
    ],
    "put, differs": lambda: jax.device_put(data[:2] + ME, over()),
    "put, committed": lambda: jax.device_put(jax.device_put(data, local_devices[0]), over("x")),
    "put, moved": lambda: [
        jax.device_put(global_array, over()), jax.device_put(global_array, over("d", mesh=grid)),
    ],
    "put, down": lambda: jax.device_put(global_array, local_devices[0]),
    "jit, NumPy": lambda: jax.jit(lambda x, y: x + y)(global_array, data),
    "jit, cut NumPy": lambda: jax.jit(lambda x: x, in_shardings=over("x"))(data),
    "jit, whole NumPy": lambda: jax.jit(lambda x: x * 2, in_shardings=over())(data[:3]),
    "jit, made": lambda: jax.jit(lambda: jnp.arange(N), out_shardings=over("x"))(),
    "jit, product": lambda: jax.jit(lambda x: x.reshape(N, 4).T @ x.reshape(N, 4))(global_array),
    "jit, gradient": lambda: jax.jit(jax.grad(lambda x: (x**2).sum()))(global_array),
    "jit, random": lambda: jax.jit(
        lambda k: jax.random.bits(k, (N,)), out_shardings=over("x"))(jax.random.key(0)),
    "jit, here": lambda: jax.jit(lambda x: x * ME)(data[:3]),
    "manual": lambda: jax.jit(jax.shard_map(
        manual, mesh=row, in_specs=P("x"), out_specs=P("x")))(global_array),
    "set_mesh": lambda: in_mesh(lambda: jnp.asarray(data)),
    "local": lambda: [
        jax.make_array_from_process_local_data(over("x"), data[:8] + 100 * ME),
        jax.make_array_from_process_local_data(over("x"), data[:8] + 100 * ME, (4 * N,)),
        jax.make_array_from_process_local_data(over("x"), data, (4 * N,)),
        jax.make_array_from_process_local_data(over(), data[:3]),
        jax.make_array_from_process_local_data(over("d", mesh=grid), data[:2]),
        jax.make_array_from_process_local_data(
            over("d", "p", mesh=grid), data[:4].reshape(2, 2) + ME),
    ],
    "local, small": lambda: jax.make_array_from_process_local_data(
        over("x"), data[:8], (8 * N,)),
    "parts": lambda: jax.make_array_from_single_device_arrays(
        (2 * N,), over("x"), [jax.device_put(data[:2] + d.id, d) for d in local_devices]),
    "parts, few": lambda: jax.make_array_from_single_device_arrays(
        (2 * N,), over("x"), [jax.device_put(data[:2], local_devices[0])]),
    "pmap": lambda: mapped(lambda x: [
        lax.psum(x, "i"), lax.axis_index("i") + 100 * lax.axis_size("i"),
        lax.all_gather(x, "i"), lax.ppermute(x, "i", ring(N)),
        lax.psum(x, "i", axis_index_groups=[[0, 2], [1, 3]]),
    ]),
    "pmap, sizes": lambda: mapped(lambda x: lax.pmean(x, "i"), axis_size=N),
    "pmap, shared": lambda: mapped(lambda x: lax.psum(x, "i"), out_axes=None),
    "pmap, again": lambda: np.asarray(mapped(lambda x: x + 1, mapped(lambda x: x + 1))),
    "pmap, here": lambda: mapped(lambda x: lax.psum(x, "i"), devices=local_devices),
    "broadcast": lambda: hosts.broadcast_one_to_all(
        {"a": data[:3] + ME, "b": np.int32(ME + 5), "c": np.array([ME == 0, ME == 1])}),
    "broadcast of the last": lambda: hosts.broadcast_one_to_all(
        data[:3] + ME, is_source=ME == COUNT - 1),
    "gather": lambda: hosts.process_allgather({"a": data[:3] + ME, "b": np.int32(ME)}),
    "gather, tiled": lambda: hosts.process_allgather(
        {"a": data[:3] + ME, "b": np.int32(ME)}, tiled=True),
    "gather, global": lambda: hosts.process_allgather(global_array, tiled=True),
    "gather, stacked": lambda: hosts.process_allgather(global_array),
    "sync": lambda: hosts.sync_global_devices("here"),
    "sync, differs": lambda: hosts.sync_global_devices(f"here {ME}"),
    "equal": lambda: [hosts.assert_equal({"a": data}, "same"), hosts.assert_equal(copies)],
    "unequal": lambda: hosts.assert_equal(np.float32(ME), "uneven"),
    "to global": lambda: [
        hosts.host_local_array_to_global_array(data[:8] + 100 * ME, row, P("x")),
        hosts.host_local_array_to_global_array(
            [data[:4] + ME, data[:4].reshape(2, 2)], grid, [P("p"), P(None, "d")]),
        hosts.host_local_array_to_global_array(global_array, row, P("x")),
    ],
    "to global, None": lambda: hosts.host_local_array_to_global_array(data, row, None),
    "to local": lambda: [
        hosts.global_array_to_host_local_array(global_array, row, P("x")),
        hosts.global_array_to_host_local_array(copies, row, P()),
        hosts.global_array_to_host_local_array(global_array, row, P()),
    ],
    "preemption": lambda: hosts.reached_preemption_sync_point(1),
    "live": live,
}  # fmt: skip

for name, case in CASES.items():
    try:
        text = report(case())
    except Exception as e:
        text = f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"[:75]
    print(f"=> {ME} {name}: {text}", flush=True)
jax.distributed.shutdown()
print(f"=> {ME} over: {jax.distributed.is_initialized()}", flush=True)
