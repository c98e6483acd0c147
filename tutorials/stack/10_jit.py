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
# # 10. jit: caches and dispatch
#
# **Question.** The first call of a jitted function runs hundreds of Python functions and
# a compiler. The second call runs none of them. Which caches make that possible, and when
# does a call miss them?
#
# There are four caches, one after the other. A cache is used only if those before it
# miss.

# %%
import sys

import draw
import numpy as np

import minijax as jax
import minijax.numpy as jnp
from minijax.control.calls.jitted import Jitted
from minijax.ir import core
from minijax.runtime.running import compile as compiler
from minijax.runtime.running import device_assignment, dispatch, program
from minijax.runtime.running.program import Options, Request
from minijax.runtime.sharding.placement import default_placement

# %% [markdown]
# ## Thirty lines to try: a jit of your own
#
# A dictionary from the types of the arguments to programs.


# %%
def my_jit(f):
    programs = {}

    def call(*args):
        if core.STATE.trace is not core.EVAL:
            return f(*args)  # inside another transformation: call f itself
        key = tuple(map(core.aval_of, args))
        buffers, placement = device_assignment.place_values(args, "call")
        if key not in programs:
            closed = jax.make_jaxpr(f)(*args)
            request = Request(closed, placement, (), Options("call"))
            programs[key] = dispatch.compile_request(request)
        (out,) = programs[key](buffers)
        return out

    call.programs = programs
    return call


def wave(x):
    return jnp.sin(x) * x + 1.0


x = jnp.arange(4.0)
jitted = my_jit(wave)
assert jnp.allclose(jitted(x), wave(x))
jitted(2 * x)
assert len(jitted.programs) == 1  # the same types, other numbers
jitted(x[:2])
assert len(jitted.programs) == 2
assert jnp.allclose(jax.vmap(jitted)(jnp.stack([x, x])), jnp.stack([wave(x)] * 2))

# %% [markdown]
# The two steps between are the same for every program of the library, whether `jit`, one
# eager operation, `pmap` or `device_put` requests it. A *request* is a jaxpr, a placement
# (devices, and the sharding of each operand and result), the donated operands, and
# options. `lower` makes a module of it, and `compile_lowered` a `Program`, which is called
# with arrays.

# %%
request = Request(jax.make_jaxpr(wave)(x), default_placement(), (), Options("wave"))
lowered = program.lower(request)
assert "stablehlo.sine" in str(lowered.module.module)
(y,) = program.compile_lowered(lowered, consts=())([x])
assert jnp.allclose(y, wave(x))

# %% [markdown]
# ## What the library adds
#
# *First cache: C++.* A call of a jitted function goes to C++ code of jaxlib. It compares
# the types of the arguments with those of earlier calls and, on a match, starts the
# program. No Python code runs. We count the Python calls:


# %%
def python_calls(f, *args):
    """Count the Python functions that are called while f(*args) runs."""
    count = [0]

    def note(frame, event, arg):
        count[0] += event == "call"

    sys.setprofile(note)
    try:
        f(*args)
    finally:
        sys.setprofile(None)
    return count[0]


fast = jax.jit(wave)
first, second = python_calls(fast, x), python_calls(fast, x)
assert first > 100
assert second == 0

# %% [markdown]
# *Second cache: traces*. The key is the types of the arguments, their tree structure,
# static values, and the options that change programs. It is used when the C++ cache
# misses, and also inside other transformations.

# %%
shown = draw.source(Jitted.trace_avals)
assert "self.traces.get(key)" in shown
shown

# %% [markdown]
# The *type* is dtype, shape and weak type; the numbers do not matter. A Python number is
# weakly typed (the first tutorial explains why), so its type differs from that of an
# array of one number.

# %%
traced = []
noted = jax.jit(lambda x: [traced.append(core.aval_of(x)), x * 2][1])
for value in (1.0, 2.0, jnp.float32(1), np.float32(3), np.ones(3), jnp.ones(3)):
    noted(value)
assert [str(aval) for aval in traced] == ["~float32[]", "float32[]", "float32[3]"]
assert len(noted.signatures()) == 3
assert "now float32[5]" in noted.explain(jnp.ones(5))

# %% [markdown]
# *Third cache: programs*, by jaxpr and placement. *Fourth cache: the disk*, by the bytes
# of the StableHLO, the compiler's options and the machine. A function that yesterday's
# process compiled is loaded today, not compiled. This also works within one process: two
# functions with equal programs are compiled once.

# %%
key = draw.source(compiler.cache_key)
assert "bytecode" in key


def compiles(run):
    """Count the programs that are compiled or loaded while `run()` runs."""
    before = compiler.statistics.compiled + compiler.statistics.loaded
    run()
    return compiler.statistics.compiled + compiler.statistics.loaded - before


