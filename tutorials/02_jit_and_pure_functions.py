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
# # `jit`, and why functions should be pure
#
# `jit` turns a Python function into one compiled program. To find out what the function
# computes, it calls the function once, with placeholders for the arguments. Everything
# surprising about `jit` follows from this, so we look at it first.

# %%
from functools import partial

import minijax as jax
import minijax.numpy as jnp
from minijax import lax

# %% [markdown]
# ## Tracing
#
# The placeholders are called *tracers*. A tracer has a shape and a dtype, but no value.
# It records each operation that is applied to it. The record is a *jaxpr*, and
# `make_jaxpr` shows it.


# %%
def wind_chill(celsius, kmh):
    """Return the apparent temperature in wind (Environment Canada, 2001)."""
    v = kmh**0.16
    return 13.12 + 0.6215 * celsius - 11.37 * v + 0.3965 * celsius * v


print(jax.make_jaxpr(wind_chill)(-5.0, 30.0))

# %% [markdown]
# The jaxpr has one line per operation, with the type of its result. `jit` sees nothing
# else: the names `wind_chill` and `v` are gone, and so is everything else that Python
# did. The compiled program returns the same numbers:

# %%
fast = jax.jit(wind_chill)
assert abs(fast(-5.0, 30.0) - wind_chill(-5.0, 30.0)) < 1e-4

# %% [markdown]
# ## Python runs while tracing, and only then
#
# A side effect such as `print` or `append` happens when the function is traced. A later
# call with arguments of the same types runs the compiled program, not the Python code.

# %%
traced = []


@jax.jit
def double(x):
    traced.append(str(x.dtype) + str(list(x.shape)))
    return 2 * x


double(jnp.ones(3))
double(jnp.zeros(3))  # the same type: nothing is traced
assert traced == ["float32[3]"]

double(jnp.ones(4))  # another shape: another program
double(jnp.ones(4, int))  # another dtype
assert traced == ["float32[3]", "float32[4]", "int32[4]"]

# %% [markdown]
# So a new shape costs a compilation. If your data have many lengths, pad them to a few.
#
# For the same reason a global variable is read during tracing. Changing it later has no
# effect: the program contains the old value. This is the most common surprise.

# %%
rate = 0.1


@jax.jit
def interest(money):
    return money * rate


assert jnp.allclose(interest(100.0), 10.0)
rate = 0.5
assert jnp.allclose(interest(100.0), 10.0)  # still the old rate

# %% [markdown]
# To fix this, pass the value as an argument. A function is *pure* if its result depends
# only on its arguments, and if it does nothing except return the result. For pure
# functions, and only for them, one trace is valid for every call.

# %%
interest = jax.jit(lambda money, rate: money * rate)
assert jnp.allclose(interest(100.0, 0.1), 10.0)
assert jnp.allclose(interest(100.0, 0.5), 50.0)

# %% [markdown]
# A tracer that escapes through a side effect is useless: after the trace it represents no
# value. Using it raises an error that names its origin.

# %%
escaped = []
jax.jit(lambda x: escaped.append(x + 1))(1.0)
try:
    escaped[0] * 2
except jax.errors.UnexpectedTracerError as error:
    print(error)
else:
    raise AssertionError("a leaked tracer was used")


# %% [markdown]
# ## Decisions about values
#
# A tracer has no value, so Python cannot evaluate `if x > 0`.


# %%
@jax.jit
def half_wave(x):
    return x if x > 0 else 0.0


try:
    half_wave(1.0)
except jax.errors.TracerBoolConversionError as error:
    print(error)
else:
    raise AssertionError("a tracer had a value")

# %% [markdown]
# There are three alternatives.
#
# **Compute both, select by element**: `jnp.where`. Use it when both sides are cheap.

# %%
half_wave = jax.jit(lambda x: jnp.where(x > 0, x, 0.0))
assert half_wave(jnp.array([-1.0, 2.0])).tolist() == [0.0, 2.0]

# %% [markdown]
# **Choose at run time**: `lax.cond`. The program contains both branches, and runs one.


# %%
@jax.jit
def root_or_square(x):
    return lax.cond(x > 1, jnp.sqrt, jnp.square, x)


assert root_or_square(9.0) == 3.0
assert root_or_square(0.5) == 0.25


# %% [markdown]
# **Choose while tracing**: declare the argument static. It is then a plain Python value
# and must be hashable. Each new value makes a new program.


# %%
@partial(jax.jit, static_argnames="kind")
def norm(x, kind="euclid"):
    if kind == "euclid":
        return jnp.sqrt((x**2).sum())
    return abs(x).max()


v = jnp.array([3.0, -4.0])
assert norm(v) == 5.0
assert norm(v, kind="largest") == 4.0

# %% [markdown]
# Shapes are part of a program, so they cannot depend on values either. Selecting with a
# mask has a result of unknown length: it works outside `jit`, and raises an error inside.

# %%
readings = jnp.array([1.0, -2.0, 4.0])
assert readings[readings > 0].tolist() == [1.0, 4.0]
try:
    jax.jit(lambda r: r[r > 0])(readings)
except jax.errors.NonConcreteBooleanIndexError:
    pass
else:
    raise AssertionError("an array of unknown length was created")

# %% [markdown]
# Most often the array is reduced afterwards, and the mask can be part of the reduction:

# %%
positive_mean = jax.jit(lambda r: jnp.where(r > 0, r, 0).sum() / (r > 0).sum())
assert positive_mean(readings) == 2.5


# %% [markdown]
# ## Loops
#
# A Python `for` is unrolled during tracing: a hundred iterations record the operations a
# hundred times. `lax` has loops that are one operation, for any number of iterations.
#
# `fori_loop` counts. This one is Newton's method for the cube root:


# %%
def cube_root(a):
    return lax.fori_loop(0, 20, lambda i, x: x - (x**3 - a) / (3 * x**2), a)


assert jnp.allclose(jax.jit(cube_root)(27.0), 3.0)


# %% [markdown]
# `while_loop` runs until a condition fails. How many steps does Collatz' sequence take to
# reach 1?


# %%
@jax.jit
def collatz(n):
    def unfinished(state):
        n, _ = state
        return n != 1

    def round_(state):
        n, rounds = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), rounds + 1

    return lax.while_loop(unfinished, round_, (n, 0))[1]


assert collatz(27) == 111


# %% [markdown]
# `scan` passes a carry along a sequence, and collects a result from each step: a savings
# account, a recurrent network, a simulation. Unlike `while_loop`, it supports
# reverse-mode differentiation.


# %%
@jax.jit
def balances(deposits, rate):
    def year(balance, deposit):
        balance = balance * (1 + rate) + deposit
        return balance, balance

    return lax.scan(year, 0.0, deposits)[1]


assert jnp.allclose(
    balances(jnp.array([100.0, 100.0, 0.0]), 0.1), jnp.array([100.0, 210.0, 231.0])
)

# %% [markdown]
# The carry of a loop must keep its type from step to step, since all steps run one
# program. The error names the value that changed.

# %%
try:
    lax.fori_loop(0, 3, lambda i, x: x / 2, jnp.arange(3))  # integers, halved
except TypeError as error:
    print(error)
else:
    raise AssertionError("the carry changed its type")

# %% [markdown]
# ## Debugging
#
# `with jax.disable_jit():` runs a function as plain Python, value by value, so a debugger
# and `print` work. `jax.debug.print` prints values from inside a compiled program.
# `make_jaxpr` always shows the operations that were recorded.

# %%
seen = []
with jax.disable_jit():
    jax.jit(lambda x: seen.append(float(x)))(3.0)
assert seen == [3.0]
