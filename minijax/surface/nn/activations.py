"""Activation functions of neural networks.

All are elementwise except `glu`, which halves an axis.  `relu`, `relu6` and `log1mexp` have
custom derivatives; the derivatives of `relu` and `relu6` are 0 at the kinks.

Each is one compiled call when evaluated, and a few equations when traced.

Next: normalization.py, for functions along an axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...base import errors
from ...control.calls.jit import composite, jit
from ...control.rules.custom_jvp import custom_jvp
from ...ir.core import aval_of
from ...prims.math.elementary import logistic
from ...prims.special.error_function import erfc
from ...types import dtypes
from .. import jnp
from ..numpy._common import as_array, check_arraylike, promote_args_inexact, promote_dtypes

__all__ = (
    "relu",
    "relu6",
    "leaky_relu",
    "elu",
    "selu",
    "celu",
    "sigmoid",
    "silu",
    "swish",
    "softplus",
    "log_sigmoid",
    "mish",
    "squareplus",
    "soft_sign",
    "log1mexp",
    "gelu",
    "hard_tanh",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "sparse_plus",
    "sparse_sigmoid",
    "glu",
    "identity",
)

ArrayLike = Any

tanh = jnp.tanh


def _masked_tangent(mask: Any, tangent: Any) -> Any:
    """Return the tangent where the slope of a function is 1, and zero elsewhere."""
    return jnp.where(mask, tangent, jnp.zeros_like(tangent))


def with_custom_derivative(name: str) -> Callable[[Any], Any]:
    """Return a decorator for a function with a custom derivative and
    this name in jaxprs."""

    def declare(fun: Any) -> custom_jvp:
        fun.__name__ = name
        return custom_jvp(jit(fun))

    return declare


# ------------------------------------------------------------------------- rectifiers


@with_custom_derivative("relu")
def _relu(x: Any) -> Any:
    return jnp.maximum(x, 0)


_relu.defjvps(lambda t, ans, x: _masked_tangent(x > 0, t))


@composite
def relu(x: ArrayLike) -> Any:
    r"""Compute the rectified linear unit :math:`\max(x, 0)`; its derivative at 0 is 0.

    Args:
      x: array or number; bools become integers.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> import minijax as mj
      >>> mj.nn.relu(mj.numpy.array([-1., 0., 2.]))
      Array([0., 0., 2.], dtype=float32)

    Source: Nair and Hinton, Rectified linear units improve restricted Boltzmann
    machines (2010).
    """
    check_arraylike("relu", x)
    return _relu(x)


@with_custom_derivative("relu6")
def _relu6(x: Any) -> Any:
    return jnp.minimum(jnp.maximum(x, 0), 6.0)


_relu6.defjvps(lambda t, ans, x: _masked_tangent((x > 0) & (x < 6), t))


@composite
def relu6(x: ArrayLike) -> Any:
    r"""Compute the bounded rectified linear unit :math:`\min(\max(x, 0), 6)`.

    Its derivative at 0 and at 6 is 0.

    Args:
      x: array or number; integers become floats.

    Returns:
      An array of `x`'s shape and dtype; of the default float dtype for integers.

    Example:
      >>> import minijax as mj
      >>> mj.nn.relu6(mj.numpy.array([-1., 5., 7.]))
      Array([0., 5., 6.], dtype=float32)

    Source: Krizhevsky, Convolutional deep belief networks on CIFAR-10 (2010).
    """
    check_arraylike("relu6", x)
    return _relu6(x)


@composite
def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 0.01) -> Any:
    r"""Compute the leaky rectified linear unit: x if :math:`x \geq 0`, otherwise
    :math:`s x`.

    Args:
      x: array or number.
      negative_slope: the factor s, an array or number that broadcasts with `x`.

    Returns:
      An array of the shape and the dtype that `x` and `negative_slope` broadcast and
      promote to.

    Example:
      >>> import minijax as mj
      >>> mj.nn.leaky_relu(mj.numpy.array([-2., 3.]), 0.5)
      Array([-1.,  3.], dtype=float32)

    Source: Maas, Hannun and Ng, Rectifier nonlinearities improve neural network
    acoustic models (2013).
    """
    check_arraylike("leaky_relu", x, negative_slope)
    x = as_array(x)
    return jnp.where(x >= 0, x, negative_slope * x)


@composite
def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Any:
    r"""Compute the exponential linear unit: x if x > 0, otherwise :math:`\alpha (e^x - 1)`.

    Args:
      x: array or number.
      alpha: array or number that broadcasts with `x`.

    Returns:
      An array of the shape and the dtype that `x` and `alpha` broadcast and promote to;
      of the default float dtype for integers.

    Example:
      >>> import minijax as mj
      >>> mj.nn.elu(mj.numpy.array([0., 3.]))
      Array([0., 3.], dtype=float32)

    Source: Clevert and others, arXiv:1511.07289.
    """
    check_arraylike("elu", x, alpha)
    x = as_array(x)
    positive = x > 0
    # `expm1` of positive x would overflow, and its derivative would be nan.
    negative = jnp.where(positive, 0.0, x)
    return jnp.where(positive, x, alpha * jnp.expm1(negative))


@composite
def selu(x: ArrayLike) -> Any:
    r"""Compute the self-normalizing `elu`: :math:`\lambda\, \mathrm{elu}(x, \alpha)`.

    The constants λ = 1.0507 and α = 1.6733 preserve mean 0 and variance 1 through layers.

    Args:
      x: array or number; integers become floats.

    Returns:
      An array of `x`'s shape and dtype; of the default float dtype for integers.

    Example:
      >>> import minijax as mj
      >>> mj.nn.selu(mj.numpy.array([0., 1.]))
      Array([0.      , 1.050701], dtype=float32)

    Source: Klambauer and others, arXiv:1706.02515.
    """
    check_arraylike("selu", x)
    return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717)


@composite
def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Any:
    r"""Compute a continuously differentiable `elu`:
    :math:`\max(x, 0) + \alpha (e^{\min(x, 0)/\alpha} - 1)`.

    Args:
      x: array or number; integers become floats.
      alpha: array or number that broadcasts with `x`, not 0.

    Returns:
      An array of the shape and the dtype that `x` and `alpha` broadcast and promote to;
      of the default float dtype for integers.

    Example:
      >>> import minijax as mj
      >>> mj.nn.celu(mj.numpy.array([0., 3.]), 2.)
      Array([0., 3.], dtype=float32)

    Source: Barron, arXiv:1704.07483.
    """
    check_arraylike("celu", x, alpha)
    x, alpha = promote_dtypes(x, alpha)  # before 0.0 would promote integers
    low = jnp.minimum(x, 0.0)
    return jnp.maximum(x, 0.0) + alpha * jnp.expm1(low / alpha)


# ----------------------------------------------------- sigmoids and related functions


@composite
def sigmoid(x: ArrayLike) -> Any:
    """Compute the logistic function :math:`1 / (1 + e^{-x})`.

    Args:
      x: float or complex array or number.

    Returns:
      An array of `x`'s shape and dtype.

    Raises:
      TypeError: `x` is an integer or a bool.

    Example:
      >>> import minijax as mj
      >>> mj.nn.sigmoid(0.)
      Array(0.5, dtype=float32, weak_type=True)
    """
    check_arraylike("sigmoid", x)
    return logistic(x)


@composite
def silu(x: ArrayLike) -> Any:
    """Compute the sigmoid linear unit :math:`x / (1 + e^{-x})`, also called `swish`.

    Args:
      x: float or complex array or number.

    Returns:
      An array of `x`'s shape and dtype.

    Raises:
      TypeError: `x` is an integer or a bool.

    Example:
      >>> import minijax as mj
      >>> mj.nn.silu(mj.numpy.array([0., 2.]))
      Array([0.      , 1.761594], dtype=float32)

    Source: Elfwing and others, arXiv:1702.03118.
    """
    check_arraylike("silu", x)
    return as_array(x) * sigmoid(x)


swish = silu


@composite
def softplus(x: ArrayLike) -> Any:
    r"""Compute the smooth rectifier :math:`\log(1 + e^x)`, without overflow.

    Args:
      x: array or number; integers become floats.

    Returns:
      An array of `x`'s shape and dtype; of the default float dtype for integers.

    Example:
      >>> import minijax as mj
      >>> mj.nn.softplus(mj.numpy.array([0., 1000.]))
      Array([6.931472e-01, 1.000000e+03], dtype=float32)
    """
    check_arraylike("softplus", x)
    return jnp.logaddexp(x, 0)


@composite
def log_sigmoid(x: ArrayLike) -> Any:
    r"""Compute the logarithm of the sigmoid, :math:`-\log(1 + e^{-x})`.

    It is precise where the sigmoid is near 0 or 1.

    Args:
      x: array or number; integers become floats.

    Returns:
      An array of `x`'s shape and dtype; of the default float dtype for integers.

    Raises:
      TypeError: `x` is a bool.

    Example:
      >>> import minijax as mj
      >>> mj.nn.log_sigmoid(mj.numpy.array([-1000., 0.]))
      Array([-1.000000e+03, -6.931472e-01], dtype=float32)
    """
    check_arraylike("log_sigmoid", x)
    return -softplus(-as_array(x))


@composite
def mish(x: ArrayLike) -> Any:
    r"""Compute the smooth rectifier :math:`x \tanh(\log(1 + e^x))`.

    Args:
      x: array or number; integers become floats.

    Returns:
      An array of `x`'s shape and dtype; of the default float dtype for integers.

    Example:
      >>> import minijax as mj
      >>> mj.nn.mish(mj.numpy.array([0., 20.]))
      Array([ 0., 20.], dtype=float32)

    Source: Misra, arXiv:1908.08681.
    """
    check_arraylike("mish", x)
    return as_array(x) * jnp.tanh(softplus(x))


@composite
def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Any:
    r"""Compute a smooth rectifier without exponentials, :math:`(x + \sqrt{x^2 + b}) / 2`.

    Args:
      x: array or number; integers become floats.
      b: smoothness, an array or number that broadcasts with `x`; 0 is `relu`.

    Returns:
      An array of the shape and the dtype that `x` and `b` broadcast and promote to; of
      the default float dtype for integers.

    Example:
      >>> import minijax as mj
      >>> mj.nn.squareplus(mj.numpy.array([0., 1.5]))
      Array([1., 2.], dtype=float32)

    Source: Barron, arXiv:2112.11687.
    """
    check_arraylike("squareplus", x, b)
    jnp.result_type(x, b)  # raises if the options forbid promotion of their dtypes
    (x,), (b,) = (promote_args_inexact("squareplus", v) for v in (x, b))
    if dtypes.is_complex(aval_of(x).dtype):
        return (x + jnp.sqrt(jnp.square(x) + b)) / 2
    return _squareplus(x, b)


@custom_jvp
def _squareplus(x: Any, b: Any) -> Any:
    below = x < 0
    large = (jnp.where(below, -x, x) + jnp.sqrt(jnp.square(x) + b)) / 2
    return jnp.where(below, b / 4 / large, large)  # (x + root) (root - x) is b


@_squareplus.defjvp
def _squareplus_jvp(primals: Any, tangents: Any) -> Any:
    (x, b), (t, u) = primals, tangents
    out, root = _squareplus(x, b), jnp.sqrt(jnp.square(x) + b)
    return out, t * (out / root) + u * (0.25 / root)


@composite
def soft_sign(x: ArrayLike) -> Any:
    """Compute the smooth sign :math:`x / (|x| + 1)`.

    Args:
      x: array or number; integers become floats.

    Returns:
      An array of `x`'s shape and dtype; of the default float dtype for integers.

    Example:
      >>> import minijax as mj
      >>> mj.nn.soft_sign(mj.numpy.array([-1., 3.]))
      Array([-0.5 ,  0.75], dtype=float32)
    """
    check_arraylike("soft_sign", x)
    return _soft_sign(as_array(x))


@with_custom_derivative("soft_sign")
def _soft_sign(x: Any) -> Any:
    return x / (jnp.abs(x) + 1)


# Square the reciprocal: (|x| + 1)^2 would overflow first.
_soft_sign.defjvps(lambda t, ans, x: t * jnp.square(1 / (jnp.abs(x) + 1)))


@with_custom_derivative("log1mexp")
def _log1mexp(x: Any) -> Any:
    # Each form is used where the other would cancel.  The boundary is exp(-x) = 1/3,
    # because XLA's log1p loses digits of float64 for arguments up to 1/2.
    falling = -x
    near = jnp.log(-jnp.expm1(falling))
    return jnp.where(x < math.log(3.0), near, jnp.log1p(-jnp.exp(falling)))


@custom_jvp
def _inverse_expm1(x: Any) -> Any:
    return 1 / jnp.expm1(x)


_inverse_expm1.defjvps(lambda t, ans, x: t * -(ans * (1 + ans)))
_log1mexp.defjvps(lambda t, ans, x: t * _inverse_expm1(x))


@composite
def log1mexp(x: ArrayLike) -> Any:
    r"""Compute :math:`\log(1 - e^{-x})` for :math:`x \geq 0`, precise near 0 and far from
    it.

    Args:
      x: array or number; integers become floats.

    Returns:
      An array of `x`'s shape and dtype; of the default float dtype for integers.

    Example:
      >>> import minijax as mj
      >>> mj.nn.log1mexp(mj.numpy.array([0.6931472, 100.]))
      Array([-0.6931472, -0.       ], dtype=float32)

    Source: Mächler, Accurately computing log(1 - exp(-|a|)) (2012).
    """
    (x,) = promote_args_inexact("log1mexp", x)
    return _log1mexp(x)


# -------------------------------------------------------------------------- gaussian


# The derivative is computed from the value, which needs no exponential and one residual.
# Where 1 - value cancels, the value itself has lost its digits.
@custom_jvp
def _gate(x: Any) -> Any:
    """Return (1 + tanh(sqrt(2 / pi) x)) / 2."""
    scale = np.sqrt(2 / np.pi).astype(aval_of(x).dtype)
    return 0.5 * (1.0 + tanh(scale * x))


def _gate_tangent(t: Any, ans: Any, x: Any) -> Any:
    twice = np.sqrt(8 / np.pi).astype(aval_of(x).dtype)
    return t * ((twice * ans) * (1 - ans))


_gate.defjvps(_gate_tangent)


@composite(static=("approximate",))
def gelu(x: ArrayLike, approximate: bool = True) -> Any:
    r"""Compute the Gaussian error linear unit :math:`x \Phi(x)`.

    Here Φ is the normal distribution function.

    Args:
      x: array or number; integers become floats.
      approximate: use :math:`x (1 + \tanh(\sqrt{2/\pi} (x + 0.044715 x^3))) / 2`, a faster
        approximation.

    Returns:
      An array of `x`'s shape and dtype; of the default float dtype for integers.

    Example:
      >>> import minijax as mj
      >>> mj.nn.gelu(mj.numpy.array([0., 10.]))
      Array([ 0., 10.], dtype=float32)

    Source: Hendrycks and Gimpel, arXiv:1606.08415.
    """
    (x,) = promote_args_inexact("gelu", x)
    if approximate:
        return x * _gate(x + 0.044715 * x**3)
    root_half = np.sqrt(0.5).astype(aval_of(x).dtype)
    return 0.5 * x * erfc(-x * root_half)


# -------------------------------------------------------------- piecewise linear functions


@composite
def hard_tanh(x: ArrayLike) -> Any:
    r"""Compute a piecewise linear tanh, :math:`\max(-1, \min(x, 1))`.

    Args:
      x: array or number; bools become integers.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> import minijax as mj
      >>> mj.nn.hard_tanh(mj.numpy.array([-3., 0.5, 3.]))
      Array([-1. ,  0.5,  1. ], dtype=float32)
    """
    check_arraylike("hard_tanh", x)
    x = as_array(x)
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


@composite
def hard_sigmoid(x: ArrayLike) -> Any:
    r"""Compute a piecewise linear sigmoid, :math:`\min(\max(x + 3, 0), 6) / 6`.

    Args:
      x: array or number; integers become floats.

    Returns:
      An array of `x`'s shape and dtype; of the default float dtype for integers.

    Example:
      >>> import minijax as mj
      >>> mj.nn.hard_sigmoid(mj.numpy.array([-4., 0., 4.]))
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    check_arraylike("hard_sigmoid", x)
    return relu6(as_array(x) + 3.0) / 6.0


