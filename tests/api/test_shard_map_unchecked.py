"""Derivatives of `shard_map(check_vma=False)` through every collective, beside one device.

Without types that record where values vary, the cotangent of a replicated result is divided
among the devices and those of a replicated operand are summed.  The reference computes with
whole arrays on one device, so a lost factor shows.
"""

from functools import partial

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.sharding import PartitionSpec as P

N = 4
ROWS = 16
W = np.array([0.5, -1.25, 2.0], np.float32)
X = np.sin(np.arange(ROWS * 3, dtype=np.float32)).reshape(ROWS, 3)
BLOCKS = (N, ROWS // N, 3)


def blocks(x):
    return x.reshape(BLOCKS)


def moved(x):
    """The rows after `all_to_all`: device i has row i of each block."""
    return jnp.swapaxes(blocks(x), 0, 1).reshape(ROWS, 3)


def shifted(x):
    return jnp.roll(blocks(x), 1, 0).reshape(ROWS, 3)


def odd_devices(x):
    """The sums over two groups of devices, (0, 2) and (1, 3), on each of them."""
    b = blocks(x)
    return jnp.concatenate([b[0] + b[2], b[1] + b[3]] * 2)


RING = [(i, (i + 1) % N) for i in range(N)]
GROUPS = [[0, 2], [1, 3]]

# name: (on a device: its rows of x, all of w; spec of the result; reference on whole arrays)
CASES = {
    "no collective": (lambda x, w: jnp.exp(x * w), P("d"), lambda x, w: jnp.exp(x * w)),
    "psum": (
        lambda x, w: lax.psum((x * w).sum(0), "d"),
        P(),
        lambda x, w: (x * w).sum(0),
    ),
    "psum, sharded result": (
        lambda x, w: x * lax.psum(jnp.sin(x * w).sum(0), "d"),
        P("d"),
        lambda x, w: x * jnp.sin(x * w).sum(0),
    ),
    "psum of groups": (
        lambda x, w: lax.psum(x * w, "d", axis_index_groups=GROUPS),
        P("d"),
        lambda x, w: odd_devices(x * w),
    ),
    "pmean": (
        lambda x, w: lax.pmean(jnp.exp(x * w), "d"),
        P(),
        lambda x, w: blocks(jnp.exp(x * w)).mean(0),
    ),
    "all_gather": (
        lambda x, w: lax.all_gather(jnp.tanh(x * w), "d", tiled=True),
        P(),
        lambda x, w: jnp.tanh(x * w),
    ),
    "all_gather, sharded result": (
        lambda x, w: lax.all_gather(x * w, "d").sum(0),
        P("d"),
        lambda x, w: jnp.tile(blocks(x * w).sum(0), (N, 1)),
    ),
    "psum_scatter": (
        lambda x, w: lax.psum_scatter(jnp.cos(x * w), "d", tiled=True),
        P("d"),
        lambda x, w: blocks(jnp.cos(x * w)).sum(0),
    ),
    "all_to_all": (
        lambda x, w: lax.all_to_all(x * w, "d", 0, 0, tiled=True),
        P("d"),
        lambda x, w: moved(x * w),
    ),
    "ppermute": (
        lambda x, w: lax.ppermute(x * w, "d", RING) * x,
        P("d"),
        lambda x, w: shifted(x * w) * x,
    ),
    "axis_index": (
        lambda x, w: x * w * (1.0 + lax.axis_index("d")),
        P("d"),
        lambda x, w: x * w * jnp.repeat(jnp.arange(1.0, N + 1), ROWS // N)[:, None],
    ),
    "replicated operand alone": (
        lambda x, w: jnp.exp(w),
        P(),
        lambda x, w: jnp.exp(w),
    ),
    "in a scan": (
        lambda x, w: lax.scan(
            lambda c, r: (jnp.sin(c) + lax.psum(r * w, "d"), None), jnp.zeros(3), x
        )[0],
        P(),
        lambda x, w: lax.scan(
            lambda c, r: (jnp.sin(c) + (r * w).sum(0), None),
            jnp.zeros(3),
            jnp.swapaxes(blocks(x), 0, 1),
        )[0],
    ),
    "in jit and checkpoint": (
        lambda x, w: mj.checkpoint(mj.jit(lambda x: lax.psum(jnp.exp(x * w), "d")))(x),
        P(),
        lambda x, w: blocks(jnp.exp(x * w)).sum(0),
    ),
}


@pytest.fixture(scope="module")
def mesh():
    return mj.make_mesh((N,), ("d",), axis_types=(mj.sharding.AxisType.Auto,))


@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_those_of_one_device(name, mesh):
    local, spec, reference = CASES[name]
    over_devices = mj.shard_map(
        local, mesh=mesh, in_specs=(P("d"), P()), out_specs=spec, check_vma=False
    )
    weights = np.cos(np.arange(np.size(reference(X, W)), dtype=np.float32))

    def loss(fun, x, w):
        out = fun(x, w)
        return (jnp.sin(out).ravel() * weights).sum()

    for derive in (
        lambda f: mj.value_and_grad(f, (0, 1)),
        lambda f: lambda x, w: mj.jvp(f, (x, w), (jnp.cos(x), jnp.sin(w))),
        lambda f: mj.grad(lambda x, w: (mj.grad(f, 1)(x, w) * W).sum(), (0, 1)),
    ):
        expected = mj.jit(derive(partial(loss, reference)))(X, W)
        got = mj.jit(derive(partial(loss, over_devices)))(X, W)
        for a, b in zip(mj.tree.leaves(got), mj.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("out_axes", [0, 1])
@pytest.mark.parametrize("in_axes", [(0, None), (1, None), (0, 0)])
def test_residuals_of_pmap_that_are_inputs_or_results(in_axes, out_axes):
    """Of `exp(x * w)` the residuals are both operands and the result, each along its axis."""
    x = np.linspace(-1, 1, N * N, dtype=np.float32).reshape(N, N)
    w = np.linspace(0.5, 1.5, N if in_axes[1] is None else N * N, dtype=np.float32)
    w = w if in_axes[1] is None else w.reshape(N, N)

    def loss(mapped, x, w):
        f = mapped(lambda a, b: jnp.exp(a * b), in_axes=in_axes, out_axes=out_axes)
        return (jnp.sin(f(x, w)) * np.arange(N * N).reshape(N, N)).sum()

    expected = mj.grad(partial(loss, mj.vmap), (0, 1))(x, w)
    got = mj.grad(partial(loss, mj.pmap), (0, 1))(x, w)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
