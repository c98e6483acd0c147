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
# # 2. `bind` and the current trace
#
# **Question.** The line `y = sin(x) * x` can compute numbers, record a program, or
# compute a derivative as well. The line does not say which. What decides?
#
# Neither the operation nor the values decide. Each thread has one *current trace*, and it
# receives every operation. A transformation is a trace that is current while your
# function runs.

# %%
import draw

import minijax as jax
import minijax.numpy as jnp
from minijax.ir import core

# %% [markdown]
# Applying a primitive does no more than this. (`simplify` shortens tracebacks.)

# %%
bind = draw.source(core.Primitive.bind)
assert "STATE.trace.process(self, args, params)" in bind
bind

# %% [markdown]
# Outside of all transformations the current trace is `EVAL`: it runs the operation.

# %%
assert core.STATE.trace is core.EVAL
draw.source(core.EvalTrace)

# %% [markdown]
# Inside transformations, the current trace is the innermost one. Each trace has a
# *parent*: the trace that was current when it started. The stack of transformations is a
# chain of parents, so levels need no numbers.

# %%
seen = []


def f(x):
    seen.append(draw.current())
    return jnp.sin(x) * x


jax.jit(jax.vmap(jax.grad(f)))(jnp.ones(3))
assert seen == [["grad", "vmap", "jit", "eager"]]

# %% [markdown]
# How do transformations stay separate? While a trace applies a rule, its *parent* is
# current. An operation that the rule binds therefore goes one step outwards, and so on
# until `EVAL`. This is the method of `vmap`. It unboxes its own tracers and treats all
# other values as shared by the lanes. It makes its parent current, calls the rule, and
# boxes the results.

# %%
from minijax.passes.batch import BatchTrace

process = draw.source(BatchTrace.process)
assert "STATE.trace = parent" in process
assert "prim.batch(self.axis, vals, dims, **params)" in process
process

# %% [markdown]
# ## The picture: which trace receives what
#
# `draw.binds` records each call of `process` while a function runs. An arrow means
# "received". An indented line was bound by the rule above it.

# %%
from minijax import lax

product = lambda x: lax.mul(lax.sin(x), x)
picture = draw.binds(jax.vmap(jax.grad(product)), jnp.ones(3))
picture

# %% [markdown]
# Read the first lines. The function binds `sin`. The trace of `grad` receives it first,
# since it is the innermost. Its rule binds `sin` and `cos` of the primal, and a product
# with the tangent. All of these go to the trace around it, `tangent`, which is a part of
# `grad`. That trace records the product, to run it backwards at the end (chapters 6 and
# 7). It passes operations that do not depend on a tangent to `vmap`, and from there they
# reach evaluation.
#
# Your own programs differ in one way. The picture shows each operation that a rule binds.
# Outside `jit` a rule is usually evaluated as one compiled program
# (`runtime/running/compiled_rules.py`).

# %%
assert picture.by("grad") == ["sin", "mul"]  # what the user wrote
assert picture.by("vmap")[:2] == ["sin", "cos"]  # what the rules asked for
assert picture.by("eager") == picture.by("vmap")  # all lanes in one operation each
outwards = [(depth, trace) for depth, trace, _ in picture.events[:4]]
assert outwards == [(0, "grad"), (1, "tangent"), (2, "vmap"), (3, "eager")]

# %% [markdown]
# ## Thirty lines to try: a trace of your own
#
# A trace that counts. It has no values of its own, so it boxes nothing. It records the
# name and passes the operation to its parent.


# %%
class CountTrace(core.Trace):
    __slots__ = ("counts",)
    transform = "count"

    def __init__(self, parent):
        super().__init__(parent)
        self.counts = {}

    def process(self, prim, args, params):
        self.counts[prim.name] = self.counts.get(prim.name, 0) + 1
        with core.current(self.parent):
            return prim.bind(*args, **params)


def count(f):
    """Return a function that counts how often f(*args) applies each primitive."""

    def count_f(*args):
        trace = CountTrace(core.STATE.trace)
        # `trace` is current while f runs, and dead afterwards
        core.under(trace, f, *args)
        return trace.counts

    return count_f


assert count(product)(2.0) == {"sin": 1, "mul": 1}

# %% [markdown]
# It composes without further work. Around `grad` it sees what `grad` binds. Inside `grad`
# it sees what the user wrote. It sees a compiled function as one operation.

# %%
assert count(jax.grad(product))(2.0) == {"sin": 1, "cos": 1, "mul": 4, "add_any": 1}
inside = []
jax.grad(lambda x: [product(x), inside.append(count(product)(x))][0])(2.0)
assert inside == [{"sin": 1, "mul": 1}]
assert count(jax.jit(product))(2.0) == {"jit": 1}

