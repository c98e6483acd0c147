"""Products of low-precision numbers with block scales.

A block of neighbouring numbers along the contracting axis has one scale, and each number is
the stored number times that scale.  The numbers are scaled first and then multiplied, in
the result's precision, on every device.

Next: initializers.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base import errors
from ...control.calls.jit import composite
from .. import jnp
from ..numpy._common import check_arraylike, static_dtype

__all__ = ("scaled_matmul",)


def scaled_matmul(
    lhs: Any,
    rhs: Any,
    lhs_scales: Any,
    rhs_scales: Any,
    preferred_element_type: Any = np.float32,
) -> Any:
    """Compute lhs @ rhs^T of two arrays with block scales.

    Args:
      lhs: array (B, M, K).
      rhs: array (B, N, K).
      lhs_scales: array (B, M, K / block): the scales of consecutive blocks.
      rhs_scales: array (B, N, K / block).
      preferred_element_type: the dtype of the result.

    Returns:
      Array (B, M, N).

    Raises:
      ValueError: shapes do not fit.

    Example:
      >>> import minijax as mj
      >>> x, s = mj.numpy.ones((1, 2, 4)), mj.numpy.full((1, 2, 2), 3.)
      >>> mj.nn.scaled_matmul(x, x, s, s)[0]
      Array([[36., 36.],
             [36., 36.]], dtype=float32)

    Source: Open Compute Project, OCP Microscaling Formats (MX) Specification 1.0.

    Differs from JAX: works on every device.
    """
    dtype = static_dtype(preferred_element_type, "scaled_matmul")
    return _scaled_matmul(lhs, rhs, lhs_scales, rhs_scales, dtype)


@composite(static=("dtype",))
def _scaled_matmul(a: Any, b: Any, a_scales: Any, b_scales: Any, dtype: Any) -> Any:
    check_arraylike("scaled_matmul", a, b, a_scales, b_scales)
    check_blocks(a, b, a_scales, b_scales)
    # Products of scaled numbers need more than 16 bits, even for a 16-bit result.
    wide = jnp.promote_types(dtype, np.float32)
    left, right = unscaled(a, a_scales, wide), unscaled(b, b_scales, wide)
    return jnp.einsum("bmk,bnk->bmn", left, right).astype(dtype)


def unscaled(x: Any, scales: Any, dtype: Any) -> Any:
    """Return the numbers that an array with block scales represents."""
    b, m, k = x.shape
    blocks = scales.shape[-1]
    x = jnp.reshape(x.astype(dtype), (b, m, blocks, k // blocks))
    return jnp.reshape(x * scales.astype(dtype)[..., None], (b, m, k))


def check_blocks(a: Any, b: Any, a_scales: Any, b_scales: Any) -> None:
    """Raise ValueError unless numbers and scales fit together."""
    operands = {"lhs": a, "rhs": b, "lhs_scales": a_scales, "rhs_scales": b_scales}
    operand_text = ", ".join(f"{name} {errors.type_text(x)}" for name, x in operands.items())

    def refuse(why: str) -> None:
        raise errors.value_error(f"scaled_matmul: {why}", which=operand_text)

    if any(np.ndim(x) != 3 for x in operands.values()):
        refuse("requires all inputs to be 3-dimensional arrays")
    if (a.shape[0], a.shape[2]) != (b.shape[0], b.shape[2]):
        refuse("lhs and rhs must have matching batch (B) and contract (K) dimensions")
    if (a_scales.shape[0], a_scales.shape[2]) != (b_scales.shape[0], b_scales.shape[2]):
        refuse("scales must have matching batch (B) and contract (K) dimensions")
    if a_scales.shape[:2] != a.shape[:2] or b_scales.shape[:2] != b.shape[:2]:
        refuse("each row needs its own scales")
    blocks = a_scales.shape[2]
    if not blocks or a.shape[2] % blocks:
        refuse("K must be a multiple of the number of scales in a row")
