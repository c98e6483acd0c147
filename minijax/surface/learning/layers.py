"""Layers as pairs of functions: one initializes parameters, one applies them.

`init_fun(key, input_shape)` returns `(output_shape, params)`, and
`apply_fun(params, inputs, **kwargs)` returns the outputs.  `kwargs` may contain `rng`, a
random key, for layers that draw numbers.  `serial` and `parallel` combine layers.

Next: optimizers.py.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ...base import errors
from ...prims import lax
from ...prims.reduce.reduce_window import reduce_window
from ...prims.window_padding import padtype_to_pads
from .. import jnp
from ..nn import activations, initializers, normalization
from ..random import keys
from ..random.choosing import bernoulli

__all__ = (
    "Dense", "GeneralConv", "Conv", "GeneralConvTranspose", "Conv1DTranspose",
    "ConvTranspose", "BatchNorm", "elementwise", "Tanh", "Relu", "Exp", "LogSoftmax",
    "Softmax", "Softplus", "Sigmoid", "Elu", "LeakyRelu", "Selu", "Gelu", "MaxPool",
    "SumPool", "AvgPool", "Flatten", "Identity", "FanOut", "FanInSum", "FanInConcat",
    "Dropout", "serial", "parallel", "shape_dependent",
)  # fmt: skip

Layer = tuple[Callable[..., Any], Callable[..., Any]]
Shape = tuple[int, ...]


def without_params(shape: Callable[[Any], Any], apply: Callable[..., Any]) -> Layer:
    """Return a layer without parameters, from functions of the shape and of the inputs."""
    return (
        lambda rng, input_shape: (shape(input_shape), ()),
        lambda params, inputs, **kwargs: apply(inputs),
    )


# ---------------------------------------------------------------------- linear layers


def Dense(out_dim: int, W_init: Any = None, b_init: Any = None) -> Layer:
    """Return a dense layer: x W + b along the last axis.

    Args:
      out_dim: the size of the last axis of the outputs.
      W_init: initializer of W (default: glorot_normal()).
      b_init: initializer of b (default: normal()).

    Returns:
      A layer with parameters (W, b).

    Example:
      >>> import minijax as mj
      >>> init, apply = Dense(3)
      >>> init(mj.random.key(0), (5, 2))[0]
      (5, 3)
    """
    W_init = W_init or initializers.glorot_normal()
    b_init = b_init or initializers.normal()

    def init_fun(rng: Any, input_shape: Shape) -> Any:
        for_W, for_b = keys.split(rng)
        W = W_init(for_W, (input_shape[-1], out_dim))
        return (*input_shape[:-1], out_dim), (W, b_init(for_b, (out_dim,)))

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        W, b = params
        return jnp.dot(inputs, W) + b

    return init_fun, apply_fun


def convolution_layer(
    specs: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Any,
    padding: Any,
    W_init: Any,
    b_init: Any,
    shape: Any,
    convolve: Any,
) -> Layer:
    """Return a layer that applies `convolve`; `shape` computes the shape of its outputs."""
    lhs, rhs, out = specs
    strides = tuple(strides or (1,) * len(filter_shape))
    W_init = W_init or initializers.glorot_normal(rhs.index("I"), rhs.index("O"))
    b_init = b_init or initializers.normal(1e-6)

    def init_fun(rng: Any, input_shape: Shape) -> Any:
        sizes = iter(filter_shape)
        channel_sizes = {"O": out_chan, "I": input_shape[lhs.index("C")]}
        window = tuple(channel_sizes[c] if c in channel_sizes else next(sizes) for c in rhs)
        for_W, for_b = keys.split(rng)
        W = W_init(for_W, window)
        b = b_init(for_b, tuple(out_chan if c == "C" else 1 for c in out))
        return shape(input_shape, window, strides, padding, tuple(specs)), (W, b)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        W, b = params
        convolved = convolve(inputs, W, strides, padding, dimension_numbers=tuple(specs))
        return convolved + b

    return init_fun, apply_fun


def GeneralConv(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = None,
) -> Layer:
    """Return a convolution layer with a bias for each channel.

    Args:
      dimension_numbers: letters of the axes of inputs, filters and outputs, such as
        ("NHWC", "HWIO", "NHWC").
      out_chan: channels of the outputs.
      filter_shape: the window's size along each spatial axis.
      strides: its steps (default: 1).
      padding: "VALID", "SAME" or pairs of numbers.
      W_init: initializer of the filters (default: glorot_normal over their channels).
      b_init: initializer of the biases (default: normal(1e-6)).

    Returns:
      A layer with parameters (filters, biases).

    Example:
      >>> import minijax as mj
      >>> init, apply = GeneralConv(("NWC", "WIO", "NWC"), 4, (3,))
      >>> init(mj.random.key(0), (1, 8, 2))[0]
      (1, 6, 4)
    """
    return convolution_layer(
        dimension_numbers,
        out_chan,
        filter_shape,
        strides,
        padding,
        W_init,
        b_init,
        lax.conv_general_shape_tuple,
        _convolve,
    )


def _convolve(x: Any, W: Any, strides: Any, padding: Any, dimension_numbers: Any) -> Any:
    one = (1,) * len(strides)
    return lax.conv_general_dilated(
        x, W, strides, padding, one, one, dimension_numbers=dimension_numbers
    )


def GeneralConvTranspose(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = None,
) -> Layer:
    """Return a transposed convolution layer with a bias for each channel.

    Args:
      dimension_numbers: letters of the axes of inputs, filters and outputs, such as
        ("NHWC", "HWIO", "NHWC").
      out_chan: channels of the outputs.
      filter_shape: the window's size along each spatial axis.
      strides: the distance of inputs in the outputs (default: 1).
      padding: "VALID", "SAME" or pairs of numbers.
      W_init: initializer of the filters (default: glorot_normal over their channels).
      b_init: initializer of the biases (default: normal(1e-6)).

    Returns:
      A layer with parameters (filters, biases).

    Example:
      >>> import minijax as mj
      >>> init, apply = GeneralConvTranspose(("NWC", "WIO", "NWC"), 4, (3,), (2,))
      >>> init(mj.random.key(0), (1, 8, 2))[0]
      (1, 17, 4)
    """
    return convolution_layer(
        dimension_numbers,
        out_chan,
        filter_shape,
        strides,
        padding,
        W_init,
        b_init,
        lax.conv_transpose_shape_tuple,
        lax.conv_transpose,
    )


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))


# ----------------------------------------------------------------------- normalization


def BatchNorm(
    axis: int | Sequence[int] = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Any = initializers.zeros,
    gamma_init: Any = initializers.ones,
) -> Layer:
    """Return a batch normalization layer: standardized inputs times gamma plus beta.

    Args:
      axis: the axes of means and variances.
      epsilon: a number added to variances.
      center: whether the layer has beta.
      scale: whether the layer has gamma.
      beta_init, gamma_init: their initializers.

    Returns:
      A layer with parameters (beta, gamma), of the shape of the other axes.

    Example:
      >>> import minijax.numpy as jnp
      >>> init, apply = BatchNorm(axis=0, center=False, scale=False, epsilon=0.)
      >>> apply(((), ()), jnp.array([[1.], [3.]]))
      Array([[-1.],
             [ 1.]], dtype=float32)

    Source: Ioffe, Szegedy, arXiv:1502.03167.
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init_fun(rng: Any, input_shape: Shape) -> Any:
        shape = tuple(n for d, n in enumerate(input_shape) if d not in axes)
        for_beta, for_gamma = keys.split(rng)
        beta = beta_init(for_beta, shape) if center else ()
        return input_shape, (beta, gamma_init(for_gamma, shape) if scale else ())

    def apply_fun(params: Any, x: Any, **kwargs: Any) -> Any:
        beta, gamma = params
        z = normalization.standardize(x, axes, epsilon=epsilon)
        if scale:
            z = jnp.expand_dims(gamma, axes) * z
        return z + jnp.expand_dims(beta, axes) if center else z

    return init_fun, apply_fun


