"""A decoder-only transformer, trained on real text in one of several ways.

    python -m minijax.tools.alias -m proofs.decoder one --layers 8 --steps 50

The ways: `one` device; `pmap` over all devices; `jit` over a mesh of data and tensor axes,
partitioned by XLA; `shard_map`, with hand-written collectives.  Started in several processes,
`jit` and `shard_map` use the devices of all.  The output is one line of JSON with the losses.
`--save` stores the state after `--until` steps with orbax-checkpoint and kills the process;
`--restore` continues from that state, on any mesh.

This program also runs under JAX.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

ROOT = pathlib.Path(__file__).parent.parent
VOCABULARY = 128
ROWS = 16


def text() -> np.ndarray:
    """Return the project's own pages, as ASCII codes."""
    pages = ["README.md", "CONTRIBUTING.md", "LICENSE", "docs/differences.md"]
    contents = "\n".join((ROOT / page).read_text() for page in pages)
    return np.frombuffer(contents.encode("ascii", "replace"), np.uint8).astype(np.int32)


def batch(data: np.ndarray, step: int, length: int) -> np.ndarray:
    """Return the rows of one step, equal in every process: inputs and next tokens."""
    starts = np.random.RandomState(step).randint(0, len(data) - length - 1, ROWS)
    return np.stack([data[i : i + length + 1] for i in starts])


# ------------------------------------------------------------------------------ the model


def specs(layers: int) -> dict:
    """Return the specs of the parameters."""
    one = {
        "norm1": P(),
        "norm2": P(),
        "q": P(None, "model"),
        "k": P(None, "model"),
        "v": P(None, "model"),
        "out": P("model", None),
        "up": P(None, "model"),
        "down": P("model", None),
    }
    return {"embed": P(), "place": P(), "norm": P(), "unembed": P(), "layers": [one] * layers}


def init(key: jax.Array, layers: int, width: int, length: int) -> dict:
    """Return random parameters."""
    keys = iter(jax.random.split(key, 3 + 6 * layers))

    def weight(*shape):
        return jax.random.normal(next(keys), shape) * shape[0] ** -0.5

    return {
        "embed": weight(VOCABULARY, width),
        "place": weight(length, width) * 0.1,
        "norm": jnp.ones(width),
        "unembed": weight(width, VOCABULARY),
        "layers": [
            {
                "norm1": jnp.ones(width),
                "norm2": jnp.ones(width),
                "q": weight(width, width),
                "k": weight(width, width),
                "v": weight(width, width),
                "out": weight(width, width) * 0.5,
                "up": weight(width, 4 * width),
                "down": weight(4 * width, width) * 0.5,
            }
            for _ in range(layers)
        ],
    }


def normed(x, scale):
    return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * scale


def attention(x, p, head):
    """Apply causal attention with the heads in `p`, before the sum over all heads."""
    rows, length, _ = x.shape
    split = lambda w: (x @ w).reshape(rows, length, -1, head)
    q, k, v = split(p["q"]), split(p["k"]), split(p["v"])
    scores = jnp.einsum("blhd,bmhd->bhlm", q, k) * head**-0.5
    seen = jnp.tril(jnp.ones((length, length), bool))
    weights = jax.nn.softmax(jnp.where(seen, scores, -1e9), axis=-1)
    mixed = jnp.einsum("bhlm,bmhd->blhd", weights, v)
    return mixed.reshape(rows, length, -1) @ p["out"]


def loss_of(params, rows, head, total=lambda x: x):
    """Return the mean cross entropy; `total` sums over the devices that share a layer."""
    x = params["embed"][rows[:, :-1]] + params["place"]
    for p in params["layers"]:
        x = x + total(attention(normed(x, p["norm1"]), p, head))
        x = x + total(jax.nn.gelu(normed(x, p["norm2"]) @ p["up"]) @ p["down"])
    logits = normed(x, params["norm"]) @ params["unembed"]
    scores = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(scores, rows[:, 1:, None], -1).mean()


def adam(state, grads, rate=1e-3):
    """Take one step of Adam."""
    params, first, second, count = state
    count = count + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
    second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, grads)
    one, two = 1 - 0.9**count, 1 - 0.99**count
    params = jax.tree.map(
        lambda p, m, v: p - rate * (m / one) / (jnp.sqrt(v / two) + 1e-8), params, first, second
    )
    return params, first, second, count


