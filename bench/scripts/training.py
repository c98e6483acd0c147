"""A small training script as users write it; LIB is replaced by minijax or jax."""

import numpy as np

import LIB as jax
import LIB.numpy as jnp

key = jax.random.PRNGKey(0)
k1, k2, k3, k4 = jax.random.split(key, 4)
params = [
    (jax.random.normal(k1, (20, 64)) * 0.2, jnp.zeros(64)),
    (jax.random.normal(k2, (64, 64)) * 0.1, jnp.zeros(64)),
    (jax.random.normal(k3, (64, 1)) * 0.1, jnp.zeros(1)),
]
x = jax.random.normal(k4, (512, 20))
y = jnp.sin(x.sum(axis=1)) + 0.5 * x[:, 0]


def predict(params, x):
    for w, b in params[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    return (x @ w + b)[:, 0]


def loss(params, x, y):
    return jnp.mean((predict(params, x) - y) ** 2)


@jax.jit
def step(params, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    return jax.tree_util.tree_map(lambda p, g: p - 0.05 * g, params, grads), value


for i in range(200):
    params, value = step(params, x, y)
    if i % 50 == 0:
        print(i, float(value))

curvature = jax.jit(jax.vmap(jax.grad(lambda x: predict(params, x[None])[0])))(x)
print(float(value), float(jnp.linalg.norm(curvature)), np.asarray(y).shape)
