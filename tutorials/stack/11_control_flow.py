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
# # 11. Control flow: primitives that hold programs
#
# **Question.** Chapter 4 unrolled every loop. How can a loop of a million steps be *one*
# equation, and still be differentiated, mapped, and read by any interpreter?
#
# Its body is staged once, and becomes a param of the equation. This program inside a
# program is a *region*.

# %%
from typing import Any, NamedTuple

import draw

import minijax as jax
import minijax.numpy as jnp
from minijax import lax
from minijax.ir import core, regions
from minijax.ir.jaxpr import Literal, sub_jaxprs
from minijax.passes import region_rules


def iterate(x):
    def step(c, _):
        return lax.cond(c > 1.0, lambda c: c * 0.5, lambda c: jnp.sin(c) + x, c), c

    return lax.scan(step, x, None, length=100)[0]


program = jax.make_jaxpr(iterate)(0.5)
(loop,) = [eqn for eqn in program.eqns if eqn.primitive.name == "scan"]
assert loop.params["length"] == 100
assert len(loop.params["jaxpr"].eqns) < 10  # the body, once

# %% [markdown]
# ## The picture: programs in programs
#
# A program that an equation holds is printed indented below it, with its own letters.

# %%
picture = draw.nest(program)
assert "│   ├─ program of (f32[], f32[])" in picture.splitlines()
assert picture.count("program of") == 3  # the body, and the two branches in it
picture

# %% [markdown]
# A primitive declares how it holds programs, as data: a call, branches that the first
# operand selects from, or a loop with its groups of operands. Its rules follow from that
# declaration. The derivative of a selection selects a derivative; the derivative of a
# call is a call of the derivative.

# %%
assert isinstance(core.named("cond").regions, regions.Branches)
assert isinstance(core.named("scan").regions, regions.Loop)
assert isinstance(core.named("jit").regions, regions.Call)
rules = draw.source(region_rules.def_region_rules, region_rules._jvp)
assert "jvp_jaxpr(b, nonzero, force)" in rules
rules

# %% [markdown]
# So the gradient of a loop is two loops. One runs forwards and stacks residuals, and one
# runs in reverse and reads them. Nothing is unrolled.

# %%
gradient = jax.make_jaxpr(jax.grad(iterate))(0.5)
loops = [eqn.params for eqn in gradient.eqns if eqn.primitive.name == "scan"]
assert [params["reverse"] for params in loops] == [False, True]
assert [params["length"] for params in loops] == [100, 100]

# %% [markdown]
# ## Sixty lines to try: an interpreter of your own
#
# *Interval arithmetic*: if the input is between two bounds, which bounds does the result
# have? The library has no such transformation. An interpreter of jaxprs (chapter 3) with
# a rule for each primitive computes it. Loops and branches have rules as well.


# %%
class Interval(NamedTuple):
    low: Any
    high: Any


RULES = {}


def rule(*names):
    def register(function):
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def interpret(jaxpr, consts, ins):
    """Return the intervals of a jaxpr's results, given those of its inputs."""
    fixed = [Interval(c, c) for c in consts]
    value = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*fixed, *ins], strict=True))
    read = lambda a: Interval(a.val, a.val) if type(a) is Literal else value[a]
    for eqn in jaxpr.eqns:
        prim, args = eqn.primitive, [read(a) for a in eqn.invars]
        out = RULES[prim.name](prim, args, eqn.params)
        value.update(zip(eqn.outvars, out if prim.multiple_results else [out], strict=True))
    return [read(a) for a in jaxpr.outvars]


@rule("add", "exp", "tanh", "max", "reduce_sum", "broadcast_in_dim", "convert_element_type")
def rising(prim, args, params):
    return Interval(*[prim.bind(*ends, **params) for ends in zip(*args, strict=True)])


@rule("sub", "gt", "ge")
def rising_and_falling(prim, args, params):
    (a, b), (c, d) = args
    return Interval(prim.bind(a, d, **params), prim.bind(b, c, **params))


