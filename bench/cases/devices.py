"""Calls over eight devices: pmap, meshes, and moving arrays between them.

The work on the devices is tiny, so the time of a call is that of Python and C++. The
benchmark waits for each program with collectives: if many of them run at the same time,
JAX's devices wait for one another forever.
"""

import numpy as np

from bench.measure import once_each, python_calls, thread_time, wait_for
from bench.programs import perceptron
from bench.rows import Row

TITLE = "Eight devices"
DEVICES = 8
ROWS = (
    Row("pmap call: one array", 0.55),
    Row("pmap call: 10 arrays", 0.75),
    Row("pmap call: psum", 0.83),
    Row("pmap call: host array", 0.6),
    Row("x[i] of a pmap result", 0.1),
    Row("sharded jit call: one array", 0.9),
    Row("sharded jit call: 10 arrays", 0.95),
    Row("sharded x + y", 0.7),
    Row("device_put to a mesh", 0.6),
    Row("device_put to another sharding", 0.7),
    Row("np.asarray of a sharded array, fresh", None),
    Row("lower with shardings: perceptron step", 0.3),
    Row("shard_map: trace", 0.25),
    Row("shard_map: trace, types checked", 0.25),
    Row("shard_map: lower", 0.25),
    Row("explicit axes: trace", 0.3),
)


def measure(jax, sheet) -> None:
    sharding = jax.sharding
    mesh = sharding.Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))
    named_sharding = lambda *spec: sharding.NamedSharding(mesh, sharding.PartitionSpec(*spec))
    host = np.ones((DEVICES, 4), np.float32)
    double = jax.pmap(lambda x: x + x)
    first = jax.pmap(lambda *xs: xs[0] + xs[-1])
    total = jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")
    rows = double(host)
    sharded = jax.device_put(host, named_sharding("x", "y"))
    twice = jax.jit(lambda x: x + x)
    ends = jax.jit(lambda *xs: xs[0] + xs[-1])
    calls = {
        "pmap call: one array": lambda: double(rows),
        "pmap call: 10 arrays": lambda: first(*(rows,) * 10),
        "pmap call: psum": lambda: wait_for(total(rows)),
        "pmap call: host array": lambda: double(host),
        "x[i] of a pmap result": lambda: rows[3],
        "sharded jit call: one array": lambda: twice(sharded),
        "sharded jit call: 10 arrays": lambda: ends(*(sharded,) * 10),
        "sharded x + y": lambda: sharded + sharded,
        "device_put to a mesh": lambda: jax.device_put(host, named_sharding("x", "y")),
        "device_put to another sharding": lambda: wait_for(
            jax.device_put(sharded, named_sharding("y"))
        ),
        "np.asarray of a sharded array, fresh": lambda: np.asarray(twice(sharded)),
    }
    slices = 40 if sheet.quick else 150
    for name, call in calls.items():
        sheet.fill(name, lambda call=call: thread_time(call, slices=slices))
        sheet.fill_calls(name, lambda call=call: python_calls(call))
    step, (params, x, y) = perceptron(jax)

    def make():
        shardings = (named_sharding(), named_sharding("x"), named_sharding("x"))
        fresh = jax.jit(lambda *args: step(*args), in_shardings=shardings)
        return fresh.trace(params, x, y).lower

    times = 5 if sheet.quick else 11
    sheet.fill("lower with shardings: perceptron step", lambda: once_each(make, times=times))
    P = sharding.PartitionSpec

    def mapped(checked=False):
        specs = {"in_specs": (P(), P("x"), P("x")), "out_specs": (P(), P())}
        specs["check_vma"] = checked

        def local(params, x, y):
            params, loss = step(params, x, y)
            if not checked:  # with types checked, the gradients are already summed
                params = jax.lax.pmean(params, "x")
            return params, jax.lax.pmean(loss, "x")

        return jax.jit(jax.shard_map(local, mesh=mesh, **specs))

    def tracing(checked=False):
        fresh = mapped(checked)
        return lambda: fresh.trace(params, x, y)

    def lowering():
        return mapped().trace(params, x, y).lower

    sheet.fill("shard_map: trace", lambda: once_each(tracing, times=times))
    sheet.fill(
        "shard_map: trace, types checked", lambda: once_each(lambda: tracing(True), times=times)
    )
    sheet.fill("shard_map: lower", lambda: once_each(lowering, times=times))
    sheet.fill("explicit axes: trace", lambda: explicit(jax, times))


def explicit(jax, times):
    """Time the tracing of gradients of two layers with explicit shardings."""
    P, jnp = jax.sharding.PartitionSpec, jax.numpy
    mesh = jax.make_mesh((4, 2), ("x", "y"))

    def struct(shape, *spec):
        sharding = jax.sharding.NamedSharding(mesh, P(*spec))
        return jax.ShapeDtypeStruct(shape, "float32", sharding=sharding)

    def loss(params, x):
        for w1, w2 in params:
            h = jnp.tanh(x @ w1)
            x = x + jnp.dot(h, w2, out_sharding=P("x", None))
        return (x**2).mean()

    pair = struct((16, 32), None, "y"), struct((32, 16), "y", None)
    args = [pair] * 4, struct((8, 16), "x", None)

    def make():
        fresh = jax.jit(jax.value_and_grad(lambda *args: loss(*args)))
        return lambda: fresh.trace(*args)

    with jax.set_mesh(mesh):
        return once_each(make, times=times)
