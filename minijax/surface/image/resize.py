"""Image resizing: resampling by a kernel, separately along each axis.

A pixel is a cell of width 1 with its value at the centre: pixel i is at i + 1/2.  Each axis
that changes is multiplied by a matrix of weights, n inputs by m outputs.  Each column is
the kernel, centred at the output pixel's position in the input, sampled at the input's
pixels, and divided by its sum.  All axes are contracted in one `einsum`.

Next: ../numpy/contraction.py, which orders the products.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import errors
from ...control.calls.jit import composite
from ...prims.dot.precision import Precision
from ...symbolic.dims import SymbolicDim
from .. import jnp
from ..numpy._common import (
    canonical_axis,
    check_arraylike,
    promote_dtypes_inexact,
    static_shape,
)

__all__ = ("ResizeMethod", "resize", "scale_and_translate")

ArrayLike = Any


class ResizeMethod(enum.Enum):
    """The resampling method: the kernel that weights pixels around a position.

    NEAREST takes the nearest pixel; LINEAR is the hat function; CUBIC is Keys' kernel with
    slope -1/2 at 1; CUBIC_PYTORCH is CUBIC with antialiasing, and otherwise Keys' kernel
    with slope -3/4 and repeated edges; LANCZOS3 and LANCZOS5 are windowed sincs; AREA
    weights pixels by the area of the new pixel that they cover.

    >>> ResizeMethod.from_string("bilinear")
    <ResizeMethod.LINEAR: 1>
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """Return the method of this name."""
        method = _NAMES.get(s)
        if method is None:
            raise errors.value_error(
                f'Unknown resize method "{s}"', tries=[", ".join(map(repr, _NAMES))]
            )
        return method


_NAMES = {
    name: ResizeMethod[method]
    for method, names in (
        ("NEAREST", "nearest"),
        ("LINEAR", "linear bilinear trilinear triangle"),
        ("CUBIC", "cubic bicubic tricubic"),
        ("CUBIC_PYTORCH", "cubic-pytorch bicubic-pytorch"),
        ("LANCZOS3", "lanczos3"),
        ("LANCZOS5", "lanczos5"),
        ("AREA", "area"),
    )
    for name in names.split()
}


# ---------------------------------------------------------------------------- kernels


def hat(x: Any) -> Any:
    """Return 1 - x where it is positive, for x >= 0."""
    return jnp.maximum(0, 1 - x)


def keys(slope: float) -> Callable[[Any], Any]:
    """Return Keys' cubic convolution kernel with this slope at 1, for x >= 0 (eq. 15).

    R. Keys, Cubic Convolution Interpolation for Digital Image Processing, IEEE
    Transactions on Acoustics, Speech, and Signal Processing 29(6), 1981.
    """

    def kernel(x: Any) -> Any:
        inner = ((slope + 2) * x - (slope + 3)) * x * x + 1
        outer = slope * (((x - 5) * x + 8) * x - 4)
        return jnp.where(x < 1, inner, jnp.where(x < 2, outer, 0))

    return kernel


def lanczos(radius: int) -> Callable[[Any], Any]:
    """Return the kernel sinc(x) sinc(x / radius), 0 beyond the radius; Duchon (1979)."""

    def kernel(x: Any) -> Any:
        return jnp.where(x <= radius, jnp.sinc(x) * jnp.sinc(x / radius), 0)

    return kernel


# Kernels as functions of the distance x >= 0, in pixels.
_KERNELS = {
    ResizeMethod.LINEAR: hat,
    ResizeMethod.CUBIC: keys(-0.5),
    ResizeMethod.CUBIC_PYTORCH: keys(-0.75),
    ResizeMethod.LANCZOS3: lanczos(3),
    ResizeMethod.LANCZOS5: lanczos(5),
}
# Pixels beyond the edge that CUBIC_PYTORCH reads.
_BEYOND = 2


# ---------------------------------------------------------------------------- weights


