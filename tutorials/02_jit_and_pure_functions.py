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
# `jit` turns a Python function into one compiled program. To do so it has to find out
# what the function computes, and it finds out in the simplest way: it calls it, once,
# with stand-ins for the arguments. All that is surprising about `jit` follows from this
# one idea, so we look at it first.

# %%
from functools import partial

import minijax as jax
import minijax.numpy as jnp
from minijax import lax

# %% [markdown]
# ## Tracing
#
# The stand-ins are called *tracers*. A tracer knows its shape and dtype, but no value;
# asked to do arithmetic, it writes down what was asked. The notes are a *jaxpr*, and
# `make_jaxpr` shows them.


# %%
def wind_chill(celsius, kmh):
    """What the temperature feels like in the wind (Environment Canada, 2001)."""
    v = kmh**0.16
    return 13.12 + 0.6215 * celsius - 11.37 * v + 0.3965 * celsius * v


print(jax.make_jaxpr(wind_chill)(-5.0, 30.0))

# %% [markdown]
# One line an operation, each with the type of its result. This is all that `jit` sees:
# the names `wind_chill` and `v` are gone, and so is everything else that Python did on
# the way. The program made from it gives the same numbers:

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
# So a new shape costs a compilation. If your data come in many lengths, pad them to a
# few.
#
# For the same reason a global variable is read while tracing. Changing it later changes
# nothing: the program has the old value inside. This is the most common surprise.

# %%
rate = 0.1


@jax.jit
def interest(money):
    return money * rate


assert jnp.allclose(interest(100.0), 10.0)
rate = 0.5
assert jnp.allclose(interest(100.0), 10.0)  # still the old rate

# %% [markdown]
# The cure is to say what a function depends on: pass it in. A function whose result
# depends on its arguments alone, and which does nothing but return it, is called
# *pure*. For pure functions, and only for them, tracing once stands for every call.

# %%
interest = jax.jit(lambda money, rate: money * rate)
assert jnp.allclose(interest(100.0, 0.1), 10.0)
assert jnp.allclose(interest(100.0, 0.5), 50.0)

# %% [markdown]
# A tracer that escapes through a side effect is of no use to anyone: when the trace is
# over, it stands for nothing. Using it raises, and the message says where it came from.

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
# A tracer has no value, so Python cannot ask `if x > 0`.


# %%
@jax.jit
def half_wave(x):
    return x if x > 0 else 0.0


try:
    half_wave(1.0)
except jax.errors.TracerBoolConversionError as error:
    print(error)
else:
    raise AssertionError("a tracer has told its value")

# %% [markdown]
# There are three ways on, and it is worth choosing well.
#
# **Compute both, pick by element**: `jnp.where`. Right for cheap alternatives.

# %%
half_wave = jax.jit(lambda x: jnp.where(x > 0, x, 0.0))
assert half_wave(jnp.array([-1.0, 2.0])).tolist() == [0.0, 2.0]

# %% [markdown]
# **Choose while running**: `lax.cond`. The program holds both branches, and runs one.


# %%
@jax.jit
def root_or_square(x):
    return lax.cond(x > 1, jnp.sqrt, jnp.square, x)


assert root_or_square(9.0) == 3.0
assert root_or_square(0.5) == 0.25


# %% [markdown]
# **Choose while tracing**: declare the argument static. It is then a plain Python
# value, must be hashable, and each new value makes a new program.


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
# mask has a result of unknown length: it works outside of `jit` and raises inside.

# %%
readings = jnp.array([1.0, -2.0, 4.0])
assert readings[readings > 0].tolist() == [1.0, 4.0]
try:
    jax.jit(lambda r: r[r > 0])(readings)
except jax.errors.NonConcreteBooleanIndexError:
    pass
else:
    raise AssertionError("an array without a length was made")

# %% [markdown]
# Most often the array was to be reduced anyway, and the mask can come along:

# %%
positive_mean = jax.jit(lambda r: jnp.where(r > 0, r, 0).sum() / (r > 0).sum())
assert positive_mean(readings) == 2.5


# %% [markdown]
# ## Loops
#
# A Python `for` is unrolled while tracing: a hundred rounds are a hundred times the
# operations. `lax` has loops that are one operation, whatever the number of rounds.
#
# `fori_loop` counts. Here is Newton's way to a cube root:


# %%
def cube_root(a):
    return lax.fori_loop(0, 20, lambda i, x: x - (x**3 - a) / (3 * x**2), a)


assert jnp.allclose(jax.jit(cube_root)(27.0), 3.0)


# %% [markdown]
# `while_loop` goes on as long as it must. How many rounds to Collatz' one?


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
# `scan` carries something along a sequence and collects what each step puts out: a
# savings account, a recurrent network, a simulation. And unlike `while_loop`, it can be
# differentiated backwards.


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
# What a loop carries must keep its type from round to round, since there is one program
# for all of them. The error names the part that changed.

# %%
try:
    lax.fori_loop(0, 3, lambda i, x: x / 2, jnp.arange(3))  # integers, halved
except TypeError as error:
    print(error)
else:
    raise AssertionError("the carry changed its type")

# %% [markdown]
# ## When you are lost
#
# `with jax.disable_jit():` runs a function as plain Python, value by value, so that a
# debugger and `print` work. `jax.debug.print` prints values from inside a compiled
# program. And `make_jaxpr` always shows what was really asked.

# %%
seen = []
with jax.disable_jit():
    jax.jit(lambda x: seen.append(float(x)))(3.0)
assert seen == [3.0]
