"""flax.nnx: train a model with batch norm and dropout; split, merge, vmap and scan."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx


class Model(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(2, 8, rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.last = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.last(self.dropout(nnx.relu(self.norm(self.first(x)))))


key = jax.random.key(0)
x = jax.random.normal(key, (16, 2))
y = x.sum(1, keepdims=True)
model = Model(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)


@nnx.jit
def step(model, optimizer):
    value, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)
    return value


for _ in range(4):
    print("loss", round(float(step(model, optimizer)), 4))
graph, state = nnx.split(model)
print(sorted(str(path) for path, _ in nnx.to_flat_state(state))[:3])
merged = nnx.merge(graph, state)
merged.eval()
print("merged", np.round(merged(x[:1]), 4))


@nnx.vmap(in_axes=0, out_axes=0)
def layers(key):
    return nnx.Linear(2, 2, rngs=nnx.Rngs(key))


@nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
def through(x, layer):
    return layer(x)


made = layers(jax.random.split(key, 4))
print("scan", made.kernel.shape, np.round(through(jnp.ones((1, 2)), made), 4))
