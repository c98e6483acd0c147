"""Values on the host: read without a copy, kept alive by their readers, and without a
search for the module jax."""

import gc
import subprocess
import sys
import weakref
from collections.abc import Hashable

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp

DTYPES = (
    "bool int8 uint8 int16 uint16 int32 uint32 float16 float32 complex64 bfloat16"
    " float8_e4m3fn float8_e5m2 float8_e8m0fnu float8_e4m3b11fnuz int4 uint4 int2"
).split()


@pytest.mark.parametrize("shape", [(4,), (), (0, 3), (2, 2)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_are_read_only_arrays_of_their_dtype(dtype, shape):
    x = jnp.ones(shape).astype(dtype)
    value = np.asarray(x)
    assert value.dtype == x.dtype and value.shape == shape and not value.flags.writeable
    assert (value.astype(np.complex64) == 1).all()
    copy = np.array(x)
    assert copy.flags.writeable and copy.dtype == value.dtype


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3fn"])
def test_a_view_keeps_the_memory_and_no_view_keeps_it(dtype):
    x = (jnp.arange(1000) % 7).astype(dtype)
    alive = weakref.ref(x)
    value = np.asarray(x)
    expected = value.astype(np.float32)
    del x
    gc.collect()
    others = [jnp.full(1000, 5, dtype) + jnp.ones(1000, dtype) for _ in range(10)]
    assert (value.astype(np.float32) == expected).all() and len(others) == 10
    del value
    gc.collect()
    assert alive() is None


def test_an_array_that_was_read_can_be_donated():
    """A read caches no view, which would keep a donated array's memory alive."""
    f = mj.jit(lambda x: x, donate_argnums=0)
    for _ in range(3):
        x = jnp.arange(4.0) + 1
        assert np.asarray(x).sum() == 10 and float(x[0]) == 1
        f(x)
        assert x.is_deleted()
        with pytest.raises(RuntimeError, match="has been deleted"):
            np.asarray(x)
        with pytest.raises(RuntimeError, match="has been deleted"):
            x.tolist()


def test_keys_are_not_read():
    key = mj.random.key(0)
    mj.random.key_data(key).tolist()
    for read in (np.asarray, lambda k: k.tolist(), lambda k: k.item()):
        with pytest.raises(TypeError, match="PRNGKey dtype cannot be converted"):
            read(key)


def test_no_module_named_jax_is_looked_for():
    """This holds for reading, creating, computing and printing arrays on one device."""
    code = """
import sys
from collections.abc import Hashable
seen = []
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] == 'jax':
            seen.append(name)
sys.meta_path.insert(0, Finder())
import numpy as np, pickle
import minijax as mj, minijax.numpy as jnp
for dtype in ('float32', 'bool', 'int8', 'complex64', 'bfloat16', 'float8_e5m2'):
    x = jnp.ones(3).astype(dtype)
    np.asarray(x + x) if 'float8' not in dtype else np.asarray(x)
    x.tolist(), repr(x), str(x), pickle.loads(pickle.dumps(x)), list(x), x[0].item()
float(jnp.ones(())), int(jnp.ones((), int)), bool(jnp.ones(())), [*range(jnp.array(3))]
mj.device_get({'a': jnp.ones(3)}), mj.jit(jnp.sin)(jnp.ones(3)).block_until_ready()
np.from_dlpack(jnp.ones(3) + 1), jnp.from_dlpack(np.ones(3)), mj.grad(jnp.sin)(1.0)
mj.random.normal(mj.random.key(0), (3,)).sum().item()
print(sorted(set(seen)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_device_get_leaves_tracers():
    seen, ones = [], jnp.ones(2)

    def f(x):
        seen.append(mj.device_get({"x": x, "y": ones, "z": "z"}))
        return seen[-1]["x"] * 2

    for run in (mj.jit(f), mj.grad(f), mj.jit(mj.vmap(f))):
        np.testing.assert_array_equal(run(ones if len(seen) > 1 else 1.0), 2)
    assert [type(d["y"]) for d in seen] == [np.ndarray] * 3 and seen[0]["z"] == "z"
    scalar = mj.device_get(np.float32(1))  # recorded from JAX 0.10.2
    assert type(scalar) is np.ndarray and scalar.dtype == np.float32


@pytest.mark.parametrize("n", [0, 1, 5, 100, 101, 250])
def test_rows_are_equal_each_time(n):
    """The first time they are split on the host, later by compiled programs, in chunks."""
    x = jnp.arange(2.0 * n).reshape(n, 2)
    for _ in range(3):
        rows = list(x)
        assert len(rows) == n and all(r.shape == (2,) for r in rows)
        np.testing.assert_array_equal(np.array(rows).reshape(n, 2), x)
    weak = mj.lax.full((3,), 2.0)
    for _ in range(2):
        assert all(r.weak_type for r in weak)


def test_neither_arrays_nor_tracers_are_hashable():
    # `hash` itself: libraries test it before they choose a key.
    values = [jnp.ones(2), mj.random.key(0)]
    keep = lambda x: values.append(x) or x
    mj.grad(keep)(1.0), mj.jit(mj.vmap(keep))(jnp.ones(2)), mj.jit(keep)(1.0)
    assert len(values) == 5 and not any(isinstance(x, Hashable) for x in values)
    with pytest.raises(TypeError, match=r"unhashable type: 'jaxlib\._jax\.ArrayImpl'"):
        hash(values[0])
