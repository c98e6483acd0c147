"""A train step of a transformer, compiled: on one device, and cut over eight.

Rows of processor time sum over all threads: they mean something on a busy machine, too.
"""

import time

import numpy as np

from bench.measure import hlo_operations, settle, thread_time, wall_time
from bench.programs import transformer
from bench.rows import Row

TITLE = "A train step"
DEVICES = 8
PLACES = ("one device", "4 x 2 devices")
ROWS = tuple(
    row
    for place in PLACES
    for row in (
        Row(f"{place}: HLO operations", 1.0, ""),
        Row(f"{place}: processor time", 1.0),
        Row(f"{place}: run time", 1.0),
    )
)
CUT = {
    "qkv": (None, "model"),
    "up": (None, "model"),
    "out": ("model", None),
    "down": ("model", None),
}


def measure(jax, sheet) -> None:
    sharding = jax.sharding
    loss, (params, tokens) = transformer(jax, 4, width=128, length=64, batch=8)
    mesh = sharding.Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
    over = lambda *axes: sharding.NamedSharding(mesh, sharding.PartitionSpec(*axes))
    lies = {
        name: [{k: over(*CUT.get(k, ())) for k in layer} for layer in value]
        if name == "layers"
        else over()
        for name, value in params.items()
    }

    @jax.jit
    def step(params, tokens):
        value, grads = jax.value_and_grad(loss)(params, tokens)
        return jax.tree.map(lambda w, g: w - 0.1 * g, params, grads), value

    here = jax.devices()[0]
    seconds = 1.0 if sheet.quick else 4.0
    slices = 10 if sheet.quick else 40
    for place, args in zip(
        PLACES,
        (
            jax.device_put((params, tokens), here),
            jax.device_put((params, tokens), (lies, over("data"))),
        ),
        strict=True,
    ):
        run = lambda args=args: settle(step(*args)[1])
        sheet.fill(
            f"{place}: HLO operations",
            lambda args=args: hlo_operations(step.lower(*args).compile()),
        )
        sheet.fill(
            f"{place}: processor time",
            lambda run=run: thread_time(run, slices=slices, clock=time.process_time),
        )
        sheet.fill(f"{place}: run time", lambda run=run: wall_time(run, seconds=seconds))
