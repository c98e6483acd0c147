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
# # 4. Staging
#
# **Question.** Your function has loops, closures and helper functions. A jaxpr has none
# of these. How does a function become a jaxpr, and what is lost?
#
# The function runs once, on values that have a type but no number. A trace that computes
# nothing records the operations that it receives.

# %%
import draw

import minijax as jax
import minijax.numpy as jnp
from minijax import lax
from minijax.ir import core
from minijax.ir.jaxpr import Equation, Jaxpr, Literal, Var
from minijax.passes.stage import JitTracer, StageTrace, stage

# %% [markdown]
# ## Thirty lines to try: a recorder of your own
#
# A tracer that represents a variable, and a trace that appends an equation for each
# operation. The primitive's first rule, `abstract`, returns the type of the result.


# %%
class Box(core.Tracer):
    __slots__ = ("variable",)


class Recorder(core.Trace):
    __slots__ = ("eqns",)
    transform = "record"

    def box(self, variable):
        box = Box(self, variable.aval)
        box.variable = variable
        return box

    def atom(self, x):
        return x.variable if type(x) is Box else Literal(x)

    def process(self, prim, args, params):
        ins = [self.atom(x) for x in args]
        out = Var(prim.abstract(*[a.aval for a in ins], **params))
        self.eqns.append(Equation(prim, ins, [out], params))
        return self.box(out)


def record(f, *avals):
    """Return the jaxpr of a function with one result."""
    trace = Recorder(core.STATE.trace)
    trace.eqns, ins = [], [Var(aval) for aval in avals]
    out = core.under(trace, f, *map(trace.box, ins))
    return Jaxpr([], ins, [trace.atom(out)], trace.eqns)


def f(x, y):
    total = y
    for k in range(3):
        total = total + lax.sin(x * float(k))
    return total


number = core.aval_of(jnp.float32(1))
recorded = record(f, number, number)
assert str(recorded) == str(jax.make_jaxpr(f)(jnp.float32(1), jnp.float32(1)).jaxpr)
recorded

# %% [markdown]
# The text is the same as the library's. The library's trace works in the same way, and
# also handles several results, constant arrays, references, and source lines.

# %%
library = draw.source(StageTrace.process, StageTrace.record)
assert "self.eqns.append(Equation(prim, atoms" in library
library

# %% [markdown]
# ## What is lost
#
# No Python is left: the loop has run, and each operation in it was recorded three times.

# %%
names = [eqn.primitive.name for eqn in recorded.eqns]
assert names == ["mul", "sin", "add"] * 3

# %% [markdown]
# If the function prints, or appends to a list, that happens once, while it is traced.

# %%
traced = []
noisy = jax.jit(lambda x: [traced.append(1), 2.0 * x][1])
assert [noisy(1.0), noisy(2.0), noisy(3.0)] == [2.0, 4.0, 6.0]
assert traced == [1]

# %% [markdown]
# Tracing can't answer a question about a *number*. It can answer one about a type.

# %%
assert jax.make_jaxpr(lambda x: x if x.ndim == 0 else x.sum())(1.0).eqns == []
try:
    jax.make_jaxpr(lambda x: x if x > 0 else -x)(1.0)
except jax.errors.TracerBoolConversionError as error:
    message = str(error)
assert "lax.cond" in message  # chapter 11

# %% [markdown]
# Values from outside are detected when an operation uses them. `atom` turns scalars into
# literals and arrays into *constants*, one for each array, however often it is used.

# %%
atom = draw.source(StageTrace.atom)
assert "self.constvars" in atom
weights = jnp.arange(3.0)
jaxpr, consts = stage(lambda x: [x * weights + weights], [number])
assert len(consts) == 1
assert consts[0] is weights

# %% [markdown]
# ## The picture: which line made which equation
#
# Each equation keeps the source line that made it. So we can print the source of a
# function, as it is on this page, next to its equations.

# %%
import inspect


def beside(f, *args):
    text, _ = inspect.getsourcelines(f)
    first = f.__code__.co_firstlineno
    jaxpr = jax.make_jaxpr(f)(*args).jaxpr
    made = {}
    for eqn, line in zip(jaxpr.eqns, draw.lines(jaxpr), strict=True):
        made.setdefault(eqn.source.position()[0] - first, []).append(line)
    rows = []
    for i, line in enumerate(text):
        for equation in made.get(i, [""]):
            rows.append((line.rstrip(), equation))
            line = ""
    return draw.table(("Python", "equations"), *rows), made


