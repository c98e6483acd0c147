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
# # Arrays, and what is different from NumPy
#
# If you know NumPy, you know most of `minijax.numpy`. This tutorial covers the rest: what
# arrays guarantee, why, and the few places where the same line behaves differently. An
# `assert` follows every claim, so the page is tested.

# %%
import numpy as np

import minijax as jax
import minijax.numpy as jnp

# %% [markdown]
# ## The familiar part
#
# Take a metal plate that is cold except for one hot edge. Creating arrays, slicing and
# arithmetic work as in NumPy.

# %%
plate = jnp.concatenate([jnp.full((1, 6), 100.0), jnp.zeros((5, 6))])
plate

# %%
inner = plate[1:-1, 1:-1]
around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
change = around / 4 - inner
assert change.shape == (4, 4)
assert change[0, 0] == 25.0  # one of four neighbours has 100 degrees

# %% [markdown]
# NumPy's functions accept minijax's arrays, and minijax's functions accept NumPy's.
# `np.asarray` converts a result to NumPy.

# %%
table = np.linspace(0, 1, 5)
assert isinstance(jnp.sin(table), jax.Array)
assert isinstance(np.asarray(jnp.sin(table)), np.ndarray)
assert np.allclose(jnp.sin(table), np.sin(table), atol=1e-6)

# %% [markdown]
# ## Arrays never change
#
# Assigning to an element raises an error. An array that cannot change can be shared
# between devices, kept for a derivative, or computed later, because no other code can
# write to it.

# %%
try:
    plate[0, 0] = 0.0
except TypeError as error:
    message = str(error)
assert ".at[" in message  # the message names the alternative

# %% [markdown]
# Instead, `.at[...]` returns a changed copy. Under `jit` (next tutorial) the compiler
# detects that the old array is no longer needed, and writes in place.

# %%
warmer = plate.at[1:-1, 1:-1].add(change)
assert plate[1, 1] == 0.0  # the old array is unchanged
assert warmer[1, 1] == 25.0

# %% [markdown]
# One thing is better than in NumPy: if an index occurs twice, `add` adds twice.

# %%
visits = [2, 0, 2, 2]
counts = jnp.zeros(3, int).at[jnp.array(visits)].add(1)
assert counts.tolist() == [1, 0, 3]

numpy_counts = np.zeros(3, int)
numpy_counts[visits] += 1
assert numpy_counts.tolist() == [1, 0, 1]  # NumPy writes the same 1 three times

# %% [markdown]
# ## Indices outside the array do not raise
#
# An accelerator cannot raise an exception. So a read outside the array returns the
# nearest element, and a write outside is dropped. `mode="fill"` makes such a mistake
# visible.

# %%
x = jnp.array([10.0, 20.0, 30.0])
far = jnp.array(7)
assert x[far] == 30.0
assert (x.at[far].set(0.0) == x).all()
assert jnp.isnan(x.at[far].get(mode="fill"))

# %% [markdown]
# ## Numbers are 32 bits wide by default
#
# Half the width doubles the speed of nearly all operations, and on accelerators the gain
# is larger. So the default float is `float32` and the default integer is `int32`, even
# for NumPy arrays of 64 bits.

# %%
assert jnp.array([1.5]).dtype == jnp.float32
assert jnp.arange(3).dtype == jnp.int32
assert jnp.asarray(np.array([1.5], np.float64)).dtype == jnp.float32

# %% [markdown]
# To get 64 bits, set one option at the start of a program,
# `jax.config.update("jax_enable_x64", True)`, or set it for a few lines:

# %%
with jax.enable_x64(True):
    third = jnp.array(1.0) / 3
assert third.dtype == jnp.float64

# %% [markdown]
# ## Python numbers adapt
#
# A Python number has no fixed width: it is *weakly* typed, and takes the dtype of the
# array that it is combined with. That is why `x * 2.0` does not turn a `bfloat16` model
# into a `float32` one.

# %%
small = jnp.ones(3, jnp.bfloat16)
assert (small * 2.0).dtype == jnp.bfloat16
assert (small * np.float32(2.0)).dtype == jnp.float32  # this 2 has a fixed dtype
assert (jnp.arange(3) * 2.5).dtype == jnp.float32  # the kind still counts
assert jnp.asarray(1.0).weak_type
assert not jnp.asarray(1.0, dtype=jnp.float32).weak_type

# %% [markdown]
# Two arrays promote according to a small lattice. It never leads to 64 bits by accident:
# NumPy turns `int32 + float32` into `float64`, minijax into `float32`.

# %%
assert (np.ones(1, np.int32) + np.ones(1, np.float32)).dtype == np.float64
assert (jnp.ones(1, jnp.int32) + jnp.ones(1, jnp.float32)).dtype == jnp.float32

# %% [markdown]
# ## Results arrive later
#
# An operation returns as soon as it has started. Reading a value (printing it, `float`,
# `np.asarray`) waits for it. To measure time, wait explicitly; otherwise you measure only
# how fast work is started.

# %%
big = jnp.ones((500, 500))
product = big @ big  # started
product.block_until_ready()  # finished
assert float(product[0, 0]) == 500.0

# %% [markdown]
# ## Randomness without hidden state
#
# `np.random` has a state that every call changes. A function that uses it returns another
# result each time, and cannot be repeated, reordered or run in parallel. In minijax a
# random number is a function of a *key*, and the same key always returns the same number.

# %%
key = jax.random.key(1)
assert jax.random.uniform(key) == jax.random.uniform(key)

# %% [markdown]
# For more random numbers, make more keys. The rule: split a key, and use each part once.

# %%
key, for_weights, for_noise = jax.random.split(key, 3)
weights = jax.random.normal(for_weights, (1000,))
noise = jax.random.normal(for_noise, (1000,))
assert abs(jnp.corrcoef(weights, noise)[0, 1]) < 0.1

# %% [markdown]
# ## All together
#
# Let the heat diffuse until the plate reaches equilibrium. Then each inner point is the
# mean of its neighbours, as the heat equation requires.


# %%
def diffuse(plate):
    around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
    return plate.at[1:-1, 1:-1].set(around / 4)


for _ in range(100):
    plate = diffuse(plate)
assert jnp.allclose(plate, diffuse(plate), atol=1e-3)
print(plate.round().astype(int))

# %% [markdown]
# This took a hundred calls from Python, each of about ten operations. The next tutorial,
# on `jit`, begins here.
