"""A two-layer perceptron for 8x8 grey images, and its loss: plain functions of arrays.

This module does not mention devices, batches, compilation or derivatives: `training` adds
all of them by transformations.
"""

import minijax as jax
import minijax.numpy as jnp

PIXELS, HIDDEN, CLASSES = 64, 128, 10


def init(key: jax.Array) -> dict:
    """Return random parameters; the scale preserves a layer's variance (LeCun, 1998)."""
    key1, key2 = jax.random.split(key)
    return {
        "w1": jax.random.normal(key1, (PIXELS, HIDDEN)) * PIXELS**-0.5,
        "b1": jnp.zeros(HIDDEN),
        "w2": jax.random.normal(key2, (HIDDEN, CLASSES)) * HIDDEN**-0.5,
        "b2": jnp.zeros(CLASSES),
    }


def logits(params: dict, image: jax.Array) -> jax.Array:
    """Return unnormalised log-probabilities of the ten digits; `image` is f32[..., 64]."""
    hidden = jnp.tanh(image @ params["w1"] + params["b1"])
    return hidden @ params["w2"] + params["b2"]


def loss(params: dict, image: jax.Array, label: jax.Array) -> jax.Array:
    """Return the cross-entropy of one image (f32[64]) with the digit `label` (i32[])."""
    scores = logits(params, image)
    top = scores.max()
    return top + jnp.log(jnp.exp(scores - top).sum()) - scores[label]


def accuracy(params: dict, images: jax.Array, labels: jax.Array) -> jax.Array:
    """Return the share of images (f32[n, 64]) whose best-scored digit is right."""
    return (logits(params, images).argmax(-1) == labels).mean()
