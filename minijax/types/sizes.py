"""Sizes of axes: integers, or symbolic dimensions.

A symbolic dimension is a size that is unknown while a program is traced.  Its class has the
method `dimension_as_value`, and does its own arithmetic and comparisons: `SymbolicDim`
(symbolic/dims.py), or a class of a library.

Next: avals.py.
"""

from __future__ import annotations

import operator
from typing import Any, TypeAlias

Size: TypeAlias = int | Any  # an int, or a symbolic dimension, which computes like one


def is_symbolic(size: object) -> bool:
    """Whether a size is a symbolic dimension, ours or a library's own."""
    return hasattr(type(size), "dimension_as_value")


def index_of(x: Any) -> Size:
    """Return a size as `operator.index` does, or unchanged if it is symbolic."""
    return x if type(x) is int or is_symbolic(x) else operator.index(x)


def size_of(x: Any) -> Size:
    """Return a size as an int, or unchanged if it is symbolic."""
    return x if type(x) is int or is_symbolic(x) else int(x)
