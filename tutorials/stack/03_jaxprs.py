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
# **Question.** What must a program be made of, so that a program can read it, change it
# and check it?
#
# Of few things. A *jaxpr* is a list of equations without any control flow between them.
# Each applies one primitive to *atoms*, which are variables or numbers, and binds its
# results to new variables. Every variable has a type and is bound once.

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
# What you see is only text. The thing itself is plain data, which you can walk over:

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
# A variable has no name: it *is* its identity, and letters are made up when somebody
# prints. So two programs can be put together without any renaming.

# %%
variable = draw.source(Var)
assert 'slots__ = ("aval",)' in variable
variable

# %% [markdown]
# Large constants stay outside. A `ClosedJaxpr` is a jaxpr with the values of its
# *constvars*; the jaxpr alone is open.

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
# It says `bind`, so it does whatever the current trace does: under `grad` it is
# differentiated, under `jit` recorded. Running a jaxpr is a function like any other.

# %%
slope = jax.grad(lambda x: evaluate(jaxpr, [], x, 3.0)[0])
assert jnp.allclose(slope(1.0), jnp.sin(2.0))  # 2 sin x cos x
again = jax.make_jaxpr(lambda x, y: evaluate(jaxpr, [], x, y))(1.0, 3.0)
assert str(again) == str(closed)

# %% [markdown]
# The library's own does the same; it also forgets values that nobody reads any more, and
# keeps names and places in the source.

# %%
library = draw.source(eval_jaxpr)
assert "eqn.primitive.bind(*vals, **eqn.params)" in library
library


# %% [markdown]
# A program that changes programs: compute equal things once.


# %%
def share(jaxpr):
    """The jaxpr without equations that repeat an earlier one."""
    known, same, eqns = {}, {}, []
    atom = lambda a: a if type(a) is Literal else same.get(a, a)
    word = lambda a: (a.val, a.aval) if type(a) is Literal else a
    for eqn in jaxpr.eqns:
        ins = [atom(a) for a in eqn.invars]
        key = eqn.primitive, tuple(map(word, ins)), str(eqn.params)
        if key in known and not eqn.effects:
            same.update(zip(eqn.outvars, known[key], strict=True))
        else:
            known[key] = eqn.outvars
            eqns.append(eqn.replace(invars=ins))
    return jaxpr.replace(eqns=eqns, outvars=[atom(a) for a in jaxpr.outvars])


wasteful = jax.make_jaxpr(lambda x: jnp.sin(x) * jnp.sin(x))(1.0).jaxpr
assert len(wasteful.eqns) == 3
shared = share(wasteful)
assert [eqn.primitive.name for eqn in shared.eqns] == ["sin", "mul"]
assert evaluate(shared, [], 2.0) == evaluate(wasteful, [], 2.0)

# %% [markdown]
# Whoever makes jaxprs makes mistakes. The verifier finds them: is everything bound before
# it is read, and bound once? Has each result the type that its primitive's rule gives?

# %%
from minijax.ir.check import JaxprTypeError, check_jaxpr

check_jaxpr(shared)
broken = jaxpr.replace(eqns=[square, sine, double, total])
try:
    check_jaxpr(broken)
except JaxprTypeError as error:
    complaint = str(error)
assert "not bound yet" in complaint
assert "03_jaxprs.py" in complaint or "ipykernel" in complaint  # the user's line

# %% [markdown]
# ## The picture: the flow of data
#
# The order of the equations is one of many that respect the arrows.

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
# **1.** Write `census(jaxpr)`: how often each primitive occurs, also in the programs that
# equations hold among their params. (`sub_jaxprs` of `minijax.ir.jaxpr` finds these.)


# %%
def exercise_1(census):
    twice = lambda x: jax.jit(f)(x, jax.jit(jnp.sin)(x))
    program = jax.make_jaxpr(twice)(1.0).jaxpr
    assert census(program) == {"jit": 2, "sin": 2, "mul": 2, "add": 1}


# %% [markdown]
# **2.** Write `prune(jaxpr)`: without the equations on which no result depends. (Go
# backwards. An equation with `effects` stays.)


# %%
def exercise_2(prune):
    dead = jax.make_jaxpr(lambda x: [jnp.sin(jnp.cos(x)), jnp.exp(x)][1])(1.0).jaxpr
    live = prune(dead)
    assert [eqn.primitive.name for eqn in live.eqns] == ["exp"]
    assert evaluate(live, [], 0.0) == [1.0]
    assert len(prune(jaxpr).eqns) == 4


# %% [markdown]
# **3.** Write by hand, without tracing, the jaxpr of `lambda x: x * x` on float32
# scalars, from `Var`, `Equation` and `Jaxpr`.


# %%
def exercise_3(by_hand):
    check_jaxpr(by_hand)
    assert str(by_hand) == str(jax.make_jaxpr(lambda x: x * x)(jnp.float32(1)).jaxpr)
    assert evaluate(by_hand, [], jnp.float32(3)) == [9.0]


# %% [markdown]
# ## What JAX does otherwise, and why
#
# The text above is the same in JAX, and a program can find the same attributes there. But
# JAX stages many of its NumPy functions as programs of their own: `jnp.where` is an
# equation `jit[name=_where jaxpr=...]` there, which keeps the name of the function for
# profilers and lets equal calls be lowered once. Here it is the operations themselves:
# there is less to read and less to transform. Where a function would be long, it is a
# call here as well.

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
    wanted, eqns = set(jaxpr.outvars), []
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or not wanted.isdisjoint(eqn.outvars):
            wanted.update(a for a in eqn.invars if type(a) is not Literal)
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