picture, made = beside(f, 1.0, 1.0)
assert sorted(made) == [3]  # counted from `def`: the body of the loop
assert len(made[3]) == 9
picture

# %% [markdown]
# ## Exercises
#
# **1.** Write a function that can be staged and returns the same as `lambda x: x if x > 0
# else 0.1 * x`.


# %%
def exercise_1(leaky):
    staged = jax.jit(leaky)
    assert [float(staged(x)) for x in (2.0, -2.0)] == [2.0, float(jnp.float32(-0.2))]
    assert jnp.allclose(jax.grad(leaky)(-1.0), 0.1)


# %% [markdown]
# **2.** Write `captured(f, *args)`: the shapes of the arrays that `f` uses and that are
# not its arguments.


# %%
def exercise_2(captured):
    table = jnp.ones((2, 3))
    layer = lambda x: jnp.tanh(table @ (x * weights)) + table[0, 0] * table.sum()
    assert sorted(captured(layer, jnp.ones(3))) == [(2, 3), (3,)]
    assert captured(jnp.sin, 1.0) == []


# %% [markdown]
# **3.** Evaluating a jaxpr while a `StageTrace` is current copies it. Use that to write
# `inline(jaxpr, *avals)`: the same program without a `jit` equation. (Write an
# interpreter as in chapter 3. At a `jit` equation it evaluates the program in
# `eqn.params["jaxpr"]`.)


# %%
def exercise_3(inline):
    inner = jax.jit(lambda x: jnp.sin(x) * 2.0)
    nested = jax.make_jaxpr(lambda x: jax.jit(lambda y: inner(y) + inner(y))(x))(1.0)
    assert [eqn.primitive.name for eqn in nested.eqns] == ["jit"]
    flat = inline(nested, core.aval_of(1.0))
    assert [e.primitive.name for e in flat.eqns] == ["sin", "mul", "sin", "mul", "add"]


# %% [markdown]
# ## What JAX does differently, and why
#
# Equations, types and error classes are JAX's. One thing differs: an array of one number
# that a function closes over. In JAX it is a constant like any other array, and is not
# read while tracing. In minijax it becomes a literal, so the compiler sees the number.
# That costs one read from the device for each trace.

# %%
two = jnp.float32(2.0)
closed = jax.make_jaxpr(lambda x: x * two)(jnp.float32(1.0))
assert closed.consts == []
assert "mul a 2.0" in str(closed)

# %% [markdown]
# ## Answers
#
# **1.** Compute both sides, and select the numbers.

# %%
leaky = lambda x: jnp.where(x > 0, x, 0.1 * x)
exercise_1(leaky)
assert draw.refuses(exercise_1, lambda x: jnp.where(x > 0, x, 0.2 * x))

# %% [markdown]
# **2.**


# %%
def captured(f, *args):
    return [const.shape for const in jax.make_jaxpr(f)(*args).consts]


exercise_2(captured)
assert draw.refuses(exercise_2, lambda f, *args: [x.shape for x in args])

# %% [markdown]
# **3.**


# %%
def run(closed, args):
    jaxpr = closed.jaxpr
    variables = [*jaxpr.constvars, *jaxpr.invars]
    value = dict(zip(variables, [*closed.consts, *args], strict=True))
    read = lambda a: a.val if type(a) is Literal else value[a]
    for eqn in jaxpr.eqns:
        ins = [read(a) for a in eqn.invars]
        if eqn.primitive.name == "jit":
            outs = run(eqn.params["jaxpr"], ins)
        else:
            out = eqn.primitive.bind(*ins, **eqn.params)
            outs = out if eqn.primitive.multiple_results else [out]
        value.update(zip(eqn.outvars, outs, strict=True))
    return [read(a) for a in jaxpr.outvars]


def inline(closed, *avals):
    jaxpr, _ = stage(lambda *args: run(closed, args), avals)
    return jaxpr


exercise_3(inline)
assert draw.refuses(exercise_3, lambda closed, *avals: closed.jaxpr)
assert JitTracer.__mro__[1] is core.Tracer  # as our Box
