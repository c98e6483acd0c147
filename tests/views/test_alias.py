"""With the alias, `import jax` is minijax: modules, what tools ask, C++."""

import os
import subprocess
import sys

ENV = {k: v for k, v in os.environ.items() if k != "MINIJAX_AS_JAX"} | {
    "XLA_FLAGS": "--xla_force_host_platform_device_count=2"
}

PROGRAM = """
import importlib.metadata, importlib.util, pickle, sys, warnings
warnings.simplefilter("error")
import minijax, minijax.tools.alias as alias
assert "jax" not in sys.modules  # libraries take it for a sign that jax is in use
import jax
for name in alias._LOADED.split():
    assert f"jax.{name}" in sys.modules
    assert eval(f"jax.{name}") is sys.modules[f"jax.{name}"]
assert "minijax.control.rules.custom_vmap" not in sys.modules  # only public modules
assert "minijax.passes.stage" not in sys.modules
import jax.numpy as jnp
from jax import core, lax
from jax.extend.mlir.dialects import stablehlo as hlo
import jax.extend.mlir.dialects.chlo
import jax.interpreters.mlir, jax.experimental.sparse.linalg, jax.scipy.stats.norm
import numpy as np

assert jax is minijax and jax.numpy is minijax.numpy and lax is minijax.lax
assert jax.numpy.__spec__.name == "minijax.numpy" and jax.__package__ == "minijax"
assert (jax.__name__, jnp.__name__) == ("jax", "jax.numpy")
assert jax.errors.__name__ == "jax.errors"
assert jax.scipy.special.__name__ == "jax.scipy.special"  # which loads now,
assert jax.dlpack.__name__ == "jax.dlpack"  # this one too, though it is not a table
import jax.experimental.layout
assert jax.experimental.layout.__name__ == "jax.experimental.layout"
for map_ in (jax.jit, jax.grad, jax.vmap, jax.make_jaxpr):
    def seen(x):
        assert type(x).__module__.partition(".")[0] == "jax", type(x)
        return x
    map_(seen)(jnp.ones(2) if map_ is jax.vmap else 1.0)
from jax.experimental import jet
jet.jet(seen, (1.0,), ((1.0,),))  # whose tracers load now
for value in (jax.random.key(0), jax.new_ref(1.0)):
    seen(value)
assert jax.Array.__module__ == "jax"
assert jnp.sin.__module__ == jnp.einsum.__module__ == "jax.numpy"
assert jax.scipy.stats.norm is sys.modules["jax.scipy.stats.norm"]
words = jax.random.key_data(pickle.loads(pickle.dumps(jax.random.key(3))))
assert words.tolist() == [0, 3]
assert jax.__version__ == jax.version.__version__ == "0.10.2", jax.__version__
assert jax.version.__version_info__ == (0, 10, 2) and jax.version._version == "0.10.2"
assert alias.OWN != jax.__version__
assert importlib.metadata.version("jax") == "0.10.2"
assert importlib.metadata.version("JAX") == "0.10.2"
assert importlib.util.find_spec("jax").submodule_search_locations
assert importlib.util.find_spec("jax.scipy.ndimage").origin.endswith("ndimage.py")
assert importlib.util.find_spec("jax.nothing") is None
assert importlib.util.find_spec("jax._src.nothing") is None
for name in ("jax.nothing", "jax.numpy.nothing", "jax._src.nothing"):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as e:
        assert e.name == name, (e.name, name)
    else:
        raise AssertionError(name)
alias.install()  # a second call does nothing
import logging
logging.getLogger("jax").setLevel("ERROR")
assert logging.getLogger("minijax").getEffectiveLevel() == logging.ERROR
logging.getLogger("jax").setLevel("NOTSET")

module_name = "minijax.surface.numpy.polynomial"
assert module_name not in sys.modules  # names load on first use,
found = vars(jnp)  # or all together
assert module_name in sys.modules and found["polyfit"] is jnp.polyfit
assert found is jnp.__dict__ and type(jnp).__name__ == "module"
assert "grad" in vars(jax) and "normal" in vars(jax.random)

# Every listed module and name of JAX's internals resolves.
from minijax.base import lazy_modules
from minijax.views import private
for name, (inside, table) in private.MODULES.items():
    module = importlib.import_module(f"jax._src.{name}".rstrip("."))
    for public in lazy_modules.homes(table):
        getattr(module, public)
for name, target in private.SAME.items():
    module = importlib.import_module(f"jax._src.{name}")
    assert module.__name__ == module.__spec__.name == target
from jax._src import core as inner, traceback_util
assert inner.Primitive is jax.extend.core.Primitive
assert traceback_util.register_exclusion is jax.extend.source_info_util.register_exclusion
try:
    inner.no_such_name
except AttributeError as e:
    assert "no_such_name" in str(e)

# C++ imports modules of jax itself when arrays are on several devices.
mesh = jax.make_mesh((2,), ("x",))
sharded = jax.device_put(jnp.arange(4.0), jax.NamedSharding(mesh, jax.P("x")))
assert np.asarray(sharded).tolist() == [0, 1, 2, 3]
assert [s.data.tolist() for s in sharded.addressable_shards] == [[0, 1], [2, 3]]
assert jax.jit(lambda x: x * 2)(sharded).tolist() == [0, 2, 4, 6]
from jax._src.lib import _jax, xla_client
halves = xla_client.batched_device_put(
    jax.typeof(sharded), sharded.sharding, [np.float32([0, 1]), np.float32([2, 3])],
    list(mesh.devices.flat),
)
assert (halves == sharded).all() and halves.sharding == sharded.sharding
assert isinstance(jax.jit(abs), _jax.PjitFunction)
mapped = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i")(jnp.arange(2.0))
assert mapped.tolist() == [1, 1] and len(mapped.addressable_shards) == 2
print(sys.argv[1:], __name__)
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
import jax.experimental.pallas.tpu
assert pltpu is jax.experimental.pallas.tpu and pl is jax.experimental.pallas
try:
    pltpu.CompilerParams
except AttributeError as e:
    assert "minijax has no Pallas kernels" in str(e)
else:
    raise AssertionError
from jax._src.interpreters.batching import BatchTracer, make_iota, to_elt
def lane(x):
    assert isinstance(x, BatchTracer) and x.batch_dim == 1
    assert x._trace.full_raise(x) is x
    return x + to_elt(x._trace, None, jnp.arange(6.0).reshape(2, 3), -1)
assert jax.vmap(lane, 1)(jnp.ones((2, 3))).tolist() == [[1, 4], [2, 5], [3, 6]]
assert make_iota(3).tolist() == [0, 1, 2]
from jax._src.literals import TypedComplex, TypedFloat, TypedInt
for kind, number, dtype in (TypedInt, 5, "int32"), (TypedFloat, 0.5, "float16"), (
    TypedComplex, 2j, "complex64"
):
    typed = kind(number, np.dtype(dtype))
    again = pickle.loads(pickle.dumps(typed))
    assert typed == again == number and again.dtype == dtype and type(again) is kind
    assert repr(typed) == f"{kind.__name__}({number!r}, dtype={dtype})"
    assert jnp.asarray(typed, dtype=typed.dtype).dtype == dtype
    assert str(typed) == str(number)
from jax._src.random import prng, threefry2x32
key = threefry2x32.threefry_seed(jnp.uint32(7))
children = jax.random.split(jax.random.wrap_key_data(key), 3)
assert (threefry2x32.threefry_split(key, (3,)) == jax.random.key_data(children)).all()
# Libraries choose functions of JAX by this name.
assert jax.nn.relu.__module__ == "jax.nn"
assert pickle.loads(pickle.dumps(jax.nn.relu)) is jax.nn.relu
"""


