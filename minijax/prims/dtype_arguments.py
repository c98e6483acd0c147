"""The dtypes that users request by name, and that positions and counts must fit in."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..base import config, errors
from ..base.source import stacklevel
from ..types.dtypes import (
    PYTHON_SCALARS,
    as_dtype,
    check_dtype_argument,
    int32,
    is_extended,
    is_valid,
    narrow,
    uint32,
)


def requested_dtype(dtype: Any, fun: str) -> Any:
    """Return the dtype that a user's `dtype` argument of `fun` means.

    If x64 is off, a 64-bit dtype is narrowed with a warning, refused, or used, according to
    `jax_explicit_x64_dtypes`.
    """
    if is_extended(dtype):
        return dtype
    check_dtype_argument(dtype, fun)
    requested = as_dtype(dtype)
    if not is_valid(requested):
        raise errors.type_error(
            f"JAX only supports number, bool, and string dtypes, got dtype {dtype} in {fun}",
            why=f"no array has elements of dtype {requested}.",
        )
    narrowed = narrow(requested)
    if narrowed is requested or config.X64.value:
        return requested
    if isinstance(dtype, type) and dtype in PYTHON_SCALARS:
        return narrowed
    if config.EXPLICIT_X64.value == "allow":
        return requested
    what = f"Explicitly requested dtype {requested} requested in {fun} is not available"
    if config.EXPLICIT_X64.value == "error":
        raise errors.value_error(
            f"{what}. To enable more dtypes, set the jax_enable_x64 or"
            " allow_explicit_x64_dtypes configuration options.",
            why="jax_explicit_x64_dtypes='error' refuses dtypes that would be narrowed.",
            tries=[f"dtype={narrowed}", "jax_explicit_x64_dtypes='allow'"],
        )
    warnings.warn(
        f"{what}, and will be truncated to dtype {narrowed}. To enable more"
        " dtypes, set the jax_enable_x64 configuration option or the"
        " JAX_ENABLE_X64 shell environment variable. See"
        " https://github.com/jax-ml/jax#current-gotchas for more.",
        stacklevel=stacklevel(),
    )
    return narrowed


def check_holds(name: str, number: Any, dtype: np.dtype[Any]) -> None:
    """Raise OverflowError if a 32-bit dtype cannot represent a position or a count.

    Symbolic numbers are not checked, nor are other dtypes, which programs choose.
    """
    if type(number) is not int or -(2**31) <= number < 2**31:
        return
    if dtype == int32 or (dtype == uint32 and not 0 <= number < 2**32):
        raise errors.error(
            OverflowError,
            f"{name}: the number {number} is out of bounds for {dtype}.",
            why="an array has more elements than 32 bits can count.",
            tries=["jax.enable_x64(True)", "a dtype of 64 bits"],
        )
