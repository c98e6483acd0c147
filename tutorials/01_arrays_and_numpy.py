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
# If you know NumPy, you know most of `minijax.numpy`. This tutorial is about the rest:
# what arrays promise here, why, and the few places where the same line does something
# else. Every claim below is followed by an `assert`, so the page cannot lie to you.

# %%
import numpy as np

import minijax as jax
import minijax.numpy as jnp

# %% [markdown]
# ## The familiar part
#
# A plate of metal, cold but for one hot edge. Creating, slicing and arithmetic are
# NumPy's.

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
# NumPy's functions accept our arrays, and ours accept NumPy's. `np.asarray` brings a
# result back to NumPy.

# %%
table = np.linspace(0, 1, 5)
assert isinstance(jnp.sin(table), jax.Array)
assert isinstance(np.asarray(jnp.sin(table)), np.ndarray)
assert np.allclose(jnp.sin(table), np.sin(table), atol=1e-6)

# %% [markdown]
# ## Arrays never change
#
# Assigning to an element raises. An array that cannot change can be shared between
# devices, kept for a derivative, or computed later, without anyone asking who else
# might be writing to it.

# %%
try:
    plate[0, 0] = 0.0
except TypeError as error:
    refusal = str(error)
assert ".at[" in refusal  # the message says what to do instead

# %% [markdown]
# Instead, `.at[...]` describes a changed copy. Under `jit` (next tutorial) the compiler
# sees when the old array is not needed any more and writes in place after all.

# %%
warmer = plate.at[1:-1, 1:-1].add(change)
assert plate[1, 1] == 0.0  # the old one is as it was
assert warmer[1, 1] == 25.0

# %% [markdown]
# One thing is better than in NumPy: where an index occurs twice, `add` adds twice.

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
# An accelerator has nobody to raise to. So reading outside gives the nearest element,
# and writing outside is dropped. `mode="fill"` makes a mistake visible.

# %%
x = jnp.array([10.0, 20.0, 30.0])
far = jnp.array(7)
assert x[far] == 30.0
assert (x.at[far].set(0.0) == x).all()
assert jnp.isnan(x.at[far].get(mode="fill"))

# %% [markdown]
# ## Numbers are 32 bits wide unless you ask
#
# Halving the width doubles the speed of nearly everything, and on accelerators far
# more. So the default float is `float32` and the default integer `int32`, even for what
# comes from NumPy in 64 bits.

# %%
assert jnp.array([1.5]).dtype == jnp.float32
assert jnp.arange(3).dtype == jnp.int32
assert jnp.asarray(np.array([1.5], np.float64)).dtype == jnp.float32

# %% [markdown]
# 64 bits are a switch away: `jax.config.update("jax_enable_x64", True)` at the start of
# a program, or for a few lines:

# %%
with jax.enable_x64(True):
    third = jnp.array(1.0) / 3
assert third.dtype == jnp.float64

# %% [markdown]
# ## Python numbers adapt
#
# A plain Python number has no opinion about width: it is *weakly* typed, and takes the
# dtype of the array that it meets. That is why `x * 2.0` does not turn a `bfloat16`
# model into a `float32` one.

# %%
small = jnp.ones(3, jnp.bfloat16)
assert (small * 2.0).dtype == jnp.bfloat16
assert (small * np.float32(2.0)).dtype == jnp.float32  # this 2 has an opinion
assert (jnp.arange(3) * 2.5).dtype == jnp.float32  # the kind still counts
assert jnp.asarray(1.0).weak_type
assert not jnp.asarray(1.0, dtype=jnp.float32).weak_type

# %% [markdown]
# Two arrays promote as a small lattice says. It never goes through 64 bits by accident:
# where NumPy makes `int32 + float32` a `float64`, here it is `float32`.

# %%
assert (np.ones(1, np.int32) + np.ones(1, np.float32)).dtype == np.float64
assert (jnp.ones(1, jnp.int32) + jnp.ones(1, jnp.float32)).dtype == jnp.float32

# %% [markdown]
# ## Results arrive later
#
# An operation returns as soon as it is on its way. Looking at a value (printing it,
# `float`, `np.asarray`) waits for it. When you measure time, wait yourself, or you
# measure only how fast work is handed out.

# %%
big = jnp.ones((500, 500))
product = big @ big  # on its way
product.block_until_ready()  # there
assert float(product[0, 0]) == 500.0

# %% [markdown]
# ## Randomness without a hidden state
#
# `np.random` keeps a state that every call changes. A function that reads it gives
# another result each time, and cannot be repeated, reordered or run in parallel. Here a
# random number is a function of a *key*, and the same key always gives the same number.

# %%
key = jax.random.key(1)
assert jax.random.uniform(key) == jax.random.uniform(key)

# %% [markdown]
# For more randomness, make more keys. The rule: split a key, use each part once.

# %%
key, for_weights, for_noise = jax.random.split(key, 3)
weights = jax.random.normal(for_weights, (1000,))
noise = jax.random.normal(for_noise, (1000,))
assert abs(jnp.corrcoef(weights, noise)[0, 1]) < 0.1

# %% [markdown]
# ## All together
#
# Let the heat spread until the plate comes to rest. In the end each inner point is the
# mean of its neighbours, which is what the equation of heat says about rest.


# %%
def spread(plate):
    around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
    return plate.at[1:-1, 1:-1].set(around / 4)


for _ in range(100):
    plate = spread(plate)
assert jnp.allclose(plate, spread(plate), atol=1e-3)
print(plate.round().astype(int))

# %% [markdown]
# A hundred calls from Python, each of a dozen operations: this is where the next
# tutorial, on `jit`, begins.
