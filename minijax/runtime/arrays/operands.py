"""Conversion of operands to jaxlib's `ArrayImpl`.

Operands are arrays, keys, tokens, NumPy's and Python's numbers, and objects with
`__jax_array__`.

Next: ../running/dispatch.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir import core
from ...text import tracer_errors
from ...types import dtypes
from ...types.avals import numpy_aval
from ..backends import jaxlib_compat as compat
from ..sharding.placement import Placement, placement_of
from ..sharding.shardings import has_custom_layout
from .array import ARRAYS, base_array, foreign, ndarray_aval
from .tokens import Token
from .transfers import (
    copied,
    deleted_message,
    host_value,
    put_numpy,
    put_scalar,
    put_typed_scalar,
    put_unshared,
)

if TYPE_CHECKING:
    from ...types.aliases import Value
    from ..backends.jaxlib_types import Buffer


def to_buffer(x: Value, placement: Placement) -> Buffer:
    """Return any operand of a primitive as an ArrayImpl, at `placement` unless it is an
    array."""
    kind = type(x)
    if kind in ARRAYS:
        if foreign(x):
            return put_numpy(np.asarray(x), None, placement)
        return base_array(x)
    if kind is float or kind is int or kind is bool or kind is complex:
        return put_scalar(x, placement)
    if isinstance(x, core.Tracer):
        raise core.leak_error(x)
    if isinstance(x, np.generic):
        return put_typed_scalar(x, placement)
    if isinstance(x, np.ndarray):
        return put_numpy(x, ndarray_aval(x), placement)
    if isinstance(x, (bool, int, float, complex)):
        kinds: tuple[Any, ...] = (bool, int, float, complex)  # x has a subclass of these
        return put_scalar(next(k for k in kinds if isinstance(x, k))(x), placement)
    custom = getattr(x, "__jax_array__", None)
    if custom is not None:
        return to_buffer(custom(), placement)
    if kind is Token:
        return to_buffer(x._buf, placement)
    aval = core.aval_of(x)  # raises an error that describes x
    if isinstance(x, core.Reference):
        raise tracer_errors.reference(aval, "an operation", core.STATE.trace)
    if hasattr(x, "__array__"):  # a proxy, or a type that a library has registered
        return to_buffer(np.asarray(x, aval.dtype), placement)
    raise TypeError(f"minijax bug: no buffer for {type(x)}")


def to_array(x: Value, placement: Placement) -> Buffer:
    """Convert a value like `to_buffer`; users may donate or delete the result."""
    if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
        return put_unshared(x, placement)
    if isinstance(x, np.generic):
        return put_numpy(x, numpy_aval(x), placement)
    return to_buffer(x, placement)


def retained_buffer(x: Value, placement: Placement) -> Buffer:
    """Convert a value like `to_buffer`, for a program that keeps it if its array is deleted.

    On CPUs the memory is shared: a NumPy view keeps it alive.
    """
    if type(x) not in ARRAYS or foreign(x):
        return to_buffer(x, placement)
    buffer = base_array(x)
    if buffer.is_deleted():
        raise RuntimeError(deleted_message(x.aval))
    own = placement_of(buffer)
    if own is None or own.platform != "cpu" or buffer.aval.dtype == dtypes.float0:
        return copied(buffer)
    if has_custom_layout(buffer):
        return put_numpy(host_value(buffer), buffer.aval, own)
    view = compat.to_host(buffer)
    return compat.put_owned(view, buffer.aval, buffer._sharding, own.device, own.committed)
