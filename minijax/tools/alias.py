"""`import jax` imports minijax: for unchanged notebooks, scripts and libraries.

    import minijax.tools.alias; minijax.tools.alias.install()
    import jax.numpy as jnp                     # minijax.numpy

or, for a whole program: `python -m minijax.tools.alias script.py ...`, `-m module ...`,
`-c code ...`; for tests: `MINIJAX_AS_JAX=1 pytest -p minijax.tools.alias ...`.

It does not matter whether jax is installed.  In such a process `__version__` is the version
of the interface, JAX's; `minijax.tools.alias.OWN` is minijax's.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import logging
import os
import pathlib
import runpy
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from ..base import lazy_modules, log
from ..ir.core import Reference, Tracer
from ..runtime.arrays.array import Array
from ..views import private

INTERFACE = "0.10.2"
_PACKAGE = (__package__ or "minijax").partition(".")[0]
OWN: str = sys.modules[_PACKAGE].__version__


class Distribution(importlib.metadata.Distribution):
    """The package metadata of jax for `importlib.metadata`."""

    def read_text(self, filename: str) -> str | None:
        if filename in ("METADATA", "PKG-INFO"):
            return f"Metadata-Version: 2.1\nName: jax\nVersion: {INTERFACE}\n"
        return "jax\n" if filename == "top_level.txt" else None

    def locate_file(self, path: Any) -> pathlib.Path:
        return pathlib.Path(__file__).parents[2] / path


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import finder that loads `minijax.x` for `jax.x`."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name.partition(".")[0] != "jax":
            # `from jax.experimental import pallas` searches under the parent's real name.
            twin = f"jax{name.removeprefix(_PACKAGE)}"
            if name.startswith(_PACKAGE) and twin.removeprefix("jax.") in private.KERNELS:
                return importlib.machinery.ModuleSpec(name, self, is_package=True)
            return None
        # A package in any case, since submodules may exist only under the `jax` name.
        spec = importlib.machinery.ModuleSpec(name, self, is_package=True)
        if private.module(name) is not None:
            return spec
        if name.startswith("jax._src"):
            return None
        ours = _PACKAGE + name.removeprefix("jax")
        try:
            target_spec = importlib.util.find_spec(ours)
        except ModuleNotFoundError as e:  # the parent is not a package
            if e.name is None or not ours.startswith(e.name):
                raise
            target_spec = None
        if target_spec is not None:
            spec.origin = target_spec.origin
            locations = target_spec.submodule_search_locations
            spec.submodule_search_locations = None if locations is None else list(locations)
            return spec
        return spec if self._attribute(ours) is not None else None

    def _attribute(self, name: str) -> ModuleType | None:
        """Return a module that is only an attribute of another module, not a file."""
        owner, _, attribute = name.rpartition(".")
        try:
            value = getattr(importlib.import_module(owner), attribute, None)
        except ModuleNotFoundError:
            return None
        return value if isinstance(value, ModuleType) else None

    def create_module(self, spec: Any) -> ModuleType:
        if (module := private.module(spec.name)) is not None:
            if not isinstance(module, private.Private):
                # importlib overwrites `__spec__`, and `exec_module` restores it.
                spec.loader_state = module.__spec__
            return module
        if spec.name.startswith(f"{_PACKAGE}."):  # which is also found under the `jax` name
            module = importlib.import_module(f"jax{spec.name.removeprefix(_PACKAGE)}")
            spec.loader_state = module.__spec__
            return module
        name = _PACKAGE + spec.name.removeprefix("jax")
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as e:
            if e.name != name or (attribute := self._attribute(name)) is None:
                raise
            module = attribute
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec: the module was loaded by it before."""
        spec = module.__spec__
        if spec is not None and spec.loader_state is not None:
            module.__spec__ = spec.loader_state
            if lazy_modules.public_path(spec.loader_state.name) == spec.name:
                module.__name__ = spec.name
        if module is sys.modules[_PACKAGE]:  # only when `jax` itself is imported
            for name in _LOADED.split():
                importlib.import_module(f"jax.{name}")

    def find_distributions(self, context: Any = None) -> Iterator[Distribution]:
        requested = None if context is None else context.name
        if requested is None or requested.lower() == "jax":
            yield Distribution()


# JAX imports these modules with itself, and programs look them up in `sys.modules` or
# expect them as attributes.  All are public modules, which are cheap to import.
_LOADED = (
    "_src api_util core custom_batching custom_derivatives debug distributed dlpack dtypes"
    " errors experimental experimental.compilation_cache"
    " experimental.compilation_cache.compilation_cache export ffi image interpreters"
    " interpreters.ad interpreters.batching interpreters.mlir"
    " interpreters.partial_eval interpreters.pxla interpreters.xla lax lax.linalg lib"
    " monitoring nn nn.initializers numpy numpy.fft numpy.linalg ops profiler random ref"
    " scipy sharding stages tree tree_util typing version"
)


def install() -> None:
    """Make `import jax` mean minijax in this process.

    Raises:
      RuntimeError: jax itself has been imported already.
    """
    if any(isinstance(f, Finder) for f in sys.meta_path):
        return
    if "jax" in sys.modules:
        raise RuntimeError(
            "jax was imported before the alias.\nTry: install the alias first, in a fresh"
            " process."
        )
    sys.meta_path.insert(0, Finder())
    log.logger.parent = logging.getLogger("jax")  # whose level and handlers programs set
    numbers = tuple(map(int, INTERFACE.split(".")))
    for module in (sys.modules[_PACKAGE], importlib.import_module(f"{_PACKAGE}.version")):
        vars(module).update(__version__=INTERFACE, __version_info__=numbers, _version=INTERFACE)
    lazy_modules.impersonate("jax")
    for values in (Tracer, Array, Reference):
        _set_class_module(values)
        values.__init_subclass__ = classmethod(_set_class_module)  # type: ignore[attr-defined, assignment]


def _set_class_module(cls: type[Any]) -> None:
    """Set the module of classes of values, by which libraries dispatch."""
    cls.__module__ = lazy_modules.public_path(cls.__module__)
    for inner in cls.__subclasses__():
        _set_class_module(inner)


def _module_to_run(module: str) -> str:
    """Return the module that `python -m` runs: our own for `jax.tools.x`."""
    return f"{_PACKAGE}{module[3:]}" if module.startswith("jax.") else module


def main() -> None:
    """Run a program with the alias installed."""
    if len(sys.argv) < 2 or (sys.argv[1] in ("-m", "-c") and len(sys.argv) < 3):
        raise SystemExit(
            "usage: python -m minijax.tools.alias {SCRIPT | -m MODULE | -c CODE} [ARGUMENT ...]"
        )
    install()
    _, kind, *rest = sys.argv
    if kind == "-m":
        sys.argv = rest
        sys.path.insert(0, os.getcwd())
        runpy.run_module(_module_to_run(rest[0]), run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.path.insert(0, "")
        program = sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec", dont_inherit=True), vars(program))
    else:
        sys.argv = [kind, *rest]
        sys.path.insert(0, os.path.dirname(os.path.abspath(kind)))
        runpy.run_path(kind, run_name="__main__")


if __name__ == "__main__":
    from . import alias  # the one that others import

    alias.main()
elif os.environ.get("MINIJAX_AS_JAX", "0") not in ("", "0"):
    install()
