"""Our attributes on jaxlib's C++ class of arrays, and peace with who else sets some there.

A class of C++ is one for the whole process.  Alone, an attribute of ours is set on it as
it is.  Where another library works with the same class (JAX, loaded earlier or later, or
minijax under a second name), each attribute that either set chooses by the type of the
array's aval, so that every array is answered by the library that made it.

Next: array.py, which says what the attributes are.
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
_previous: dict[str, Any] = {}  # what the class had by their names
is_shared = "shape" in vars(ArrayImpl)  # C++ gives none: another library was here
_SHARERS = "_sharers"  # what each copy of minijax in the process does for another


class _Either:
    """An attribute of the library that made the array."""

    __slots__ = ("ours", "theirs")

    def __init__(self, ours: Any, theirs: Any) -> None:
        self.ours = ours
        self.theirs = theirs

    def __get__(self, x: Any, cls: Any = None) -> Any:
        if x is None:  # of the class itself; we have one of our own for that
            return _bound(self.theirs or self.ours, x, cls)
        if type(x.aval) is ShapedArray:
            return _bound(self.ours, x, cls)
        if self.theirs is None:
            raise AttributeError("no such attribute of another library's array")
        return _bound(self.theirs, x, cls)

    def __set__(self, x: Any, value: Any) -> None:
        attribute = self.ours if type(x.aval) is ShapedArray else self.theirs
        if not hasattr(attribute, "__set__"):
            raise AttributeError("can't set attribute")
        attribute.__set__(x, value)


def _bound(attribute: Any, x: Any, cls: Any) -> Any:
    """What reading an attribute of a class gives."""
    get = getattr(type(attribute), "__get__", None)
    return attribute if get is None else get(attribute, x, cls)


def set_attribute(name: str, value: Any) -> None:
    """Set an attribute on the class of arrays, for arrays of ours."""
    current = vars(ArrayImpl).get(name)
    if name in _attributes:
        old, _attributes[name] = _attributes[name], value
        if current is old:
            setattr(ArrayImpl, name, value)
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
    """Call `told()` once arrays may be another library's."""
    callback() if is_shared else _when_shared.append(callback)


def start_sharing() -> None:
    """Let each array be answered by its own library, from now on."""
    global is_shared
    is_shared = True
    for callback in _when_shared:
        callback()
    ShapedArray.has_qdd = property(_raise_foreign_array)  # type: ignore[attr-defined]
    for name, value in _attributes.items():
        current = vars(ArrayImpl).get(name)
        if current is value:  # the other library did not set it
            current = _previous[name]
        if not (type(current) is _Either and current.ours is value):
            setattr(ArrayImpl, name, _Either(value, current))


def _raise_foreign_array(_: Any) -> Any:
    """What JAX asks of its types first, asked of one of ours."""
    raise errors.type_error(
        "an array of minijax was passed to a function of jax.",
        why="each library runs its own programs on its own devices.",
        tries=["np.asarray(x)"],
    )


class _ImportWatcher:
    """A finder that lets JAX be found by others, and shares the class once it is loaded.

    JAX sets its attributes over ours, at its import.
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
    """JAX's loader, and afterwards `start_sharing`."""

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


for _start in getattr(ArrayImpl, _SHARERS, ()):
    _start()
setattr(ArrayImpl, _SHARERS, (*getattr(ArrayImpl, _SHARERS, ()), start_sharing))
if is_shared:
    start_sharing()
else:
    sys.meta_path.insert(0, _ImportWatcher())