number = jnp.float32(3)
assert compiles(lambda: jax.jit(lambda x: x * 3.25 - 7.5)(number)) == 1
assert compiles(lambda: jax.jit(lambda y: y * 3.25 - 7.5)(number)) == 0
key

# %% [markdown]
# ## The picture: what each call costs in Python
#
# The cost is counted in calls of Python functions. This count does not depend on how busy
# the machine is.

# %%
fresh = jax.jit(lambda x: jnp.cos(x) * x)
longer = jnp.arange(5.0)
costs = {
    "first call": python_calls(fresh, x),
    "second call": python_calls(fresh, x),
    "another shape": python_calls(fresh, longer),
    "that shape again": python_calls(fresh, longer),
    "the same formula again": python_calls(jax.jit(lambda y: jnp.cos(y) * y), x),
}
assert costs["second call"] == costs["that shape again"] == 0
assert costs["another shape"] > 0
assert costs["the same formula again"] > 0  # another function: traced, not compiled
draw.bars(costs)

# %% [markdown]
# There is a cache without `jit` as well: each operation is a small program, found in a
# dictionary by primitive, params and types. Eager evaluation is no more than this.

# %%
shown = draw.source(dispatch.run)
assert "_programs.get(key)" in shown
shown

# %% [markdown]
# ## Exercises
#
# **1.** Which of these calls trace `f` again? Give a list of ten Booleans for calls with
# `1`, `2`, `1.0`, `True`, `jnp.int32(1)`, `jnp.ones(2)`, `2 * jnp.ones(2)`, `jnp.ones((2,
# 1))`, `jnp.ones(2, int)`, `[1, 1]`.


# %%
def exercise_1(retraced):
    ones, seen, expected = jnp.ones(2), [], []
    f = jax.jit(lambda x: seen.append(1))
    several = (ones, 2 * ones, jnp.ones((2, 1)), jnp.ones(2, int), [1, 1])
    for value in (1, 2, 1.0, True, jnp.int32(1), *several):
        before = len(seen)
        f(value)
        expected.append(len(seen) > before)
    assert retraced == expected


# %% [markdown]
# **2.** Sentences have many lengths. Write `total(xs)`, the sum of a NumPy array of up to
# 8 numbers. Use the jitted function that you receive, so that it is traced once for all
# lengths.


# %%
def exercise_2(make_total):
    shapes = []
    total = make_total(jax.jit(lambda padded: [shapes.append(1), padded.sum()][1]))
    for n in range(1, 9):
        assert total(np.ones(n, np.float32)) == n
    assert len(shapes) == 1


# %% [markdown]
# **3.** A jitted function that reads a global uses the value that the global had during
# tracing. Fix `scaled` so that it uses the current value, without tracing again.

# %%
settings = {"factor": 2.0}
stale = jax.jit(lambda x: x * settings["factor"])


def exercise_3(scaled):
    settings["factor"] = 2.0
    results = [float(scaled(3.0))]
    settings["factor"] = 5.0
    results.append(float(scaled(3.0)))
    assert results == [6.0, 15.0]
    assert python_calls(scaled, 3.0) < 10  # and nothing is traced


# %% [markdown]
# ## What JAX does differently, and why
#
# JAX has the same C++ cache and the same notion of a signature. Its disk cache must be
# enabled (`jax_compilation_cache_dir`), and by default it does not store programs that
# compiled in less than a second. In minijax it is enabled and stores all programs, since
# loading one takes a millisecond. JAX explains retracing in a log
# (`jax_explain_cache_misses`). In minijax a function has methods for it as well:
# `explain`, `signatures`. In JAX functions that compare equal share their traces, and the
# example below returns 9 twice. In minijax each function has its own traces.


# %%
class Power:
    def __init__(self, n):
        self.n = n

    def __call__(self, x):
        return x**self.n

    def __eq__(self, other):
        return isinstance(other, Power)  # wrong: it ignores the exponent

    def __hash__(self):
        return 0


square, cube = jax.jit(Power(2)), jax.jit(Power(3))
assert [float(square(3.0)), float(cube(3.0))] == [9.0, 27.0]

# %% [markdown]
# ## Answers
#
# **1.** A number is identified by its type; a list has another tree structure than an
# array.

# %%
exercise_1([True, False, True, True, True, True, False, True, True, True])
assert draw.refuses(exercise_1, [True] * 10)

# %% [markdown]
# **2.** Pad to one length with zeros, which do not change the sum.


# %%
def make_total(jitted):
    def total(xs):
        padded = np.zeros(8, xs.dtype)
        padded[: len(xs)] = xs
        return jitted(padded)

    return total


exercise_2(make_total)
assert draw.refuses(exercise_2, lambda jitted: jitted)

# %% [markdown]
# **3.** Make the changing value an argument.

# %%
inner = jax.jit(lambda x, factor: x * factor)
scaled = lambda x: inner(x, settings["factor"])
exercise_3(scaled)
assert draw.refuses(exercise_3, stale)
