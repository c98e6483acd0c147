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
# # 3. Jaxprs
#
# **Question.** Which data structure lets a program read, change and check another
# program?
#
# A small one. A *jaxpr* is a list of equations, without control flow between them. Each
# equation applies one primitive to *atoms*, which are variables or literals, and binds
# its results to new variables. Every variable has a type and is bound once.

# %%
import draw

import minijax as jax
import minijax.numpy as jnp
from minijax.ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Literal, Var, eval_jaxpr


def f(x, y):
    s = jnp.sin(x)
    return s * s + 2.0 * y


closed = jax.make_jaxpr(f)(1.0, 3.0)
closed

# %% [markdown]
# This is only the text of a jaxpr. The jaxpr itself is plain data that you can traverse:

# %%
jaxpr = closed.jaxpr
assert isinstance(closed, ClosedJaxpr)
assert isinstance(jaxpr, Jaxpr)
assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["sin", "mul", "mul", "add"]
sine, square, double, total = jaxpr.eqns
assert sine.invars == [jaxpr.invars[0]]
assert square.invars == [*sine.outvars, *sine.outvars]  # the same variable, twice
assert isinstance(double.invars[0], Literal)
assert double.invars[0].val == 2.0
assert jaxpr.outvars == total.outvars

# %% [markdown]
# A variable has no name: it *is* its identity, and printing assigns letters. So two
# jaxprs can be combined without renaming.

# %%
variable = draw.source(Var)
assert 'slots__ = ("aval",)' in variable
variable

# %% [markdown]
# Large constants are stored outside the jaxpr. A `ClosedJaxpr` is a jaxpr together with
# the values of its *constvars*; the jaxpr alone is open.

# %%
weights = jnp.arange(3.0)
with_weights = jax.make_jaxpr(lambda x: x * weights)(1.0)
assert len(with_weights.jaxpr.constvars) == 1
assert with_weights.consts[0] is weights  # not a copy, and not text

# %% [markdown]
# ## Thirty lines to try: run it, and change it
#
# An interpreter of jaxprs is a dictionary and a loop.


