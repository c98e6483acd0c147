"""`map` and `zip` that require sequences of equal length, and return lists.

Some of JAX's modules contain them under these names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ("safe_map", "safe_zip", "unsafe_map", "unsafe_zip", "unzip2")

# Python's own functions, without the check.
unsafe_map, unsafe_zip = map, zip


def _check(name: str, args: tuple[Any, ...], first: int) -> list[list[Any]]:
    """Return the sequences as lists; raise ValueError if their lengths differ."""
    lists = [list(xs) for xs in args]
    for i, xs in enumerate(lists[1:], first + 1):
        if len(xs) != len(lists[0]):
            how = "shorter" if len(xs) < len(lists[0]) else "longer"
            raise ValueError(
                f"{name}() argument {i} is {how} than argument {first}: {len(xs)} items"
                f" and {len(lists[0])}."
            )
    return lists


def safe_map(f: Callable[..., Any], /, *args: Iterable[Any]) -> list[Any]:
    """Apply a function to the items of sequences of equal length.

    Args:
      f: a function of as many arguments as there are sequences.
      *args: the sequences, at least one.

    Returns:
      A list.

    Raises:
      TypeError: no sequence.
      ValueError: their lengths differ.

    Example:
      >>> safe_map(max, [1, 5], [3, 4])
      [3, 5]
    """
    if not args:
        raise TypeError("safe_map requires at least 2 arguments")
    return [f(*xs) for xs in zip(*_check("safe_map", args, 2), strict=True)]


def safe_zip(*args: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return tuples of the items of sequences of equal length.

    Args:
      *args: the sequences, at least one.

    Returns:
      A list of tuples.

    Raises:
      TypeError: no sequence.
      ValueError: their lengths differ.

    Example:
      >>> safe_zip([1, 2], "ab")
      [(1, 'a'), (2, 'b')]
    """
    if not args:
        raise TypeError("safe_zip requires at least 1 argument")
    return list(zip(*_check("safe_zip", args, 1), strict=True))


def unzip2(xys: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the first items of pairs, and the second items.

    Args:
      xys: pairs.

    Returns:
      Two tuples.

    Raises:
      ValueError: an item is not a pair.

    Example:
      >>> unzip2([(1, 2), (3, 4)])
      ((1, 3), (2, 4))
    """
    pairs = [(x, y) for x, y in xys]
    return tuple(x for x, _ in pairs), tuple(y for _, y in pairs)
