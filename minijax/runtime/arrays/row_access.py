"""Access to rows of arrays without running a program.

Next: ../running/dispatch.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...types.avals import shaped
from ..backends import jaxlib_compat as compat
from ..sharding import shardings
from ..sharding.placement import on_device, placement_of
from .array import Array, KeyArray
from .transfers import put_numpy


def is_row_sharded(x: Array) -> bool:
    """Whether each row of an array is on its own device, like results of `pmap`."""
    if placement_of(x) is not None or shardings.has_custom_layout(x):
        return False
    sharding, shape = shardings.of_buffer(x), x.shape
    if not shape or not isinstance(sharding, shardings.NamedSharding):
        return False
    if not sharding.is_fully_addressable:  # all processes must take the row together
        return False
    return sharding.num_shards(len(shape)) == [shape[0], *[1] * (len(shape) - 1)]


def local_row(x: Array, i: int) -> Array:
    """Return rows `i` to `i + 1` of a row-sharded array, on their device.

    The result is uncommitted, so that rows of several devices may be operands of one
    operation. It shares memory with `x`: copy it before `x` may be deleted.
    """
    x._check_alive()
    aval = x.aval
    n = aval.shape[0]
    # Indices out of range are clamped, as in compiled indexing.
    at = max(0, min(i + n if i < 0 else i, n - 1))
    sharding = shardings.of_buffer(x)
    k = sharding.holder(at)
    target = on_device(sharding.devices[k], committed=False)
    row_aval = shaped((1, *aval.shape[1:]), aval.dtype, aval.weak_type)
    one = compat.shards_of(x)[k]
    return compat.with_aval(one, row_aval, target.cpp_sharding)


def iterate_rows(x: Array) -> Iterator[Any]:
    """Return an iterator over the rows of an array, which is read from its device once."""
    if isinstance(x, KeyArray):
        return (KeyArray(row, x.dtype) for row in iterate_rows(x._b))
    return _rows_from_host(x)


def _rows_from_host(x: Array) -> Iterator[Any]:
    aval = shaped(x.shape[1:], x.dtype, x.weak_type)
    target = placement_of(x)
    for row in x._value:
        yield put_numpy(row, aval, target)
