"""A whole program: flax learns to classify noisy images of ten digits."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from flax.training import train_state

SEGMENTS = "abcdef bc abged abgcd fgbc afgcd afgedc abc abcdefg abcdfg".split()
STROKES = {
    "a": (slice(1, 3), slice(4, 12)),
    "b": (slice(2, 8), slice(11, 13)),
    "c": (slice(8, 14), slice(11, 13)),
    "d": (slice(13, 15), slice(4, 12)),
    "e": (slice(8, 14), slice(3, 5)),
    "f": (slice(2, 8), slice(3, 5)),
    "g": (slice(7, 9), slice(4, 12)),
}


def images(count, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, count)
    clean = np.zeros((10, 16, 16), np.float32)
    for digit, names in enumerate(SEGMENTS):
        for name in names:
            clean[digit][STROKES[name]] = 1
    moved = [np.roll(clean[k], rng.integers(-1, 2, 2), (0, 1)) for k in labels]
    noisy = np.stack(moved) + rng.normal(0, 0.6, (count, 16, 16))
    return noisy[..., None].astype(np.float32), labels.astype(np.int32)


class CNN(nn.Module):
    @nn.compact
    def __call__(self, x, train=False):
        for features in (8, 16):
            x = nn.relu(nn.Conv(features, (3, 3))(x))
            x = nn.avg_pool(x, (2, 2), (2, 2))
        x = nn.relu(nn.Dense(32)(x.reshape(len(x), -1)))
        x = nn.Dropout(0.2, deterministic=not train)(x)
        return nn.Dense(10)(x)


model = CNN()
key = jax.random.key(0)
params = model.init(key, jnp.ones((1, 16, 16, 1)))["params"]
state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.adamw(3e-3))


@jax.jit
def step(state, x, y, key):
    def loss_fn(params):
        rngs = {"dropout": key}
        logits = state.apply_fn({"params": params}, x, train=True, rngs=rngs)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, y)
        return losses.mean(), logits

    (loss, logits), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    return state.apply_gradients(grads=grads), loss, (logits.argmax(-1) == y).mean()


@jax.jit
def accuracy(state, x, y):
    return (state.apply_fn({"params": state.params}, x).argmax(-1) == y).mean()


x, y = images(2048, 1)
x_test, y_test = images(512, 2)
for epoch in range(4):
    order = np.random.default_rng(epoch).permutation(len(x)).reshape(-1, 64)
    losses = []
    for i, batch in enumerate(order):
        noise = jax.random.fold_in(key, epoch * len(order) + i)
        state, loss, _ = step(state, x[batch], y[batch], noise)
        losses.append(loss)
    print("epoch", epoch, "loss", round(float(jnp.stack(losses).mean()), 2))
print("accuracy", round(float(accuracy(state, x_test, y_test)), 2))
print("parameters", sum(p.size for p in jax.tree.leaves(params)))
