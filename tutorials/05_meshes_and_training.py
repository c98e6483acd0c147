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
# `pmap` runs one program on each device, and you split the data yourself. This page shows
# the alternative: you write the program for one large machine and specify how its arrays
# are sharded over devices. The compiler divides the work. The same training step is
# written three times, each time with less left to the compiler. The losses are equal.

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
# A mesh is a grid of devices with named axes. This mesh has two: each row of devices
# along `data` receives other examples, each column along `model` other weights.

# %%
auto = (AxisType.Auto, AxisType.Auto)
mesh = jax.make_mesh((4, 2), ("data", "model"), auto)
assert mesh.shape == {"data": 4, "model": 2}
mesh

# %% [markdown]
# A `PartitionSpec` names, for each axis of an array, the mesh axis that it is sharded
# over; `None` (or nothing) means that the axis is not sharded. A mesh and a spec form a
# sharding, and `device_put` shards an array accordingly.

# %%
x = np.arange(32.0, dtype=np.float32).reshape(8, 4)
rows = jax.device_put(x, NamedSharding(mesh, P("data")))
tiles = jax.device_put(x, NamedSharding(mesh, P("data", "model")))
assert {s.data.shape for s in rows.addressable_shards} == {(2, 4)}
assert {s.data.shape for s in tiles.addressable_shards} == {(2, 2)}
jax.debug.visualize_array_sharding(tiles)

# %% [markdown]
# Operations run where their operands are. If data must move, the compiler inserts
# collectives. The values equal those of one device.

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
# The step does not change. The examples are sharded over `data`, the hidden layer over
# `model`, and `jit` compiles the step for all eight devices.

# %%
on = lambda *spec: NamedSharding(mesh, P(*spec))
params = (
    jax.device_put(start[0], on(None, "model")),
    jax.device_put(start[1], on("model", None)),
)
batch = jax.device_put(data, on("data")), jax.device_put(target, on("data"))
sharded_losses = train(jax.jit(step), params, *batch)
np.testing.assert_allclose(sharded_losses, alone, rtol=1e-4)
sharded_losses

# %% [markdown]
# ## Second way: types contain the sharding
#
# Along mesh axes of type `Explicit`, an array's type contains its sharding, and each
# operation determines the sharding of its result. `make_mesh` creates such axes by
# default.

# %%
explicit = jax.make_mesh((4, 2), ("data", "model"))
with jax.set_mesh(explicit):
    w1 = jax.device_put(start[0], P(None, "model"))
    xs = jax.device_put(data, P("data"))
print(jax.typeof(xs), jax.typeof(w1), jax.typeof(xs @ w1))
assert str(jax.typeof(xs @ w1)) == "float32[64@data,32@model]"

# %% [markdown]
# If the sharding of a result is ambiguous, the operation raises an error, and you specify
# it. In this example a sum over a sharded axis needs communication between devices.

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
    output = jnp.dot(hidden, params[1], out_sharding=P("data", None))
    return ((output - y) ** 2).mean()


def explicit_step(params, x, y):
    value, slopes = jax.value_and_grad(explicit_loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, slopes), value


with jax.set_mesh(explicit):
    ys = jax.device_put(target, P("data"))
    explicit_losses = train(jax.jit(explicit_step), (w1, w2), xs, ys)
np.testing.assert_allclose(explicit_losses, alone, rtol=1e-4)
explicit_losses

# %% [markdown]
# Types show every sharding, those of gradients included:

# %%
with jax.set_mesh(explicit):
    slopes = jax.eval_shape(jax.grad(explicit_loss), (w1, w2), xs, ys)
assert slopes[0].sharding.spec == P(None, "model")
slopes[0]

# %% [markdown]
# ## Third way: you write the collectives
#
# `shard_map` passes one device's shard of each argument to your function, as `pmap` does.
# Specs determine how arguments are sharded and how results are joined. You write the sums
# over devices.

# %%


def local_loss(params, x, y):
    hidden = jnp.tanh(x @ params[0])  # this device's examples and hidden units
    output = lax.psum(hidden @ params[1], "model")
    return lax.pmean(((output - y) ** 2).mean(), "data")


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
# `device_put` moves a value to another mesh, or reshards it on the same mesh. Inside
# programs on explicit axes, use `reshard`.

# %%
columns = jax.device_put(rows, on(None, "data"))
assert {s.data.shape for s in columns.addressable_shards} == {(8, 1)}
with jax.set_mesh(explicit):
    resharded = jax.jit(lambda x: jax.reshard(x * 2, P(None, "data")))(xs)
assert str(jax.typeof(resharded)) == "float32[64,8@data]"
np.testing.assert_array_equal(resharded, data * 2)

# %% [markdown]
# ## What to remember
#
# - Specify the shardings of the large arrays, and measure; the compiler derives the rest.
# - If it chooses other shardings than you meant, use explicit axes: types do not guess.
# - If you know better than both, write the collectives.
# - The numbers do not depend on the sharding, except for rounding. So you can test every
#   step on one device first.
