"""Small utilities with no home of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def safe_zip(*args: Iterable[Any]) -> list[tuple[Any, ...]]:
    """`list(zip(...))` that refuses unequal lengths."""
    return list(zip(*args, strict=True))


def split_list(items: Sequence[T], sizes: Sequence[int]) -> list[list[T]]:
    """Cut `items` into runs of the given sizes, and a last run with the rest."""
    out, start = [], 0
    for n in sizes:
        out.append(list(items[start : start + n]))
        start += n
    out.append(list(items[start:]))
    return out


def partition_list(
    which: Sequence[bool], items: Sequence[T]
) -> tuple[list[T], list[T]]:
    """The items whose flag is false, then those whose flag is true."""
    no: list[T] = []
    yes: list[T] = []
    for flag, item in zip(which, items, strict=True):
        (yes if flag else no).append(item)
    return no, yes


def merge_lists(which: Sequence[bool], no: Sequence[T], yes: Sequence[T]) -> list[T]:
    """Undo `partition_list`."""
    a, b = iter(no), iter(yes)
    return [next(b) if flag else next(a) for flag in which]


def wrap_name(fun: Any, name: str) -> Any:
    """`fun` marked as the transformation `name` of itself, for repr and help."""
    return f"{name}({getattr(fun, '__name__', repr(fun))})"


def canonical_axis(axis: Any, ndim: int, what: str = "axis") -> int:
    """A non-negative axis below `ndim`, or a ValueError."""
    import operator

    try:
        i = operator.index(axis)
    except TypeError:
        raise TypeError(f"{what} must be an integer, got {axis!r}.") from None
    if not -ndim <= i < ndim:
        raise ValueError(f"{what} {i} is out of bounds for array of dimension {ndim}")
    return i + ndim if i < 0 else i


def memoize(fun: Callable[..., T]) -> Callable[..., T]:
    """An unbounded cache on hashable arguments."""
    return functools.lru_cache(maxsize=None)(fun)


class HashableById:
    """Wrap any value so that it is hashable by identity (for cache keys)."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HashableById) and self.value is other.value
