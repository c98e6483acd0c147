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
# # 6. Linearize
#
# **Question.** A gradient needs the program in reverse. But the program runs forwards,
# and its sines and products cannot be undone. What runs in reverse?
#
# The program's linear part. At a fixed point `x`, the map from tangents to tangents is a
# linear program. `linearize` runs the function and returns this program.

# %%
import draw

import minijax as jax
import minijax.numpy as jnp
from minijax import lax
from minijax.ir import core
from minijax.ir.jaxpr import Equation, Jaxpr, Literal, Var, eval_jaxpr
from minijax.passes.linearize import LinearizeTrace, TangentTrace, linearize_flat

f = lambda x, y: lax.sin(x) * y
value, tangent_map = jax.linearize(f, 2.0, 3.0)
assert value == f(2.0, 3.0)
assert jnp.allclose(tangent_map(1.0, 0.0), 3.0 * jnp.cos(2.0))  # ∂f/∂x
assert jnp.allclose(tangent_map(0.0, 1.0), jnp.sin(2.0))  # ∂f/∂y
both = 2 * tangent_map(1.0, 0.0) + 5 * tangent_map(0.0, 1.0)
assert jnp.allclose(tangent_map(2.0, 5.0), both)  # it is linear

# %% [markdown]
# ## Thirty lines to try: split a function in two
#
# Take forward mode (chapter 5) unchanged, and a recorder (chapter 4) with one change. It
# records only operations that depend on a tangent, and passes all others to its parent,
# which computes them now. Then run `jvp` under it. Each derivative rule splits into the
# two parts, since such a rule is always linear in the tangents.


# %%
class Box(core.Tracer):
    __slots__ = ("variable",)


class Tape(core.Trace):
    __slots__ = ("eqns", "residuals")
    transform = "tape"

    def box(self, aval):
        box = Box(self, aval)
        box.variable = Var(aval)
        return box

    def atom(self, x):
        if type(x) is Box:
            return x.variable
        if isinstance(x, float):
            return Literal(x)
        return self.residuals.setdefault(id(x), (Var(core.aval_of(x)), x))[0]

    def process(self, prim, args, params):
        if not any(type(x) is Box for x in args):
            with core.current(self.parent):
                return prim.bind(*args, **params)
        ins = [self.atom(x) for x in args]
        out = self.box(prim.abstract(*[a.aval for a in ins], **params))
        self.eqns.append(Equation(prim, ins, [out.variable], params))
        return out


def split(f, *primals):
    """Return f(*primals), the linear program, and the residuals that it reads."""
    tape = Tape(core.STATE.trace)
    tape.eqns, tape.residuals = [], {}
    boxes = tuple(tape.box(core.aval_of(x)) for x in primals)
    out, tangent = core.under(tape, lambda: jax.jvp(f, primals, boxes))
    constvars, consts = map(list, zip(*tape.residuals.values(), strict=True))
    ins = [box.variable for box in boxes]
    return out, Jaxpr(constvars, ins, [tangent.variable], tape.eqns), consts


two, three = jnp.float32(2), jnp.float32(3)
out, linear, residuals = split(f, two, three)
assert out == f(2.0, 3.0)
assert {e.primitive.name for e in linear.eqns} == {"mul", "add_any"}  # no sin, no cos
assert eval_jaxpr(linear, residuals, 1.0, 0.0)[0] == tangent_map(1.0, 0.0)
linear

# %% [markdown]
# The arrays that the linear program reads are its *residuals*: cos x, sin x and y. They
# must be stored from the forward pass to the backward pass, and they fill the memory
# during training. The library's traces use the same two ideas:

# %%
expected = [jnp.cos(two), jnp.sin(two), three]
assert sorted(map(float, residuals)) == sorted(map(float, expected))
shown = draw.source(TangentTrace.process, LinearizeTrace.process)
assert "STATE.trace = self.tangents" in shown
shown

# %% [markdown]
# ## The picture: residuals feed the linear program
#
# Thick arrows are residuals, thin arrows carry tangents. No product has two thin arrows:
# it would not be linear.

# %%
outs, part = linearize_flat(lambda x, y: [f(x, y)], [two, three])
picture = draw.graph(part.jaxpr, mark=part.jaxpr.constvars)
residual_vars = set(part.jaxpr.constvars)
for eqn in part.jaxpr.eqns:
    tangents = [a for a in eqn.invars if type(a) is Var and a not in residual_vars]
    assert len(tangents) == (1 if eqn.primitive.name == "mul" else 2)