def python(*args, **env):
    return subprocess.run(
        [sys.executable, *args], env=ENV | env, capture_output=True, text=True
    )


def test_a_program_sees_jax():
    done = python("-m", "minijax.tools.alias", "-c", PROGRAM, "--flag")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['--flag'] __main__\n"


def test_installing_after_jax_is_an_error_and_modules_run(tmp_path):
    (tmp_path / "jax.py").write_text("")
    (tmp_path / "late.py").write_text(
        "import jax, minijax.tools.alias as alias\nalias.install()"
    )
    (tmp_path / "mod.py").write_text("import sys, jax; print(jax.__version__, sys.argv[1:])")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    refused = python("-m", "late", PYTHONPATH=path)
    assert "RuntimeError: jax was imported before the alias." in refused.stderr
    ran = python(
        "-m", "minijax.tools.alias", "-m", "mod", "7", PYTHONPATH=path, MINIJAX_AS_JAX="1"
    )
    assert ran.stdout == "0.10.2 ['7']\n", ran.stderr
    tool = python("-m", "minijax.tools.alias", "-m", "jax.tools.jax_to_ir", "--help")
    assert "--input_shapes" in tool.stdout, tool.stderr


def test_tests_of_others_run_through_a_plugin(tmp_path):
    (tmp_path / "test_theirs.py").write_text(
        "import jax.numpy as jnp\n\ndef test():\n    assert jnp.ones(2).sum() == 2\n"
        "    assert jnp.__name__ == 'jax.numpy'\n"
    )
    args = ("-m", "pytest", "-q", "-p", "minijax.tools.alias", "-p", "no:cacheprovider")
    args += ("-c", os.devnull, "--rootdir", str(tmp_path), str(tmp_path))
    done = python(*args, MINIJAX_AS_JAX="1")
    assert "1 passed" in done.stdout, done.stdout + done.stderr
