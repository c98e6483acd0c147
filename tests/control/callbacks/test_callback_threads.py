"""Callbacks run in threads of the runtime, which Python knows only while they do."""

import os
import subprocess
import sys

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp

# Each callback computes with shapes that were not seen before: it must trace and compile.
PROGRAM = """
import faulthandler; faulthandler.enable()
import numpy as np, minijax as mj, minijax.numpy as jnp

def host(x):
    n = next(sizes)
    grown = jnp.ones(n) + jnp.resize(jnp.asarray(x), n) * n
    return np.asarray(mj.jit(lambda g: jnp.sin(g[:3]))(grown))

sizes = iter(range(3, 1000))
f = lambda x: mj.pure_callback(host, x, x, vmap_method="sequential")
for _ in range(3):
    x = np.ones(3, np.float32)
    y = mj.jit(f)(x)
    rows = mj.pmap(f)(np.ones((4, 3), np.float32))
    assert np.isfinite(np.asarray(rows)).all() and np.isfinite(np.asarray(y)).all()
    mj.jit(lambda x: mj.debug.callback(host, x))(x)
    mj.effects_barrier()
print(next(sizes))
"""


def test_a_callback_may_compile():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        env={**os.environ, "JAX_NUM_CPU_DEVICES": "8"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 3 + 3 * 6


@pytest.mark.parametrize("run", ["jit", "pmap"])
def test_a_callback_computes_with_the_widths_of_its_caller(run):
    seen = []

    def host(x):
        seen.extend(map(str, (x.dtype, (x * 1).dtype, jnp.zeros(1).dtype)))
        return x * 1

    x = np.arange(6.0).reshape(2, 3)
    f = lambda x: mj.pure_callback(host, x, x, vmap_method="sequential")
    with mj.enable_x64(True):
        y = getattr(mj, run)(f)(x)
        np.testing.assert_array_equal(np.asarray(y), x)
    assert y.dtype == np.float64
    assert set(seen) == {"float64"}
