"""`import jax` gives minijax: for notebooks, scripts and libraries left as they are.

    import minijax.tools.alias; minijax.tools.alias.install()
    import jax.numpy as jnp                     # minijax.numpy

or, for a whole script: `python -m minijax.tools.alias script.py ...`.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import runpy
import sys
from types import ModuleType
from typing import Any


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `jax.x` where `minijax.x` is."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != "jax" and not name.startswith("jax."):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> ModuleType:
        name = "minijax" + spec.name[len("jax") :]
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as e:
            if e.name != name:
                raise
            owner, _, attribute = name.rpartition(".")
            found = getattr(importlib.import_module(owner), attribute, None)
            if isinstance(found, ModuleType):
                return found
            raise ModuleNotFoundError(
                f"No module named {spec.name!r} (minijax has no {name})", name=spec.name
            ) from None

    def exec_module(self, module: ModuleType) -> None:
        """The module has been loaded under its own name."""


def install() -> None:
    """Make `import jax` mean minijax in this process.

    Raises:
      RuntimeError: jax itself has been imported already.
    """
    if isinstance(sys.meta_path[0], Finder):
        return
    if "jax" in sys.modules:
        raise RuntimeError(
            "jax was imported before the alias.\nTry: install the alias first, in a fresh"
            " process."
        )
    sys.meta_path.insert(0, Finder())


def main() -> None:
    """Run a script with the alias installed."""
    if len(sys.argv) < 2:
        raise SystemExit("usage: python -m minijax.tools.alias SCRIPT [ARGUMENT ...]")
    install()
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
