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
# one input each, and lets the copies talk to each other. You need no cluster to learn
# it: the processor can pretend to be eight devices. That must be said before the first
# array is made, because it is then that the devices are counted.

# %%
import numpy as np

import minijax as jax
import minijax.numpy as jnp
from minijax import lax

jax.config.update("jax_num_cpu_devices", 8)
assert jax.device_count() == 8
jax.devices()

# %% [markdown]
# The eight share the real cores of this machine, so nothing below gets faster. What
# they teach is how to write it; the same lines run on eight GPUs.
#
# ## Where an array lives
#
# An array is made on the first device. `device_put` copies it elsewhere, and work
# follows its data.

# %%
first, *_, last = jax.devices()
x = jnp.arange(3.0)
y = jax.device_put(x, last)
assert x.devices() == {first}
assert (2 * y).devices() == {last}

# %% [markdown]
# Two arrays that were put on different devices do not mix: copies are expensive, so
# they are made only where you say so.

# %%
try:
    jax.device_put(x, first) + y
except ValueError as error:
    print(error)
else:
    raise AssertionError("data moved by themselves")

# %% [markdown]
# ## One function, eight devices
#
# `pmap` takes the first axis of its arguments apart, gives each device one slice, runs
# the same compiled program on each, and puts the results together again.

# %%
squares = jax.pmap(lambda x: x**2)(jnp.arange(8.0))
assert squares.tolist() == [0, 1, 4, 9, 16, 25, 36, 49]
assert squares.devices() == set(jax.devices())  # each result is where it was made

# %% [markdown]
# So far this is `vmap`, with the slices in different places. The first axis may be
# shorter than the number of devices, but not longer.

# %%
assert jax.pmap(lambda x: x + 1)(jnp.zeros(3)).tolist() == [1, 1, 1]
try:
    jax.pmap(lambda x: x + 1)(jnp.zeros(9))
except ValueError as error:
    print(error)
else:
    raise AssertionError("a ninth device appeared")

# %% [markdown]
# ## Talking to each other
#
# Give the axis a name, and the copies can work together along it: `psum` adds a value
# over all devices, `pmean` and `pmax` do what they say, `axis_index` tells a copy which
# one it is. Every device gets the result.

# %%
total = jax.pmap(lambda x: lax.psum(x, "devices"), axis_name="devices")
assert total(jnp.arange(8.0)).tolist() == [28.0] * 8

share = jax.pmap(lambda x: x / lax.psum(x, "devices"), axis_name="devices")
assert jnp.allclose(share(jnp.arange(1.0, 9.0)).sum(), 1.0)

who = jax.pmap(lambda _: lax.axis_index("devices"), axis_name="devices")
assert who(jnp.zeros(8)).tolist() == [0, 1, 2, 3, 4, 5, 6, 7]


# %% [markdown]
# ## Eight dice are better than one
#
# Estimate π: throw points into a square and count those inside the circle. The devices
# must not throw the *same* points, so each gets a key of its own.


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
# The common use: every device holds the whole model and a part of each batch, computes
# the gradient of its part, and the parts are averaged. Then all take the same step, and
# the copies of the model stay equal without ever being compared.


# %%
def loss(w, x, y):
    return ((x @ w - y) ** 2).mean()


def step(w, x, y):
    return w - 0.1 * lax.pmean(jax.grad(loss)(w, x, y), "devices")


key_x, key_w = jax.random.split(jax.random.key(3))
x = jax.random.normal(key_x, (64, 5))
true_w = jax.random.normal(key_w, (5,))
y = x @ true_w

# `in_axes=None` hands the whole value to everyone, `out_axes=None` takes one copy back.
parallel_step = jax.pmap(step, axis_name="devices", in_axes=(None, 0, 0), out_axes=None)
w = jnp.zeros(5)
for _ in range(100):
    w = parallel_step(w, x.reshape(8, 8, 5), y.reshape(8, 8))
assert jnp.allclose(w, true_w, atol=1e-3)

# %% [markdown]
# On one device the same steps give the same weights, up to rounding: the mean over the
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
# `pmap` is a transformation like the others. Here is a `vmap` inside, for the examples
# of one device, and a `grad` outside, through the sum over the devices. Collectives
# have derivatives: that of a sum is a broadcast, and the other way round.


# %%
def spread_out(w):
    """Variance over all 8 x 4 values, computed where the values are."""

    def part(row):
        mean = lax.pmean(row.mean(), "devices")
        deviations = jax.vmap(lambda value: (value - mean) ** 2)(row)
        return lax.pmean(deviations.mean(), "devices")

    return jax.pmap(part, axis_name="devices")(w)[0]


values = jnp.arange(32.0).reshape(8, 4)
assert jnp.allclose(spread_out(values), jnp.var(values))
assert jnp.allclose(jax.grad(spread_out)(values), 2 * (values - values.mean()) / 32, atol=1e-5)


# %% [markdown]
# Each device runs its own program, with its own control flow: here each stops after a
# number of rounds of its own.


# %%
def rounds_to_one(n):
    round_ = lambda state: (state[0] // 2, state[1] + 1)
    return lax.while_loop(lambda state: state[0] > 1, round_, (n, 0))[1]


rounds = jax.pmap(rounds_to_one)(2 ** jnp.arange(8))
assert rounds.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]

# %% [markdown]
# One rule to remember: what the devices say to each other, they must all say, in the
# same order. A `psum` inside a branch that only some of them take would leave the
# others waiting forever.
