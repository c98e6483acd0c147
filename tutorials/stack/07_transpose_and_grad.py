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
# # 7. Transpose and `grad`
#
# **Question.** Why does the gradient of a loss with a million parameters cost about as
# much as the loss, and not a million times as much?
#
# The linear program of chapter 6 is a matrix that is never written out: tangents in, one
# number out. Applied to unit vectors, it computes one column per run. Its *transpose*
# computes all of them in one run. To transpose a linear program, reverse each of its
# equations.

# %%
import draw

import minijax as jax
import minijax.numpy as jnp
from minijax import lax
from minijax.ir import core
from minijax.ir.jaxpr import ClosedJaxpr, Literal
from minijax.passes import transpose
from minijax.passes.ad_util import UndefinedPrimal
from minijax.passes.linearize import linearize_flat

# %% [markdown]
# A transpose rule takes the cotangent of the result and returns the cotangents of the
# operands. A linear operand has no value; the marker `UndefinedPrimal(aval)` takes its
# position. A product is linear in one operand while the other is fixed.

# %%
mul_p = core.named("mul")
number = core.aval_of(jnp.float32(1))
cotangents = mul_p.transpose(jnp.float32(10), UndefinedPrimal(number), jnp.float32(3))
assert cotangents == [30.0, None]

# %% [markdown]
# ## Thirty lines to try: reverse mode
#
# Traverse the equations from the last to the first. Cotangents that a variable receives
# from several readers are added: reading twice is a copy, and the transpose of a copy is
# a sum.


# %%
def backward(jaxpr, consts, ct):
    """Return the cotangents of a linear jaxpr's inputs, given its result's."""
    value, ct_of = dict(zip(jaxpr.constvars, consts, strict=True)), {}

    def add(atom, ct):
        if ct is not None and type(atom) is not Literal:
            ct_of[atom] = ct_of[atom] + ct if atom in ct_of else ct

    add(jaxpr.outvars[0], ct)
    for eqn in reversed(jaxpr.eqns):
        (out,) = eqn.outvars
        if out not in ct_of:
            continue  # no later equation reads it
        args = [
            a.val if type(a) is Literal else value.get(a, UndefinedPrimal(a.aval))
            for a in eqn.invars
        ]
        cts_in = eqn.primitive.transpose(ct_of.pop(out), *args, **eqn.params)
        for atom, ct_in in zip(eqn.invars, cts_in, strict=True):
            add(atom, ct_in)
    return [ct_of.get(v, jnp.zeros(v.aval.shape)) for v in jaxpr.invars]


def gradient(f):
    def gradient_f(*args):
        outs, part = linearize_flat(lambda *xs: [f(*xs)], args)
        return backward(part.jaxpr, part.consts, jnp.ones_like(outs[0]))

    return gradient_f


def loss(w, b, x):
    return jnp.sum(jnp.tanh(x * w + b) ** 2)


w, b, x = jnp.arange(3.0), jnp.float32(0.5), jnp.array([1.0, -1.0, 0.3])
grads = gradient(loss)(w, b, x)
expected = jax.grad(loss, argnums=(0, 1, 2))(w, b, x)
assert all(jnp.allclose(g, e) for g, e in zip(grads, expected, strict=True))

# %% [markdown]
# It runs under the other transformations, and therefore under itself.

# %%
batch = jnp.stack([x, 2 * x])
mapped = jax.jit(jax.vmap(gradient(loss), in_axes=(None, None, 0)))(w, b, batch)
assert jnp.allclose(mapped[0][0], grads[0])
curved = gradient(lambda x: gradient(lambda x: jnp.sum(x**3))(x)[0].sum())(x)[0]
assert jnp.allclose(curved, 6 * x)

# %% [markdown]
# The library's `grad` has the same two steps: `linearize_flat`, then `backward_pass`.

# %%
from minijax.api import autodiff

shown = draw.source(transpose.backward_pass, autodiff.pull_back)
assert "tape.pop()" in shown
assert "linearize_flat(flat, leaves)" in draw.source(autodiff.value_and_grad)
shown

# %% [markdown]
# ## The picture: reversed arrows
#
# A linear program and its transpose. The second is drawn from bottom to top: each
# transposed equation has about the same position as its original.

# %%
_, part = linearize_flat(lambda x: [lax.sin(x) * x + x * 3.0], [jnp.float32(2)])
linear = ClosedJaxpr(part.jaxpr, part.consts)
transposed, _ = transpose.transpose_jaxpr(linear, [True])
sums = sum(e.primitive.name in ("add", "add_any") for e in linear.eqns)
read = [a for e in transposed.eqns for a in e.invars]
copies = read.count(transposed.jaxpr.invars[0])
assert sums >= 2
assert copies >= 2  # sums become copies, and copies become sums
draw.graph(linear)