def weights(
    n: int, m: int, scale: Any, shift: Any, method: ResizeMethod, antialias: bool
) -> Any:
    """Return the weight of each of `n` pixels in each of `m` new pixels:
    a matrix (n, m)."""
    step = 1 / scale  # the width of a new pixel in old ones
    dtype = jnp.result_type(step, shift)
    pixels = jnp.arange(m, dtype=dtype)
    repeats_edges = method is ResizeMethod.CUBIC_PYTORCH
    if method is ResizeMethod.AREA:
        left = (pixels - shift) * step
        old = jnp.arange(n, dtype=dtype)[:, None]
        overlap = jnp.minimum(left + step, old + 1) - jnp.maximum(left, old)
        kernel_values = jnp.maximum(overlap, 0)
        middle = left + step / 2
    else:
        middle = (pixels + 0.5 - shift) * step
        num_beyond = _BEYOND if repeats_edges else 0
        old = jnp.arange(-num_beyond, n + num_beyond, dtype=dtype)[:, None] + 0.5
        distance = jnp.abs(middle - old)
        if antialias:  # widen the kernel, so that all old pixels in a new one contribute
            distance = distance / jnp.maximum(step, 1)
        kernel_values = _KERNELS[method](distance)
    if repeats_edges:
        return normalize_columns(fold_edges(kernel_values, _BEYOND))
    inside = (middle >= 0) & (middle <= n)
    return jnp.where(inside, normalize_columns(kernel_values), 0)


def normalize_columns(x: Any) -> Any:
    """Divide columns by their sums; columns with negligible sums become 0."""
    total = x.sum(0)
    is_significant = jnp.abs(total) > _LEAST
    return jnp.where(is_significant, x / jnp.where(is_significant, total, 1), 0)


_LEAST = 1000 * float(np.finfo("float32").eps)


def fold_edges(x: Any, num_beyond: int) -> Any:
    """Add the rows of pixels beyond the edges to the first and the last row."""
    n = len(x) - 2 * num_beyond
    if n < 2:
        return x.sum(0, keepdims=True)[:n]
    first, last = x[: num_beyond + 1], x[num_beyond + n - 1 :]
    inner = x[num_beyond + 1 : num_beyond + n - 1]
    return jnp.concatenate([first.sum(0)[None], inner, last.sum(0)[None]])


def apply_matrices(image: Any, matrices: dict[int, Any], precision: Any) -> Any:
    """Multiply the given axes of `image` by matrices (old, new)."""
    if not matrices:
        return image
    axes = list(range(image.ndim))
    new = {d: image.ndim + i for i, d in enumerate(matrices)}
    operands: list[Any] = [image, axes]
    for d, w in matrices.items():
        operands += [w.astype(image.dtype), [d, new[d]]]
    return jnp.einsum(*operands, [new.get(d, d) for d in axes], precision=precision)


def nearest(image: Any, shape: Sequence[int]) -> Any:
    """Take the pixels under the centres of the new pixels, by exact integer arithmetic."""
    for d, (n, m) in enumerate(zip(image.shape, shape, strict=True)):
        if n != m:
            if isinstance(n, SymbolicDim) or isinstance(m, SymbolicDim):
                at = (2 * jnp.arange(m, dtype="uint32") + 1) * n // (2 * m)
            else:
                at = (2 * np.arange(m, dtype=np.int64) + 1) * n // (2 * max(m, 1))
            image = jnp.take(image, at.astype("int32"), d, mode="clip")
    return image


# -------------------------------------------------------------------------- functions


def check_image(name: str, image: Any, shape: Any) -> tuple[int, ...]:
    """Return the new shape as ints; raise ValueError if its rank
    differs from the image's."""
    check_arraylike(name, image)
    shape, old = static_shape(shape), np.shape(image)
    if len(shape) != len(old):
        raise errors.value_error(
            f"shape must have length equal to the number of dimensions of x;  {shape} vs {old}",
            where=f"image.{name}",
            tries=["pass the sizes of all axes, including unchanged batches and channels"],
        )
    return shape


def as_method(method: str | ResizeMethod, antialias: bool) -> ResizeMethod:
    """Return a method by its name; with antialiasing, CUBIC_PYTORCH becomes CUBIC."""
    if isinstance(method, str):
        method = ResizeMethod.from_string(method)
    if not isinstance(method, ResizeMethod):
        raise TypeError(f"image: method must be a string or ResizeMethod, got {method!r}.")
    if method is ResizeMethod.CUBIC_PYTORCH and antialias:
        return ResizeMethod.CUBIC
    return method


