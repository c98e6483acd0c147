"""Conversion of host values to values of the current trace.

Next: numpy/_common.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..control.arguments import check_values
from ..ir.core import Primitive
from ..prims.elementwise import batch_elementwise, linear_jvp
from ..runtime.arrays import transfers
from ..types import dtypes
from ..types.avals import shaped
from .numpy._common import as_array

__all__ = ("shape_as_value", "stage", "stage_p")

# Staging records no equation for it: the result is the operand itself.
stage_p = Primitive("stage")
stage_p.abstract = lambda x: x
stage_p.impl = lambda x: as_array(x)
stage_p.stage = lambda trace, args, params: as_array(args[0])
linear_jvp(stage_p)
stage_p.transpose = lambda ct, x: [ct]
batch_elementwise(stage_p)
stage_p.lower = lambda ctx, x: x


def stage(x: Any, /) -> Any:
    """Convert a number or a NumPy array to a value of the current trace, if any.

    Args:
      x: array or number.

    Returns:
      An array, or a traced one, of its shape and dtype.

    Raises:
      TypeError: `x` is not an array or a number.

    Example:
      >>> import minijax as mj
      >>> mj.lax.stage(2.0)
      Array(2., dtype=float32, weak_type=True)
    """
    check_values([x], "stage")
    return stage_p.bind(x)


def shape_as_value(shape: Sequence[int]) -> Any:
    """Return a shape as an array of integers.

    Args:
      shape: the sizes.

    Returns:
      An int32 array with one element per axis.

    Example:
      >>> import minijax as mj
      >>> mj.lax.shape_as_value((2, 3))
      Array([2, 3], dtype=int32)
    """
    sizes = np.array(tuple(shape), dtypes.int32)
    return transfers.put_own(sizes, shaped(sizes.shape, sizes.dtype))