@rule("mul")
def product(prim, args, params):
    (a, b), (c, d) = args
    corners = jnp.stack(jnp.broadcast_arrays(a * c, a * d, b * c, b * d))
    return Interval(corners.min(0), corners.max(0))


@rule("sin")
def sine(prim, args, params):  # it changes no faster than its argument
    ((a, b),) = args
    middle, radius = jnp.sin((a + b) / 2), (b - a) / 2
    return Interval(jnp.maximum(middle - radius, -1), jnp.minimum(middle + radius, 1))


def bounds(f):
    """Return a function (low, high) -> the interval of f(x) for all x between them."""

    def bounds_f(low, high):
        closed = jax.make_jaxpr(f)(low)
        return interpret(closed.jaxpr, closed.consts, [Interval(low, high)])[0]

    return bounds_f


line = bounds(lambda x: x * 2.0 - jnp.exp(x))(jnp.float32(0), jnp.float32(1))
assert jnp.allclose(jnp.stack(line), jnp.array([-jnp.e, 1.0]))  # 0 - e, 2 - 1

# %% [markdown]
# So far it reads programs without control flow. Thirty more lines let it read all of
# them. A call is interpreted in place, a branch returns the hull of all branches that may
# be taken, and a loop is a loop over intervals.


# %%
@rule("jit")
def call(prim, args, params):
    return interpret(params["jaxpr"].jaxpr, params["jaxpr"].consts, args)


@rule("cond")
def branches(prim, args, params):  # the hull of all branches that may be taken
    (first, last), *args = args
    all_outs = [interpret(b.jaxpr, b.consts, args) for b in params["branches"]]
    may = [(first <= i) & (i <= last) for i in range(len(all_outs))]
    outs = []
    for results in zip(*all_outs, strict=True):
        lows = [jnp.where(m, r.low, jnp.inf) for m, r in zip(may, results, strict=True)]
        highs = [jnp.where(m, r.high, -jnp.inf) for m, r in zip(may, results, strict=True)]
        outs.append(Interval(jnp.stack(lows).min(0), jnp.stack(highs).max(0)))
    return outs


@rule("scan")
def steps(prim, args, params):  # a loop over intervals
    body, k, n = params["jaxpr"], params["num_consts"], params["num_carry"]

    def step(carry, rows):
        outs = interpret(body.jaxpr, body.consts, [*args[:k], *carry, *rows])
        return outs[:n], outs[n:]

    carry = jax.tree.map(jnp.asarray, args[k : k + n])
    options = {"length": params["length"], "reverse": params["reverse"]}
    carry, rows = lax.scan(step, carry, args[k + n :], **options)
    return [*carry, *rows]


low, high = jnp.float32(0.4), jnp.float32(0.5)
interval = bounds(iterate)(low, high)
samples = jax.vmap(iterate)(jnp.linspace(low, high, 50))
assert interval.low <= samples.min()
assert samples.max() <= interval.high

# %% [markdown]
# The interpreter is a function of arrays and uses only operations of the library. So it
# can be compiled, mapped over many intervals, and differentiated: how does the upper
# bound change with the interval's end?


# %%
def wiggle(x):
    return lax.scan(lambda c, _: (jnp.sin(c) * 0.5 + x, None), x, None, length=5)[0]


compiled = jax.jit(bounds(wiggle))
assert jnp.allclose(jnp.stack(compiled(low, high)), jnp.stack(bounds(wiggle)(low, high)))

starts = jnp.arange(0.0, 1.0, 0.25)
many = jax.jit(jax.vmap(bounds(wiggle)))(starts, starts + 0.25)
assert (many.low <= jax.vmap(wiggle)(starts)).all()
assert (jax.vmap(wiggle)(starts + 0.25) <= many.high).all()

slope = jax.jit(jax.grad(lambda high: bounds(wiggle)(low, high).high))(high)
difference = bounds(wiggle)(low, high + 0.01).high - bounds(wiggle)(low, high).high
assert jnp.allclose(slope, difference / 0.01, atol=0.02)

