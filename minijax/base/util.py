"""Small utilities with no home of their own."""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType
from typing import Any, Generic, TypeVar

from . import errors

T = TypeVar("T")
K = TypeVar("K")


def split_list(items: Sequence[T], sizes: Sequence[int]) -> list[list[T]]:
    """Cut `items` into runs of the given sizes, and a last run with the rest."""
    out, start = [], 0
    for n in sizes:
        out.append(list(items[start : start + n]))
        start += n
    out.append(list(items[start:]))
    return out


def pick(items: Iterable[T], flags: Iterable[bool]) -> list[T]:
    """The flagged items."""
    return list(itertools.compress(items, flags))


def merge(flags: Iterable[bool], flagged: Iterable[T], others: Iterable[T]) -> list[T]:
    """One item for each flag: the next of the flagged ones, or of the others."""
    yes, no = iter(flagged), iter(others)
    return [next(yes) if f else next(no) for f in flags]


def canonical_axis(axis: Any, ndim: int, what: str = "axis") -> int:
    """A non-negative axis below `ndim`, or an AxisError: a ValueError and an IndexError."""
    import operator

    try:
        i = operator.index(axis)
    except TypeError as e:
        if type(e) is not TypeError:  # a tracer says it better
            raise
        raise TypeError(f"{what} must be an integer, got {axis!r}.") from None
    if not -ndim <= i < ndim:
        raise errors.AxisError(
            f"{what} {i} is out of bounds for array of dimension {ndim}"
        )
    return i + ndim if i < 0 else i


_caches: list[Any] = []


def cache(found: T) -> T:
    """The same container, which `clear_caches` empties from now on."""
    _caches.append(found)
    return found


def clear_caches() -> None:
    """Empty everything that `cache` was told of."""
    for found in _caches:
        found.clear()


# What threads share is changed in single steps, which need no lock: `setdefault`, `pop`
# with a default, `list` of a container.  Who looks first and acts later goes by these.


def remember(found: dict[K, T], key: K, value: T, limit: int) -> T:
    """Keep a value in a dictionary of about `limit`; returns the one that is kept.

    The oldest make room.  Of threads that come with one key all get one value.
    """
    if len(found) >= limit:
        for old in list(found)[: 1 + limit // 8]:
            found.pop(old, None)  # another thread may have been faster
    return found.setdefault(key, value)


class Living(Generic[T]):
    """A set of objects, compared by identity, that lists those still alive."""

    __slots__ = ("_refs",)

    def __init__(self) -> None:
        self._refs: set[weakref.ref[T]] = set()

    def add(self, x: T) -> None:
        self._refs.add(weakref.ref(x, self._refs.discard))

    def clear(self) -> None:
        self._refs.clear()

    def __iter__(self) -> Iterator[T]:
        found = [ref() for ref in list(self._refs)]
        return iter([x for x in found if x is not None])

    def __len__(self) -> int:
        return len(self._refs)


class Memos:
    """A dictionary for each object, while that lives.

    Identity decides, since objects that compare equal may do unlike things.  What is put
    into an object's dictionary must not refer to it: it would live for ever.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], dict[Any, Any]]] = {}

    def of(self, x: Any) -> dict[Any, Any]:
        """The dictionary of `x`; a new one for what has no weak references."""
        found = self._known.get(id(x))
        if found is not None and found[0]() is x:
            return found[1]
        try:  # no Python code is called when `x` dies: an interrupt would be lost in it
            key = weakref.ref(x, functools.partial(self._known.pop, id(x)))
        except TypeError:
            return {}
        if found is not None:  # of an object that is gone
            self._known.pop(id(x), None)
        return self._known.setdefault(id(x), (key, {}))[1]

    def clear(self) -> None:
        """Forget all of them."""
        self._known.clear()


def flags_of(flags: Sequence[bool] | bool, n: int) -> tuple[bool, ...]:
    """One flag for all, or one each, as a tuple."""
    return (flags,) * n if isinstance(flags, bool) else tuple(flags)


def named_after(stub: Any, fun: Callable[..., T]) -> Callable[..., T]:
    """`fun` with the name, the home and the docstring of `stub`."""
    fun.__name__, fun.__qualname__ = stub.__name__, stub.__qualname__
    fun.__module__, fun.__doc__ = stub.__module__, stub.__doc__
    return fun


@functools.cache
def _copied(fun: FunctionType, name: str, home: str) -> Any:
    made = FunctionType(
        fun.__code__, fun.__globals__, name, fun.__defaults__, fun.__closure__
    )
    made.__kwdefaults__, made.__annotations__ = fun.__kwdefaults__, fun.__annotations__
    made.__qualname__, made.__module__, made.__doc__ = name, home, fun.__doc__
    vars(made).update(vars(fun))
    return made


def renamed(fun: T, name: str, home: str) -> T:
    """A copy of a Python function under another public name, of the module `home`."""
    return _copied(fun, name, home) if isinstance(fun, FunctionType) else fun
