"""flax.linen: a classifier of images with batch norm and dropout; lifting."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import serialization
from flax.training import train_state

key = jax.random.key(0)


class CNN(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.Conv(4, (3, 3))(x)
        x = nn.relu(nn.BatchNorm(use_running_average=not train)(x))
        x = nn.avg_pool(x, (2, 2), strides=(2, 2)).reshape((x.shape[0], -1))
        return nn.Dense(3)(nn.Dropout(0.5, deterministic=not train)(x))


class TrainState(train_state.TrainState):
    batch_stats: dict


images, labels = jax.random.normal(key, (8, 6, 6, 1)), jnp.arange(8) % 3
model = CNN()
variables = model.init(key, images, False)
state = TrainState.create(
    apply_fn=model.apply,
    tx=optax.adamw(1e-2),
    params=variables["params"],
    batch_stats=variables["batch_stats"],
)


@jax.jit
def step(state, key):
    def loss(params):
        logits, new = state.apply_fn(
            {"params": params, "batch_stats": state.batch_stats},
            images,
            True,
            rngs={"dropout": key},
            mutable=["batch_stats"],
        )
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
        return losses.mean(), new

    (value, new), grads = jax.value_and_grad(loss, has_aux=True)(state.params)
    state = state.apply_gradients(grads=grads)
    return state.replace(batch_stats=new["batch_stats"]), value


for i in range(5):
    state, value = step(state, jax.random.fold_in(key, i))
    print("loss", round(float(value), 4))
saved = serialization.to_bytes(state.params)
restored = serialization.from_bytes(state.params, saved)
same = jax.tree.map(lambda a, b: bool((a == b).all()), state.params, restored)
print("saved", jax.tree.all(same))


class Block(nn.Module):
    @nn.compact
    def __call__(self, x, _):
        return nn.Dense(4)(nn.LayerNorm()(x)), None


options = {"variable_axes": {"params": 0}, "split_rngs": {"params": True}}
x = jnp.arange(8.0).reshape(2, 4)
deep = nn.scan(Block, length=3, **options)()
variables = deep.init(key, x, None)
shapes = jax.tree.map(jnp.shape, variables)
print("scan", shapes, np.round(deep.apply(variables, x, None)[0], 3))
wide = nn.vmap(nn.Dense, in_axes=0, **options)(2)
print("vmap", np.round(wide.apply(wide.init(key, x), x), 3))
remat = nn.remat(nn.Dense)(2)
variables = remat.init(key, x)
print("remat", jax.grad(lambda v: remat.apply(v, x).sum())(variables)["params"]["bias"])
lstm = nn.RNN(nn.LSTMCell(4))
variables, steps = lstm.init(key, jnp.ones((2, 5, 3))), jnp.ones((2, 5, 3))
print("rnn", np.round(lstm.apply(variables, steps)[0, -1], 4))
