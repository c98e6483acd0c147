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
# # 1. One primitive
#
# **Question.** What must a library know about `sin`, to run it on an accelerator,
# differentiate it, and map it over a batch?
#
# The answer is five small facts. This chapter reads them from an operation of the
# library, then writes them for an operation that the library does not have. Nothing in
# this book is a model: the chapters import the library's own core, and the code that they
# show is read from the files that run.

# %%
import draw

import minijax as jax
import minijax.numpy as jnp
from minijax.ir import core

# %% [markdown]
# An operation is an object, a *primitive*. Its name is its key in a table of all
# primitives. Its array arguments are *operands*. Its static arguments are *params* (for
# `sin`: the requested accuracy).

# %%
sin_p = core.named("sin")
assert isinstance(sin_p, core.Primitive)
assert sin_p.bind(0.0, accuracy=None) == 0.0  # `bind` applies it

# %% [markdown]
# The primitive's attributes are its *rules*. Each rule answers one question of one
# transformation.

# %%
# which type does the result have?
abstract = sin_p.abstract(core.aval_of(jnp.zeros(3)), accuracy=None)
assert abstract.shape == (3,)
assert abstract.dtype == jnp.float32

value, tangent = sin_p.jvp([0.0], [2.0], accuracy=None)  # how does the result change?
assert value == 0.0
assert tangent == 2.0  # cos(0) times 2

# %% [markdown]
# A missing rule is an object that raises an error with an explanation. `sin` is not
# linear, so it has no transpose, and never needs one (chapter 7 explains why).

# %%
assert isinstance(sin_p.transpose, core.Missing)
try:
    sin_p.transpose(1.0, 2.0)
except NotImplementedError as error:
    message = str(error)
assert "'sin'" in message

# %% [markdown]
# This is the whole constructor of `Primitive`. It contains no mathematics: only a name,
# and an attribute for each rule.

# %%
constructor = draw.source(core.Primitive.__init__)
assert "minijax/ir/core.py" in constructor
assert "Missing(" in constructor
constructor

# %% [markdown]
# ## Thirty lines to try: a primitive of your own
#
# `cumulate(x)[i] = x[0] + ... + x[i]`, along the last axis. It needs five rules: type,
# jvp, transpose, batch, lowering. (Lowering writes the operation in the compiler's
# language, the subject of chapter 9. This one multiplies by a triangle of ones, so it
# needs a single operation.)

# %%
import numpy as np

from minijax.passes.batch import lane_to_front
from minijax.types.avals import shaped

cumulate_p = core.Primitive("cumulate")


def cumulate(x, backwards=False):
    return cumulate_p.bind(x, backwards=backwards)


cumulate_p.abstract = lambda x, backwards: x  # the result's type is the operand's


def cumulate_jvp(primals, tangents, **params):  # linear: the tangent gets the same operation
    return [cumulate_p.bind(*xs, **params) for xs in (primals, tangents)]


def cumulate_transpose(ct, x, backwards):  # y[i] reads x[j], j <= i; reverse that
    return [cumulate(ct, not backwards)]


def cumulate_batch(axis, args, dims, **params):  # the lanes must not be the last axis
    return cumulate_p.bind(lane_to_front(args[0], axis.size, dims[0]), **params), 0


def cumulate_lower(ctx, x, backwards):
    (aval,) = ctx.avals_out
    n, rank = aval.shape[-1], len(aval.shape)
    ones = np.tril(np.ones((n, n), aval.dtype))
    triangle = ctx.constant(ones if backwards else ones.T, shaped((n, n), aval.dtype))
    text = f"#stablehlo.dot<lhs_contracting_dimensions = [{rank - 1}],"
    dims = ctx.parse(text + " rhs_contracting_dimensions = [0]>")
    return ctx.op("dot_general", aval, x, triangle, dot_dimension_numbers=dims)


cumulate_p.jvp, cumulate_p.transpose = cumulate_jvp, cumulate_transpose
cumulate_p.batch, cumulate_p.lower = cumulate_batch, cumulate_lower

# %% [markdown]
# The primitive is complete. It runs, and every transformation works on it, alone and
# composed, although none of them mentions it.

# %%
x = jnp.array([1.0, 2.0, 3.0])
assert cumulate(x).tolist() == [1.0, 3.0, 6.0]
assert jax.jit(cumulate)(x).tolist() == [1.0, 3.0, 6.0]

_, moved = jax.jvp(cumulate, (x,), (jnp.ones(3),))
assert moved.tolist() == [1.0, 2.0, 3.0]

last = lambda x: cumulate(x)[-1] ** 2  # (sum of all)²
assert jax.grad(last)(x).tolist() == [12.0, 12.0, 12.0]  # 2 · 6 each

table = jnp.arange(6.0).reshape(2, 3)
assert jax.vmap(cumulate)(table).tolist() == [[0.0, 1.0, 3.0], [3.0, 7.0, 12.0]]
assert jax.vmap(cumulate, in_axes=1)(table).shape == (3, 2)
everything = jax.jit(jax.vmap(jax.grad(last)))(table)
assert everything.tolist() == [[6.0] * 3, [24.0] * 3]

