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
# # 8. vmap: one program for all lanes
#
# **Question.** A function was written for one example. How does it become a function of a
# thousand examples, without a loop and without reading its source?
#
# Each value gets one more axis, its *lane axis*, which the function does not see. Each
# primitive has a rule that computes for every lane the result that the lane would have
# alone.

# %%
import draw

import minijax as jax
import minijax.numpy as jnp
from minijax import lax
from minijax.ir import core
from minijax.passes.batch import Axis, BatchTracer, batch_jaxpr, no_name


def score(w, x):
    return jnp.tanh(x @ w).sum()


w, one = jnp.arange(6.0).reshape(3, 2) / 6, jnp.array([1.0, 2.0, 3.0])
many = jnp.stack([one, -one, one / 2, 0 * one])
lanes = jax.vmap(score, in_axes=(None, 0))(w, many)
assert jnp.allclose(lanes, jnp.stack([score(w, x) for x in many]), rtol=1e-5)

# %% [markdown]
# The function does not notice. Its argument has the shape of one lane.

# %%
shapes = []
jax.vmap(lambda x: [shapes.append(x.shape), x][1])(many)
assert many.shape == (4, 3)
assert shapes == [(3,)]

# %% [markdown]
# ## Thirty lines to try: a vmap of your own
#
# A tracer holds an array and the index of its lane axis; its type omits this axis. The
# trace passes the arrays and the lane axes to the primitive's `batch` rule. An operand
# from outside has no lane axis, `None`: all lanes share it.


# %%
class Lane(core.Tracer):
    __slots__ = ("array", "dim")


class LaneTrace(core.Trace):
    __slots__ = ("axis",)
    transform = "lanes"

    def box(self, array, dim):
        if dim is None:
            return array
        shape = list(array.shape)
        del shape[dim]
        lane = Lane(self, core.aval_of(array).update(shape=tuple(shape)))
        lane.array, lane.dim = array, dim
        return lane

    def unbox(self, x):
        is_own = type(x) is Lane and x._trace is self
        return (x.array, x.dim) if is_own else (x, None)

    def process(self, prim, args, params):
        arrays, dims = zip(*map(self.unbox, args), strict=True)
        with core.current(self.parent):
            if dims == (None,) * len(dims):
                return prim.bind(*args, **params)
            out, dim = prim.batch(self.axis, arrays, dims, **params)
        return self.box(out, dim)


def over_lanes(f, xs):
    trace = LaneTrace(core.STATE.trace)
    trace.axis = Axis(no_name, len(xs))
    out, dim = trace.unbox(core.under(trace, f, trace.box(xs, 0)))
    return jnp.moveaxis(out, dim, 0)


doubled = over_lanes(lambda x: lax.mul(lax.sin(x), 2.0), many)
assert jnp.allclose(doubled, 2 * jnp.sin(many))
assert jnp.allclose(over_lanes(lambda x: score(w, x), many), lanes)
slopes = over_lanes(jax.grad(lambda x: score(w, x)), many)
assert jnp.allclose(slopes, jax.vmap(jax.grad(score, 1), (None, 0))(w, many))

# %% [markdown]
# There are three kinds of rules. An elementwise rule aligns the lane axes. A rule of an
# operation that names axes renumbers them, as this rule of sums does. A matrix product
# already has a place for lanes, among the batch axes of both operands, so the loop over
# examples becomes one larger product.

# %%
rule = draw.source(core.named("reduce_sum").batch)
assert "drop_axes(dims[0], axes)" in rule
rule

# %%
product = jax.make_jaxpr(lambda w, x: x @ w)(w, one)
every, _ = batch_jaxpr(product, Axis(no_name, 4), [False, True])
assert [e.primitive.name for e in every.eqns] == ["dot_general"]
assert every.out_avals[0].shape == (4, 2)

# %% [markdown]
# ## The picture: the same equations, with and without lanes

# %%
alone = jax.make_jaxpr(score)(w, one)
together = jax.make_jaxpr(jax.vmap(score, in_axes=(None, 0)))(w, many)
shape = lambda eqn: "x".join(map(str, eqn.outvars[0].aval.shape)) or "·"
rows = [
    (a.primitive.name, shape(a), shape(b))
    for a, b in zip(alone.eqns, together.eqns, strict=True)
]
assert rows == [("dot_general", "2", "4x2"), ("tanh", "2", "4x2"), ("reduce_sum", "·", "4")]
draw.table(("primitive", "one lane", "four lanes"), *rows)