# ------------------------------------------------------------------------------- the ways


def route_one(head):
    def step(state, rows):
        loss, grads = jax.value_and_grad(loss_of)(state[0], rows, head)
        return adam(state, grads), loss

    return jax.jit(step, donate_argnums=0)


def route_pmap(head):
    @functools.partial(jax.pmap, axis_name="data", in_axes=(None, 0), out_axes=None)
    def step(state, rows):
        loss, grads = jax.value_and_grad(loss_of)(state[0], rows, head)
        return adam(state, lax.pmean(grads, "data")), lax.pmean(loss, "data")

    n = jax.device_count()
    return lambda state, rows: step(state, rows.reshape(n, -1, rows.shape[-1]))


def route_shard_map(head, mesh, layers):
    def local(params, rows):
        return lax.pmean(loss_of(params, rows, head, lambda x: lax.psum(x, "model")), "data")

    loss_fn = jax.shard_map(
        local, mesh=mesh, in_specs=(specs(layers), P("data")), out_specs=P()
    )

    def step(state, rows):
        loss, grads = jax.value_and_grad(loss_fn)(state[0], rows)
        return adam(state, grads), loss

    return jax.jit(step, donate_argnums=0)


def main() -> None:
    parser = argparse.ArgumentParser()
    add = parser.add_argument
    add("route", choices=("one", "pmap", "jit", "shard_map"))
    add("--mesh", default="4x2")
    add("--layers", type=int, default=8)
    add("--width", type=int, default=64)
    add("--head", type=int, default=16)
    add("--length", type=int, default=64)
    add("--steps", type=int, default=50)
    add("--save")
    add("--until", type=int, default=30)
    add("--restore")
    options = parser.parse_args()
    if "JAX_NUM_PROCESSES" in os.environ:
        jax.distributed.initialize(
            os.environ["JAX_COORDINATOR_ADDRESS"],
            int(os.environ["JAX_NUM_PROCESSES"]),
            int(os.environ["JAX_PROCESS_ID"]),
        )
    data = text()
    fresh = init(jax.random.key(0), options.layers, options.width, options.length)
    state = (fresh, *(jax.tree.map(jnp.zeros_like, fresh) for _ in range(2)), jnp.float32(0))
    put = lambda rows: rows
    if options.route in ("jit", "shard_map"):
        shape = tuple(map(int, options.mesh.split("x")))
        mesh = Mesh(np.array(jax.devices()).reshape(shape), ("data", "model"))
        param_specs = specs(options.layers)
        shardings = jax.tree.map(
            lambda s: NamedSharding(mesh, s),
            (param_specs, param_specs, param_specs, P()),
            is_leaf=lambda x: isinstance(x, P),
        )
        state = jax.device_put(state, shardings)
        row_sharding = NamedSharding(mesh, P("data"))
        put = lambda rows: jax.make_array_from_callback(
            rows.shape, row_sharding, lambda at: rows[at]
        )
    step = {
        "one": lambda: route_one(options.head),
        "pmap": lambda: route_pmap(options.head),
        "jit": lambda: route_one(options.head),
        "shard_map": lambda: route_shard_map(options.head, mesh, options.layers),
    }[options.route]()
    begin = 0
    if options.restore:
        state, begin = restore(options.restore, state)
    losses = []
    for i in range(begin, options.steps):
        state, loss = step(state, put(batch(data, i, options.length)))
        losses.append(float(loss))
        if options.save and i + 1 == options.until:
            save(options.save, state, i + 1)
            report(options, losses)
            os.kill(os.getpid(), 9)
    report(options, losses)


def report(options: argparse.Namespace, losses: list[float]) -> None:
    if jax.process_index() == 0:
        print(json.dumps({"route": options.route, "losses": losses}), flush=True)


def save(path: str, state, step: int) -> None:
    import orbax.checkpoint as ocp

    with ocp.CheckpointManager(path) as manager:
        manager.save(step, args=ocp.args.StandardSave(list(state)))
        manager.wait_until_finished()


def restore(path: str, state):
    import orbax.checkpoint as ocp

    like = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding), list(state)
    )
    with ocp.CheckpointManager(path) as manager:
        step = manager.latest_step()
        return tuple(manager.restore(step, args=ocp.args.StandardRestore(like))), step


if __name__ == "__main__":
    main()
