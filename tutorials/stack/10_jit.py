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
# **Question.** The first call of a jitted function runs hundreds of Python functions and a
# compiler, the second one none of them. Who remembers what, and what makes it forget?
#
# There are four memories, one behind the other. Each is asked only if those before it do
# not know.

# %%
import sys

import draw
import numpy as np

import minijax as jax
import minijax.numpy as jnp
from minijax.control.calls.jitted import Jitted
from minijax.ir import core
from minijax.runtime.running import compile as compiler
from minijax.runtime.running import dispatch
from minijax.runtime.sharding import device_assignment

# %% [markdown]
# ## Thirty lines to try: a jit of your own
#
# A dictionary from the types of the arguments to programs.


# %%
def my_jit(f):
    programs = {}

    def call(*args):
        if core.STATE.trace is not core.EVAL:
            return f(*args)  # inside another transformation: as if it were not there
        key = tuple(map(core.aval_of, args))
        buffers, where, committed = device_assignment.place_values(args, "mine")
        if key not in programs:
            closed = jax.make_jaxpr(f)(*args)
            programs[key] = dispatch.compile_jaxpr(closed, "mine", where, committed)
        (out,) = programs[key](buffers)
        return out

    call.programs = programs
    return call


def wave(x):
    return jnp.sin(x) * x + 1.0


x = jnp.arange(4.0)
mine = my_jit(wave)
assert jnp.allclose(mine(x), wave(x))
mine(2 * x)
assert len(mine.programs) == 1  # the same types, other numbers
mine(x[:2])
assert len(mine.programs) == 2
assert jnp.allclose(jax.vmap(mine)(jnp.stack([x, x])), jnp.stack([wave(x)] * 2))

# %% [markdown]
# ## What the library adds
#
# *First memory: C++.* A call of a jitted function goes to C++ code of jaxlib, which looks
# at the types of the arguments and, if it knows them, starts the program. No line of
# Python runs. We count them:


# %%
def python_calls(f, *args):
    """How many Python functions are called while f(*args) runs."""
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
# *Second memory: traces*, by the types of the arguments, their tree, static values, and
# the options that change programs. It is asked when C++ does not know the call, and also
# inside of other transformations.

# %%
shown = draw.source(Jitted.trace_avals)
assert "known = self.traces.get(key)" in shown
shown

# %% [markdown]
# The *type* is dtype, shape and weak type; numbers do not count. A Python number is
# weakly typed (the first tutorial says why), so it is another type than an array of one.

# %%
traced = []
noted = jax.jit(lambda x: [traced.append(core.aval_of(x)), x * 2][1])
for value in (1.0, 2.0, jnp.float32(1), np.float32(3), np.ones(3), jnp.ones(3)):
    noted(value)
assert [str(aval) for aval in traced] == ["~float32[]", "float32[]", "float32[3]"]
assert len(noted.signatures()) == 3
assert "now float32[5]" in noted.explain(jnp.ones(5))

# %% [markdown]
# *Third memory: programs*, by jaxpr and place. *Fourth: the disk*, by the bytes of the
# StableHLO, the compiler's options and the machine. A function that was compiled in
# yesterday's process is not compiled today, it is loaded. In one process, too: two
# functions that say the same are compiled once.

# %%
key = draw.source(compiler.cache_key)
assert "bytecode" in key


def compiles(run):
    """How many programs are compiled or loaded while `run()` runs."""
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
# Cost is counted in calls of Python functions. They do not depend on how busy the machine
# is.

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
# Without `jit` there is a memory, too: each operation is a small program, found in a
# dictionary by primitive, params and types. That is the whole of eager evaluation.

# %%
shown = draw.source(dispatch.run)
assert "program = _programs.get(key)" in shown
shown

# %% [markdown]
# ## Exercises
#
# **1.** Which of these calls trace `f` anew? Give a list of ten Booleans for calls with
# `1`, `2`, `1.0`, `True`, `jnp.int32(1)`, `jnp.ones(2)`, `2 * jnp.ones(2)`,
# `jnp.ones((2, 1))`, `jnp.ones(2, int)`, `[1, 1]`.


# %%
def exercise_1(anew):
    ones, seen, found = jnp.ones(2), [], []
    f = jax.jit(lambda x: seen.append(1))
    several = (ones, 2 * ones, jnp.ones((2, 1)), jnp.ones(2, int), [1, 1])
    for value in (1, 2, 1.0, True, jnp.int32(1), *several):
        before = len(seen)
        f(value)
        found.append(len(seen) > before)
    assert anew == found


# %% [markdown]
# **2.** Sentences have many lengths. Write `total(xs)`, the sum of a NumPy array of up
# to 8 numbers by a jitted function that is given to you, so that it is traced once for
# all lengths.


# %%
def exercise_2(make_total):
    shapes = []
    total = make_total(jax.jit(lambda padded: [shapes.append(1), padded.sum()][1]))
    for n in range(1, 9):
        assert total(np.ones(n, np.float32)) == n
    assert len(shapes) == 1


# %% [markdown]
# **3.** A jitted function that reads a global sees what it was while tracing. Mend
# `scaled` so that it follows, without tracing anew.

# %%
settings = {"factor": 2.0}
stale = jax.jit(lambda x: x * settings["factor"])


def exercise_3(scaled):
    settings["factor"] = 2.0
    found = [float(scaled(3.0))]
    settings["factor"] = 5.0
    found.append(float(scaled(3.0)))
    assert found == [6.0, 15.0]
    assert python_calls(scaled, 3.0) < 10  # and nothing is traced


# %% [markdown]
# ## What JAX does otherwise, and why
#
# JAX has the same C++ path and the same notion of a signature. Its disk cache has to be
# switched on (`jax_compilation_cache_dir`), and by default does not keep programs that
# compiled in less than a second; here it is on and keeps all, since loading takes a
# millisecond. Why something was traced is told in JAX by a log
# (`jax_explain_cache_misses`); here a function answers, too: `explain`, `signatures`. And
# functions that compare equal share their traces in JAX, where the example below gives 9
# twice; here each function has its own.


# %%
class Power:
    def __init__(self, n):
        self.n = n

    def __call__(self, x):
        return x**self.n

    def __eq__(self, other):
        return isinstance(other, Power)  # sloppy: the exponent is forgotten

    def __hash__(self):
        return 0


square, cube = jax.jit(Power(2)), jax.jit(Power(3))
assert [float(square(3.0)), float(cube(3.0))] == [9.0, 27.0]

# %% [markdown]
# ## Answers
#
# **1.** A number is known by its type; a list is another tree than an array.

# %%
exercise_1([True, False, True, True, True, True, False, True, True, True])
assert draw.refuses(exercise_1, [True] * 10)

# %% [markdown]
# **2.** Pad to one length with what does not count.


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
# **3.** What may change is an argument.

# %%
inner = jax.jit(lambda x, factor: x * factor)
scaled = lambda x: inner(x, settings["factor"])
exercise_3(scaled)
assert draw.refuses(exercise_3, stale)