# %%
def evaluate(jaxpr, consts, *args):
    value = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))
    read = lambda atom: atom.val if type(atom) is Literal else value[atom]
    for eqn in jaxpr.eqns:
        out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        outs = out if eqn.primitive.multiple_results else [out]
        value.update(zip(eqn.outvars, outs, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


assert evaluate(jaxpr, [], 1.0, 3.0)[0] == f(1.0, 3.0)

# %% [markdown]
# It calls `bind`, so it does what the current trace does: under `grad` it is
# differentiated, under `jit` recorded. Evaluating a jaxpr is a function like any other.

# %%
slope = jax.grad(lambda x: evaluate(jaxpr, [], x, 3.0)[0])
assert jnp.allclose(slope(1.0), jnp.sin(2.0))  # 2 sin x cos x
retraced = jax.make_jaxpr(lambda x, y: evaluate(jaxpr, [], x, y))(1.0, 3.0)
assert str(retraced) == str(closed)

# %% [markdown]
# The library's interpreter does the same. It also deletes values that no later equation
# reads, and it keeps names and source lines.

# %%
library = draw.source(eval_jaxpr)
assert "eqn.primitive.bind(*vals, **eqn.params)" in library
library


# %% [markdown]
# The next function changes a program: it computes equal results once.


# %%
def share(jaxpr):
    """Return the jaxpr without equations that repeat an earlier one."""
    earlier, same, eqns = {}, {}, []
    atom = lambda a: a if type(a) is Literal else same.get(a, a)
    key_of = lambda a: (a.val, a.aval) if type(a) is Literal else a
    for eqn in jaxpr.eqns:
        ins = [atom(a) for a in eqn.invars]
        key = eqn.primitive, tuple(map(key_of, ins)), str(eqn.params)
        if key in earlier and not eqn.effects:
            same.update(zip(eqn.outvars, earlier[key], strict=True))
        else:
            earlier[key] = eqn.outvars
            eqns.append(eqn.replace(invars=ins))
    return jaxpr.replace(eqns=eqns, outvars=[atom(a) for a in jaxpr.outvars])


wasteful = jax.make_jaxpr(lambda x: jnp.sin(x) * jnp.sin(x))(1.0).jaxpr
assert len(wasteful.eqns) == 3
shared = share(wasteful)
assert [eqn.primitive.name for eqn in shared.eqns] == ["sin", "mul"]
assert evaluate(shared, [], 2.0) == evaluate(wasteful, [], 2.0)

# %% [markdown]
# Code that builds jaxprs can be wrong, so the library has a verifier. Is every variable
# bound before it is read, and bound only once? Does each result have the type that the
# primitive's rule returns?

# %%
from minijax.analysis.check import JaxprTypeError, check_jaxpr

check_jaxpr(shared)
broken = jaxpr.replace(eqns=[square, sine, double, total])
try:
    check_jaxpr(broken)
except JaxprTypeError as error:
    message = str(error)
assert "not bound yet" in message
assert "03_jaxprs.py" in message or "ipykernel" in message  # the user's line

# %% [markdown]
# ## The picture: the flow of data
#
# The order of the equations is one of many orders that agree with the arrows.

# %%
picture = draw.graph(jaxpr)
inputs, results = len(jaxpr.invars), len(jaxpr.outvars)
assert len(picture.boxes) == inputs + len(jaxpr.eqns) + results
assert ("sin", "mul") in picture.arrows
assert picture.arrows.count(("sin", "mul")) == 2  # the square reads it twice
picture

# %% [markdown]
# ## Exercises
#
# **1.** Write `census(jaxpr)`: how often each primitive occurs, including the programs in
# the params of equations. (`sub_jaxprs` of `minijax.ir.jaxpr` finds these.)


# %%
def exercise_1(census):
    twice = lambda x: jax.jit(f)(x, jax.jit(jnp.sin)(x))
    program = jax.make_jaxpr(twice)(1.0).jaxpr
    assert census(program) == {"jit": 2, "sin": 2, "mul": 2, "add": 1}


# %% [markdown]
# **2.** Write `prune(jaxpr)`. It removes the equations that no result depends on.
# (Traverse the equations backwards. Keep an equation with `effects`.)


# %%
def exercise_2(prune):
    dead = jax.make_jaxpr(lambda x: [jnp.sin(jnp.cos(x)), jnp.exp(x)][1])(1.0).jaxpr
    live = prune(dead)
    assert [eqn.primitive.name for eqn in live.eqns] == ["exp"]
    assert evaluate(live, [], 0.0) == [1.0]
    assert len(prune(jaxpr).eqns) == 4


# %% [markdown]
# **3.** Build the jaxpr of `lambda x: x * x` on float32 scalars from `Var`, `Equation`
# and `Jaxpr`, without tracing.


# %%
def exercise_3(by_hand):
    check_jaxpr(by_hand)
    assert str(by_hand) == str(jax.make_jaxpr(lambda x: x * x)(jnp.float32(1)).jaxpr)
    assert evaluate(by_hand, [], jnp.float32(3)) == [9.0]


# %% [markdown]
# ## What JAX does differently, and why
#
# JAX prints the same text, and its jaxprs have the same attributes. But JAX stages many
# of its NumPy functions as separate programs: `jnp.where` is an equation `jit[name=_where
# jaxpr=...]` there. That keeps the function's name for profilers and lets equal calls be
# lowered once. In minijax the operations themselves are recorded, so there is less to
# read and less to transform. Long functions are calls in minijax as well.

# %%
where = jax.make_jaxpr(lambda x: jnp.where(x > 0, x, 0.0))(1.0)
assert [eqn.primitive.name for eqn in where.eqns] == ["gt", "select_n"]

# %% [markdown]
# ## Answers
#
# **1.**

# %%
from minijax.ir.jaxpr import sub_jaxprs


def census(jaxpr):
    counts = {}
    for eqn in jaxpr.eqns:
        counts[eqn.primitive.name] = counts.get(eqn.primitive.name, 0) + 1
        for inner in sub_jaxprs(eqn.params):
            for name, n in census(inner).items():
                counts[name] = counts.get(name, 0) + n
    return counts


exercise_1(census)
flat = lambda jaxpr: {"jit": len(jaxpr.eqns)}
assert draw.refuses(exercise_1, flat)

# %% [markdown]
# **2.**


# %%
def prune(jaxpr):
    needed, eqns = set(jaxpr.outvars), []
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or not needed.isdisjoint(eqn.outvars):
            needed.update(a for a in eqn.invars if type(a) is not Literal)
            eqns.insert(0, eqn)
    return jaxpr.replace(eqns=eqns)


exercise_2(prune)
assert draw.refuses(exercise_2, lambda jaxpr: jaxpr)

# %% [markdown]
# **3.**

# %%
from minijax.ir import core

scalar = core.aval_of(jnp.float32(1))
a, b = Var(scalar), Var(scalar)
by_hand = Jaxpr([], [a], [b], [Equation(core.named("mul"), [a, a], [b], {})])
exercise_3(by_hand)