# -------------------------------------------------------------------- without parameters


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """Return a layer that applies a shape-preserving function.

    Args:
      fun: the function.
      **fun_kwargs: its keyword arguments.

    Returns:
      A layer without parameters.

    Example:
      >>> import minijax.numpy as jnp
      >>> elementwise(jnp.clip, max=1.)[1]((), 2.)
      Array(1., dtype=float32, weak_type=True)
    """
    return without_params(lambda shape: shape, lambda x: fun(x, **fun_kwargs))


Tanh = elementwise(jnp.tanh)
Relu = elementwise(activations.relu)
Exp = elementwise(jnp.exp)
LogSoftmax = elementwise(normalization.log_softmax, axis=-1)
Softmax = elementwise(normalization.softmax, axis=-1)
Softplus = elementwise(activations.softplus)
Sigmoid = elementwise(activations.sigmoid)
Elu = elementwise(activations.elu)
LeakyRelu = elementwise(activations.leaky_relu)
Selu = elementwise(activations.selu)
Gelu = elementwise(activations.gelu)


def pooling_layers(name: str, reducer: Any, start: float, mean: bool, summary: str) -> Any:
    """Return the function `name`, which returns layers of a reduction over windows."""

    def pool(
        window_shape: Sequence[int],
        strides: Sequence[int] | None = None,
        padding: str = "VALID",
        spec: str | None = None,
    ) -> Layer:
        rank = len(window_shape) + 2
        fixed_axes = sorted((spec.index("N"), spec.index("C")) if spec else (0, rank - 1))

        def full(sizes: Sequence[int]) -> Shape:
            window_sizes = list(sizes)
            for at in fixed_axes:
                window_sizes.insert(at, 1)
            return tuple(window_sizes)

        window = full(window_shape)
        steps = full(strides or (1,) * len(window_shape))

        def shape(input_shape: Shape) -> Shape:
            pads = padtype_to_pads(input_shape, window, steps, padding)
            return tuple(
                (n + sum(p) - w) // s + 1
                for n, p, w, s in zip(input_shape, pads, window, steps, strict=True)
            )

        def apply(x: Any) -> Any:
            out = reduce_window(x, start, reducer, window, steps, padding)
            if mean:
                ones = jnp.ones_like(x)
                out = out / reduce_window(ones, 0.0, lax.add, window, steps, padding)
            return out

        return without_params(shape, apply)

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = f"""{summary}

    Args:
      window_shape: the window's size along each spatial axis.
      strides: its steps (default: 1).
      padding: "VALID" or "SAME".
      spec: letters of the axes, with N and C for axes without windows (default: the first
        and the last axis).

    Returns:
      A layer without parameters.

    Example:
      >>> import minijax as mj
      >>> init, apply = {name}((2,), strides=(2,))
      >>> init(mj.random.key(0), (1, 8, 3))[0]
      (1, 4, 3)
    """
    return pool


