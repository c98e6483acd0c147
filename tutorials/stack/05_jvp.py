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
# # 5. jvp: forward-mode derivatives
#
# **Question.** Finite differences are inexact, and symbolic derivatives grow without
# bound. How can a program compute an exact derivative for about the price of the
# function?
#
# It computes the derivative together with the value. Each value has a *tangent*, the
# direction in which it changes. Each primitive has a rule for the tangent of its result,
# given the tangents of its operands.

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
# returns `f(x)` and `f'(x) v`.

# %%
value, slope = jax.jvp(jnp.sin, (0.0,), (1.0,))
assert value == 0.0
assert slope == 1.0  # cos 0

# %% [markdown]
# ## Thirty lines to try: forward mode
#
# A tracer with two fields, and a trace that calls the primitive's rule. The trace
# contains no calculus: the product rule and all others belong to the primitives.


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
        return x, Zero(core.aval_of(x).to_tangent())  # from outside: it does not change

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
# Nested, it computes second derivatives: the rules bind under the parent, which may be
# another such trace. Two traces cannot be confused, since each unboxes only its own
# tracers.

# %%
second = push(lambda x: push(f, x, 1.0)[1], 2.0, 1.0)[1]
assert jnp.allclose(second, 2 * jnp.cos(2.0) - 2 * jnp.sin(2.0))
assert jnp.allclose(second, jax.grad(jax.grad(f))(2.0))

# %% [markdown]
# The library's trace:

# %%
process = draw.source(JVPTrace.process, JVPTrace.wrap)
assert "prim.jvp(primals, tangents, **params)" in process
process

# %% [markdown]
# Its last line has an addition. A tangent that is known to be zero is a `Zero`, a marker
# instead of an array. A result with such a tangent becomes a plain value. So values that
# do not depend on the input cost nothing more. In this program `b` does not change:

# %%
program = jax.make_jaxpr(lambda a, b: lax.sin(b) * a)(1.0, 1.0)
pushed, moves = jvp_jaxpr(program, [True, False])
assert moves == [True]
assert [e.primitive.name for e in pushed.eqns] == ["sin", "mul", "mul"]  # and no cos
pushed

# %% [markdown]
# ## The picture: values and their directions
#
# A curve, and short lines with the slopes that `jvp` computes.

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
# **1.** Write `newton(f, x, steps)`: x ← x − f(x) / f'(x), with one `jax.jvp` per step.


# %%
def exercise_1(newton):
    calls = []
    g = lambda x: [calls.append(1), x * x - 2.0][1]
    assert jnp.allclose(newton(g, 1.0, 5), 2.0**0.5)
    assert len(calls) == 5  # value and slope in one call


# %% [markdown]
# **2.** Write `jacobian(f, x)` for a function from vectors to vectors. Compute each
# column by one `jax.jvp` along a unit vector.


# %%
def exercise_2(jacobian):
    g = lambda x: jnp.stack([x[0] * x[1], jnp.sin(x[2])])
    x = jnp.array([2.0, 3.0, 0.0])
    assert jacobian(g, x).tolist() == [[3.0, 2.0, 0.0], [0.0, 0.0, 1.0]]


# %% [markdown]
# **3.** What is `d/dx (x · d/dy (x + y))` at x = y = 1? A forward mode that confuses its
# two tangents returns 2. Give the number, and a function `nested(jvp_of)` that computes
# it with `jvp_of(f, x, v)` such as `push`.


# %%
def exercise_3(number, nested):
    assert number == nested(push)
    library = lambda f, x, v: jax.jvp(f, (x,), (v,))
    assert number == nested(library) == nested(lambda f, x, v: push(f, x, v))
    confused = lambda f, x, v: (f(x), 2.0)
    assert nested(confused) == 2.0  # it uses the `jvp_of` that it receives


# %% [markdown]
# ## What JAX does differently, and why
#
# The rules are JAX's, equation by equation. In one case both libraries replace the
# markers: a user's function with `custom_jvp` receives arrays of zeros for operands that
# do not change, since most authors of a rule expect that. `symbolic_zeros=True` passes
# the markers instead. The library's own rules always receive the markers.

# %%
tangents_seen = []
g = jax.custom_jvp(lambda x, y: x * y)
g.defjvp(
    lambda primals, tangents: [tangents_seen.append(tangents), (g(*primals), tangents[0])][1]
)
jax.jvp(lambda x: g(x, 3.0), (2.0,), (1.0,))
assert not any(type(t) is Zero for t in tangents_seen[0])
assert tangents_seen[0][1] == 0.0

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
# **3.** The inner derivative is 1, so the outer derivative is the one of x.


# %%
def nested(jvp_of):
    return jvp_of(lambda x: x * jvp_of(lambda y: x + y, 1.0, 1.0)[1], 1.0, 1.0)[1]


exercise_3(1.0, nested)
