"""The face `minijax.typing`: types for annotations."""

from collections.abc import Sequence
from typing import Any, Protocol, Union

import numpy as np

from .runtime.array import Array as Array


class SupportsDType(Protocol):
    """Anything with a dtype."""

    @property
    def dtype(self) -> Any: ...


ArrayLike = Union[Array, np.ndarray, np.bool_, np.number, bool, int, float, complex]
DTypeLike = Union[str, type[Any], np.dtype, SupportsDType]
Shape = Sequence[int]

__all__ = ["ArrayLike", "DTypeLike", "Shape"]
