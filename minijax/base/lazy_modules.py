"""Public modules that load each name from its package when it is first used.

Such a module is a table of names by internal module.  Nothing is imported before it is
used, so a module of four hundred names costs only what a program uses of it.  A stub next
to each public module (`python -m minijax.tools.stubs`) serves editors and type checkers.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Mapping
from operator import attrgetter
from types import ModuleType
from typing import Any

from .util import renamed

ModuleHooks = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def homes(table: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Map each public name to (internal module, name in it), from a table by module.

    An entry `module:object` of the table stands for attributes of an object.

    >>> homes({"surface.numpy.ufuncs": "add abs=absolute"})["abs"]
    ('surface.numpy.ufuncs', 'absolute')
    >>> homes({"surface.scipy.stats.shaped:beta": "pdf"})["pdf"]
    ('surface.scipy.stats.shaped', 'beta.pdf')
    """
    result = {}
    for module_path, names in table.items():
        module_path, _, owner = module_path.partition(":")
        for entry in names.split():
            public, _, target = entry.replace(":=", "=").partition("=")
            target = target or public
            result[public] = (module_path, f"{owner}.{target}" if owner else target)
    return result


def _messages(table: Mapping[str, str] | None) -> dict[str, str]:
    """Map each name to its message."""
    return {
        n: text.replace("{}", n) for text, names in (table or {}).items() for n in names.split()
    }


# Dicts are unhashable, and modules are never freed: the id is a safe key.
_tables: dict[int, Mapping[str, Any]] = {}  # names by public module, by `id` of its dict
_submodules: dict[int, frozenset[str]] = {}
# The dict of a module itself: `CompleteModule.__dict__` below would load all names.
namespace_of: Any = vars(ModuleType)["__dict__"].__get__


class CompleteModule(ModuleType):
    """A public module whose `__dict__` is complete: reading it loads all names.

    Before that, Python needs about 20 ns more per attribute of such a module.
    """

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        # The names are loaded once; after that a plain module has faster attributes.
        self.__class__ = ModuleType  # type: ignore[assignment]
        namespace = namespace_of(self)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            for name in _tables[id(namespace)]:
                getattr(self, name)
        return namespace  # type: ignore[no-any-return]


def impersonate(package: str) -> None:
    """Rename public modules to `package` from now on, and make their `vars` complete.

    Code that reads a module's `__name__` or `vars` then finds the other package's names.
    `sys.modules` has each public module under both names.
    """
    global _impersonated
    _impersonated = package
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType) and id(namespace_of(module)) in _tables:
            _impersonate_module(module)


def _impersonate_module(module: ModuleType) -> None:
    """Rename a public module to the other package, with the names it has loaded."""
    module.__class__ = CompleteModule
    namespace = namespace_of(module)
    for name in _tables[id(namespace)].keys() & namespace.keys():
        _set_public_module(name, namespace[name], public_path(module.__name__))
    for public_module in (module, *map(namespace.get, _submodules[id(namespace)])):
        if public_module is not None:
            own_name, public_module.__name__ = (
                public_module.__name__,
                public_path(public_module.__name__),
            )
            if own_name != _PACKAGE:  # the import of the package itself sets that entry
                sys.modules.setdefault(public_module.__name__, public_module)


def _set_public_module(name: str, value: Any, module: str) -> None:
    """Set a function's `__module__` to the public module, as libraries expect."""
    module_name = getattr(value, "__module__", None) or ""
    if type(value).__name__ in _FUNCTIONS and module_name.partition(".")[0] == _PACKAGE:
        value.__module__ = (
            module if value.__qualname__ == name else public_path(value.__module__)
        )


_FUNCTIONS = ("function", "PjitFunction")


def public_path(name: str) -> str:
    """Return the name in the impersonated package of a module or object of this package."""
    own, dot, rest = name.partition(".")
    return f"{_impersonated}{dot}{rest}" if _impersonated and own == _PACKAGE else name


_PACKAGE = __name__.partition(".")[0]
_impersonated = ""


def lazy_module(
    name: str,
    table: Mapping[str, str],
    modules: str = "",
    dropped: Mapping[str, str] | None = None,
    *,
    warned: Mapping[str, str] | None = None,
    removed: Mapping[str, str] | None = None,
) -> ModuleHooks:
    """Return `__getattr__`, `__dir__` and `__all__` of a public module.

    Args:
      name: the module's own `__name__`.
      table: internal module (dotted, within the package) -> its public names, separated by
        blanks; `public=inner` if the internal name differs; `public:=inner` if the
        function's `__name__` must be the public name.
      modules: submodules, which load at their first use.
      dropped: names of older interfaces -> their replacements; each use warns.
      warned: a warning for each use of these names -> names; `{}` stands for the name.
      removed: the text of the AttributeError for removed names -> names.
    """
    package = name.partition(".")[0]
    module = sys.modules[name]
    namespace = module.__dict__
    home_of = _tables[id(namespace)] = homes(table)
    copies = {
        entry.partition(":")[0]
        for names in table.values()
        if ":=" in names
        for entry in names.split()
        if ":=" in entry
    }
    submodules = _submodules[id(namespace)] = frozenset(modules.split())
    if _impersonated:
        _impersonate_module(module)
    replacements = dropped or {}
    warnings_of, errors_of = _messages(warned), _messages(removed)

    def get(attribute: str) -> Any:
        if attribute in warnings_of:
            warnings.warn(warnings_of[attribute], DeprecationWarning, stacklevel=2)
        home = home_of.get(attribute)
        if home is not None:
            module_path, inner = home
            value = attrgetter(inner)(importlib.import_module(f"{package}.{module_path}"))
            if attribute in copies:
                value = renamed(value, attribute, name)
            if _impersonated:
                _set_public_module(attribute, value, public_path(name))
            # A stored name would be found without `__getattr__`, and so without its warning.
            if attribute not in warnings_of:
                namespace[attribute] = value
            return value
        if attribute in submodules:
            submodule = importlib.import_module(public_path(f"{name}.{attribute}"))
            submodule.__name__ = public_path(submodule.__name__)
            return submodule
        if attribute in replacements:
            short_name = name.rpartition(".")[2]
            short_name = "jnp" if short_name == "numpy" else short_name
            warnings.warn(
                f"{short_name}.{attribute} is deprecated; use"
                f" {short_name}.{replacements[attribute]}.",
                DeprecationWarning,
                stacklevel=2,
            )
            return getattr(sys.modules[name], replacements[attribute])
        missing = f"module {public_path(name)!r} has no attribute {attribute!r}"
        raise AttributeError(errors_of.get(attribute, missing))

    def names() -> list[str]:
        """List the public names, without internal modules that imports have added."""
        own_names = (
            n
            for n, value in list(namespace.items())
            if n not in ("annotations", "lazy_module")
            and (n[0] == "_" or not isinstance(value, ModuleType))
        )
        return sorted({*own_names, *home_of, *submodules})

    return get, names, sorted({*home_of, *submodules})
