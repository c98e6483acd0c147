"""minijax and jax in one process, in either order of import.

The first tests need an interpreter that has jax: `make bench` makes one, and
MINIJAX_TEST_JAX may name another.
"""

import os
import pathlib
import subprocess
import sys

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
ours, theirs = mnp.arange(3.0), jnp.arange(3.0)
double = mj.jit(lambda x: x * 2)
for x in (ours, theirs, ours, theirs):  # a program known to C++ meets the other's
    assert double(x).aval == ours.aval and double(x)[2] == 4.0
assert isinstance(ours, mj.Array) and not isinstance(theirs, mj.Array)
assert mnp.concatenate([ours, theirs]).shape == (6,)
assert mnp.asarray(theirs).aval == ours.aval == mj.device_put(theirs).aval
assert mj.grad(lambda x: (x ** 2).sum())(theirs)[2] == 4.0
assert np.asarray(ours).tolist() == np.asarray(theirs).tolist()
for misuse in (lambda: jnp.sin(ours), lambda: theirs + ours, lambda: jax.jit(abs)(ours)):
    try:
        misuse()
    except TypeError as e:
        assert 'np.asarray(x)' in str(e), e
    else:
        raise AssertionError
assert float(theirs.at[0].set(1.0)[0]) == float(ours.at[0].set(1.0)[0]) == 1.0
print('both work')
"""

TWICE = """
import minijax as one, minijax.numpy as one_np
x = one_np.arange(3.0)
import {second} as two
two_np = __import__('{second}.numpy').numpy
y = two_np.arange(3.0)
for lib, np_, v in ((one, one_np, x), (two, two_np, y)):
    assert (lib.jit(lambda v: v * 2)(v) + v).tolist() == [0.0, 3.0, 6.0]
    assert lib.grad(lambda v: (v * v).sum())(v)[2] == 4.0
    assert isinstance(v, lib.Array) and v.at[0].set(5.0)[0] == 5.0
    assert type(v.aval).__module__.startswith(lib.__name__)
    assert [float(row) for row in v] == [0.0, 1.0, 2.0] and v.T.shape == (3,)
    v.block_until_ready()
assert not isinstance(x, two.Array) and not isinstance(y, one.Array)
assert one_np.sin(y).aval == x.aval and two_np.sin(x).aval == y.aval
assert one.jit(abs)(y).aval == x.aval
print('both work')
"""

LATER = """
import minijax as mj, minijax.numpy as jnp
x = jnp.arange(3.0)
import jax, jax.part
assert jax.__spec__.loader.get_data and jax.part.there
assert x.shape == (3,) and (x + 1).tolist() == [1.0, 2.0, 3.0]
assert x.nothing_of_ours == 'theirs' and repr(x)[:5] == 'Array'
theirs = jax.array()
assert theirs.shape == 'theirs' and theirs + 1 == 'theirs', theirs.shape
assert not hasattr(theirs, 'weak_type') and not isinstance(theirs, mj.Array)
print('both work')
"""

# What JAX does to the class of arrays when it is imported.
OTHER = """
from jaxlib import xla_client as xc
import minijax as mj, numpy as np
class Aval:
    shape, dtype, weak_type = (3,), np.dtype('float32'), False
def array():
    device = mj.devices()[0]
    return xc.batched_device_put(Aval(), xc.SingleDeviceSharding(device),
        [np.zeros(3, np.float32)], [device], False, enable_x64=True)
cls = xc.ArrayImpl
cls.shape = property(lambda x: 'theirs')
cls.__add__ = lambda x, y: 'theirs'
cls.__repr__ = lambda x: 'theirs'
cls.nothing_of_ours = 'theirs'
class config: jax_enable_x64 = False
"""


def run(program: str, *paths: pathlib.Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (*paths, ROOT)))},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "both work", done.stderr


def test_minijax_under_two_names(tmp_path):
    (tmp_path / "second").symlink_to(ROOT / "minijax")
    run(TWICE.format(second="second"), tmp_path)


def test_a_library_that_takes_the_class_of_arrays_later(tmp_path):
    """Each array is answered by the library that made it."""
    package = tmp_path / "jax"
    package.mkdir()
    (package / "__init__.py").write_text(OTHER)
    (package / "part.py").write_text("there = True")
    run(LATER, tmp_path)


@pytest.mark.skipif(not os.path.exists(JAX), reason="no interpreter with jax (make bench)")
@pytest.mark.parametrize(
    "imports",
    [
        "import jax, minijax as mj",
        "import minijax as mj, jax",
        "import minijax as mj; mj.numpy.ones(2) + 1; import jax",
    ],
)
def test_both_work(imports):
    done = subprocess.run(
        [JAX, "-c", PROGRAM.format(imports=imports)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "both work", done.stderr
