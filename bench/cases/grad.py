"""Derivatives outside jit, where every call differentiates again."""

import numpy as np

from bench.measure import python_calls, thread_time
from bench.programs import perceptron_loss
from bench.rows import Row

TITLE = "Un-jitted gradients"
ROWS = (
    Row("grad of a three-operation function", 0.12),
    Row("vmap of it", 0.25),
    Row("value_and_grad of a perceptron", 0.17),
    Row("jvp of it", 0.3),
    Row("vmap of it over 8 batches", 0.17),
    Row("value_and_grad of the jitted perceptron", 0.18),
    Row("vjp of the jitted perceptron", 0.25),
)


def measure(jax, sheet) -> None:
    jnp = jax.numpy
    x = jnp.float32(0.5)
    xs = jnp.asarray(np.linspace(0, 1, 8, dtype=np.float32))
    slope = jax.grad(lambda x: jnp.sin(x) * x + 1.0)
    slopes = jax.vmap(slope)
    loss, args = perceptron_loss(jax, batch=8, sizes=(8, 16, 16, 4))
    params, *batch = args = jax.tree_util.tree_map(jnp.asarray, args)
    batches = jax.tree_util.tree_map(lambda x: jnp.stack([x] * 8), batch)
    jitted = jax.jit(loss)
    backward = jax.value_and_grad(jitted)
    of_params = lambda params: loss(params, *batch)
    lanes = jax.vmap(loss, in_axes=(None, 0, 0))
    calls = (
        lambda: slope(x),
        lambda: slopes(xs),
        lambda: jax.value_and_grad(loss)(*args),
        lambda: jax.jvp(of_params, (params,), (params,)),
        lambda: lanes(params, *batches),
        lambda: backward(*args),
        lambda: jax.vjp(jitted, *args)[1](1.0),
    )
    slices = 30 if sheet.quick else 100
    for row, call in zip(ROWS, calls, strict=True):
        sheet.fill(row.name, lambda call=call: thread_time(call, slices=slices))
        sheet.fill_calls(row.name, lambda call=call: python_calls(call))
