"""haiku and distrax: networks as pure functions, and distributions with bijectors."""

import distrax
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax

key = jax.random.PRNGKey(0)
x = jax.random.normal(key, (16, 3))
y = x.sum(1, keepdims=True)


@hk.transform
def network(x):
    h = hk.LayerNorm(-1, True, True)(hk.nets.MLP([8, 8])(x))
    return hk.Linear(1)(hk.dropout(hk.next_rng_key(), 0.1, h))


params = network.init(key, x)
optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-2))
state = optimizer.init(params)


@jax.jit
def step(params, state, key):
    loss = lambda p: ((network.apply(p, key, x) - y) ** 2).mean()
    value, grads = jax.value_and_grad(loss)(params)
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state, value


for i in range(3):
    params, state, value = step(params, state, jax.random.fold_in(key, i))
    print("loss", round(float(value), 4))


@hk.without_apply_rng
@hk.transform
def recurrent(x):
    core = hk.LSTM(4)
    return hk.dynamic_unroll(core, x, core.initial_state(2))[0]


steps = jnp.ones((5, 2, 3))
print("lstm", np.round(recurrent.apply(recurrent.init(key, steps), steps)[-1, 0], 4))
norm = hk.transform_with_state(lambda x: hk.BatchNorm(True, True, 0.9)(x, True))
params, stats = norm.init(None, x)
print("norm", round(float(norm.apply(params, stats, None, x)[0].std()), 4))
print("summary", len(hk.experimental.tabulate(network)(x)) > 100)

zeros, ones = jnp.zeros(2), jnp.ones(2)
normal = distrax.MultivariateNormalDiag(zeros, ones)
print("sample", np.round(normal.sample(seed=key, sample_shape=(2,)), 4))
other = distrax.MultivariateNormalDiag(ones, ones)
print("density", normal.log_prob(ones), "divergence", normal.kl_divergence(other))
chain = distrax.Chain([distrax.Tanh(), distrax.ScalarAffine(1.0, 2.0)])
squashed = distrax.Transformed(distrax.Normal(0.0, 1.0), chain)
print("squashed", round(float(squashed.log_prob(0.3)), 4))
print("inverse", jax.jit(lambda x: distrax.Inverse(chain).forward(x))(0.3))
derived = distrax.Lambda(lambda x: 2 * x + 1)
print("derived", derived.inverse(3.0), derived.forward_log_det_jacobian(1.0))
drawn = distrax.Categorical(logits=jnp.arange(3.0)).sample(seed=key, sample_shape=(4,))
print("categorical", drawn)