assert picture.svg.count('stroke-width="4"') == len(residual_vars) == 3  # cos x, sin x, and y
picture

# %% [markdown]
# The function runs once, however often the linear map is applied. These are the
# operations that reach evaluation: first in `linearize`, then in each use.

# %%
first = draw.binds(lambda: jax.linearize(lambda x: lax.sin(lax.sin(x)), two))
assert first.by("eager").count("sin") == 2
later = draw.binds(lambda: eval_jaxpr(part.jaxpr, part.consts, 1.0, 1.0))
assert set(later.by("eager")) == {"mul", "add_any"}

# %% [markdown]
# ## Exercises
#
# **1.** Write `residual_bytes(f, x)`: how many bytes the linear program of `f` at `x`
# keeps. (`linearize_flat` takes and returns lists; an array has the attribute `nbytes`.)


# %%
def exercise_1(residual_bytes):
    x = jnp.ones(100)
    assert residual_bytes(lambda x: lax.sin(x), x) == 400  # cos x
    assert residual_bytes(lambda x: lax.sin(lax.sin(x)), x) == 800
    assert residual_bytes(lambda x: 2.0 * x, x) == 0
    assert residual_bytes(lambda x: lax.exp(x), x) == 400


# %% [markdown]
# **2.** Three sines of 100 numbers keep 1200 bytes. Write `frugal(x)`: the same function,
# which keeps 400. (`jax.checkpoint` keeps the input of a function, and recomputes the
# rest.)


# %%
def exercise_2(frugal):
    x = jnp.linspace(0.0, 1.0, 100)
    sines = lambda x: lax.sin(lax.sin(lax.sin(x)))
    assert residual_bytes(sines, x) == 1200
    assert residual_bytes(frugal, x) == 400
    slope = lambda f: jax.grad(lambda x: f(x).sum())(x)
    assert jnp.allclose(slope(sines), slope(frugal))


# %% [markdown]
# **3.** Write `jacobian(f, x)`. It runs `f` only once.


# %%
def exercise_3(jacobian):
    calls = []
    g = lambda x: [calls.append(1), jnp.stack([x[0] * x[1], x[1] ** 2])][1]
    assert jacobian(g, jnp.array([2.0, 3.0])).tolist() == [[3.0, 2.0], [0.0, 6.0]]
    assert len(calls) == 1


# %% [markdown]
# ## What JAX does differently, and why
#
# For most of its life JAX had no such trace. It staged `jvp` of the whole function, and
# split the mixed program by *partial evaluation*, into a known part (primals) and an
# unknown part (tangents). That is more general, and much of JAX
# (`jax.interpreters.partial_eval`) is about it. It also means that the primal and tangent
# parts of a loop must be separated afterwards. Splitting during tracing came later. In
# minijax it is the only way: no transformation uses partial evaluation.
# (`views/partial.py` has a small partial evaluator for libraries that call one.)
#
# One small difference is visible. A Python number, such as the 2.0 in `2.0 * x`, is a
# residual array in JAX's linear program, and remains a number in minijax.

# %%
_, doubled = linearize_flat(lambda x: [2.0 * x], [two])
assert doubled.consts == []

# %% [markdown]
# ## Answers
#
# **1.**


# %%
def residual_bytes(f, x):
    _, part = linearize_flat(lambda x: [f(x)], [x])
    return sum(const.nbytes for const in part.consts)


exercise_1(residual_bytes)
assert draw.refuses(exercise_1, lambda f, x: f(x).nbytes)

# %% [markdown]
# **2.**

# %%
frugal = jax.checkpoint(lambda x: lax.sin(lax.sin(lax.sin(x))))
exercise_2(frugal)
assert draw.refuses(exercise_2, lambda x: lax.sin(lax.sin(lax.sin(x))))

# %% [markdown]
# **3.** Apply the linear map to all unit vectors with one `vmap`: chapter 8.


# %%
def jacobian(f, x):
    _, tangent_map = jax.linearize(f, x)
    return jax.vmap(tangent_map, out_axes=1)(jnp.eye(len(x)))


exercise_3(jacobian)
by_column = lambda f, x: jnp.stack([jax.jvp(f, (x,), (e,))[1] for e in jnp.eye(2)], 1)
assert draw.refuses(exercise_3, by_column)
