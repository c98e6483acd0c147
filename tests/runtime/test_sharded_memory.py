"""Communication and memory of programs over several devices.

`make sharded` compares every public function with JAX; these functions once gathered full
arrays.  The bounds follow from the minimal communication of each function.
"""

import math
import re

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax, random
from minijax.sharding import AxisType, NamedSharding
from minijax.sharding import PartitionSpec as P

MESH = mj.make_mesh((8,), ("x",), (AxisType.Auto,))
ROWS, COLUMNS = 64, 32
FULL = 4 * ROWS * COLUMNS
RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(ROWS, COLUMNS)).astype(np.float32)
VECTOR = RNG.normal(size=ROWS * COLUMNS).astype(np.float32)
SENT = re.compile(
    r"= (.*?) (?:all-gather|all-reduce|all-to-all|collective-permute|reduce-scatter)\("
)
TYPE = re.compile(r"(pred|[sufb]+)(\d*)\[([\d,]*)\]")


def measured(f, x):
    """Return the bytes that a program sends, the bytes it needs on each device, and its
    result."""
    x = mj.device_put(x, NamedSharding(MESH, P("x")))
    program = mj.jit(f).lower(x).compile()
    sent = 0
    for kind in SENT.findall(program.as_text()):
        for _, bits, sizes in TYPE.findall(kind):
            count = math.prod(int(n) for n in sizes.split(",") if n)
            sent += count * int(bits or 8) // 8
    memory = program.memory_analysis()
    return sent, memory.temp_size_in_bytes + memory.output_size_in_bytes, program(x)


positive = lambda x: abs(x) + 0.5


@pytest.mark.parametrize(
    "f, x, sent, shards",
    [
        (lambda x: jnp.sort(x, axis=1), MATRIX, 0, 1),
        (lambda x: jnp.sort(x, axis=0), MATRIX, FULL / 4, 4),
        (jnp.sort, VECTOR, FULL, 9),
        (lambda x: jnp.argsort(x, axis=1), MATRIX, 0, 2),
        (lambda x: lax.sort_key_val(x, 2 * x)[1], MATRIX, 0, 2),
        (lambda x: jnp.median(x, axis=1), MATRIX, 0, 2),
        (lambda x: jnp.median(x, axis=0), MATRIX, FULL / 4 + 512, 5),
        (lambda x: jnp.histogram(x, bins=8)[0], MATRIX, 64, 20),
        (lambda x: jnp.partition(x, 7, axis=1), MATRIX, 0, 3),
        (mj.vmap(jnp.sort), MATRIX, 0, 1),
        (lambda x: jnp.nonzero(x > 0, size=64)[0], VECTOR, FULL + 256, 20),
        (lambda x: jnp.nonzero(x > 0, size=64)[1], MATRIX, FULL + 256, 20),
        (lambda x: jnp.unique(x, size=9, return_counts=True)[1], VECTOR, FULL, 30),
        (jnp.nanmedian, MATRIX, FULL, 17),
        (jnp.diagonal, MATRIX, 4 * COLUMNS, 2),
        (lambda x: jnp.diagonal(x, -3), MATRIX, 4 * COLUMNS, 2),
        (jnp.trace, MATRIX, 4 * COLUMNS, 2),
        (mj.grad(lambda x: (jnp.diagonal(x, 1) ** 2).sum()), MATRIX, 4 * COLUMNS, 9),
        (lambda x: lax.betainc(x, x, x / (1 + x)), positive(MATRIX), 1, 17),
        (lambda x: random.gamma(random.key(0), x), positive(MATRIX), 8, 40),
        (lambda x: random.beta(random.key(0), x, x), positive(MATRIX), 8, 60),
    ],
)
def test_programs_gather_no_more_than_they_must(f, x, sent, shards):
    moved, needed, out = measured(f, x)
    assert moved <= sent
    assert needed <= shards * FULL / 8 + 1024
    np.testing.assert_allclose(out, f(jnp.asarray(x)), rtol=1e-5)


def test_a_sorted_shard_keeps_signs_of_zeros_and_nans_last():
    row = np.array([0.0, -0.0, np.nan, -np.inf, 1.0, -0.0, 0.0, np.inf], np.float32)
    x = np.stack([np.roll(row, i) for i in range(8)])
    _, _, out = measured(lambda x: jnp.sort(x, axis=1), x)
    alone = np.asarray(jnp.sort(x, axis=1))
    assert np.asarray(out).tobytes() == alone.tobytes()
    assert np.isnan(alone[:, -1]).all()