@composite
def hard_silu(x: ArrayLike) -> Any:
    r"""Compute `silu` with a piecewise linear sigmoid,
    :math:`x \min(\max(x + 3, 0), 6) / 6`.

    It is also called `hard_swish`.

    Args:
      x: array or number; integers become floats.

    Returns:
      An array of `x`'s shape and dtype; of the default float dtype for integers.

    Example:
      >>> import minijax as mj
      >>> mj.nn.hard_silu(mj.numpy.array([-4., 0., 4.]))
      Array([-0.,  0.,  4.], dtype=float32)

    Source: Howard and others, arXiv:1905.02244.
    """
    check_arraylike("hard_silu", x)
    return as_array(x) * hard_sigmoid(x)


hard_swish = hard_silu


@composite
def sparse_plus(x: ArrayLike) -> Any:
    """Compute a rectifier with a quadratic transition:
    :math:`(x + 1)^2 / 4` between -1 and 1.

    It is 0 up to -1, and x from 1 on.

    Args:
      x: array or number; integers become floats.

    Returns:
      An array of `x`'s shape and dtype; of the default float dtype for integers.

    Example:
      >>> import minijax as mj
      >>> mj.nn.sparse_plus(mj.numpy.array([-2., 0., 2.]))
      Array([0.  , 0.25, 2.  ], dtype=float32)

    Source: Blondel and Roulet, arXiv:2403.14606, chapter 13.
    """
    check_arraylike("sparse_plus", x)
    x = as_array(x)
    return jnp.where(x <= -1.0, 0.0, jnp.where(x >= 1.0, x, (x + 1.0) ** 2 / 4))