# %% [markdown]
# ## Exercises
#
# **1.** Write `depth(jaxpr)`: how deeply programs are nested; 1 for a program without
# inner ones.


# %%
def exercise_1(depth):
    assert depth(program.jaxpr) == 3
    assert depth(jax.make_jaxpr(jnp.sin)(1.0).jaxpr) == 1


# %% [markdown]
# **2.** Write a rule for `abs`: a function of `(prim, args, params)`.


# %%
def exercise_2(rule_of_abs):
    RULES["abs"] = rule_of_abs
    bounds_of = lambda low, high: tuple(map(float, bounds(jnp.abs)(low, high)))
    assert bounds_of(-1.0, 2.0) == (0.0, 2.0)
    assert bounds_of(-3.0, -2.0) == (2.0, 3.0)
    assert bounds_of(1.0, 2.0) == (1.0, 2.0)


# %% [markdown]
# **3.** Write a second interpreter, `work(jaxpr)`: the number of operations that run. A
# `scan` runs its body `length` times. For a `cond`, count the longest branch. Do not
# count the equation that holds programs.


# %%
def exercise_3(work):
    count = lambda f: work(jax.make_jaxpr(f)(0.5).jaxpr)
    assert count(lambda x: jnp.sin(x) * 2.0) == 2
    assert count(jax.jit(lambda x: jnp.sin(x) * 2.0)) == 2
    assert count(wiggle) == 15
    assert count(lambda x: wiggle(x) + wiggle(2.0 * x)) == 15 + 15 + 2
    assert count(iterate) == 100 * (2 + 2)  # compare, convert; then sine and sum


# %% [markdown]
# ## What JAX does differently, and why
#
# Primitives, params and jaxprs are JAX's; JAX has hand-written rules for each primitive.
# Two limits follow from mathematics and apply to both. A `while_loop` has no reverse
# mode, since the number of residuals is unknown. A `cond` under `vmap` whose lanes choose
# differently runs both branches. minijax has an option for each: `while_loop(...,
# max_steps=n)` stores √n carries, and `cond(..., batched="loop")` runs the lanes one
# after the other.

# %%
double = lambda x: lax.while_loop(lambda c: c < 10.0, lambda c: c * 2.0, x)
try:
    jax.grad(double)(1.0)
except ValueError as error:
    message = str(error)
assert "Reverse-mode differentiation does not work" in message
bounded = lambda x: lax.while_loop(lambda c: c < 10.0, lambda c: c * 2.0, x, max_steps=8)
assert jax.grad(bounded)(1.0) == 16.0

choose = lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x)
lanes = jax.make_jaxpr(jax.vmap(choose))(starts)
assert "cond" not in str(lanes)
assert "select_n" in str(lanes)

# %% [markdown]
# ## Answers
#
# **1.**


# %%
def depth(jaxpr):
    inner = [depth(j) for eqn in jaxpr.eqns for j in sub_jaxprs(eqn.params)]
    return 1 + max(inner, default=0)


exercise_1(depth)
assert draw.refuses(exercise_1, lambda jaxpr: 1)

# %% [markdown]
# **2.**


# %%
def rule_of_abs(prim, args, params):
    ((a, b),) = args
    ends = jnp.abs(a), jnp.abs(b)
    across = (a <= 0) & (b >= 0)
    return Interval(jnp.where(across, 0.0, jnp.minimum(*ends)), jnp.maximum(*ends))


exercise_2(rule_of_abs)
assert draw.refuses(exercise_2, rising)

# %% [markdown]
# **3.**


# %%
def work(jaxpr):
    total = 0
    for eqn in jaxpr.eqns:
        inner = [work(j) for j in sub_jaxprs(eqn.params)]
        total += max(inner) * eqn.params.get("length", 1) if inner else 1
    return total


exercise_3(work)
assert draw.refuses(exercise_3, lambda jaxpr: len(jaxpr.eqns))
