"""Public modules have all names of their tables, and load nothing before its first use."""

import importlib
import pathlib
import pickle
import subprocess
import sys
import types
from operator import attrgetter

import pytest

import minijax
from minijax.base import lazy_modules
from minijax.tools import stubs

ROOT = pathlib.Path(minijax.__file__).parent
ROOMS = {
    "minijax.numpy": ["surface/numpy"],
    "minijax.random": ["surface/random"],
    "minijax.nn": ["surface/nn"],
    "minijax.image": ["surface/image"],
    "minijax.lax": ["prims"],
    "minijax.scipy.fft": ["surface/scipy/fft"],
    "minijax.scipy.linalg": ["surface/scipy/linalg"],
    "minijax.scipy.special": ["surface/scipy/special"],
    "minijax.scipy.stats": ["surface/scipy/stats"],
}
# Modules that other packages import, but that are not public.
PRIVATE = {
    "_common",
    "_function_tables",
    "common",
    "prims/elementwise.py",
    "matrix",
    "complex_gamma",
    "scaled",
    "poisson_entropy",
    "deviances",
    "tails",
    "sharding_specs",
    "reshard",
}


@pytest.mark.parametrize("name", stubs.PUBLIC_MODULES)
def test_stubs_match_the_tables(name):
    assert stubs.path_of(name).read_text() == stubs.stub(name), (
        "python -m minijax.tools.stubs writes them"
    )


@pytest.mark.filterwarnings("ignore:jax.:DeprecationWarning")
@pytest.mark.parametrize("name", stubs.PUBLIC_MODULES)
def test_every_name_resolves_to_its_module(name):
    module = importlib.import_module(name)
    for public, (room, inner) in lazy_modules.homes(module._TABLE).items():
        internal = attrgetter(inner)(importlib.import_module(f"minijax.{room}"))
        value = getattr(module, public)
        assert value is internal or value.__code__ is internal.__code__, public
        assert public in dir(module)
    assert set(module.__all__) <= set(dir(module))


def exported(path: pathlib.Path) -> set[str]:
    """Return the `__all__` of a file."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    module = importlib.import_module(".".join(p for p in parts if p != "__init__"))
    return set(getattr(module, "__all__", ()))


@pytest.mark.parametrize("name", ROOMS)
def test_names_of_packages_are_in_their_public_module(name):
    table = set(lazy_modules.homes(importlib.import_module(name)._TABLE))
    if name == "minijax.lax":
        table |= set(lazy_modules.homes(minijax.lax.linalg._TABLE))
    if name == "minijax.scipy.stats":
        table |= set(minijax.scipy.stats.__all__)
    if name == "minijax.random":
        table |= set(lazy_modules.homes(minijax.experimental.random._TABLE))
    if name == "minijax.numpy":
        for part in (minijax.numpy.linalg, minijax.numpy.fft):
            table |= set(lazy_modules.homes(part._TABLE))
    missing = {}
    for room in ROOMS[name]:
        for path in sorted([*ROOT.glob(f"{room}.py"), *(ROOT / room).rglob("*.py")]):
            names = {path.stem, str(path.relative_to(ROOT))}
            if not names & PRIVATE and (left := exported(path) - table):
                missing[path.name] = sorted(left)
    assert not missing


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_public_modules_load_nothing_before_use():
    loaded = run(
        "import sys, minijax.numpy, minijax.random, minijax.lax, minijax.nn\n"
        "print(' '.join(m for m in sys.modules if m.startswith('minijax.')))"
    ).split()
    for room in ("surface", "prims", "control", "api", "runtime", "passes"):
        assert not [m for m in loaded if m.startswith(f"minijax.{room}")], room


def test_ufuncs_have_their_methods_whatever_was_loaded_before():
    jnp = minijax.numpy
    rooms = {
        room
        for name, (room, _) in lazy_modules.homes(jnp._TABLE).items()
        if isinstance(getattr(jnp, name), jnp.ufunc)
    }
    assert rooms == {"surface.numpy.ufunc"}
    code = "import minijax.numpy as jnp\nprint(jnp.add.reduce(jnp.arange(4)))"
    assert run(code) == "6"


def test_star_imports_bring_everything():
    code = "from minijax.numpy import *\nprint(sum(arange(4)), pi > 3, fft.rfft, bool)"
    assert run(code).startswith("6 True")


def test_unknown_names_are_attribute_errors():
    for name in stubs.PUBLIC_MODULES:
        module = importlib.import_module(name)
        with pytest.raises(AttributeError, match=f"module '{name}' has no attribute"):
            _ = module.no_such_name


def test_removed_names_warn():
    with pytest.warns(DeprecationWarning, match=r"jnp\.trapz is deprecated; use jnp"):
        assert minijax.numpy.trapz is minijax.numpy.trapezoid


# Aliases, whose functions in JAX have the name of the original.
JAX_NAMES = {
    "hard_swish": "hard_silu",
    "swish": "silu",
    "kaiming_normal": "he_normal",
    "kaiming_uniform": "he_uniform",
    "xavier_normal": "glorot_normal",
    "xavier_uniform": "glorot_uniform",
    "ds": "dslice",
    "get": "ref_get",
    "set": "ref_set",
    "swap": "ref_swap",
    "addupdate": "ref_addupdate",
}


WRAPPED = {"dynamic_index_in_dim", "dynamic_update_index_in_dim"}  # pickled as programs
FUNCTIONS = types.FunctionType, type(minijax.jit(abs))


@pytest.mark.parametrize(
    "module_name",
    (
        "numpy",
        "numpy.linalg",
        "numpy.fft",
        "lax",
        "random",
        "nn",
        "nn.initializers",
        "tree_util",
        "tree",
        "ref",
        "ops",
        "image",
        "scipy.special",
        "scipy.linalg",
        "scipy.signal",
        "scipy.stats.beta",
        "extend.core",
        "interpreters.ad",
    ),
)
def test_functions_have_public_names_and_pickle(module_name):
    module = importlib.import_module(f"minijax.{module_name}")
    for public in module.__all__:
        fun = getattr(module, public)
        if not isinstance(fun, FUNCTIONS):
            continue
        expected = JAX_NAMES.get(public, public)
        assert fun.__name__ == expected.removesuffix("_DO_NOT_USE"), public
        assert fun.__doc__, public
        if public not in WRAPPED:
            assert pickle.loads(pickle.dumps(fun)) is fun


def test_aliases_are_separate_functions():
    jnp = minijax.numpy
    assert jnp.abs is not jnp.absolute
    assert jnp.abs(-2) == jnp.absolute(-2) == 2
    assert "jnp.abs(" in jnp.abs.__doc__
    assert "jit_conj" in minijax.jit(jnp.conj).lower(1.0).as_text()
    assert minijax.enable_x64.__name__ == "enable_x64"