def resize(
    image: ArrayLike,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Any:
    r"""Resize an image by resampling with a kernel :math:`k`.

    .. math:: y_j = \sum_i w_{ij} x_i, \quad w_{ij} \propto k((i + 1/2) - (j + 1/2) n/m)

    Args:
      image: array of any number of axes.
      shape: the new sizes of all axes; usually batches and channels keep their size.
      method: a `ResizeMethod` or its name: "nearest", "linear" ("bilinear", "trilinear",
        "triangle"), "cubic" ("bicubic", "tricubic"), "cubic-pytorch"
        ("bicubic-pytorch"), "lanczos3", "lanczos5", "area".
      antialias: widen the kernel where an axis shrinks, so that all pixels count.
      precision: the precision of the products (see `lax.dot_general`).

    Returns:
      An array of shape `shape`; integers become floats, except for "nearest".

    Raises:
      ValueError: `shape` has another number of axes, or the method is unknown.

    Example:
      >>> import minijax as mj
      >>> mj.image.resize(mj.numpy.array([1., 3.]), (4,), "linear")
      Array([1. , 1.5, 2.5, 3. ], dtype=float32)

    Source: see `ResizeMethod`; Keys (1981), Duchon (1979).
    """
    shape = check_image("resize", image, shape)
    return _resize(image, shape, as_method(method, antialias), bool(antialias), precision)


@composite(static=("shape", "method", "antialias", "precision"))
def _resize(image, shape, method: ResizeMethod, antialias: bool, precision):
    image = jnp.asarray(image)
    if method is ResizeMethod.NEAREST:
        return nearest(image, shape)
    (image,) = promote_dtypes_inexact(image)
    # All kernels interpolate, so an axis that keeps its size needs no matrix.
    matrices = {
        d: weights(n, m, (m or n) / n if n else 1.0, 0.0, method, antialias)
        for d, (n, m) in enumerate(zip(image.shape, shape, strict=True))
        if n != m
    }
    return apply_matrices(image, matrices, precision)


def scale_and_translate(
    image: ArrayLike,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: ArrayLike,
    translation: ArrayLike,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Any:
    r"""Scale and translate an image: position x is mapped to scale x + translation.

    .. math:: y_j = \sum_i w_{ij} x_i, \quad
        w_{ij} \propto k\Big((i + 1/2) - \frac{j + 1/2 - t}{s}\Big)

    Positions outside the old image are 0.

    Args:
      image: array of any number of axes.
      shape: the new shape, of all axes.
      spatial_dims: the K axes to resample.
      scale, translation: float arrays [K]: factors, and shifts in new pixels.  They are
        differentiable through the kernel.
      method: as for `resize`; not "nearest".
      antialias: widen the kernel where an axis shrinks, so that all pixels count.
      precision: the precision of the products (see `lax.dot_general`).

    Returns:
      An array of shape `shape`; integers become floats.

    Raises:
      ValueError: `shape` has another number of axes, the method is "nearest" or
        unknown.

    Example:
      >>> import minijax as mj
      >>> x, one = mj.numpy.array([1., 2., 3.]), mj.numpy.ones(1)
      >>> mj.image.scale_and_translate(x, (4,), (0,), one, one, "linear")
      Array([0., 1., 2., 3.], dtype=float32)

    Source: see `ResizeMethod`; Keys (1981), Duchon (1979).
    """
    shape = check_image("scale_and_translate", image, shape)
    method = as_method(method, antialias)
    if method is ResizeMethod.NEAREST:
        raise errors.value_error(
            "Nearest neighbor resampling is not currently supported for scale_and_translate.",
            tries=["method='linear'", "image.resize, which supports it"],
        )
    axes = tuple(canonical_axis(d, len(shape)) for d in spatial_dims)
    for name, x in (("scale", scale), ("translation", translation)):
        if np.shape(x) != (len(axes),):
            raise errors.value_error(
                f"scale_and_translate: {name} must have one number for each of"
                f" spatial_dims={axes}, got shape {np.shape(x)}."
            )
    return _scale_and_translate(
        image, scale, translation, shape, axes, method, bool(antialias), precision
    )


@composite(static=("shape", "axes", "method", "antialias", "precision"))
def _scale_and_translate(
    image, scale, translation, shape, axes, method: ResizeMethod, antialias: bool, precision
):
    (image,) = promote_dtypes_inexact(jnp.asarray(image))
    scale, shift = promote_dtypes_inexact(jnp.asarray(scale), jnp.asarray(translation))
    matrices = {
        d: weights(image.shape[d], shape[d], scale[i], shift[i], method, antialias)
        for i, d in enumerate(axes)
    }
    return apply_matrices(image, matrices, precision)
