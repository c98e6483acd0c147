# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Training on a mesh of devices
#
# `pmap` runs one program on each device, and you cut the data yourself. This page is about
# the other way: you write the program for one large machine, say how its arrays lie on the
# devices, and the compiler cuts the work. The same training step is written three times,
# with less and less left to the compiler; the losses are equal.

# %%
import numpy as np

import minijax as jax
import minijax.numpy as jnp
from minijax import lax
from minijax.sharding import AxisType, NamedSharding
from minijax.sharding import PartitionSpec as P

jax.config.update("jax_num_cpu_devices", 8)
assert jax.device_count() == 8

# %% [markdown]
# ## A mesh, and arrays on it
#
# A mesh is a grid of devices whose axes have names. Here are two axes: along `data` each
# row of devices gets other examples, along `model` each column gets other weights.

# %%
auto = (AxisType.Auto, AxisType.Auto)
mesh = jax.make_mesh((4, 2), ("data", "model"), auto)
assert mesh.shape == {"data": 4, "model": 2}
mesh

# %% [markdown]
# A `PartitionSpec` says, axis by axis of an array, along which axis of the mesh it is cut;
# `None` (or nothing) says that it is not. With a mesh it makes a sharding, and
# `device_put` cuts an array as a sharding says.

# %%
x = np.arange(32.0, dtype=np.float32).reshape(8, 4)
rows = jax.device_put(x, NamedSharding(mesh, P("data")))
tiles = jax.device_put(x, NamedSharding(mesh, P("data", "model")))
assert {s.data.shape for s in rows.addressable_shards} == {(2, 4)}
assert {s.data.shape for s in tiles.addressable_shards} == {(2, 2)}
jax.debug.visualize_array_sharding(tiles)

# %% [markdown]
# Arithmetic stays where its operands lie. What must move, moves: the compiler puts the
# collectives in, and the values are those of one device.

# %%
total = (rows * 2).sum(axis=0)
np.testing.assert_array_equal(total, (x * 2).sum(axis=0))
product = jax.jit(lambda a: a.T @ a)(tiles)
np.testing.assert_allclose(product, x.T @ x)
assert len(product.devices()) == 8

# %% [markdown]
# ## The step, for one device
#
# A perceptron of two layers, its loss, and one step of gradient descent.

# %%
r = np.random.default_rng(0)
data = r.normal(size=(64, 8)).astype(np.float32)
target = np.sin(data.sum(axis=1, keepdims=True)).astype(np.float32)
start = (
    r.normal(size=(8, 32)).astype(np.float32) * 0.3,
    r.normal(size=(32, 1)).astype(np.float32) * 0.3,
)


def loss(params, x, y):
    first, second = params
    return ((jnp.tanh(x @ first) @ second - y) ** 2).mean()


def step(params, x, y):
    value, slopes = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, slopes), value


def train(step, params, x, y, steps=5):
    losses = []
    for _ in range(steps):
        params, value = step(params, x, y)
        losses.append(float(value))
    return losses


alone = train(jax.jit(step), start, data, target)
assert alone[-1] < alone[0]
alone

# %% [markdown]
# ## First way: the compiler decides
#
# Nothing in the step changes. The examples are cut along `data`, the hidden layer along
# `model`, and `jit` compiles the step for all eight devices.

# %%
on = lambda *spec: NamedSharding(mesh, P(*spec))
params = (
    jax.device_put(start[0], on(None, "model")),
    jax.device_put(start[1], on("model", None)),
)
batch = jax.device_put(data, on("data")), jax.device_put(target, on("data"))
spread = train(jax.jit(step), params, *batch)
np.testing.assert_allclose(spread, alone, rtol=1e-4)
spread

# %% [markdown]
# ## Second way: types say it
#
# Along axes of type `Explicit` an array's type says how it lies, and each operation says
# how its result does. `make_mesh` makes such axes if it is not told otherwise.

# %%
explicit = jax.make_mesh((4, 2), ("data", "model"))
with jax.set_mesh(explicit):
    w1 = jax.device_put(start[0], P(None, "model"))
    xs = jax.device_put(data, P("data"))
print(jax.typeof(xs), jax.typeof(w1), jax.typeof(xs @ w1))
assert str(jax.typeof(xs @ w1)) == "float32[64@data,32@model]"

# %% [markdown]
# Where an operation could go two ways, it is an error, and you say which: here a sum over
# an axis that is cut must be taken across devices.

# %%
with jax.set_mesh(explicit):
    w2 = jax.device_put(start[1], P("model"))
    try:
        (xs @ w1) @ w2
    except Exception as error:
        print(str(error).splitlines()[0])
        assert "Contracting dimensions are sharded" in str(error)


# %%
def explicit_loss(params, x, y):
    hidden = jnp.tanh(x @ params[0])
    found = jnp.dot(hidden, params[1], out_sharding=P("data", None))
    return ((found - y) ** 2).mean()


def explicit_step(params, x, y):
    value, slopes = jax.value_and_grad(explicit_loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, slopes), value


with jax.set_mesh(explicit):
    ys = jax.device_put(target, P("data"))
    told = train(jax.jit(explicit_step), (w1, w2), xs, ys)
np.testing.assert_allclose(told, alone, rtol=1e-4)
told

# %% [markdown]
# The jaxpr shows where everything lies, gradients included:

# %%
with jax.set_mesh(explicit):
    slopes = jax.eval_shape(jax.grad(explicit_loss), (w1, w2), xs, ys)
assert slopes[0].sharding.spec == P(None, "model")
slopes[0]

# %% [markdown]
# ## Third way: you write the collectives
#
# `shard_map` hands your function one device's part of everything, as `pmap` does, but the
# specs say how the parts are cut and put together. What is summed over devices, you sum.

# %%


def local_loss(params, x, y):
    hidden = jnp.tanh(x @ params[0])  # this device's examples and hidden units
    found = lax.psum(hidden @ params[1], "model")
    return lax.pmean(((found - y) ** 2).mean(), "data")


mapped_loss = jax.shard_map(
    local_loss,
    mesh=mesh,
    in_specs=((P(None, "model"), P("model")), P("data"), P("data")),
    out_specs=P(),
)


def mapped_step(params, x, y):
    value, slopes = jax.value_and_grad(mapped_loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, slopes), value


by_hand = train(jax.jit(mapped_step), params, *batch)
np.testing.assert_allclose(by_hand, alone, rtol=1e-4)
by_hand

# %% [markdown]
# ## From one mesh to another
#
# A value moves between meshes, or lies otherwise on one, by `device_put`; inside of
# programs on explicit axes by `reshard`.

# %%
columns = jax.device_put(rows, on(None, "data"))
assert {s.data.shape for s in columns.addressable_shards} == {(8, 1)}
with jax.set_mesh(explicit):
    turned = jax.jit(lambda x: jax.reshard(x * 2, P(None, "data")))(xs)
assert str(jax.typeof(turned)) == "float32[64,8@data]"
np.testing.assert_array_equal(turned, data * 2)

# %% [markdown]
# ## What to remember
#
# - Say how the large arrays lie, and measure; the compiler finds the rest.
# - Where it finds something else than you meant, use explicit axes: types do not guess.
# - Where you know better than both, write the collectives.
# - The numbers do not depend on how arrays lie, but for rounding; so every step can be
#   tried on one device first.