# %% [markdown]
# A tracer that outlives its trace is useless. The trace is marked dead when its function
# returns, and using the tracer later raises an error that names its origin.

# %%
leaked = []
jax.jit(lambda x: [leaked.append(x), x][1])(1.0)
assert not leaked[0]._trace.alive
try:
    leaked[0] + 1.0
except jax.errors.UnexpectedTracerError as error:
    message = str(error)
assert "the argument x" in message

# %% [markdown]
# ## Exercises
#
# **1.** Write `stack()`. It returns the names of the transformations around its call,
# outermost first, as `"jit > vmap"`, and `""` outside all transformations.


# %%
def exercise_1(stack):
    stacks = []
    note = lambda x: [stacks.append(stack()), x][1]
    jax.jit(jax.vmap(note))(jnp.ones(2))
    note(1.0)
    jax.jvp(jax.jit(note), (1.0,), (1.0,))
    assert stacks == ["jit > vmap", "", "jvp > jit"]


# %% [markdown]
# **2.** Write `swap(f, old, new)`. It behaves like `f`, but where `f` applies the
# primitive `old`, it calls the function `new` with the same operands.


# %%
def exercise_2(swap):
    to_cos = swap(product, "sin", lambda x, **params: lax.cos(x))
    assert jnp.allclose(to_cos(2.0), jnp.cos(2.0) * 2.0)
    assert jnp.allclose(jax.grad(to_cos)(2.0), jnp.cos(2.0) - 2.0 * jnp.sin(2.0))
    assert jax.jit(jax.vmap(to_cos))(jnp.zeros(3)).tolist() == [0.0, 0.0, 0.0]


# %% [markdown]
# **3.** Write `first_bad(f)(*args)`. It returns the name of the first primitive that
# computes a NaN from operands without one, or None.


# %%
def exercise_3(first_bad):
    assert first_bad(lambda x: lax.log(lax.sub(x, 2.0)) * 3.0)(1.0) == "log"
    assert first_bad(lambda x: lax.log(x) * 3.0)(1.0) is None
    assert first_bad(jax.grad(lambda x: jnp.sqrt(x) * 0.0))(0.0) == "mul"  # 0 · ∞


# %% [markdown]
# ## What JAX does differently, and why
#
# For years JAX numbered its traces: each had a *level*. An operation went to the operand
# with the highest level, and operands of lower levels were lifted to it. Since 2024 JAX
# also has a current trace ("stackless"). That is simpler, and it changes what users
# observe: inside `jit`, an operation on constants alone is recorded, and no longer
# evaluated while tracing. minijax does the same.

# %%
staged = jax.make_jaxpr(lambda x: (jnp.ones(3) * 2.0, x)[1])(1.0)
assert [eqn.primitive.name for eqn in staged.eqns] == ["broadcast_in_dim", "mul"]

# %% [markdown]
# ## Answers
#
# **1.**


# %%
def stack():
    return " > ".join(reversed(draw.current()[:-1]))


exercise_1(stack)
assert draw.refuses(exercise_1, lambda: " > ".join(draw.current()))

# %% [markdown]
# **2.** A rule is applied while the parent is current; so is `new`.


# %%
class SwapTrace(core.Trace):
    __slots__ = ("new", "old")
    transform = "swap"

    def process(self, prim, args, params):
        with core.current(self.parent):
            apply = self.new if prim.name == self.old else prim.bind
            return apply(*args, **params)


def swap(f, old, new):
    def swap_f(*args):
        trace = SwapTrace(core.STATE.trace)
        trace.old, trace.new = old, new
        return core.under(trace, f, *args)

    return swap_f


exercise_2(swap)
assert draw.refuses(exercise_2, lambda f, old, new: f)

# %% [markdown]
# **3.** It reads values, so its parent must be evaluation.


# %%
class NanTrace(core.Trace):
    __slots__ = ("bad",)
    transform = "first_bad"

    def process(self, prim, args, params):
        with core.current(self.parent):
            out = prim.bind(*args, **params)
            isnan = lambda x: bool(jnp.isnan(jnp.asarray(x)).any())
            if self.bad is None and not any(map(isnan, args)):
                outs = out if prim.multiple_results else [out]
                self.bad = prim.name if any(map(isnan, outs)) else None
        return out


def first_bad(f):
    def first_bad_f(*args):
        trace = NanTrace(core.STATE.trace)
        trace.bad = None
        core.under(trace, f, *args)
        return trace.bad

    return first_bad_f


exercise_3(first_bad)
assert draw.refuses(exercise_3, lambda f: lambda *args: "log")
