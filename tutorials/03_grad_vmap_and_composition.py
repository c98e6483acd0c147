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
# # `grad`, `vmap`, and putting them together
#
# A *transformation* takes a function and returns a function. `grad` returns its
# derivative, `vmap` a version for many arguments. The result can be transformed again.
# This tutorial starts with a first derivative and ends with Newton's method and
# per-example gradients.

# %%
import numpy as np

import minijax as jax
import minijax.numpy as jnp

# %% [markdown]
# ## The derivative of a function
#
# This is the height of a thrown ball, in metres, after `t` seconds. Its derivative is the
# speed, and the derivative of the speed is the acceleration.


# %%
def height(t):
    return 2.0 + 15.0 * t - 0.5 * 9.81 * t**2


speed = jax.grad(height)
acceleration = jax.grad(speed)
assert jnp.allclose(speed(0.0), 15.0)
assert jnp.allclose(acceleration(1.0), -9.81)

# %% [markdown]
# This is neither symbolic algebra nor a finite difference. The function is traced, and
# each operation in it has a rule for its derivative. The result is a function like any
# other, and has a jaxpr.

# %%
print(jax.make_jaxpr(speed)(1.0))

# %% [markdown]
# `grad` requires a function that returns one number. The arguments can be anything: an
# array, or a tree of dicts, lists and tuples of arrays. The gradient has the structure of
# the argument.


# %%
def swing(params, t):
    """A damped oscillation."""
    decay = jnp.exp(-params["damping"] * t)
    return params["size"] * decay * jnp.cos(params["frequency"] * t)


def misfit(params, t, measured):
    return ((swing(params, t) - measured) ** 2).mean()


t = jnp.linspace(0, 6, 60)
truth = {"size": 2.0, "damping": 0.3, "frequency": 2.5}
noise = 0.05 * jax.random.normal(jax.random.key(0), t.shape)
measured = swing(truth, t) + noise

guess = {"size": 1.0, "damping": 0.1, "frequency": 2.3}
gradient = jax.grad(misfit)(guess, t, measured)
assert gradient.keys() == guess.keys()

# %% [markdown]
# A finite difference is a good check, and a bad way to compute the gradient: it needs a
# call for each parameter, and loses half of the digits.

# %%
step = 1e-2
more = {**guess, "damping": guess["damping"] + step}
less = {**guess, "damping": guess["damping"] - step}
quotient = (misfit(more, t, measured) - misfit(less, t, measured)) / (2 * step)
assert jnp.allclose(gradient["damping"], quotient, rtol=1e-2)


# %% [markdown]
# Gradient descent fits the curve. `value_and_grad` returns both for the price of one, and
# `jit` around it compiles a step into one program.


# %%
@jax.jit
def descend(params):
    value, grads = jax.value_and_grad(misfit)(params, t, measured)
    return jax.tree_util.tree_map(lambda p, g: p - 0.05 * g, params, grads), value


params = guess
for _ in range(1000):
    params, value = descend(params)
for name, true_value in truth.items():
    assert abs(params[name] - true_value) < 0.05, name

# %% [markdown]
# ## Batches
#
# Write the function for one example; `vmap` converts it to a function of many. It does
# not loop. Each operation is applied to a whole batch, so a product of vectors becomes a
# product of matrices.


# %%
def distance(p, q):
    return jnp.sqrt(((p - q) ** 2).sum())


towns = jnp.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
harbour = jnp.array([3.0, 0.0])

to_harbour = jax.vmap(distance, in_axes=(0, None))  # each p, the same q
assert to_harbour(towns, harbour).tolist() == [3.0, 4.0, jnp.sqrt(9.0 + 64.0)]

# %% [markdown]
# `in_axes` names the batch axis of each argument; `None` means that all elements share
# the argument. Two vmaps compute every pair:

# %%
table = jax.vmap(to_harbour, in_axes=(None, 0))(towns, towns)
assert table.shape == (3, 3)
assert table[0, 2] == 10.0

