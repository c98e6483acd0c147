"""`ds`: a slice of static size with a start that may be traced, for subscripts.

Next: ../gather/dynamic_slicing.py, which implements it.
"""

from __future__ import annotations

from typing import Any

from ...base import errors, tree


class Slice:
    """A slice of `size` elements from `start`, `stride` apart.

    >>> Slice(1, 2)
    Slice(start=1, size=2, stride=1)
    """

    __slots__ = ("size", "start", "stride")

    def __init__(self, start: Any, size: int, stride: int = 1) -> None:
        if stride < 0:
            raise errors.value_error(f"`stride` must be >= 0, got {stride}")
        self.start = start
        self.size = size
        self.stride = stride

    @property
    def is_dynamic_start(self) -> bool:
        return type(self.start) is not int

    @property
    def is_dynamic_size(self) -> bool:
        return type(self.size) is not int

    @classmethod
    def from_slice(cls, slc: slice, size: int) -> Slice:
        """Return a slice with static bounds, applied to an axis of `size`."""
        start, stop, step = slc.indices(size)
        return cls(start, len(range(start, stop, step)), step)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Slice) and (self.start, self.size, self.stride) == (
            other.start,
            other.size,
            other.stride,
        )

    def __hash__(self) -> int:
        return hash((Slice, self.start, self.size, self.stride))

    def __repr__(self) -> str:
        return f"Slice(start={self.start}, size={self.size}, stride={self.stride})"


tree.register_pytree_node(
    Slice,
    lambda s: (
        ((), (s.start, s.size, s.stride))
        if type(s.start) is int
        else ((s.start,), (s.size, s.stride))
    ),
    lambda static, traced: Slice(*traced, *static),
)


def ds(start: Any, size: Any = None, stride: int | None = None) -> Any:
    """Return a slice of static size for subscripts, with a start that may be traced.

    Args:
      start: the first index, an int or an integer scalar.
      size: the static number of elements; None: the first `start` elements.
      stride: the distance between elements; None: 1.

    Returns:
      An index: `x[ds(i, 2)]` is `x[i:i + 2]`; `ds(None)` is `:`.  A start that is too large
      is clamped so that the slice is in bounds.

    Raises:
      ValueError: a stride is passed without a size, or it is negative.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mj.jit(lambda x, i: x[ds(i, 2)])(jnp.arange(10), 4)
      Array([4, 5], dtype=int32)
    """
    if start is None:
        if size is not None or stride is not None:
            raise errors.value_error("ds(None) takes neither a size nor a stride.")
        return slice(None)
    if size is None:
        if stride is not None:
            raise errors.value_error("ds: a stride needs a start and a size.")
        start, size = 0, start
    return Slice(start, size, 1 if stride is None else stride)


ds.__name__ = "dslice"  # as in JAX
