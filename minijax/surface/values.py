"""Values as they are in the program that is being traced.

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

# A traced program has no equation of it: what is staged is its operand.
stage_p = Primitive("stage")
stage_p.abstract = lambda x: x
stage_p.impl = lambda x: as_array(x)
stage_p.stage = lambda trace, args, params: as_array(args[0])
linear_jvp(stage_p)
stage_p.transpose = lambda ct, x: [ct]
batch_elementwise(stage_p)
stage_p.lower = lambda ctx, x: x


def stage(x: Any, /) -> Any:
    """A number or a NumPy array as a value of the program that is traced, if any.

    Args:
      x: array or number.

    Returns:
      An array, or a traced one, of its shape and dtype.

    Raises:
      TypeError: `x` is no such thing.

    Example:
      >>> import minijax as mj
      >>> mj.lax.stage(2.0)
      Array(2., dtype=float32, weak_type=True)
    """
    check_values([x], "stage")
    return stage_p.bind(x)


def shape_as_value(shape: Sequence[int]) -> Any:
    """A shape as an array of integers.

    Args:
      shape: the sizes.

    Returns:
      An array of as many int32.

    Example:
      >>> import minijax as mj
      >>> mj.lax.shape_as_value((2, 3))
      Array([2, 3], dtype=int32)
    """
    sizes = np.array(tuple(shape), dtypes.int32)
    return transfers.put_own(sizes, shaped(sizes.shape, sizes.dtype))
