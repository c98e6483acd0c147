"""Small utilities with no home of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


_caches: list[Any] = []


def cache(found: T) -> T:
    """The same container, which `clear_caches` empties from now on."""
    _caches.append(found)
    return found


def clear_caches() -> None:
    """Empty everything that `cache` was told of."""
    for found in _caches:
        found.clear()


def memo_of(found: Any, fun: Any) -> dict[Any, Any]:
    """The dictionary that the weak dictionary `found` keeps while `fun` lives.

    What is put there must not refer to `fun`: it would live as long as `found` then.
    """
    try:
        return found.setdefault(fun, {})  # type: ignore[no-any-return]
    except TypeError:  # no weak references to it, or it has no hash
        return {}
