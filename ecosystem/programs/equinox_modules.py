"""equinox: train a module, ensembles, convolution, attention, state, errors at run time."""

import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
import numpy as np
import optax

key = jax.random.PRNGKey(0)
x = jax.random.normal(key, (64, 2))
y = (x**2).sum(1, keepdims=True)
model = eqx.nn.MLP(2, 1, 8, 2, key=key)
optimizer = optax.adam(1e-2)
state = optimizer.init(eqx.filter(model, eqx.is_array))


@eqx.filter_jit
def step(model, state):
    def loss(m):
        return jnp.mean((jax.vmap(m)(x) - y) ** 2)

    value, grads = eqx.filter_value_and_grad(loss)(model)
    updates, state = optimizer.update(grads, state, model)
    return eqx.apply_updates(model, updates), state, value


for _ in range(20):
    model, state, value = step(model, state)
print("loss", float(value))

members = eqx.filter_vmap(lambda k: eqx.nn.MLP(2, 1, 4, 1, key=k))(jax.random.split(key, 3))
together = eqx.filter_vmap(lambda m, x: m(x), in_axes=(eqx.if_array(0), None))
print("ensemble", np.asarray(together(members, x[0])).ravel())
print("conv", float(eqx.nn.Conv2d(1, 3, 3, key=key)(jnp.ones((1, 5, 5))).sum()))
print("gru", np.asarray(eqx.nn.GRUCell(2, 4, key=key)(x[0], jnp.zeros(4))))
norm = eqx.nn.BatchNorm(2, axis_name="batch", mode="batch")
lanes = jax.vmap(norm, axis_name="batch", in_axes=(0, None), out_axes=(0, None))
print("norm", float(lanes(x, eqx.nn.State(norm))[0].std()))
tokens = x[:3].repeat(2, 1)
print("attention", float(eqx.nn.MultiheadAttention(2, 4, key=key)(*[tokens] * 3).sum()))


def power(x):
    """Return x to the fifth, by a loop that is differentiated with checkpoints."""
    more, body = lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * x)
    return eqxi.while_loop(more, body, (0, 1.0), max_steps=8, kind="checkpointed")[1]


print("loop", jax.grad(power)(1.1))
checked = eqx.filter_jit(lambda x: eqx.error_if(x, x < 0, "negative"))
print("checked", checked(jnp.array(1.0)))
try:
    checked(jnp.array(-1.0))
except Exception as error:
    print(type(error).__name__, "negative" in str(error))
print(eqx.tree_pformat(model.layers[0]))