# %% [markdown]
# ## Together
#
# `vmap(grad(f))` is the gradient for each example of a batch. In this fit, which
# measurement has the largest gradient?

# %%
per_point = jax.vmap(jax.grad(misfit), in_axes=(None, 0, 0))(params, t, measured)
assert per_point["damping"].shape == t.shape

# The mean of the gradients is the gradient of the mean:
mean_gradient = jax.grad(misfit)(params, t, measured)
assert jnp.allclose(per_point["damping"].mean(), mean_gradient["damping"], atol=1e-5)
print("largest gradient at t =", t[abs(per_point["damping"]).argmax()])

# %% [markdown]
# `jacfwd` computes a Jacobian column by column (good for few inputs), and `jacrev` row by
# row (good for few outputs). Both are a `vmap` over a derivative. One applied to the
# other computes the matrix of second derivatives. With it, Newton's method takes a few
# steps where descent takes thousands.


# %%
def valley(p):
    """Rosenbrock's curved valley, whose minimum (1, 1) is hard to reach."""
    return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2


@jax.jit
def newton(p):
    curvature = jax.jacfwd(jax.jacrev(valley))(p)
    (a, b), (c, d) = curvature
    gx, gy = jax.grad(valley)(p)
    return p - jnp.array([d * gx - b * gy, a * gy - c * gx]) / (a * d - b * c)


p = jnp.array([-1.2, 1.0])
for _ in range(8):
    p = newton(p)
assert jnp.allclose(p, jnp.ones(2), atol=1e-4)
assert jnp.allclose(jax.hessian(valley)(p), jax.jacfwd(jax.grad(valley))(p))

# %% [markdown]
# All of this works under `jit`, in any order, to any depth. The order of nesting does not
# change the result:

# %%
x = jnp.linspace(-2, 2, 5)
f = lambda x: jnp.tanh(x) * x
one = jax.jit(jax.vmap(jax.grad(jax.grad(f))))(x)
other = jax.vmap(jax.grad(jax.jit(jax.grad(jax.jit(f)))))(x)
assert jnp.allclose(one, other, atol=1e-6)

# %% [markdown]
# ## Surprises
#
# **A kink has a derivative.** A gradient must return some number. For `abs` at 0 it is
# the slope on the right. `maximum` divides a tie equally. For `sqrt` at 0 it is the value
# of the formula, infinity.

# %%
assert jax.grad(abs)(0.0) == 1.0
assert jax.grad(lambda x: jnp.maximum(x, 0.0))(0.0) == 0.5
assert jax.grad(jnp.sqrt)(0.0) == np.inf


# %% [markdown]
# **`where` guards the value, not the derivative.** Both sides are computed, and so are
# both derivatives. The unselected one is multiplied by zero, and zero times infinity is
# `nan`. Guard the operand instead.


# %%
def careless(x):
    return jnp.where(x > 0, jnp.sqrt(x), 0.0)


def careful(x):
    safe = jnp.where(x > 0, x, 1.0)
    return jnp.where(x > 0, jnp.sqrt(safe), 0.0)


assert careless(0.0) == careful(0.0) == 0.0
assert jnp.isnan(jax.grad(careless)(0.0))
assert jax.grad(careful)(0.0) == 0.0

# %% [markdown]
# **Only floating-point arguments have gradients.** An integer has no small changes.

# %%
try:
    jax.grad(lambda n: n * 2.0)(3)
except TypeError as error:
    print(error)
else:
    raise AssertionError("an integer was differentiated")

# %% [markdown]
# **`vmap` computes both branches.** A `cond` whose condition differs between elements
# becomes a `where`: both branches run for each element. The results are the same, but the
# cost is not.

# %%
branch = lambda x: jax.lax.cond(x > 0, jnp.sin, jnp.cos, x)
names = {equation.primitive.name for equation in jax.make_jaxpr(jax.vmap(branch))(x).jaxpr.eqns}
assert "cond" not in names
assert {"sin", "cos", "select_n"} <= names
