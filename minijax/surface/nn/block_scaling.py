"""Products in low precision, with one scale per block of numbers.

Operands are quantized first.  Along the contracting axes, each block of neighbours gets a
scale that maps its largest number to the largest number of an 8-bit or 4-bit dtype.
Derivatives ignore the rounding; for 8-bit dtypes their operands are quantized as well.

Next: scaled.py, for the product.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any, Literal

import ml_dtypes
import numpy as np

from ...base import errors
from ...control.calls.jit import composite
from ...control.rules.custom_vjp import custom_vjp
from ...ir.core import aval_of
from ...prims import lax
from ...prims.dot.dot import dot_shape
from ...types import dtypes
from .. import jnp
from ..numpy._common import as_array, check_arraylike, static_dtype
from .scaled import scaled_matmul

__all__ = ("get_scaled_dot_general_config", "scaled_dot_general")


_E8M0 = np.dtype(ml_dtypes.float8_e8m0fnu)


@dataclasses.dataclass
class BlockScaleConfig:
    """The quantization of an operand in blocks.

    Attributes:
      mode: "mxfp8" or "nvfp4".
      block_size: the number of neighbours that share a scale.
      data_type: the dtype of the quantized numbers.
      scale_type: the dtype of scales.
      global_scale: an array of one number, by which all numbers are divided first; or None.
      infer_only: accepted for compatibility; not used.
    """

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any
    infer_only: bool


def get_scaled_dot_general_config(
    mode: Literal["nvfp4", "mxfp8"], global_scale: Any = None
) -> BlockScaleConfig:
    """Return the quantization of an operand of `scaled_dot_general`.

    Args:
      mode: "mxfp8", blocks of 32 numbers of 8 bits whose scales are powers of 2; or
        "nvfp4", blocks of 16 numbers of 4 bits whose scales have 8 bits.
      global_scale: float32 array of one number, for "nvfp4" only: all numbers are divided
        by it first; None means 1.

    Returns:
      A `BlockScaleConfig`.

    Raises:
      ValueError: the mode is unknown.

    Example:
      >>> import minijax as mj
      >>> mj.nn.get_scaled_dot_general_config("mxfp8").block_size
      32

    Source: Open Compute Project, OCP Microscaling Formats (MX) Specification 1.0.
    """
    if mode == "mxfp8":
        data, scale = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu
        return BlockScaleConfig(mode, 32, data, scale, None, False)
    if mode == "nvfp4":
        data, scale = ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e4m3fn
        one = jnp.ones(1, np.float32) if global_scale is None else global_scale
        return BlockScaleConfig(mode, 16, data, scale, one, False)
    raise errors.value_error(f"Unsupported mode: {mode}", tries=['"mxfp8"', '"nvfp4"'])


def scaled_dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    preferred_element_type: Any = np.float32,
    configs: Sequence[BlockScaleConfig] | None = None,
    implementation: Literal["cudnn"] | None = None,
) -> Any:
    """Compute `lax.dot_general` of operands quantized in blocks.

    Args:
      lhs, rhs: arrays.
      dimension_numbers: pairs of axes as for `lax.dot_general`: contracting axes of both
        operands, then batch axes of both.
      preferred_element_type: the dtype of the result: float32, bfloat16 or float16.
      configs: the quantizations of lhs, rhs and cotangents
        (`get_scaled_dot_general_config`); None for a product without quantization.
      implementation: deprecated; it has no effect.

    Returns:
      Array: batch axes first, then the other axes of lhs, then those of rhs.

    Raises:
      TypeError: `preferred_element_type` is another dtype.
      ValueError: shapes do not fit.

    Example:
      >>> import minijax as mj
      >>> x = mj.numpy.full((2, 32), 0.3)
      >>> how = [mj.nn.get_scaled_dot_general_config("mxfp8")] * 3
      >>> mj.nn.scaled_dot_general(x, x, (((1,), (1,)), ((), ())), configs=how)[0, 0]
      Array(3.125, dtype=float32)

    Differs from JAX: works on every device, for any contracting size, with several
    contracting axes; blocks of zeros are zero.
    """
    check_arraylike("scaled_dot_general", lhs, rhs)
    dtype = static_dtype(preferred_element_type, "scaled_dot_general")
    if configs is None:
        return lax.dot_general(lhs, rhs, dimension_numbers, preferred_element_type=dtype)
    dtype = dtypes.float32 if dtype is None else dtype
    if dtype not in (dtypes.float32, dtypes.bfloat16, dtypes.float16):
        raise errors.type_error(
            f"Only support preferred_element_type in (f32, bf16, f16), but got {dtype}",
            tries=["preferred_element_type=jnp.float32"],
        )
    kinds = tuple([_BlockFormat(c) for c in configs])
    scales = [None if c.global_scale is None else c.global_scale for c in configs[:2]]
    axes = tuple(tuple(map(tuple, pair)) for pair in dimension_numbers)
    return _scaled_dot_general(lhs, rhs, *scales, axes, dtype, kinds)


class _BlockFormat:
    """The static fields of a config, hashable."""

    __slots__ = ("block", "data", "four_bits", "scale")

    def __init__(self, config: BlockScaleConfig) -> None:
        self.block = int(config.block_size)
        self.data = np.dtype(config.data_type)
        self.scale = np.dtype(config.scale_type)
        self.four_bits = config.mode == "nvfp4"

    def _key(self) -> Any:
        return self.block, self.data, self.scale, self.four_bits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _BlockFormat) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


@composite(static=("axes", "dtype", "kinds"))
def _scaled_dot_general(
    a: Any, b: Any, a_scale: Any, b_scale: Any, axes: Any, dtype: Any, kinds: Any
) -> Any:
    a, b = as_array(a), as_array(b)
    (a_sum, b_sum), (a_lane, b_lane) = axes
    shape = dot_shape(aval_of(a), aval_of(b), axes)
    a = _three_axes(a, a_lane, a_sum)
    b = _three_axes(b, b_lane, b_sum)
    out = _product(a, b, a_scale, b_scale, dtype, kinds)
    return jnp.reshape(out, shape)


def _three_axes(x: Any, lanes: Sequence[int], summed: Sequence[int]) -> Any:
    """Reshape `x` to batch axes, free axes and contracting axes, each merged into one."""
    shape = aval_of(x).shape
    lanes, summed = [i % len(shape) for i in lanes], [i % len(shape) for i in summed]
    free_axes = [i for i in range(len(shape)) if i not in lanes and i not in summed]
    sizes = [math.prod(shape[i] for i in axes) for axes in (lanes, free_axes, summed)]
    return jnp.reshape(lax.transpose(x, (*lanes, *free_axes, *summed)), sizes)


def _rounded(x: Any, kind: _BlockFormat, global_scale: Any) -> tuple[Any, Any]:
    """Return quantized numbers, padded with zeros to complete blocks, and their scales."""
    lanes, rows, count = aval_of(x).shape
    num_padding = -count % kind.block
    x = jnp.pad(x.astype(np.float32), ((0, 0), (0, 0), (0, num_padding)))
    blocks = jnp.reshape(x, (lanes, rows, -1, kind.block))
    if global_scale is not None:
        blocks = blocks / jnp.reshape(global_scale, ()).astype(np.float32)
    top = float(ml_dtypes.finfo(kind.data).max)
    scale = jnp.max(jnp.abs(blocks), 3) / np.float32(top)
    if kind.scale == _E8M0:
        value, stored_scale = _power_of_two(scale)
    else:
        largest = np.float32(ml_dtypes.finfo(kind.scale).max)
        stored_scale = jnp.minimum(scale, largest).astype(kind.scale)
        # Without the barrier XLA may remove the conversion to the narrow dtype and back, and
        # the numbers would be divided by unrounded scales.
        stored_scale = lax.optimization_barrier(stored_scale)
        value = stored_scale.astype(np.float32)
        value = jnp.where(value == 0, np.float32(1), value)
    numbers = jnp.clip(blocks / value[..., None], -top, top).astype(kind.data)
    return jnp.reshape(numbers, (lanes, rows, count + num_padding)), stored_scale


def _power_of_two(x: Any) -> tuple[Any, Any]:
    """Return the least power of 2 that is at least `x`, in float32 and in 8 bits."""
    bits = lax.bitcast_convert_type(x, np.uint32)
    exponent, rest = bits >> 23, bits & 0x7FFFFF
    tiny = (exponent == 0) & (rest <= 0x400000)  # up to 2^-127, the least scale
    above = (rest > 0) & (exponent < 254) & ~tiny
    exponent = exponent + above
    value = lax.bitcast_convert_type(exponent << 23, np.float32)
    value = jnp.where(exponent == 0, np.float32(2.0**-127), value)
    stored = lax.bitcast_convert_type(exponent.astype(np.uint8), _E8M0)
    return value, stored


def _multiplied(a: Any, b: Any, scales: Any, dtype: Any, kinds: Any) -> Any:
    """Return a b^T of quantized numbers for each batch element."""
    (left, left_scale), (right, right_scale) = [
        _rounded(x, kind, scale) for x, kind, scale in zip((a, b), kinds, scales, strict=True)
    ]
    out = scaled_matmul(left, right, left_scale, right_scale, np.float32)
    for scale in scales:
        if scale is not None:
            out = out * jnp.reshape(scale, ()).astype(np.float32)
    return out.astype(dtype)


@functools.partial(custom_vjp, nondiff_argnums=(4, 5))
def _product(a: Any, b: Any, a_scale: Any, b_scale: Any, dtype: Any, kinds: Any) -> Any:
    return _multiplied(a, b, (a_scale, b_scale), dtype, kinds[:2])


def _product_fwd(a: Any, b: Any, a_scale: Any, b_scale: Any, dtype: Any, kinds: Any) -> Any:
    out = _product(a, b, a_scale, b_scale, dtype, kinds)
    return out, (a, b, a_scale, b_scale)


def _product_bwd(dtype: Any, kinds: Any, residuals: Any, ct: Any) -> Any:
    a, b, a_scale, b_scale = residuals
    operand_cts = []
    cts = ct, jnp.matrix_transpose(ct)
    for x, other, g, kind, scale in (
        (a, b, cts[0], kinds[1], a_scale),
        (b, a, cts[1], kinds[0], b_scale),
    ):
        if kind.four_bits:
            # Not quantized; clipped numbers have no derivative.
            operand_ct = jnp.matmul(g.astype(np.float32), other.astype(np.float32))
            largest = float(ml_dtypes.finfo(kind.data).max)
            largest *= float(ml_dtypes.finfo(kind.scale).max)
            limit = jnp.reshape(scale, ()) * np.float32(largest)
            operand_ct = jnp.where(jnp.abs(x) <= limit, operand_ct, 0)
        else:
            across = jnp.matrix_transpose(other)
            operand_ct = _multiplied(g, across, (None, None), np.float32, (kinds[2], kind))
        operand_cts.append(operand_ct.astype(x.dtype))
    return *operand_cts, *[None if s is None else jnp.zeros_like(s) for s in residuals[2:]]


_product.defvjp(_product_fwd, _product_bwd)
