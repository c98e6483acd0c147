"""The functions of `minijax.flatten_util`: conversion of a pytree to a vector, and back."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from ..base import errors, tree
from ..types import dtypes
from . import jnp


class Unravel:
    """The inverse of `ravel_pytree`, from the vector to the tree."""

    __slots__ = ("dtype", "shapes", "treedef", "types")

    def __init__(self, treedef: Any, leaves: list[Any], dtype: Any) -> None:
        self.treedef = treedef
        self.shapes = tuple(x.shape for x in leaves)
        self.types = tuple(x.dtype for x in leaves)
        self.dtype = dtype

    def __call__(self, flat: Any) -> Any:
        size = sum(map(math.prod, self.shapes))
        if jnp.shape(flat) != (size,):
            raise errors.value_error(
                f"unravel function expected input of shape {(size,)}, got shape"
                f" {jnp.shape(flat)}.",
                which=errors.type_text(flat),
            )
        flat = jnp.asarray(flat)
        if any(t != self.dtype for t in self.types) and flat.dtype != self.dtype:
            raise errors.type_error(
                f"unravel function given array of dtype {flat.dtype}, but expected"
                f" dtype {self.dtype}.",
                why="the leaves had different dtypes, and they were promoted to that one.",
                tries=[f"flat.astype('{self.dtype}')"],
            )
        out, start = [], 0
        for shape, dtype in zip(self.shapes, self.types, strict=True):
            n = math.prod(shape)
            piece = flat[start : start + n].reshape(shape)
            if piece.dtype != dtype and any(t != self.dtype for t in self.types):
                with warnings.catch_warnings():  # complex to real drops a zero imaginary part
                    warnings.simplefilter("ignore")
                    piece = piece.astype(dtype)
            out.append(piece)
            start += n
        return tree.unflatten(self.treedef, out)


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Flatten a pytree into one vector; also return the inverse function.

    Args:
      pytree: a pytree of arrays and numbers.

    Returns:
      (flat, unravel): leaves of different dtypes are promoted to their common one, and
      `unravel(flat)` converts them back.

    Raises:
      TypeError: a leaf is not an array; (`unravel`) the vector has another dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> flat, unravel = ravel_pytree({'a': jnp.arange(2), 'b': 3})
      >>> flat
      Array([0, 1, 3], dtype=int32)
      >>> unravel(2 * flat)['a']
      Array([0, 2], dtype=int32)
    """
    leaves, treedef = tree.flatten(pytree)
    arrays = [jnp.asarray(x) for x in leaves]
    if not arrays:
        return jnp.zeros(0), Unravel(treedef, [], dtypes.float_default())
    dtype = jnp.result_type(*arrays)
    flat = jnp.concatenate([jnp.ravel(x).astype(dtype) for x in arrays])
    return flat, Unravel(treedef, arrays, dtype)
