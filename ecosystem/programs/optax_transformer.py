"""A whole program: a transformer language model, plain functions and optax."""

import codecs
import contextlib
import io
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax

with contextlib.redirect_stdout(io.StringIO()):
    import this  # the text to learn

TEXT = codecs.decode(this.s, "rot13")
LETTERS = sorted(set(TEXT))
TOKENS = np.array([LETTERS.index(c) for c in TEXT], np.int32)
WIDTH, HEADS, LAYERS, LENGTH, BATCH = 48, 4, 2, 32, 16


def dense(key, n, m):
    return jax.random.normal(key, (n, m)) / np.sqrt(n)


def init(key):
    keys = iter(jax.random.split(key, 2 + 4 * LAYERS))
    params = {
        "letters": dense(next(keys), len(LETTERS), WIDTH),
        "places": dense(next(keys), LENGTH, WIDTH),
        "layers": [],
    }
    for _ in range(LAYERS):
        params["layers"].append(
            {
                "qkv": dense(next(keys), WIDTH, 3 * WIDTH),
                "out": dense(next(keys), WIDTH, WIDTH),
                "up": dense(next(keys), WIDTH, 4 * WIDTH),
                "down": dense(next(keys), 4 * WIDTH, WIDTH),
                "norms": jnp.ones((2, WIDTH)),
            }
        )
    return params


def norm(x, scale):
    return scale * jax.nn.standardize(x)


def attention(layer, x):
    q, k, v = jnp.split(x @ layer["qkv"], 3, axis=-1)
    heads = lambda a: a.reshape(*a.shape[:-1], HEADS, -1)
    out = jax.nn.dot_product_attention(heads(q), heads(k), heads(v), is_causal=True)
    return out.reshape(x.shape) @ layer["out"]


def logits(params, tokens):
    x = params["letters"][tokens] + params["places"][: tokens.shape[-1]]
    for layer in params["layers"]:
        x += attention(layer, norm(x, layer["norms"][0]))
        x += jax.nn.gelu(norm(x, layer["norms"][1]) @ layer["up"]) @ layer["down"]
    return x @ params["letters"].T


def loss_fn(params, batch):
    scores = logits(params, batch[:, :-1])
    losses = optax.softmax_cross_entropy_with_integer_labels(scores, batch[:, 1:])
    return losses.mean()


schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 20, 200)
optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule))


@partial(jax.jit, donate_argnums=(0, 1))
def step(params, state, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state, loss


@jax.jit
def write(params, start):
    def one(window, _):
        token = logits(params, window)[-1].argmax().astype(jnp.int32)
        return jnp.append(window[1:], token), token

    return jax.lax.scan(one, start, None, 40)[1]


params = init(jax.random.key(0))
state = optimizer.init(params)
rng = np.random.default_rng(0)
for i in range(200):
    places = rng.integers(0, len(TOKENS) - LENGTH - 1, BATCH)
    batch = np.stack([TOKENS[p : p + LENGTH + 1] for p in places])
    params, state, loss = step(params, state, batch)
    if i in (0, 19, 49):
        print("step", i, "loss", round(float(loss), 2))
print("learnt", bool(loss < 1.0), len(write(params, TOKENS[:LENGTH])), "letters")
