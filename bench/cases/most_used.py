"""The sixty functions that programs call most, on small arrays: eager, and traced.

Each has its own row; the goals are for their geometric means, whose ratio is the
geometric mean of all ratios.
"""

import math

import numpy as np

from bench.measure import once_each, thread_time
from bench.rows import Row

TITLE = "The sixty functions most used"
EXPRESSIONS = """
jnp.array(data)|jnp.asarray(data)|jnp.arange(16)|jnp.zeros((4, 4))|jnp.ones(8)
jnp.zeros_like(m)|jnp.ones_like(m)|jnp.full((4,), 2.0)|jnp.eye(4)|jnp.linspace(0.0, 1.0, 8)
m.astype('int32')|m.reshape(2, 8)|jnp.reshape(m, (8, 2))|m.T|jnp.transpose(m)
jnp.concatenate([m, m])|jnp.stack([m, m])|jnp.where(b, m, n)|jnp.squeeze(u)
jnp.expand_dims(m, 0)|jnp.broadcast_to(v, (4, 4))|jnp.tile(v, 2)|jnp.repeat(v, 2)
jnp.split(v, 2)|jnp.pad(v, 1)|jnp.argsort(v)|jax.random.randint(k, (4,), 0, 5)
jnp.argmax(v)|m.at[0].set(1.0)
jnp.sum(m)|m.sum(0)|jnp.mean(m)|m.mean(-1)|jnp.max(m)|jnp.min(m)|jnp.cos(m)|jnp.sin(m)
m.max()|m.flatten()|jnp.all(b)|jnp.any(b)|jnp.sqrt(m)|jnp.exp(m)|jnp.log(m)
jnp.abs(m)|jnp.square(m)|jnp.maximum(m, n)|jnp.minimum(m, 1.0)|jnp.clip(m, 0.0, 1.0)
jnp.dot(m, n)|jnp.matmul(m, n)|jnp.einsum('ij,jk->ik', m, n)|jnp.linalg.norm(v)
jax.random.split(k)|jax.random.normal(k, (4,))|jax.random.uniform(k, (4,))
jax.nn.softmax(m)|jax.nn.relu(m)|jax.nn.one_hot(i, 4)|lax.stop_gradient(m)
"""
CALLS = [text for line in EXPRESSIONS.split("\n") for text in line.split("|") if text]
assert len(CALLS) == 60
EAGER, TRACED = "eager, geometric mean", "traced, geometric mean"
ROWS = (Row(EAGER, 0.7), Row(TRACED, 0.35), *map(Row, CALLS))


def names(jax):
    """Return the variables of the expressions."""
    jnp = jax.numpy
    m = jnp.asarray(np.arange(16, dtype=np.float32).reshape(4, 4) + 1)
    return {
        "jax": jax,
        "jnp": jnp,
        "lax": jax.lax,
        "m": m,
        "n": m[::-1],
        "b": m > 3,
        "v": m[0],
        "u": m[None],
        "i": jnp.arange(3),
        "k": jax.random.PRNGKey(0),
        "data": [1.0, 2.0, 3.0],
    }


def measure(jax, sheet) -> None:
    variables = names(jax)
    arrays = {name: variables[name] for name in "mnbvuik"}
    slices = 20 if sheet.quick else 100
    times = 3 if sheet.quick else 7
    eager, traced = [], []
    for text in CALLS:
        code = compile(text, "<call>", "eval")
        call = lambda code=code: eval(code, variables)

        def make(code=code):
            fresh = lambda arrays: eval(code, {**variables, **arrays})
            return lambda: jax.make_jaxpr(fresh)(arrays)

        sheet.fill(text, lambda call=call: thread_time(call, slices=slices))
        eager.append(math.log(sheet.values[text]))
        traced.append(math.log(once_each(make, times=times)))
    sheet.put(EAGER, math.exp(sum(eager) / len(eager)))
    sheet.put(TRACED, math.exp(sum(traced) / len(traced)))