MaxPool = pooling_layers(
    "MaxPool", lax.max, -math.inf, False, "Return a layer of window maxima."
)
SumPool = pooling_layers("SumPool", lax.add, 0.0, False, "Return a layer of window sums.")
AvgPool = pooling_layers(
    "AvgPool", lax.add, 0.0, True, "Return a layer of window means, without padding."
)


def _flat(shape: Shape) -> Shape:
    return shape[0], math.prod(shape[1:])


Flatten = without_params(_flat, lambda x: jnp.reshape(x, (x.shape[0], -1)))
Identity = without_params(lambda shape: shape, lambda x: x)


def FanOut(num: int) -> Layer:
    """Return a layer that copies its input.

    Args:
      num: the number of copies.

    Returns:
      A layer without parameters, whose output is a list.

    Example:
      >>> FanOut(2)[1]((), 3.)
      [3.0, 3.0]
    """
    return without_params(lambda shape: [shape] * num, lambda x: [x] * num)


FanInSum = without_params(lambda shapes: shapes[0], lambda xs: sum(xs))


def FanInConcat(axis: int = -1) -> Layer:
    """Return a layer that concatenates its inputs, a list, along an axis.

    Args:
      axis: the axis.

    Returns:
      A layer without parameters.

    Example:
      >>> import minijax as mj
      >>> FanInConcat()[0](mj.random.key(0), [(5, 2), (5, 3)])[0]
      (5, 5)
    """

    def shape(shapes: Sequence[Shape]) -> Shape:
        at = axis % len(shapes[0])
        total = sum(s[at] for s in shapes)
        return (*shapes[0][:at], total, *shapes[0][at + 1 :])

    return without_params(shape, lambda xs: jnp.concatenate(xs, axis))


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Return a dropout layer, which keeps each number with probability `rate`.

    Kept numbers are divided by `rate`; the others become 0.

    Args:
      rate: the probability.
      mode: "train"; with any other mode the layer returns its inputs.

    Returns:
      A layer without parameters, which is applied with `rng=`, a random key.

    Raises:
      ValueError: (when it is applied) `rng` is missing.

    Example:
      >>> import minijax as mj
      >>> Dropout(0.5)[1]((), mj.numpy.ones(4), rng=mj.random.key(0))
      Array([0., 0., 2., 2.], dtype=float32)

    Source: Srivastava and others, JMLR 15 (2014).
    """

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rng = kwargs.get("rng")
        if rng is None:
            raise errors.value_error(
                "Dropout layer requires apply_fun to be called with a PRNG key argument.",
                tries=["apply_fun(params, inputs, rng=jax.random.key(0))"],
            )
        if mode != "train":
            return inputs
        keep = bernoulli(rng, rate, inputs.shape)
        return jnp.where(keep, inputs / rate, 0)

    return lambda rng, input_shape: (input_shape, ()), apply_fun


# -------------------------------------------------------------------------- combinators


def keys_for(layers: Sequence[Layer], rng: Any) -> Sequence[Any]:
    """Return a random key for each layer when it is applied, or None without a key."""
    return [None] * len(layers) if rng is None else keys.split(rng, len(layers))


def serial(*layers: Layer) -> Layer:
    """Return the composition of layers.

    Args:
      *layers: pairs of functions.

    Returns:
      A layer whose parameters are a list of the layers' parameters.

    Example:
      >>> import minijax as mj
      >>> init, apply = serial(Dense(4), Relu, Dense(3), LogSoftmax)
      >>> shape, params = init(mj.random.key(0), (5, 2))
      >>> shape, apply(params, mj.numpy.ones((5, 2))).shape
      ((5, 3), (5, 3))
    """

    def init_fun(rng: Any, input_shape: Any) -> Any:
        params = []
        for init, _ in layers:
            rng, layer_key = keys.split(rng)
            input_shape, layer_params = init(layer_key, input_shape)
            params.append(layer_params)
        return input_shape, params

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rngs = keys_for(layers, kwargs.pop("rng", None))
        for (_, apply), p, rng in zip(layers, params, rngs, strict=True):
            inputs = apply(p, inputs, rng=rng, **kwargs)
        return inputs

    return init_fun, apply_fun


def parallel(*layers: Layer) -> Layer:
    """Return parallel layers, each with its own input, for example after `FanOut`.

    Args:
      *layers: pairs of functions.

    Returns:
      A layer whose inputs and outputs are lists, and whose parameters are a tuple.

    Example:
      >>> import minijax as mj
      >>> init, apply = serial(FanOut(2), parallel(Dense(3), Identity), FanInConcat())
      >>> init(mj.random.key(0), (5, 2))[0]
      (5, 5)
    """

    def init_fun(rng: Any, input_shape: Any) -> Any:
        rngs = keys.split(rng, len(layers))
        shapes_and_params = [
            init(key, shape)
            for (init, _), key, shape in zip(layers, rngs, input_shape, strict=True)
        ]
        return tuple(shape for shape, _ in shapes_and_params), tuple(
            params for _, params in shapes_and_params
        )

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rngs = keys_for(layers, kwargs.pop("rng", None))
        return [
            apply(p, x, rng=rng, **kwargs)
            for (_, apply), p, x, rng in zip(layers, params, inputs, rngs, strict=True)
        ]

    return init_fun, apply_fun


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """Return a layer that depends on the shape of its input.

    Args:
      make_layer: function from the shape to a layer.

    Returns:
      A layer.

    Example:
      >>> import minijax as mj
      >>> same_size = shape_dependent(lambda shape: Dense(shape[-1]))
      >>> same_size[0](mj.random.key(0), (5, 2))[0]
      (5, 2)
    """
    return (
        lambda rng, input_shape: make_layer(input_shape)[0](rng, input_shape),
        lambda params, inputs, **kwargs: make_layer(inputs.shape)[1](params, inputs, **kwargs),
    )
