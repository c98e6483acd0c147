"""Initial values of parameters: functions of a random key, a shape and a dtype.

Most scale random numbers by the *fan* of a parameter: the number of inputs per output
(`fan_in`) or the number of outputs per input (`fan_out`), so that signals neither grow nor
vanish through many layers.

>>> import minijax as mj
>>> init = mj.nn.initializers.lecun_normal()
>>> init(mj.random.key(0), (784, 10)).shape
(784, 10)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...base import errors
from ...types import dtypes
from .. import jnp
from ..numpy import decompositions
from ..numpy._common import static_dtype
from ..random import continuous, keys, sampling
from ..random.common import placed

Axes = int | Sequence[int]


@runtime_checkable
class Initializer(Protocol):
    """An initializer: a function of a key, a shape and a dtype."""

    def __call__(
        self, key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None
    ) -> Any:
        raise TypeError("Initializer is a protocol and cannot be called.")


def dtype_for(name: str, dtype: Any, usual: Any) -> Any:
    """Return the requested dtype, the initializer's default,
    or the dtype of Python floats."""
    dtype = usual if dtype is None else dtype
    return dtypes.float_default() if dtype is None else static_dtype(dtype, name)


# --------------------------------------------------------------------------- constants


def zeros(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
    """Return zeros: this function is itself an initializer, :math:`w = 0`.

    Args:
      key: not used; accepted so that all initializers have the same signature.
      shape: the result's shape.
      dtype: the result's dtype (default: the dtype of Python floats).
      out_sharding: the sharding of the result.

    Returns:
      An array of shape `shape` and dtype `dtype`.

    Example:
      >>> import minijax as mj
      >>> mj.nn.initializers.zeros(mj.random.key(0), (2,))
      Array([0., 0.], dtype=float32)
    """
    dtype = dtype_for("zeros", dtype, None)
    return jnp.zeros(shape, dtype, out_sharding=out_sharding)


def ones(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
    """Return ones: this function is itself an initializer, :math:`w = 1`.

    Args:
      key: not used; accepted so that all initializers have the same signature.
      shape: the result's shape.
      dtype: the result's dtype (default: the dtype of Python floats).
      out_sharding: the sharding of the result.

    Returns:
      An array of shape `shape` and dtype `dtype`.

    Example:
      >>> import minijax as mj
      >>> mj.nn.initializers.ones(mj.random.key(0), (2,))
      Array([1., 1.], dtype=float32)
    """
    dtype = dtype_for("ones", dtype, None)
    return jnp.ones(shape, dtype, out_sharding=out_sharding)


def constant(value: Any, dtype: Any = None) -> Initializer:
    """Return an initializer that repeats one value: :math:`w = c`.

    Args:
      value: the number c, or an array that broadcasts to the shape.
      dtype: the default dtype of the initializer (None: the dtype of Python floats).

    Returns:
      A function `init(key, shape, dtype=None, out_sharding=None)` that returns an array
      of `shape`.

    Raises:
      ValueError: (the initializer) `value` does not broadcast to the shape.

    Example:
      >>> import minijax as mj
      >>> mj.nn.initializers.constant(7)(mj.random.key(0), (2,))
      Array([7., 7.], dtype=float32)
    """
    usual = dtype

    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        dtype = dtype_for("constant", dtype, usual)
        return jnp.full(shape, value, dtype, out_sharding=out_sharding)

    return init


# ----------------------------------------------------------------- simple distributions


def uniform(scale: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Return an initializer of uniform numbers, with density :math:`1 / s` on [0, s).

    Args:
      scale: the upper end s.
      dtype: the default dtype of the initializer (None: the dtype of Python floats).

    Returns:
      A function `init(key, shape, dtype=None, out_sharding=None)` that returns an array
      of `shape`.

    Raises:
      ValueError: (the initializer) the dtype is not a float dtype.

    Example:
      >>> import minijax as mj
      >>> mj.nn.initializers.uniform(10.)(mj.random.key(0), (2,))
      Array([9.47667 , 9.785799], dtype=float32)
    """
    usual = dtype

    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        dtype = dtype_for("uniform", dtype, usual)
        drawn = sampling.uniform(key, shape, dtype, out_sharding=out_sharding)
        return drawn * jnp.asarray(scale, dtype)

    return init


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Return an initializer of normal numbers, with density ~ :math:`e^{-x^2 / 2s^2}`.

    Args:
      stddev: their standard deviation s.
      dtype: the default dtype of the initializer (None: the dtype of Python floats).

    Returns:
      A function `init(key, shape, dtype=None, out_sharding=None)` that returns an array
      of `shape`.

    Raises:
      ValueError: (the initializer) the dtype is neither float nor complex.

    Example:
      >>> import minijax as mj
      >>> mj.nn.initializers.normal(5.)(mj.random.key(0), (2,))
      Array([ 8.113211, 10.126324], dtype=float32)
    """
    usual = dtype

    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        dtype = dtype_for("normal", dtype, usual)
        drawn = sampling.normal(key, shape, dtype, out_sharding=out_sharding)
        return drawn * jnp.asarray(stddev, dtype)

    return init


def truncated_normal(
    stddev: Any = 1e-2, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0
) -> Initializer:
    """Return an initializer of truncated normal numbers, with density
    ~ :math:`e^{-x^2 / 2s^2}` between two bounds.

    Args:
      stddev: the standard deviation s before truncation.
      dtype: the default dtype of the initializer (None: the dtype of Python floats).
      lower, upper: the bounds, in standard deviations.

    Returns:
      A function `init(key, shape, dtype=None, out_sharding=None)` that returns an array
      of `shape`.

    Raises:
      ValueError: (the initializer) the dtype is not a float dtype.

    Example:
      >>> import minijax as mj
      >>> init = mj.nn.initializers.truncated_normal(5.)
      >>> bool((abs(init(mj.random.key(0), (99,))) <= 10).all())
      True
    """
    usual = dtype

    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        dtype = dtype_for("truncated_normal", dtype, usual)
        drawn = continuous.truncated_normal(
            key, lower, upper, shape, dtype, out_sharding=out_sharding
        )
        return drawn * jnp.asarray(stddev, dtype)

    return init


# ----------------------------------------------------------------------- scaled by fan


def size_of(shape: Sequence[int], axes: Axes) -> int:
    """Return the number of elements of an array of this shape along axes."""
    return math.prod(shape[i] for i in ([axes] if isinstance(axes, int) else axes))


def fans(
    shape: Sequence[int], in_axis: Axes, out_axis: Axes, batch_axis: Axes
) -> tuple[float, float]:
    """Return the numbers of inputs per output and of outputs per input."""
    if len(shape) <= 1:
        raise errors.value_error(
            "Can't compute input and output sizes of a"
            f" {len(shape)}-dimensional weights tensor with default in_axis. Must be at"
            " least 2D or specify in_axis explicitly.",
            which=f"shape {tuple(shape)}",
            tries=["zeros or normal for biases and scales"],
        )
    ins, outs = size_of(shape, in_axis), size_of(shape, out_axis)
    # The remaining axes are the window of a convolution.
    window = math.prod(shape) / ins / outs / size_of(shape, batch_axis)
    return ins * window, outs * window


_MEANS = {
    "fan_in": lambda i, o: i,
    "fan_out": lambda i, o: o,
    "fan_avg": lambda i, o: (i + o) / 2,
    "fan_geo_avg": lambda i, o: math.sqrt(i * o),
}

# Standard deviations of the real and the complex normal distribution truncated at two.
_TRUNCATED_STDDEV = 0.87962566103423978
_TRUNCATED_STDDEV_COMPLEX = 0.95311164380491208


def variance_scaling(
    scale: Any,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: Any = None,
) -> Initializer:
    """Return an initializer of random numbers with mean 0 and variance scale / fan.

    Args:
      scale: factor of the variance.
      mode: the fan: "fan_in", "fan_out", "fan_avg" (their mean) or "fan_geo_avg" (their
        geometric mean).
      distribution: "truncated_normal" (at two standard deviations), "normal" or
        "uniform".
      in_axis, out_axis: axes of inputs and of outputs.
      batch_axis: axes that are neither inputs nor outputs.
      dtype: the default dtype of the initializer.

    Returns:
      A function `init(key, shape, dtype=None, out_sharding=None)` that returns an array
      of `shape`.

    Raises:
      ValueError: (the initializer) the mode or distribution is unknown, or the shape has
        fewer than two axes.

    Example:
      >>> import minijax as mj
      >>> init = mj.nn.initializers.variance_scaling(2., "fan_in", "normal")
      >>> float(init(mj.random.key(0), (200, 50)).std().round(2))
      0.09999999403953552

    Source: Glorot and Bengio, Understanding the difficulty of training deep feedforward
    neural networks (2010); He and others, arXiv:1502.01852.
    """
    usual = dtype

    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        dtype = dtype_for("variance_scaling", dtype, usual)
        shape = tuple(shape)
        ins, outs = fans(shape, in_axis, out_axis, batch_axis)
        if mode not in _MEANS:
            raise ValueError(f"invalid mode for variance scaling initializer: {mode}")
        if distribution not in _DRAWS:
            raise ValueError(
                f"invalid distribution for variance scaling initializer: {distribution}"
            )
        variance = jnp.asarray(scale / _MEANS[mode](ins, outs), dtype)
        drawn, factor = _DRAWS[distribution](key, shape, dtype, variance, out_sharding)
        return drawn * factor

    return init


def _draw_normal(key: Any, shape: Any, dtype: Any, variance: Any, out_sharding: Any) -> Any:
    drawn = sampling.normal(key, shape, dtype, out_sharding=out_sharding)
    return drawn, jnp.sqrt(variance)


def _draw_truncated(key: Any, shape: Any, dtype: Any, variance: Any, out_sharding: Any) -> Any:
    if dtypes.is_complex(dtype):
        drawn = _in_disk(key, shape, dtype, out_sharding, 1 - math.exp(-4.0))
        return drawn, jnp.sqrt(variance) / jnp.asarray(_TRUNCATED_STDDEV_COMPLEX, dtype)
    drawn = continuous.truncated_normal(key, -2, 2, shape, dtype, out_sharding=out_sharding)
    return drawn, jnp.sqrt(variance) / jnp.asarray(_TRUNCATED_STDDEV, dtype)


def _draw_uniform(key: Any, shape: Any, dtype: Any, variance: Any, out_sharding: Any) -> Any:
    if dtypes.is_complex(dtype):
        # Uniform numbers in a disk of radius sqrt(2) have variance 1.
        return _in_disk(key, shape, dtype, out_sharding, None), jnp.sqrt(2 * variance)
    drawn = sampling.uniform(key, shape, dtype, -1, out_sharding=out_sharding)
    return drawn, jnp.sqrt(3 * variance)


def _in_disk(key: Any, shape: Any, dtype: Any, out_sharding: Any, mass: Any) -> Any:
    """Draw complex numbers uniform in the unit disk, or normal ones truncated to `mass`."""
    real = dtypes.real_of(dtype)
    key_radius, key_angle = keys.split(key)
    u = sampling.uniform(key_radius, shape, real, out_sharding=out_sharding)
    angle_fraction = sampling.uniform(key_angle, shape, real, out_sharding=out_sharding)
    # The squared radius is uniform in [0, 1), or exponential: invert its distribution.
    radius = jnp.sqrt(u) if mass is None else jnp.sqrt(-jnp.log1p(-u * mass))
    angle = (2 * np.pi * angle_fraction).astype(dtype)
    return radius.astype(dtype) * jnp.exp(1j * angle)


_DRAWS = {"normal": _draw_normal, "truncated_normal": _draw_truncated, "uniform": _draw_uniform}


def _by_fan(name: str, scale: float, mode: str, distribution: str, source: str) -> Any:
    def make(
        in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__name__ = make.__qualname__ = name
    settings = f"{scale}, {mode!r}, {distribution!r}"
    make.__doc__ = f"""Return the initializer `variance_scaling({settings})`.

    Args:
      in_axis, out_axis: axes of inputs and of outputs.
      batch_axis: axes that are neither inputs nor outputs.
      dtype: the default dtype of the initializer (None: the dtype of Python floats).

    Returns:
      A function `init(key, shape, dtype=None, out_sharding=None)` that returns an array
      of `shape`, with variance {scale} / {mode}.

    Raises:
      ValueError: (the initializer) the shape has fewer than two axes.

    Example:
      >>> import minijax as mj
      >>> mj.nn.initializers.{name}()(mj.random.key(0), (2, 3)).shape
      (2, 3)

    Source: {source}.
    """
    return make


_GLOROT = (
    "Glorot and Bengio, Understanding the difficulty of training deep feedforward"
    "\n    neural networks (2010)"
)
_HE = "He and others, arXiv:1502.01852"
_LECUN = "LeCun and others, Efficient backprop (1998)"

glorot_uniform = _by_fan("glorot_uniform", 1.0, "fan_avg", "uniform", _GLOROT)
glorot_normal = _by_fan("glorot_normal", 1.0, "fan_avg", "truncated_normal", _GLOROT)
lecun_uniform = _by_fan("lecun_uniform", 1.0, "fan_in", "uniform", _LECUN)
lecun_normal = _by_fan("lecun_normal", 1.0, "fan_in", "truncated_normal", _LECUN)
he_uniform = _by_fan("he_uniform", 2.0, "fan_in", "uniform", _HE)
he_normal = _by_fan("he_normal", 2.0, "fan_in", "truncated_normal", _HE)
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


# -------------------------------------------------------------------------- orthogonal


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """Return an initializer of matrices with orthogonal columns, or rows if they are fewer.

    Args:
      scale: the length of the columns.
      column_axis: the axis of columns; the other axes together are rows.
      dtype: the default dtype of the initializer.

    Returns:
      A function `init(key, shape, dtype=None, out_sharding=None)` that returns an array
      of `shape`.

    Raises:
      ValueError: (the initializer) the shape has fewer than two axes.

    Example:
      >>> import minijax as mj
      >>> q = mj.nn.initializers.orthogonal()(mj.random.key(0), (3, 2))
      >>> bool(abs(q.T @ q - mj.numpy.eye(2)).max() < 1e-5)
      True

    Source: Saxe and others, arXiv:1312.6120.
    """
    usual = dtype

    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        dtype = dtype_for("orthogonal", dtype, usual)
        shape = tuple(shape)
        if len(shape) < 2:
            raise ValueError("orthogonal initializer requires at least a 2D shape")
        columns = shape[column_axis]
        rows = math.prod(shape) // columns if columns else 0
        tall = (max(rows, columns), min(rows, columns))
        q, r = decompositions.qr(sampling.normal(key, tall, dtype))
        # These signs make the distribution uniform over all orthogonal matrices.
        q = q * jnp.expand_dims(jnp.sign(jnp.diagonal(r)), 0)
        if columns > rows:
            q = q.T
        rest = [n for i, n in enumerate(shape) if i != column_axis % len(shape)]
        q = jnp.moveaxis(jnp.reshape(q, (*rest, columns)), -1, column_axis)
        return placed(jnp.asarray(scale, dtype) * q, out_sharding, "orthogonal")

    return init


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """Return an initializer of convolutions that apply an orthogonal
    matrix at each position.

    Args:
      scale: the length of the matrix's columns.
      column_axis: the matrix's axis of columns.
      dtype: the default dtype of the initializer.

    Returns:
      A function `init(key, shape, dtype=None, out_sharding=None)` that returns an array
      of `shape`.

    Raises:
      ValueError: (the initializer) the shape does not have 3, 4 or 5 axes, or has fewer
        outputs than inputs.

    Example:
      >>> import minijax as mj
      >>> w = mj.nn.initializers.delta_orthogonal()(mj.random.key(0), (3, 2, 2))
      >>> bool((w[0] == 0).all() and (w[1] != 0).all())
      True

    Source: Xiao and others, arXiv:1806.05393.
    """
    usual = dtype

    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        dtype = dtype_for("delta_orthogonal", dtype, usual)
        shape = tuple(shape)
        if len(shape) not in (3, 4, 5):
            raise ValueError("Delta orthogonal initializer requires a 3D, 4D or 5D shape.")
        ins, outs = shape[-2:]
        if outs < ins:
            raise ValueError("`fan_in` must be less or equal than `fan_out`. ")
        matrix = orthogonal(scale, column_axis, dtype)(key, (outs, outs))
        middle = tuple((k - 1) // 2 for k in shape[:-2])
        out = jnp.zeros(shape, dtype).at[middle].set(matrix[:ins])
        return placed(out, out_sharding, "delta_orthogonal")

    return init
