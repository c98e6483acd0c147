"""psend and precv: programs for GPUs, the only platform on which XLA runs them."""

import re

import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.sharding import AbstractMesh
from minijax.sharding import PartitionSpec as P

MESH = AbstractMesh((2, 2), ("x", "y"))
X = mj.ShapeDtypeStruct((8,), "float32")
RING = [(0, 1), (1, 0)]


def exchanged(x, axis="y", perm=RING):
    return lax.precv(lax.psend(x, axis, perm), x, axis, perm)


def over_mesh(f, **options):
    return mj.shard_map(
        f, mesh=MESH, in_specs=P(("x", "y")), out_specs=P(("x", "y")), **options
    )


def typed(f):
    return mj.eval_shape(over_mesh(f), X)


def lowered(f, platform):
    devices = mj.make_mesh((2, 2), ("x", "y"), (mj.sharding.AxisType.Auto,) * 2)
    spec = P(("x", "y"))
    f = mj.shard_map(f, mesh=devices, in_specs=spec, out_specs=spec)
    return mj.jit(f).trace(jnp.zeros(8)).lower(lowering_platforms=(platform,)).as_text()


def test_types():
    """The text is JAX's, except that the received value varies."""
    text = str(mj.make_jaxpr(over_mesh(exchanged))(X))
    assert "d:Tok = psend[axis_name=('y',) perm=((0, 1), (1, 0))] c" in text
    assert re.search(r"e:f32\[2\]\{V:y\} = precv\[[^]]*out_shape=float32\[2\]", text)
    untyped = mj.make_jaxpr(over_mesh(exchanged, check_vma=False))(X)
    assert "e:f32[2] = precv" in str(untyped)
    assert [str(e) for e in untyped.effects] == ["one-sided communication"]


def test_loops_and_branches():
    turn = lambda x: exchanged(x, ("x", "y"))

    def f(x):
        x = lax.scan(lambda c, _: (turn(c), None), x, None, length=2)[0]
        return lax.cond(x[0] > 0, turn, lambda x: x, x)

    assert typed(f).shape == (8,)


# as recorded from JAX 0.10.2
PAIRS = {
    "y": (RING, "[[0, 1], [1, 0], [2, 3], [3, 2]]"),
    "x": ([(0, 1)], "[[0, 2], [1, 3]]"),
    ("x", "y"): ([(0, 3), (2, 1)], "[[0, 3], [2, 1]]"),
}


@pytest.mark.parametrize("axis", PAIRS)
def test_programs(axis):
    perm, pairs = PAIRS[axis]
    text = lowered(lambda x: exchanged(x, axis, perm), "cuda")
    (send,), (receive,) = (
        [line for line in text.splitlines() if f"stablehlo.{op}" in line]
        for op in ("send", "recv")
    )
    for line in (send, receive):
        assert f"source_target_pairs = dense<{pairs}>" in line
        assert "channel_handle<handle = 1, type = 1>" in line
    assert receive.endswith("-> (tensor<2xf32>, !stablehlo.token)")


def test_send_without_receive_is_kept():
    def f(x):
        lax.psend((x, x), "y", RING)
        return x

    assert lowered(f, "cuda").count("stablehlo.send") == 2


@pytest.mark.parametrize("platform", ["cpu", "tpu"])
def test_only_gpus(platform):
    with pytest.raises(NotImplementedError, match="psend is currently only implemented"):
        lowered(exchanged, platform)
    received = lambda x: lax.precv(lax.create_token(), x, "y", RING)
    with pytest.raises(NotImplementedError, match="precv is currently only implemented"):
        lowered(received, platform)


@pytest.mark.parametrize(
    ("f", "error", "says"),
    [
        (lambda: exchanged(jnp.ones(2)), NameError, "unbound axis name: y"),
        (
            lambda: typed(lambda x: exchanged(x, perm=[(0, 1), (0, 0)])),
            ValueError,
            "psend sources and destinations must be unique",
        ),
        (lambda: typed(lambda x: exchanged(x, perm=[(0, 2)])), ValueError, "below 2"),
        (lambda: typed(lambda x: lax.precv(x, x, "y", RING)), TypeError, "token"),
        (
            lambda: typed(lambda x: mj.jvp(exchanged, (x,), (x,))[1]),
            NotImplementedError,
            "Differentiation rule for 'psend' not implemented",
        ),
        (
            lambda: typed(lambda x: mj.vmap(exchanged)(x)),
            NotImplementedError,
            "Batching rule for 'psend' not implemented",
        ),
        (
            lambda: mj.vmap(exchanged, axis_name="y")(jnp.ones((2, 3))),
            NotImplementedError,
            "Batching rule for 'psend' not implemented",
        ),
        (
            lambda: mj.pmap(exchanged, "y")(jnp.ones((2, 3))),
            NotImplementedError,
            "psend is currently only implemented",
        ),
    ],
)
def test_errors(f, error, says):
    with pytest.raises(error, match=says):
        f()
