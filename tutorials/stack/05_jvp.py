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
# # 5. jvp: derivatives forwards
#
# **Question.** A derivative by differences is inexact, one by symbols grows without
# bounds. How can a program compute an exact derivative at about the price of the
# function?
#
# By carrying it along. Beside each value goes the direction in which it moves, its
# *tangent*, and each primitive knows how its result moves if its operands do.

# %%
import draw

import minijax as jax
import minijax.numpy as jnp
from minijax import lax
from minijax.ir import core
from minijax.passes.ad_util import Zero
from minijax.passes.jvp import JVPTrace, jvp_jaxpr

# %% [markdown]
# `jvp` stands for *Jacobian-vector product*: at a point `x`, along a tangent `v`, it
# gives `f(x)` and `f'(x) v`.

# %%
value, slope = jax.jvp(jnp.sin, (0.0,), (1.0,))
assert value == 0.0
assert slope == 1.0  # cos 0

# %% [markdown]
# ## Thirty lines to try: forward mode
#
# A tracer with two fields, and a trace that calls the primitive's rule. It knows no
# calculus: the product rule and all others stand with the primitives.


# %%
class Dual(core.Tracer):
    __slots__ = ("primal", "tangent")


class DualTrace(core.Trace):
    __slots__ = ()
    transform = "dual"

    def box(self, primal, tangent):
        dual = Dual(self, core.aval_of(primal))
        dual.primal, dual.tangent = primal, tangent
        return dual

    def unbox(self, x):
        if type(x) is Dual and x._trace is self:
            return x.primal, x.tangent
        return x, Zero(core.aval_of(x).to_tangent())  # from outside: it does not move

    def process(self, prim, args, params):
        primals, tangents = zip(*map(self.unbox, args), strict=True)
        with core.current(self.parent):
            out, out_tangent = prim.jvp(primals, tangents, **params)
        return self.box(out, out_tangent)


def push(f, x, v):
    trace = DualTrace(core.STATE.trace)
    return trace.unbox(core.under(trace, f, trace.box(x, v)))


f = lambda x: lax.sin(x) * x
assert push(f, 2.0, 1.0) == jax.jvp(f, (2.0,), (1.0,))

# %% [markdown]
# Nested it gives second derivatives, since the rules bind under the parent, which may be
# another such trace. Two of them cannot be mixed up: each unboxes only its own tracers.

# %%
second = push(lambda x: push(f, x, 1.0)[1], 2.0, 1.0)[1]
assert jnp.allclose(second, 2 * jnp.cos(2.0) - 2 * jnp.sin(2.0))
assert jnp.allclose(second, jax.grad(jax.grad(f))(2.0))

# %% [markdown]
# The library's own:

# %%
process = draw.source(JVPTrace.process, JVPTrace.wrap)
assert "prim.jvp(primals, tangents, **params)" in process
process

# %% [markdown]
# Its last line says something that ours does not. A tangent that is known to be zero is a
# `Zero`, a note and not an array; and a result with such a tangent leaves as a plain
# value. So what does not depend on the input costs nothing more. Here `b` does not move:

# %%
program = jax.make_jaxpr(lambda a, b: lax.sin(b) * a)(1.0, 1.0)
pushed, moves = jvp_jaxpr(program, [True, False])
assert moves == [True]
assert [e.primitive.name for e in pushed.eqns] == ["sin", "mul", "mul"]  # and no cos
pushed

# %% [markdown]
# ## The picture: values and their directions
#
# A curve, and short lines with the slopes that `jvp` gives.

# %%
xs = jnp.linspace(0.0, 6.0, 61)
ys, slopes = jax.jvp(jax.vmap(f), (xs,), (jnp.ones(61),))
lines = [("x sin x", xs, ys)]
for i in (5, 20, 35, 50):
    ends = jnp.array([-0.5, 0.5])
    lines.append((f"slope {slopes[i]:.2f}", xs[i] + ends, ys[i] + slopes[i] * ends))
picture = draw.curves(*lines)
assert picture.boxes[1] == "slope 0.92"
around = (f(xs[20] + 0.01) - f(xs[20] - 0.01)) / 0.02
assert jnp.allclose(slopes[20], around, atol=1e-3)
picture

# %% [markdown]
# ## Exercises
#
# **1.** Write `newton(f, x, steps)`: x ← x − f(x) / f'(x), with one `jax.jvp` a step.


# %%
def exercise_1(newton):
    calls = []
    g = lambda x: [calls.append(1), x * x - 2.0][1]
    assert jnp.allclose(newton(g, 1.0, 5), 2.0**0.5)
    assert len(calls) == 5  # value and slope at once


# %% [markdown]
# **2.** Write `jacobian(f, x)` of a function from vectors to vectors, a column for each
# `jax.jvp` along a unit vector.


# %%
def exercise_2(jacobian):
    g = lambda x: jnp.stack([x[0] * x[1], jnp.sin(x[2])])
    x = jnp.array([2.0, 3.0, 0.0])
    assert jacobian(g, x).tolist() == [[3.0, 2.0, 0.0], [0.0, 0.0, 1.0]]


# %% [markdown]
# **3.** What is `d/dx (x · d/dy (x + y))` at x = y = 1? A forward mode that mixes up its
# two tangents says 2. Give the number, and a function `nested(jvp_of)` that computes it
# with `jvp_of(f, x, v)` such as `push`.


# %%
def exercise_3(number, nested):
    assert number == nested(push)
    ours = lambda f, x, v: jax.jvp(f, (x,), (v,))
    assert number == nested(ours) == nested(lambda f, x, v: push(f, x, v))
    confused = lambda f, x, v: (f(x), 2.0)
    assert nested(confused) == 2.0  # it uses what it is given


# %% [markdown]
# ## What JAX does otherwise, and why
#
# The rules are JAX's, equation by equation. In one respect both hold back: a user's
# function with `custom_jvp` gets arrays of zeros for operands that do not move, as
# most people who write a rule expect; whoever wants the notes themselves says
# `symbolic_zeros=True`. The library's own rules always get the notes.

# %%
got = []
g = jax.custom_jvp(lambda x, y: x * y)
g.defjvp(lambda primals, tangents: [got.append(tangents), (g(*primals), tangents[0])][1])
jax.jvp(lambda x: g(x, 3.0), (2.0,), (1.0,))
assert not any(type(t) is Zero for t in got[0])
assert got[0][1] == 0.0

# %% [markdown]
# ## Answers
#
# **1.**


# %%
def newton(f, x, steps):
    for _ in range(steps):
        y, slope = jax.jvp(f, (x,), (1.0,))
        x = x - y / slope
    return x


exercise_1(newton)
assert draw.refuses(exercise_1, lambda f, x, steps: 2.0**0.5)

# %% [markdown]
# **2.**


# %%
def jacobian(f, x):
    return jnp.stack([jax.jvp(f, (x,), (e,))[1] for e in jnp.eye(len(x))], axis=1)


exercise_2(jacobian)
assert draw.refuses(exercise_2, lambda f, x: jacobian(f, x) + 1.0)

# %% [markdown]
# **3.** The inner derivative is 1, so the outer one is that of x.


# %%
def nested(jvp_of):
    return jvp_of(lambda x: x * jvp_of(lambda y: x + y, 1.0, 1.0)[1], 1.0, 1.0)[1]


exercise_3(1.0, nested)
