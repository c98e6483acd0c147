"""Gradients of loops stay small: equations, and bytes that the forward loop stacks.

`JAX` holds what JAX 0.10.2 makes of the same programs, counted in the same way; ours may
be no more.
"""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.ir.jaxpr import sub_jaxprs

W = np.full((8, 8), 0.1, np.float32)
X = np.ones((4, 8), np.float32)
XS = np.ones((10, 4, 8), np.float32)
LAYERS = np.full((6, 8, 8), 0.1, np.float32)


def carried(step):
    """The sum of the last carry of steps (carry, x, W) -> carry."""
    return lambda W: lax.scan(lambda c, x: (step(c, x, W), None), X, XS)[0].sum()


def layered(layer):
    return lambda Ws: lax.scan(lambda h, W: (layer(h, W), None), X, Ws)[0].sum()


def lstm(W):
    def cell(state, x):
        h, c = state
        z = jnp.concatenate([x, h], -1) @ jnp.concatenate([W, W], 0)
        i, f, g, o = jnp.split(jnp.concatenate([z] * 4, -1), 4, -1)
        c = mj.nn.sigmoid(f) * c + mj.nn.sigmoid(i) * jnp.tanh(g)
        h = mj.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    (h, _), ys = lax.scan(cell, (X, X), XS)
    return ys.sum() + h.sum()


def normed(h, W):
    centred = (h - h.mean(-1, keepdims=True)) / jnp.sqrt(h.var(-1, keepdims=True) + 1e-5)
    return h + mj.nn.relu(centred @ W) @ W.T


def leapfrog(W):
    pull = mj.grad(lambda q: 0.5 * (q @ W * q).sum())
    step = lambda s, _: ((s[0] + 0.1 * s[1], s[1] - 0.1 * pull(s[0])), None)
    return lax.scan(step, (X, X), None, length=9)[0][0].sum()


def branch(h, x, W):
    return lax.cond(x.sum() > 0, lambda h: jnp.tanh(h @ W) * x, jnp.sin, h)


def inner_scan(h, x, W):
    return lax.scan(lambda g, _: (jnp.tanh(g @ W) + x, None), h, None, length=3)[0]


def dropout(W):
    def step(c, key):
        mask = mj.random.bernoulli(key, 0.5, c.shape)
        return jnp.where(mask, c @ W, 0.0), None

    return lax.scan(step, X, mj.random.split(mj.random.key(0), 5))[0].sum()


def counter(W):
    step = lambda c, x: ((c[0] + 1, jnp.sin(c[1] @ W) * (c[0] % 2)), None)
    return lax.scan(step, (0, X), XS)[0][1].sum()


def half_precision(c, x, W):
    small = jnp.sin(c.astype(jnp.bfloat16) @ W.astype(jnp.bfloat16))
    return small.astype(jnp.float32) + x


PROGRAMS = {
    "lstm": (lstm, W),
    "layers": (layered(normed), LAYERS),
    "layers with remat": (
        layered(mj.checkpoint(lambda h, W: h + mj.nn.gelu(h @ W) @ W.T)),
        LAYERS,
    ),
    "attention": (layered(lambda h, W: h + mj.nn.softmax((h @ W) @ (h @ W).T) @ h), LAYERS),
    "branch": (carried(branch), W),
    "scan in scan": (carried(inner_scan), W),
    "dropout": (dropout, W),
    "logsumexp": (carried(lambda c, x, W: mj.nn.logsumexp(c[:, :, None] + W, 1) + x), W),
    "leapfrog": (leapfrog, W),
    "fori_loop": (lambda W: lax.fori_loop(0, 5, lambda i, h: jnp.tanh(h @ W) * i, X).sum(), W),
    "map": (lambda W: lax.map(lambda x: jnp.sin(x @ W) * jnp.cos(W).sum(), XS).sum(), W),
    "associative_scan": (
        lambda W: lax.associative_scan(jnp.matmul, jnp.stack([W] * 7)).sum(),
        W,
    ),
    "lanes": (
        lambda W: mj.vmap(
            lambda x: lax.scan(lambda c, r: (jnp.tanh(c @ W) * r[0], None), x, XS)[0]
        )(X).sum(),
        W,
    ),
    "counter": (counter, W),
    "select": (carried(lambda c, x, W: jnp.where(x > 0, jnp.exp(c @ W), c)), W),
    "jit": (carried(lambda c, x, W: mj.jit(lambda c: jnp.sin(jnp.cos(c) @ W))(c) + x), W),
    "standardize": (carried(lambda c, x, W: mj.nn.standardize(c @ W) + x), W),
    "half precision": (carried(half_precision), W),
    "cumsum": (
        lambda W: lax.scan(lambda c, x: (jnp.cumsum(c @ W, -1) * x, jnp.max(c)), X, XS)[
            1
        ].sum(),
        W,
    ),
}

JAX = {  # equations, bytes of all results of scans
    "lstm": (63, 18688),
    "layers": (84, 6880),
    "layers with remat": (51, 2560),
    "attention": (48, 5056),
    "branch": (35, 8232),
    "scan in scan": (21, 12032),
    "dropout": (40, 1312),
    "logsumexp": (39, 12352),
    "leapfrog": (34, 3072),
    "fori_loop": (20, 2456),
    "map": (23, 5376),
    "associative_scan": (80, 0),
    "lanes": (21, 4672),
    "counter": (31, 3116),
    "select": (22, 3392),
    "jit": (22, 4352),
    "standardize": (67, 4992),
    "half precision": (21, 1792),
    "cumsum": (28, 4432),
}


def count(jaxpr):
    return len(jaxpr.eqns) + sum(
        count(inner) for e in jaxpr.eqns for inner in sub_jaxprs(e.params)
    )


def stacked_bytes(jaxpr):
    loops = [e for e in jaxpr.eqns if e.primitive.name == "scan"]
    results = [v.aval for e in loops for v in e.outvars]
    return sum(a.size * a.dtype.itemsize for a in results)


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_more_than_jax(name):
    f, w = PROGRAMS[name]
    jaxpr = mj.make_jaxpr(mj.grad(f))(w).jaxpr
    equations, size = JAX[name]
    assert count(jaxpr) <= equations
    assert stacked_bytes(jaxpr) <= size
