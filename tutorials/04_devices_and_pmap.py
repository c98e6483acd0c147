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
# # Devices and `pmap`
#
# `vmap` runs one function on many inputs on one device. `pmap` runs it on many devices,
# one input on each, and lets the copies communicate. You need no cluster to learn it: the
# CPU can act as eight devices. Set this option before you create the first array, because
# the devices are counted then.

# %%
import numpy as np

import minijax as jax
import minijax.numpy as jnp
from minijax import lax

jax.config.update("jax_num_cpu_devices", 8)
assert jax.device_count() == 8
jax.devices()

# %% [markdown]
# The eight devices share the cores of this machine, so nothing below gets faster. They
# teach how to write such programs; the same lines run on eight GPUs.
#
# ## Where an array is stored
#
# An array is created on the first device. `device_put` copies it to another device, and
# operations run where their operands are.

# %%
first, *_, last = jax.devices()
x = jnp.arange(3.0)
y = jax.device_put(x, last)
assert x.devices() == {first}
assert (2 * y).devices() == {last}

# %% [markdown]
# Two arrays that were put on different devices cannot be combined. Copies are expensive,
# so they are made only on request.

# %%
try:
    jax.device_put(x, first) + y
except ValueError as error:
    print(error)
else:
    raise AssertionError("data moved without a request")

# %% [markdown]
# ## One function, eight devices
#
# `pmap` splits its arguments along the first axis, sends one slice to each device, runs
# the same compiled program on each, and joins the results.

# %%
squares = jax.pmap(lambda x: x**2)(jnp.arange(8.0))
assert squares.tolist() == [0, 1, 4, 9, 16, 25, 36, 49]
assert squares.devices() == set(jax.devices())  # each result is on the device that computed it

# %% [markdown]
# So far this is `vmap`, with the slices on different devices. The first axis may be
# shorter than the number of devices, but not longer.

# %%
assert jax.pmap(lambda x: x + 1)(jnp.zeros(3)).tolist() == [1, 1, 1]
try:
    jax.pmap(lambda x: x + 1)(jnp.zeros(9))
except ValueError as error:
    print(error)
else:
    raise AssertionError("nine slices ran on eight devices")

# %% [markdown]
# ## Communication
#
# Name the axis, and the copies can communicate along it. `psum` adds a value over all
# devices; `pmean` and `pmax` compute the mean and the maximum; `axis_index` returns the
# index of the copy. Every device receives the result.

# %%
total = jax.pmap(lambda x: lax.psum(x, "devices"), axis_name="devices")
assert total(jnp.arange(8.0)).tolist() == [28.0] * 8

share = jax.pmap(lambda x: x / lax.psum(x, "devices"), axis_name="devices")
assert jnp.allclose(share(jnp.arange(1.0, 9.0)).sum(), 1.0)

who = jax.pmap(lambda _: lax.axis_index("devices"), axis_name="devices")
assert who(jnp.zeros(8)).tolist() == [0, 1, 2, 3, 4, 5, 6, 7]


# %% [markdown]
# ## Independent random numbers
#
# Estimate π: draw points in a square and count those inside the circle. The devices must
# not draw the *same* points, so each receives its own key.


# %%
def inside(key, throws=10_000):
    points = jax.random.uniform(key, (throws, 2))
    return ((points**2).sum(axis=1) < 1).mean()


keys = jax.random.split(jax.random.key(0), 8)
estimates = jax.pmap(lambda key: 4 * inside(key))(keys)
together = jax.pmap(lambda k: 4 * lax.pmean(inside(k), "d"), axis_name="d")(keys)
print(estimates, together[0])
assert jnp.allclose(together, estimates.mean())
assert abs(together[0] - np.pi) < 0.02


# %% [markdown]
# ## Training in parallel
#
# In the most common use every device has the whole model and a part of each batch. It
# computes the gradient of its part, and the gradients are averaged. Then all devices take
# the same step, and the copies of the model remain equal without being compared.


# %%
def loss(w, x, y):
    return ((x @ w - y) ** 2).mean()


def step(w, x, y):
    return w - 0.1 * lax.pmean(jax.grad(loss)(w, x, y), "devices")


key_x, key_w = jax.random.split(jax.random.key(3))
x = jax.random.normal(key_x, (64, 5))
true_w = jax.random.normal(key_w, (5,))
y = x @ true_w

# `in_axes=None` sends the full value to each device, `out_axes=None` returns one copy.
parallel_step = jax.pmap(step, axis_name="devices", in_axes=(None, 0, 0), out_axes=None)
w = jnp.zeros(5)
for _ in range(100):
    w = parallel_step(w, x.reshape(8, 8, 5), y.reshape(8, 8))
assert jnp.allclose(w, true_w, atol=1e-3)

# %% [markdown]
# On one device the same steps compute the same weights, up to rounding: the mean over the
# batch is the mean of the means of equal parts.

# %%
one_step = jax.jit(lambda w: w - 0.1 * jax.grad(loss)(w, x, y))
single = jnp.zeros(5)
for _ in range(100):
    single = one_step(single)
assert jnp.allclose(w, single, atol=1e-5)


# %% [markdown]
# ## Composition, again
#
# `pmap` is a transformation like the others. This example has a `vmap` inside, over the
# examples of one device, and a `grad` outside, through the sum over the devices.
# Collectives have derivatives: the derivative of a sum is a broadcast, and the reverse.


# %%
def variance(w):
    """Compute the variance of all 8 x 4 values, on the devices that hold them."""

    def of_row(row):
        mean = lax.pmean(row.mean(), "devices")
        deviations = jax.vmap(lambda value: (value - mean) ** 2)(row)
        return lax.pmean(deviations.mean(), "devices")

    return jax.pmap(of_row, axis_name="devices")(w)[0]


values = jnp.arange(32.0).reshape(8, 4)
assert jnp.allclose(variance(values), jnp.var(values))
assert jnp.allclose(jax.grad(variance)(values), 2 * (values - values.mean()) / 32, atol=1e-5)


# %% [markdown]
# Each device runs its own program, with its own control flow. In this example each device
# stops after a different number of iterations:


# %%
def rounds_to_one(n):
    round_ = lambda state: (state[0] // 2, state[1] + 1)
    return lax.while_loop(lambda state: state[0] > 1, round_, (n, 0))[1]


rounds = jax.pmap(rounds_to_one)(2 ** jnp.arange(8))
assert rounds.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]

# %% [markdown]
# Remember one rule: all devices must run the same collectives in the same order. If only
# some of them run a `psum` inside a branch, the others wait forever.