# %% [markdown]
# Values that lanes share are computed once. `tanh(w)` has no lane axis.

# %%
shared = jax.make_jaxpr(jax.vmap(lambda w, x: x @ jnp.tanh(w), (None, 0)))(w, many)
assert shared.eqns[0].outvars[0].aval.shape == w.shape
assert str(shared.eqns[0].primitive) == "tanh"

# %% [markdown]
# ## Exercises
#
# **1.** Write `jacobian(f, x)` as one `vmap` over pullbacks, with one lane for each
# result.


# %%
def exercise_1(jacobian):
    runs = []
    f = lambda x: [runs.append(1), jnp.stack([x[0] * x[1], x[2] ** 2])][1]
    assert jacobian(f, one).tolist() == [[2.0, 1.0, 0.0], [0.0, 0.0, 6.0]]
    assert len(runs) <= 2  # at most one run to get the shape of the result


# %% [markdown]
# **2.** Write `pairwise(f, xs, ys)`: the table of `f(x, y)` for all x in `xs` and y in
# `ys`.


# %%
def exercise_2(pairwise):
    table = pairwise(lambda x, y: x @ y, many, many[:2])
    assert table.shape == (4, 2)
    assert jnp.allclose(table, many @ many[:2].T)


# %% [markdown]
# **3.** Write a batch rule for the primitive `row_max` below. (It computes the maximum
# along the last axis, so the lanes must be in front: `lane_to_front`.)

# %%
row_max_p = core.Primitive("row_max")
row_max_p.abstract = lambda x: x.update(shape=x.shape[:-1])
row_max_p.impl = lambda x: jnp.max(x, axis=-1)


def exercise_3(rule):
    row_max_p.batch = rule
    square = jnp.array([[1.0, 5.0], [7.0, 2.0]])
    assert jax.vmap(row_max_p.bind)(square).tolist() == [5.0, 7.0]
    assert jax.vmap(row_max_p.bind, in_axes=1)(square).tolist() == [7.0, 5.0]
    cube = jnp.arange(8.0).reshape(2, 2, 2)
    twice = jax.vmap(jax.vmap(row_max_p.bind, in_axes=1), in_axes=0)(cube)
    assert twice.tolist() == [[2.0, 3.0], [6.0, 7.0]]


# %% [markdown]
# ## What JAX does differently, and why
#
# Rules and jaxprs are JAX's. `vmap` runs all lanes together, so the memory grows with
# their number. JAX has `lax.map(..., batch_size=k)` for that. In minijax `vmap` also
# accepts `chunk=k`: one compiled loop that maps k lanes at a time.

# %%
chunked = jax.vmap(lambda x: score(w, x), chunk=2)
assert jnp.allclose(chunked(many), lanes)
assert "scan" in str(jax.make_jaxpr(chunked)(many))

# %% [markdown]
# ## Answers
#
# **1.**


# %%
def jacobian(f, x):
    value, pull = jax.vjp(f, x)
    (rows,) = jax.vmap(pull)(jnp.eye(len(value)))
    return rows


exercise_1(jacobian)
row_by_row = lambda f, x: jnp.stack([jax.vjp(f, x)[1](e)[0] for e in jnp.eye(2)] * 2)
assert draw.refuses(exercise_1, row_by_row)

# %% [markdown]
# **2.**


# %%
def pairwise(f, xs, ys):
    return jax.vmap(lambda x: jax.vmap(lambda y: f(x, y))(ys))(xs)


exercise_2(pairwise)
assert draw.refuses(exercise_2, lambda f, xs, ys: pairwise(f, ys, xs))

# %% [markdown]
# **3.**

# %%
from minijax.passes.batch import lane_to_front


def row_max_batch(axis, args, dims):
    return row_max_p.bind(lane_to_front(args[0], axis.size, dims[0])), 0


exercise_3(row_max_batch)
assert draw.refuses(exercise_3, lambda axis, args, dims: (row_max_p.bind(*args), 0))
assert BatchTracer.__slots__ == ("dim", "val")  # as our Lane
