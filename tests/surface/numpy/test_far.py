"""Arrays with more elements than 32 bits can count: correct in 64 bits, or an error.

Most tests compare types only, without memory.  `make far` computes with an int8 array of 2
GiB (`MINIJAX_FAR=1`), one test at a time.  NumPy counts in 64 bits; the expected values
follow from the construction of the arrays.
"""

import os

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from minijax import lax

N = 2**31 + 100
FAR = jax.ShapeDtypeStruct((N,), jnp.int8)

COUNTS = {
    "argmax": jnp.argmax,
    "argmin": jnp.argmin,
    "nanargmax": jnp.nanargmax,
    "sum": lambda x: jnp.sum(x == 0),
    "count_nonzero": jnp.count_nonzero,
    "cumsum": lambda x: jnp.cumsum(x == 0),
    "bincount": lambda x: jnp.bincount(x, length=3),
    "argsort": jnp.argsort,
    "lexsort": lambda x: jnp.lexsort((x,)),
    "argpartition": lambda x: jnp.argpartition(x, 3),
    "nonzero": lambda x: jnp.nonzero(x, size=2)[0],
    "flatnonzero": lambda x: jnp.flatnonzero(x, size=2),
    "where": lambda x: jnp.where(x > 0, size=2)[0],
    "searchsorted": lambda x: jnp.searchsorted(x, jnp.int8(1)),
    "unique": lambda x: jnp.unique_counts(x, size=3).counts,
    "arange": lambda _: jnp.arange(N),
    "arange from": lambda _: jnp.arange(2**31, 2**31 + 5),
    "arange by": lambda _: jnp.arange(0, 2**32, 2**30),
    "indices": lambda _: jnp.indices((N,))[0],
}
READS = {
    "take": lambda x: jnp.take(x, jnp.array([3, 4])),
    "array": lambda x: x[jnp.array([3, 4])],
    "scalar": lambda x: x[jnp.int32(4)],
    "dynamic_slice": lambda x: lax.dynamic_slice(x, (2**31 + 5,), (1,)),
    "dynamic_index": lambda x: lax.dynamic_index_in_dim(x, 2**31 + 5),
    "at": lambda x: x.at[-5].set(1),
    "roll": lambda x: jnp.roll(x, jnp.int32(3)),
    "choice": lambda x: jax.random.choice(jax.random.key(0), x),
}
NARROW = {
    "lax.argmax": lambda x: lax.argmax(x, 0, jnp.int32),
    "iota": lambda _: lax.iota(jnp.int32, N),
    "top_k": lambda x: lax.top_k(x, 3),
    "approx_max_k": lambda x: lax.approx_max_k(x.astype(jnp.float32), 3),
    "arange": lambda _: jnp.arange(N, dtype=jnp.int32),
}


@pytest.mark.parametrize("name", [*COUNTS, *READS])
def test_counts_beyond_32_bits_are_errors(name):
    with pytest.raises(OverflowError):
        jax.eval_shape((COUNTS | READS)[name], FAR)


@pytest.mark.parametrize("name", NARROW)
def test_dtypes_too_narrow_for_positions_are_refused(name):
    for x64 in (False, True):
        with jax.enable_x64(x64), pytest.raises(OverflowError, match="out of bounds"):
            jax.eval_shape(NARROW[name], FAR)


@pytest.mark.parametrize("name", COUNTS)
def test_positions_and_counts_have_64_bits(name):
    with jax.enable_x64(True):
        assert jax.eval_shape(COUNTS[name], FAR).dtype == np.int64


@pytest.mark.parametrize("name", READS)
def test_reads_and_writes_are_traced_in_64_bits(name):
    with jax.enable_x64(True):
        assert jax.eval_shape(READS[name], FAR).dtype == np.int8


def test_up_to_the_limit_nothing_changes():
    most = jax.ShapeDtypeStruct((2**31 - 1,), jnp.int8)
    for name in ("argmax", "sum", "count_nonzero", "argsort"):
        assert jax.eval_shape(COUNTS[name], most).dtype == np.int32
    assert jnp.arange(2**31 - 3, 2**31).tolist() == [2**31 - 3, 2**31 - 2, 2**31 - 1]
    assert jnp.arange(2**31, 2**31 + 2, dtype=jnp.uint32).tolist() == [2**31, 2**31 + 1]


# ------------------------------------------------------------------------- 2 GiB of int8

needs_memory = pytest.mark.skipif(
    not os.environ.get("MINIJAX_FAR"), reason="takes 5 GiB: MINIJAX_FAR=1, one at a time"
)


@pytest.fixture(scope="module")
def far():
    x = np.zeros(N, np.int8)
    x[3], x[2**31 + 5], x[-5] = -1, 1, 2
    return jax.device_put(x)


@pytest.mark.slow
@needs_memory
def test_reading_elements_beyond_32_bits(far):
    assert (far[2**31 + 5], far[-5], far[3], far[2**31]) == (1, 2, -1, 0)
    assert far[2**31 + 4 : 2**31 + 7].tolist() == [0, 1, 0]
    assert far[-6:-3].tolist() == [0, 2, 0]
    assert jax.jit(lambda x: x[-5])(far) == 2
    with jax.enable_x64(True):
        at = np.array([2**31 + 5, -5, 3])
        assert far[jnp.asarray(at)].tolist() == jnp.take(far, at).tolist() == [1, 2, -1]
        assert lax.dynamic_slice(far, (2**31 + 5,), (2,)).tolist() == [1, 0]
        assert far[jnp.int32(3)] == -1


@pytest.mark.slow
@needs_memory
def test_extrema_beyond_32_bits(far):
    for position in (jnp.argmax, jnp.argmin):
        with pytest.raises(OverflowError):
            position(far)
    with jax.enable_x64(True):
        assert jnp.argmax(far) == N - 5
        assert jnp.argmin(far) == 3
