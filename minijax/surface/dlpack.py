"""Arrays of other libraries, by dlpack: the functions of `minijax.dlpack`."""

from __future__ import annotations

from typing import Any

from ..types import dtypes


def to_dlpack(x: Any, stream: Any = None, **options: Any) -> Any:
    """A dlpack capsule of an array; `x.__dlpack__()` is the usual way."""
    return x.__dlpack__(stream=stream, **options)


def is_supported_dtype(dtype: Any) -> bool:
    """Whether dlpack can carry a dtype.

    >>> is_supported_dtype('float32')
    True
    """
    kind = dtypes.as_dtype(dtype)
    return kind not in dtypes.SMALL_FLOATS and kind.itemsize * 8 >= 8 and kind not in (
        dtypes.int2, dtypes.uint2, dtypes.int4, dtypes.uint4,
    )  # fmt: skip
