"""The public module `minijax.typing`: types for annotations."""

from collections.abc import Sequence
from typing import Any, Protocol, Union

import numpy as np

from .runtime.arrays.array import Array as Array


class SupportsDType(Protocol):
    """Anything with a dtype."""

    @property
    def dtype(self) -> Any: ...


# As in JAX, and not `X | Y`: libraries that read annotations ask for this origin.
ArrayLike = Union[Array, np.ndarray, np.bool_, np.number, bool, int, float, complex]  # noqa: UP007
DTypeLike = Union[str, type[Any], np.dtype, SupportsDType]  # noqa: UP007
Shape = Sequence[int]

__all__ = ["ArrayLike", "DTypeLike", "Shape"]
