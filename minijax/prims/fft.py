"""Discrete Fourier transforms over the last one to three axes.

    FFT    y_k = sum over n of x_n exp(-2 pi i k n / N)         IFFT its inverse
    RFFT   the first N // 2 + 1 of these, for real x            IRFFT its inverse

FFT is a symmetric matrix, so it is its own transpose.  RFFT and IRFFT are each other's
transpose, up to conjugation and a factor of 2 for each frequency that represents two (all
except the first and, for even N, the last).

Source: the StableHLO specification, fft.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..analysis.cost_model import copies
from ..base import errors
from ..ir import core
from ..ir.core import Primitive
from ..ir.facts import Facts
from ..passes.batch import move_lane
from ..types import dtypes
from ..types.avals import shaped
from ..types.type_sharding import axes_in
from .axis_dependence import mixed
from .elementwise import linear_in_first
from .math.algebraic import div, mul
from .math.cast import cast, scalar
from .math.order import conj
from .shape.creation import zero_array

__all__ = ("FftType", "fft_p", "fft")


class FftType(enum.IntEnum):
    """The transforms: FFT, IFFT, RFFT (of real input), IRFFT (to real output).

    >>> from minijax import lax
    >>> import minijax.numpy as jnp
    >>> lax.fft(jnp.ones(4), lax.FftType.RFFT, (4,))
    Array([4.+0.j, 0.+0.j, 0.+0.j], dtype=complex64)
    """

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


fft_p = Primitive("fft")


def _fft_specs(specs: Any, avals: Any, outs: Any, params: Any) -> list[Any]:
    """Keep the operand's spec: XLA gathers the transformed axes if they are sharded."""
    for i, (n, entry) in enumerate(zip(outs[0].shape, specs[0], strict=True)):
        num_shards = math.prod(specs.mesh.shape[a] for a in axes_in(entry))
        if n % num_shards:
            raise errors.value_error(
                f"Sharding spec {entry!r} implies that array axis {i} is partitioned"
                f" {num_shards} times, but does not evenly divide the dimension size {n}. Got"
                f" shape: {outs[0].shape}",
                where="fft",
                tries=["jax.sharding.reshard(x, sharding) first"],
            )
    return [specs[0]]


fft_p.def_sharding(specs=_fft_specs)


