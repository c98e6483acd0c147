"""minijax and jax in one process, in either order of import.

Needs an interpreter that has jax: `make bench` makes one, and MINIJAX_TEST_JAX may name
another.
"""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parent.parent
JAX = os.environ.get("MINIJAX_TEST_JAX", str(ROOT / ".venv-bench-jax/bin/python"))

PROGRAM = """
{imports}
import jax.numpy as jnp, minijax.numpy as mnp, numpy as np
for _ in range(2):
    for lib, np_ in ((jax, jnp), (mj, mnp)):
        x = np_.arange(3.0)
        assert (lib.jit(lambda x: x + 1)(x) == np.arange(3.0) + 1).all()
        assert lib.grad(lambda x: (x ** 2).sum())(x)[2] == 4.0
        assert lib.vmap(lambda x: x * 2)(x)[1] == 2.0
        assert isinstance(x, lib.Array)
    with mj.enable_x64(True):
        assert mj.jit(lambda x: x * 2)(1.0).dtype == np.float64
        assert (mnp.ones(2) + 1).dtype == np.float64
    assert jax.jit(lambda x: x * 2)(1.0).dtype == np.float32
    jax.config.update('jax_enable_x64', True)
    assert jax.jit(lambda x: x * 2)(1.0).dtype == np.float64
    assert mj.jit(lambda x: x * 2)(1.0).dtype == np.float32
    assert mj.jit(lambda x: x * 2)(np.ones(2)).dtype == np.float32
    jax.config.update('jax_enable_x64', False)
    assert (mj.jit(lambda x: x)(jnp.ones(2)) == 1).all()
print('both work')
"""


@pytest.mark.skipif(
    not os.path.exists(JAX), reason="no interpreter with jax (make bench)"
)
@pytest.mark.parametrize(
    "imports",
    ["import jax, minijax as mj", "import minijax as mj, jax",
     "import minijax as mj; mj.numpy.ones(2) + 1; import jax"],
)  # fmt: skip
def test_both_work(imports):
    done = subprocess.run(
        [JAX, "-c", PROGRAM.format(imports=imports)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "both work", done.stderr
