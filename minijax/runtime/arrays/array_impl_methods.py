"""Attributes of jaxlib's C++ class of arrays, shared with other libraries.

A C++ class exists once per process. Normally each attribute is set on it directly. If
another library uses the same class (JAX, imported earlier or later, or minijax under a
second name), each attribute that either library sets dispatches on the type of the array's
aval, so that every array uses the methods of the library that made it.

Next: array.py, which defines the attributes.
"""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable
from typing import Any

from ...base import errors
from ...types.avals import ShapedArray
from ..backends import jaxlib_compat as compat

ArrayImpl = compat.ArrayImpl

_attributes: dict[str, Any] = {}  # our attributes
_previous: dict[str, Any] = {}  # the class's earlier attributes of these names
is_shared = "shape" in vars(ArrayImpl)  # not defined by C++: another library set it
_SHARERS = "_sharers"  # callbacks of each copy of minijax in the process


class _Either:
    """Descriptor that dispatches to the library that made the array."""

    __slots__ = ("ours", "theirs")

    def __init__(self, ours: Any, theirs: Any) -> None:
        self.ours = ours
        self.theirs = theirs

    def __get__(self, x: Any, cls: Any = None) -> Any:
        if x is None:  # read from the class; ours is read from `Array`
            return _read_attribute(self.theirs or self.ours, x, cls)
        if type(x.aval) is ShapedArray:
            return _read_attribute(self.ours, x, cls)
        if self.theirs is None:
            raise AttributeError("no such attribute of another library's array")
        return _read_attribute(self.theirs, x, cls)

    def __set__(self, x: Any, value: Any) -> None:
        attribute = self.ours if type(x.aval) is ShapedArray else self.theirs
        if not hasattr(attribute, "__set__"):
            raise AttributeError("can't set attribute")
        attribute.__set__(x, value)


def _read_attribute(attribute: Any, x: Any, cls: Any) -> Any:
    """Return the value of a class attribute read from `x`."""
    get = getattr(type(attribute), "__get__", None)
    return attribute if get is None else get(attribute, x, cls)


def set_attribute(name: str, value: object) -> None:
    """Set an attribute of minijax's arrays on the C++ class."""
    current = vars(ArrayImpl).get(name)
    if name in _attributes:
        old, _attributes[name] = _attributes[name], value
        if current is old:
            setattr(ArrayImpl, name, value)
        # Other copies of minijax may have wrapped ours. Their class `_Either` is a different
        # object, so compare names, and replace our attribute at any depth.
        while type(current).__name__ == _Either.__name__:
            if current.ours is old:
                current.ours = value
            if current.theirs is old:
                current.theirs = value
            current = current.theirs
        return
    _attributes[name], _previous[name] = value, current
    setattr(ArrayImpl, name, _Either(value, current) if is_shared else value)


_when_shared: list[Callable[[], None]] = []


def when_shared(callback: Callable[[], None]) -> None:
    """Call `callback()` once arrays may belong to another library."""
    callback() if is_shared else _when_shared.append(callback)


def start_sharing() -> None:
    """Dispatch each attribute by library from now on."""
    global is_shared
    is_shared = True
    for callback in _when_shared:
        callback()
    ShapedArray.has_qdd = property(_raise_foreign_array)  # type: ignore[attr-defined]
    for name, value in _attributes.items():
        current = vars(ArrayImpl).get(name)
        if current is value:  # still ours: the other library did not set it
            current = _previous[name]
        if not (type(current) is _Either and current.ours is value):
            setattr(ArrayImpl, name, _Either(value, current))


def _raise_foreign_array(_: Any) -> Any:
    """Raise TypeError: JAX reads `has_qdd` first of its own types, and read it of ours."""
    raise errors.type_error(
        "a minijax array was passed to a jax function.",
        why="each library runs its own programs on its own devices.",
        tries=["np.asarray(x)"],
    )


class _ImportWatcher:
    """Import finder that starts sharing the class once JAX is loaded.

    JAX overwrites our attributes when it is imported. Other finders find the module.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "jax":
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is not self and find is not None:
                spec = find(name, path, target)
                if spec is not None:
                    if isinstance(spec.loader, importlib.machinery.SourceFileLoader):
                        spec.loader = _SharingLoader(spec.loader)
                    return spec
        return None


class _SharingLoader:
    """Loader that runs JAX's loader and then `start_sharing`."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: Any) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        module.__spec__.loader = module.__loader__ = self._loader
        try:
            self._loader.exec_module(module)
        finally:
            start_sharing()


# Copies loaded earlier must share first: this one then wraps what they have set.
for _start in getattr(ArrayImpl, _SHARERS, ()):
    _start()
setattr(ArrayImpl, _SHARERS, (*getattr(ArrayImpl, _SHARERS, ()), start_sharing))
if is_shared:
    start_sharing()
else:
    sys.meta_path.insert(0, _ImportWatcher())