def _fft_abstract(x: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> Any:
    n = len(fft_lengths)
    if n > x.ndim:
        raise ValueError(
            f"FFT input shape {x.shape} must have at least as many input dimensions as"
            f" fft_lengths {fft_lengths}."
        )
    if n > 3:
        raise errors.value_error(
            f"FFT over {n} axes: fft_lengths={fft_lengths}.",
            why="One operation transforms at most three axes.",
            tries=["minijax.numpy.fft.fftn", "two transforms, one after the other"],
        )
    batch_shape, last = x.shape[:-n], fft_lengths[-1]
    half = (*fft_lengths[:-1], last // 2 + 1 if last else 0)
    if fft_type is FftType.RFFT:
        if x.dtype not in (dtypes.float32, dtypes.float64):
            raise ValueError(f"RFFT input must be float32 or float64, got {x.dtype}")
        expected, out, dtype = fft_lengths, half, dtypes.complex_of(x.dtype)
    else:
        if x.dtype not in dtypes.COMPLEX:
            raise ValueError(
                f"{fft_type.name} input must be complex64 or complex128, got {x.dtype}"
            )
        if fft_type is FftType.IRFFT:
            expected, out, dtype = half, fft_lengths, dtypes.real_of(x.dtype)
        else:
            expected, out, dtype = fft_lengths, fft_lengths, x.dtype
    if x.shape[-n:] != expected:
        raise errors.value_error(
            f"{fft_type.name} input shape {x.shape} minor dimensions must be equal"
            f" to fft_lengths {fft_lengths}.",
            which=x.str_short(True),
            why=f"{fft_type.name} of these lengths needs minor dimensions {expected}.",
            tries=["pad or slice before"],
        )
    return shaped((*batch_shape, *out), dtype)


def _frequencies(fft_lengths: tuple[int, ...], ndim: int, dtype: Any) -> Any:
    """Return how many frequencies each element of the half spectrum represents."""
    last = fft_lengths[-1]
    counts = np.full(last // 2 + 1, 2, dtype)
    counts[0] = 1
    if last % 2 == 0:
        counts[-1] = 1
    return counts.reshape((1,) * (ndim - 1) + (-1,))


def _fft_transpose(
    ct: Any, x: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]
) -> list[Any]:
    if fft_type in (FftType.FFT, FftType.IFFT):
        return [fft_p.bind(ct, fft_type=fft_type, fft_lengths=fft_lengths)]
    total, ndim = math.prod(fft_lengths), x.aval.ndim
    if total == 0:
        return [zero_array(x.aval)]
    if fft_type is FftType.RFFT:
        counts = _frequencies(fft_lengths, ndim, core.aval_of(ct).dtype)
        half = div(conj(ct), counts)
        back = fft_p.bind(half, fft_type=FftType.IRFFT, fft_lengths=fft_lengths)
        return [mul(scalar(total, x.aval.dtype), back)]
    half = fft_p.bind(ct, fft_type=FftType.RFFT, fft_lengths=fft_lengths)
    counts = _frequencies(fft_lengths, ndim, x.aval.dtype) / x.aval.dtype.type(total)
    return [conj(mul(half, counts.astype(x.aval.dtype)))]


def _fft_batch(axis, args, dims, *, fft_type: FftType, fft_lengths: tuple[int, ...]):
    (x,), (d,) = args, dims
    if d >= core.aval_of(x).ndim - len(fft_lengths):
        x, d = move_lane(x, axis, d, 0), 0
    return fft_p.bind(x, fft_type=fft_type, fft_lengths=fft_lengths), d


def _fft_lower(ctx, x, *, fft_type: FftType, fft_lengths: tuple[int, ...]):
    (out,) = ctx.avals_out
    if 0 in out.shape:
        return ctx.constant(0, out)
    return ctx.op(
        "fft",
        out,
        x,
        fft_type=ctx.parse(f"#stablehlo<fft_type {fft_type.name}>"),
        fft_length=ctx.i64s(fft_lengths),
    )


def _fft_axes(ins: Any, outs: Any, params: Any) -> list[Any]:
    """Return `axes_of`: elements mix along the transformed axes, which are the last ones."""
    ndim = ins[0].ndim
    return [mixed(ndim, range(ndim - len(params["fft_lengths"]), ndim))]


def _fft_flops(ins: Any, outs: Any, params: Any) -> float:
    """Count 5 n log2 n operations for each transform of n numbers (Cooley & Tukey)."""
    n = math.prod(params["fft_lengths"])
    num_elements = max(ins[0].size, outs[0].size)
    return 5.0 * num_elements * math.log2(max(n, 2))


fft_p.abstract = _fft_abstract
linear_in_first(fft_p, _fft_transpose)
fft_p.batch = _fft_batch
fft_p.lower = _fft_lower
fft_p.facts = Facts(axes_of=_fft_axes, flops=_fft_flops, workspace=copies(1))


def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Any:
    """Compute the discrete Fourier transform over the last axes.

    Args:
      x: an array whose last axes have the lengths.  For IRFFT, the last axis has
        length // 2 + 1.  Real input to a complex transform is converted.
      fft_type: an `FftType`, or its name.
      fft_lengths: one to three lengths.

    Returns:
      An array of complex64 or complex128; of float32 or float64 for IRFFT.  The last
      axes have the lengths.  For RFFT, the last axis has length // 2 + 1.

    Raises:
      ValueError: the shape does not match the lengths, or RFFT has complex input.

    Example:
      >>> import minijax.numpy as jnp
      >>> fft(jnp.ones(4), 'RFFT', (4,))
      Array([4.+0.j, 0.+0.j, 0.+0.j], dtype=complex64)
    """
    kind = _fft_type(fft_type)
    lengths = tuple(map(int, fft_lengths))
    dtype = core.aval_of(x).dtype
    if kind is FftType.RFFT:
        if dtypes.is_complex(dtype):
            raise ValueError("only real valued inputs supported for rfft")
        x = cast(x, dtypes.to_inexact(dtype))
    else:
        x = cast(x, dtypes.complex_of(dtypes.to_inexact(dtype)))
    if not lengths:
        return x
    return fft_p.bind(x, fft_type=kind, fft_lengths=lengths)


def _fft_type(kind: Any) -> FftType:
    if isinstance(kind, FftType):
        return kind
    if isinstance(kind, str):
        member = FftType.__members__.get(kind.upper())
        if member is None:
            raise ValueError(
                f"Unknown FFT type '{kind}'.\nTry: {', '.join(FftType.__members__)}"
            )
        return member
    raise TypeError(f"Unknown FFT type value '{kind}'")
