"""The few operations that lower layers need, in `ad_util.core_ops`.

The interpreters of passes/ name no operation, and the first files of this layer must not
import later ones.  Both call these operations through `core_ops`, which this module fills.
"""

from __future__ import annotations

from typing import Any

from ..ir import core
from ..passes.ad_util import core_ops
from ..types import dtypes
from ..types.avals import DEVICE
from .device_put import place
from .math.algebraic import add, add_any_p
from .math.cast import convert_element_type_p
from .math.logic import eq, select_n
from .reduce.over_axes import reduce_sum_p
from .reshard import reshard_to_aval
from .shape.creation import broadcasted_iota, zero_array
from .shape.shapes import broadcast_in_dim, broadcast_to, move_axis, reshape
from .shape.slicing import slice as slice_
from .shape.slicing import slice_in_dim


def broadcast_lane(x: Any, size: int, dim: int) -> Any:
    """Repeat a shared value along a new lane axis at `dim`."""
    shape = core.aval_of(x).shape
    broadcast_dims = tuple(i for i in range(len(shape) + 1) if i != dim)
    return broadcast_in_dim(x, (*shape[:dim], size, *shape[dim:]), broadcast_dims)


def total(x: Any, axes: tuple[int, ...]) -> Any:
    """Return the sum over `axes`."""
    return reduce_sum_p.bind(x, axes=axes, out_sharding=None)


def strided(x: Any, strides: tuple[int, ...]) -> Any:
    """Return every `strides[i]`-th element along each axis `i`."""
    shape = core.aval_of(x).shape
    return slice_(x, (0,) * len(shape), shape, strides)


def slice_axis(x: Any, axis: int, start: int, stop: int) -> Any:
    """Return the elements `start` to `stop` along an axis."""
    return slice_in_dim(x, start, stop, 1, axis)


def eye(rows: int, columns: int, offset: int, dtype: Any) -> Any:
    """Return a matrix with ones where column - row is `offset`, and zeros otherwise."""
    kind = dtypes.int_default()
    row = broadcasted_iota(kind, (rows, columns), 0)
    column = broadcasted_iota(kind, (rows, columns), 1)
    on_diagonal = eq(add(row, kind.type(offset)), column)
    return convert_element_type_p.bind(
        on_diagonal, new_dtype=dtype, weak_type=False, sharding=None
    )


def zeros(aval: Any) -> Any:
    """Return zeros of a type, with its sharding and in its memory space."""
    x = reshard_to_aval(zero_array(aval), aval)
    return x if aval.memory_space is DEVICE else place(x, aval.memory_space)


core_ops.add = add_any_p.bind
core_ops.zeros = zeros
core_ops.device_put = place
core_ops.reshard_to_aval = reshard_to_aval
core_ops.move_axis = move_axis
core_ops.broadcast_lane = broadcast_lane
core_ops.broadcast_in_dim = broadcast_in_dim
core_ops.broadcast_to = broadcast_to
core_ops.eye = eye
core_ops.reshape = reshape
core_ops.select = select_n
core_ops.slice_axis = slice_axis
core_ops.strided = strided
core_ops.sum = total
