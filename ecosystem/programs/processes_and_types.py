"""tinygp, jaxtyping, chex and optax: Gaussian processes, checked shapes, optimizers."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
from beartype import beartype
from jaxtyping import Array, Float, jaxtyped
from tinygp import GaussianProcess, kernels

xs = jnp.linspace(0, 5, 12)
ys = jnp.sin(xs)


def loss(t):
    kernel = jnp.exp(t["amplitude"]) * kernels.Matern32(jnp.exp(t["scale"]))
    return -GaussianProcess(kernel, xs, diag=1e-2).log_probability(ys)


start = {"amplitude": jnp.array(0.0), "scale": jnp.array(0.0)}
slopes = jax.grad(loss)(start)
print("fit", round(float(loss(start)), 3), [round(float(s), 2) for s in slopes.values()])
process = GaussianProcess(kernels.ExpSquared(1.0), xs, diag=1e-2)
_, posterior = process.condition(ys, jnp.array([1.5]))
print("posterior", np.round(posterior.loc, 3), np.round(posterior.variance, 3))
fast = lambda s: GaussianProcess(kernels.quasisep.SHO(s, 1.0), xs, diag=0.01).log_probability(
    ys
)
print("quasiseparable", round(float(fast(1.0)), 2), round(float(jax.grad(fast)(1.0)), 2))


@jaxtyped(typechecker=beartype)
def product(
    x: Float[Array, "a b"],  # noqa: F722
    y: Float[Array, "b"],  # noqa: F821
) -> Float[Array, "a"]:  # noqa: F821
    return x @ y


print("typed", product(jnp.ones((2, 3)), jnp.ones(3)))
print("typed, jitted", jax.jit(product)(jnp.ones((2, 3)), jnp.ones(3)))
try:
    product(jnp.ones((2, 3)), jnp.ones(4))
except Exception as error:
    print(type(error).__name__)


@chex.dataclass
class Pair:
    a: chex.Array
    b: int = 1


chex.assert_trees_all_close({"a": jnp.ones(2)}, {"a": jnp.ones(2)})
print("doubled", jax.tree.map(lambda x: x * 2, Pair(a=jnp.ones(2), b=3)))
once = jax.jit(chex.assert_max_traces(lambda x: x, n=1))
once(1.0)
try:
    once(jnp.ones(2))
except AssertionError as error:
    print("traced", "traced > 1 times" in str(error))

params = {"w": jnp.ones(3)}
bowl = lambda p: (p["w"] ** 2).sum() + p["w"][0]
value, grads = jax.value_and_grad(bowl)(params)
for name in (
    "adam",
    "adamw",
    "sgd",
    "rmsprop",
    "adagrad",
    "lamb",
    "lion",
    "adafactor",
    "yogi",
    "radam",
    "novograd",
    "sm3",
):
    optimizer = getattr(optax, name)(learning_rate=0.1)
    updates, _ = optimizer.update(grads, optimizer.init(params), params)
    print(name, np.round(updates["w"], 4))
searched = optax.lbfgs()
updates, _ = searched.update(
    grads, searched.init(params), params, value=value, grad=grads, value_fn=bowl
)
print("lbfgs", np.round(updates["w"], 4))
print("schedule", np.round(optax.cosine_decay_schedule(1.0, 10)(jnp.arange(3)), 4))
