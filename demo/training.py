"""Training on many devices, built from the loss of one image by transformations.

`vmap` turns the loss into a loss of batches, `value_and_grad` differentiates it, and `scan`
repeats the step over an epoch's batches. Then `jit` compiles the epoch for one device. Or
`pmap` runs it on eight devices, each with an eighth of every batch. Or the same `jit` receives
batches that are sharded over eight devices, and runs on all of them.
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
    """The state that training passes from one step to the next."""

    params: dict
    velocity: dict


def start(key: jax.Array) -> State:
    """Return random parameters with zero velocity."""
    params = model.init(key)
    return State(params, jax.tree_util.tree_map(jnp.zeros_like, params))


def batch_loss(params: dict, images: jax.Array, labels: jax.Array) -> jax.Array:
    """Return the contribution of these images to the mean loss of a batch of BATCH.

    The contributions of all parts of a batch, on any devices, add up to its mean loss, and
    so do their gradients. Data-parallel training needs nothing else.
    """
    losses = jax.vmap(model.loss, in_axes=(None, 0, 0))(params, images, labels)
    return losses.sum() / BATCH


def epoch(state: State, images, labels, rate, *, add_up=lambda local: local):
    """Run one pass over `images` (f32[steps, n, 64]): the new state and f32[steps] losses.

    `add_up` sums the losses and gradients of all devices.
    """

    def step(state, batch):
        local = jax.value_and_grad(batch_loss)(state.params, *batch)
        value, grads = add_up(local)
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
    in_axes=(None, 1, 1, None),  # all devices get the state; each batch is split
    out_axes=None,  # the results are equal on all devices
)


def batches(key: jax.Array, images, labels):
    """Shuffle, and split into f32[steps, BATCH, 64] and i32[steps, BATCH]."""
    steps = len(images) // BATCH
    order = jax.random.permutation(key, len(images))[: steps * BATCH]
    order = order.reshape(steps, BATCH)
    return images[order], labels[order]


def split(batch: jax.Array) -> jax.Array:
    """Reshape [steps, BATCH, ...] to [steps, devices, BATCH // devices, ...]."""
    steps, _, *rest = batch.shape
    return batch.reshape(steps, jax.device_count(), -1, *rest)


def shard(batch: jax.Array) -> jax.Array:
    """Shard [steps, BATCH, ...] over all devices along BATCH."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("devices",))
    return jax.device_put(batch, jax.NamedSharding(mesh, jax.P(None, "devices")))


@jax.jit
def gradient_norms(params: dict, images: jax.Array, labels: jax.Array) -> jax.Array:
    """Return the gradient norm of each image: f32[n], by vmap of grad."""

    def norm(image, label):
        grads = jax.grad(model.loss)(params, image, label)
        leaves = jax.tree_util.tree_leaves(grads)
        return jnp.sqrt(sum((g**2).sum() for g in leaves))

    return jax.vmap(norm)(images, labels)
