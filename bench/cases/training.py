"""A train step of a transformer, compiled: on one device, and sharded over eight.

Processor time sums over all threads, so it is also meaningful on a busy machine.
"""

import time

import numpy as np

from bench.measure import hlo_operations, thread_time, wait_for, wall_time
from bench.programs import transformer
from bench.rows import Row

TITLE = "A train step"
DEVICES = 8
SETUPS = ("one device", "4 x 2 devices")
ROWS = tuple(
    row
    for setup in SETUPS
    for row in (
        Row(f"{setup}: HLO operations", 1.0, ""),
        Row(f"{setup}: processor time", 1.0),
        Row(f"{setup}: run time", 1.0),
    )
)
SPECS = {
    "qkv": (None, "model"),
    "up": (None, "model"),
    "out": ("model", None),
    "down": ("model", None),
}


def measure(jax, sheet) -> None:
    sharding = jax.sharding
    loss, (params, tokens) = transformer(jax, 4, width=128, length=64, batch=8)
    mesh = sharding.Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
    named_sharding = lambda *axes: sharding.NamedSharding(mesh, sharding.PartitionSpec(*axes))
    shardings = {
        name: [{k: named_sharding(*SPECS.get(k, ())) for k in layer} for layer in value]
        if name == "layers"
        else named_sharding()
        for name, value in params.items()
    }

    @jax.jit
    def step(params, tokens):
        value, grads = jax.value_and_grad(loss)(params, tokens)
        return jax.tree.map(lambda w, g: w - 0.1 * g, params, grads), value

    device = jax.devices()[0]
    seconds = 1.0 if sheet.quick else 4.0
    slices = 10 if sheet.quick else 40
    for setup, args in zip(
        SETUPS,
        (
            jax.device_put((params, tokens), device),
            jax.device_put((params, tokens), (shardings, named_sharding("data"))),
        ),
        strict=True,
    ):
        run = lambda args=args: wait_for(step(*args)[1])
        sheet.fill(
            f"{setup}: HLO operations",
            lambda args=args: hlo_operations(step.lower(*args).compile()),
        )
        sheet.fill(
            f"{setup}: processor time",
            lambda run=run: thread_time(run, slices=slices, clock=time.process_time),
        )
        sheet.fill(f"{setup}: run time", lambda run=run: wall_time(run, seconds=seconds))