# %%
draw.graph(transposed, flip=True)

# %% [markdown]
# Operations come in pairs, each the transpose of the other. The rules show it:

# %%


def transpose_of(linear, *shape):
    x = jnp.ones(shape)
    program = jax.make_jaxpr(jax.linear_transpose(linear, x))(linear(x))
    return program.eqns[-1].primitive.name


pairs = {
    "repeat": transpose_of(lambda x: jnp.broadcast_to(x, (4, 3)), 3),
    "sum": transpose_of(lambda x: x.sum(0), 4, 3),
    "slice": transpose_of(lambda x: lax.slice(x, (1,), (2,)), 3),
    "pad": transpose_of(lambda x: jnp.pad(x, 1)[1:-1], 3),
    "look up": transpose_of(lambda x: x[jnp.array([0, 0, 2])], 3),
    "reverse": transpose_of(lambda x: jnp.flip(x), 3),
}
assert pairs["repeat"] == "reduce_sum"
assert pairs["sum"] == "broadcast_in_dim"
assert pairs["slice"] == "pad"
assert pairs["look up"] == "scatter-add"
assert pairs["reverse"] == "rev"
draw.table(("linear operation", "its transpose"), *pairs.items())

# %% [markdown]
# What does it cost? The transposed program has about as many equations as the linear
# program.

# %%
count = lambda f: len(jax.make_jaxpr(f)(jnp.float32(0.5)).eqns)


def deep(x):
    for _ in range(50):
        x = jnp.sin(x) * x
    return x


assert count(deep) == 100
assert count(jax.grad(deep)) < 5 * count(deep)

# %% [markdown]
# ## Exercises
#
# **1.** Write `matrix(linear, n)`: the matrix of a linear function of vectors of length
# n. Compute one *row* per run, with `jax.linear_transpose`.


# %%
def exercise_1(matrix):
    a = jnp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert matrix(lambda x: a @ x, 3).tolist() == a.tolist()
    assert matrix(lambda x: jnp.cumsum(x)[-1:], 2).tolist() == [[1.0, 1.0]]


# %% [markdown]
# **2.** Write `vjp(f, x)` with `linearize_flat` and `backward`. It returns the value, and
# a function from cotangents to cotangents.


# %%
def exercise_2(vjp):
    g = lambda x: jnp.sin(x) * 2.0
    value, pull = vjp(g, x)
    assert jnp.allclose(value, g(x))
    assert jnp.allclose(pull(x)[0], jax.vjp(g, x)[1](x)[0])


# %% [markdown]
# **3.** Write `hvp(f, x, v)`: the product of the Hessian with a vector, without computing
# the Hessian.


# %%
def exercise_3(hvp):
    f = lambda x: jnp.sum(jnp.sin(x) * x[::-1])
    v = jnp.array([1.0, 2.0, 3.0])
    assert jnp.allclose(hvp(f, x, v), jax.hessian(f)(x) @ v, atol=1e-5)
    program = jax.make_jaxpr(lambda x: hvp(f, x, v))(x)
    assert "3,3" not in str(program)  # no matrix anywhere


# %% [markdown]
# ## What JAX does differently, and why
#
# The rules and the order of the sums are JAX's, so jaxprs of gradients read the same.
# Nonlinear functions cannot be transposed. JAX's rules detect that by an assertion deep
# inside. In minijax a rule that computes with the marker raises an error that names the
# place.

# %%
try:
    jax.linear_transpose(lambda x: x * x, 1.0)(1.0)
except TypeError as error:
    message = str(error)
assert "Only linear functions can be transposed" in message

# %% [markdown]
# ## Answers
#
# **1.**


# %%
def matrix(linear, n):
    pull = jax.linear_transpose(linear, jnp.ones(n))
    rows = jax.eval_shape(linear, jnp.ones(n)).shape[0]
    return jnp.stack([pull(e)[0] for e in jnp.eye(rows)])


exercise_1(matrix)
assert draw.refuses(exercise_1, lambda linear, n: matrix(linear, n).T)

# %% [markdown]
# **2.**


# %%
def vjp(f, x):
    outs, part = linearize_flat(lambda x: [f(x)], [x])
    return outs[0], lambda ct: backward(part.jaxpr, part.consts, ct)


exercise_2(vjp)
assert draw.refuses(exercise_2, lambda f, x: (f(x), lambda ct: [ct]))

# %% [markdown]
# **3.** Forward mode over reverse mode.


# %%
def hvp(f, x, v):
    return jax.jvp(jax.grad(f), (x,), (v,))[1]


exercise_3(hvp)
assert draw.refuses(exercise_3, lambda f, x, v: jax.hessian(f)(x) @ v)
