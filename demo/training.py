"""From the loss of one image to training on many devices, one transformation at a time.

`vmap` makes a batch of the loss, `value_and_grad` differentiates it, `scan` repeats the
step over an epoch's batches; then `jit` compiles the epoch for one device; or `pmap` runs
it on eight, each of which sees an eighth of every batch; or the same `jit` finds batches
that lie on eight devices, and computes where they lie.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

import minijax as jax
import minijax.numpy as jnp
from minijax import lax

from . import model

BATCH = 128
MOMENTUM = 0.9


class State(NamedTuple):
    """What training carries from one step to the next."""

    params: dict
    velocity: dict


def start(key: jax.Array) -> State:
    """Fresh parameters at rest."""
    params = model.init(key)
    return State(params, jax.tree_util.tree_map(jnp.zeros_like, params))


def batch_loss(params: dict, images: jax.Array, labels: jax.Array) -> jax.Array:
    """What these images add to the mean loss of a batch of BATCH.

    The parts of a batch, wherever they were computed, simply add up to its mean loss;
    so do their gradients. This is all that data-parallel training needs.
    """
    losses = jax.vmap(model.loss, in_axes=(None, 0, 0))(params, images, labels)
    return losses.sum() / BATCH


def epoch(state: State, images, labels, rate, *, add_up=lambda parts: parts):
    """One pass over `images` (f32[steps, n, 64]): the new state and f32[steps] losses.

    `add_up` turns this device's part of the loss and gradient into the whole batch's.
    """

    def step(state, batch):
        parts = jax.value_and_grad(batch_loss)(state.params, *batch)
        value, grads = add_up(parts)
        velocity = jax.tree_util.tree_map(
            lambda v, g: MOMENTUM * v - rate * g, state.velocity, grads
        )
        params = jax.tree_util.tree_map(jnp.add, state.params, velocity)
        return State(params, velocity), value

    return lax.scan(step, state, (images, labels))


on_one_device = jax.jit(epoch)

on_all_devices = jax.pmap(
    partial(epoch, add_up=partial(lax.psum, axis_name="devices")),
    axis_name="devices",
    in_axes=(None, 1, 1, None),  # the state goes to all; each batch is split
    out_axes=None,  # and all come to the same result
)


def batches(key: jax.Array, images, labels):
    """Shuffle and cut into f32[steps, BATCH, 64] and i32[steps, BATCH]."""
    steps = len(images) // BATCH
    order = jax.random.permutation(key, len(images))[: steps * BATCH]
    order = order.reshape(steps, BATCH)
    return images[order], labels[order]


def split(batch: jax.Array) -> jax.Array:
    """[steps, BATCH, ...] to [steps, devices, BATCH // devices, ...]."""
    steps, _, *rest = batch.shape
    return batch.reshape(steps, jax.device_count(), -1, *rest)


def lay_out(batch: jax.Array) -> jax.Array:
    """[steps, BATCH, ...], every batch spread over all devices."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("devices",))
    return jax.device_put(batch, jax.NamedSharding(mesh, jax.P(None, "devices")))


@jax.jit
def gradient_norms(params: dict, images: jax.Array, labels: jax.Array) -> jax.Array:
    """How hard each single image pulls at the parameters: f32[n], by vmap of grad."""

    def norm(image, label):
        grads = jax.grad(model.loss)(params, image, label)
        leaves = jax.tree_util.tree_leaves(grads)
        return jnp.sqrt(sum((g**2).sum() for g in leaves))

    return jax.vmap(norm)(images, labels)