# %% [markdown]
# ## The picture: which primitive has which rule
#
# A primitive is a row of rules. This table shows three primitives.

# %%
RULES = ("abstract", "jvp", "transpose", "batch", "lower")


def answers(prim):
    rules = [getattr(prim, rule) for rule in RULES]
    supported = [not isinstance(rule, core.Unsupported) for rule in rules]
    return [prim.name, *("●" if s else "·" for s in supported)]


picture = draw.table(
    ["primitive", *RULES], answers(sin_p), answers(core.named("mul")), answers(cumulate_p)
)
assert picture.splitlines()[2].split() == ["sin", "●", "●", "·", "●", "●"]
assert answers(cumulate_p)[1:] == ["●"] * 5
picture

# %% [markdown]
# ## Exercises
#
# Each exercise is a function that checks an answer. Write yours and call the check with
# it. The check is silent if the answer is right. The answers are at the end of the page.
#
# **1.** Define a primitive `twice_p` with rules for type, jvp, batch and lowering, and a
# function `twice` that binds it, so that `twice(x) == 2 * x`. (In `lower`, `ctx.op("add",
# aval, x, x)` adds.) Do not define a transpose yet.


# %%
def exercise_1(twice):
    assert twice(x).tolist() == [2.0, 4.0, 6.0]
    assert jax.jit(jax.vmap(twice))(table).tolist() == (2 * table).tolist()
    assert jax.jvp(twice, (x,), (x,))[1].tolist() == [2.0, 4.0, 6.0]
    assert "twice" in str(jax.make_jaxpr(twice)(x))  # one primitive, not a product


# %% [markdown]
# **2.** What does `jax.grad` of a sum over `twice` raise now? Give the class of the
# error, and the transpose rule that fixes it: a function of `(ct, x)`.


# %%
def exercise_2(error_class, transpose):
    twice_p.transpose = core.Missing("Transpose rule", "twice")
    slope = jax.grad(lambda x: twice_p.bind(x).sum())
    try:
        slope(x)
        raise AssertionError("it works without the rule")
    except Exception as error:
        assert type(error) is error_class
    twice_p.transpose = transpose
    assert slope(x).tolist() == [2.0, 2.0, 2.0]


# %% [markdown]
# **3.** A wrong rule is worse than a missing one. Write a function of a linear
# primitive's `bind` and an array. It returns whether the transpose rule is right: for
# random `u` and `v`, `sum(u * A v)` must equal `sum(v * Aᵀ u)`. Use
# `jax.linear_transpose`.


# %%
def exercise_3(fits):
    assert fits(cumulate, x)
    right, cumulate_p.transpose = cumulate_p.transpose, lambda ct, x, backwards: [ct]
    try:
        assert not fits(cumulate, x)
    finally:
        cumulate_p.transpose = right


# %% [markdown]
# ## What JAX does differently, and why
#
# JAX's primitives have no rules. Each transformation has a table from primitives to
# rules, and a library extends JAX by writing to these tables (`ad.primitive_jvps`,
# `batching.primitive_batchers`, `mlir.register_lowering`, all in `jax.interpreters`). A
# new transformation then needs no change of `Primitive`, and can be in another package.
# Here the rules are attributes, so one block of code describes an operation completely.
# The tables exist as views of the attributes, for libraries that use them.

# %%
from minijax.interpreters import ad

assert ad.primitive_jvps[cumulate_p] is not None
assert cumulate_p in ad.primitive_transposes
assert sin_p not in ad.primitive_transposes

# %% [markdown]
# ## Answers
#
# **1.**

# %%
twice_p = core.Primitive("twice")
twice_p.abstract = lambda x: x
twice_p.jvp = lambda primals, tangents: [twice_p.bind(*xs) for xs in (primals, tangents)]
twice_p.batch = lambda axis, args, dims: (twice_p.bind(*args), dims[0])
twice_p.lower = lambda ctx, x: ctx.op("add", ctx.avals_out[0], x, x)
exercise_1(twice_p.bind)
assert draw.refuses(exercise_1, lambda x: 2 * x)

# %% [markdown]
# **2.** The linear part of `twice` is `twice`, and reverse mode needs its transpose rule,
# which is missing. A multiple of the identity is its own transpose.

# %%
exercise_2(NotImplementedError, lambda ct, x: [twice_p.bind(ct)])

# %% [markdown]
# **3.**


# %%
def fits(linear, like):
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=(2, *like.shape)).astype(like.dtype)
    (transposed,) = jax.linear_transpose(linear, like)(u)
    return bool(jnp.allclose(jnp.sum(u * linear(v)), jnp.sum(v * transposed), rtol=1e-4))


exercise_3(fits)
assert draw.refuses(exercise_3, lambda linear, like: True)