@composite
def sparse_sigmoid(x: ArrayLike) -> Any:
    """Compute the slope of `sparse_plus`: :math:`(x + 1) / 2`, clipped to [0, 1].

    Args:
      x: real array or number; integers become floats.

    Returns:
      An array of `x`'s shape and dtype; of the default float dtype for integers.

    Example:
      >>> import minijax as mj
      >>> mj.nn.sparse_sigmoid(mj.numpy.array([-2., 0., 2.]))
      Array([0. , 0.5, 1. ], dtype=float32)

    Source: Martins and Astudillo, arXiv:1602.02068.
    """
    check_arraylike("sparse_sigmoid", x)
    return 0.5 * jnp.clip(as_array(x) + 1.0, 0.0, 2.0)


# ------------------------------------------------------------------------------ others


@composite(static=("axis",))
def glu(x: ArrayLike, axis: int = -1) -> Any:
    r"""Compute the gated linear unit :math:`a\, \sigma(b)` of the two halves of an axis.

    Args:
      x: float or complex array whose size along `axis` is even.
      axis: the axis to halve.

    Returns:
      An array of `x`'s dtype and shape, with half the size along `axis`.

    Raises:
      AssertionError: the axis has an odd size.
      IndexError: the axis is out of range.
      TypeError: `x` is of integers or bools.

    Example:
      >>> import minijax as mj
      >>> mj.nn.glu(mj.numpy.array([1., 2., 0., 0.]))
      Array([0.5, 1. ], dtype=float32)

    Source: Dauphin and others, arXiv:1612.08083.
    """
    check_arraylike("glu", x)
    shape = aval_of(x).shape
    if not -len(shape) <= axis < len(shape):
        raise errors.error(
            errors.AxisError,
            f"glu: axis {axis} is out of bounds for {errors.type_text(x)}.",
            tries=["an axis below x.ndim"],
        )
    if shape[axis] % 2:
        raise errors.error(
            AssertionError,
            f"glu: axis size must be divisible by 2, got {errors.type_text(x)}.",
            which=f"axis {axis} of size {shape[axis]}",
            why="the axis is split into two halves, and one gates the other.",
            tries=["a layer before it with an even number of outputs"],
        )
    value, gate = jnp.split(x, 2, axis)
    return value * sigmoid(gate)


@composite
def identity(x: ArrayLike) -> Any:
    """Return the argument as an array: :math:`x`.

    Args:
      x: array or number.

    Returns:
      An array of `x`'s shape and dtype.

    Example:
      >>> import minijax as mj
      >>> mj.nn.identity(3.)
      Array(3., dtype=float32, weak_type=True)
    """
    check_arraylike("identity", x)
    return as_array(x)
