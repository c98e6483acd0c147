"""A call runs on the devices of the arguments it needs; the others may be anywhere."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax, tree_util
from minijax.sharding import Mesh, NamedSharding, SingleDeviceSharding
from minijax.sharding import PartitionSpec as P

DEVICES = mj.devices()
MESH = Mesh(np.array(DEVICES).reshape(4, 2), ("x", "y"))
SHARDED = NamedSharding(MESH, P("x"))
VALUE = np.arange(8, dtype=np.float32)
ALL = set(DEVICES)


def on(i):
    return mj.device_put(VALUE, SHARDED if i is None else DEVICES[i])


second = mj.jit(lambda a, b: b * 2)
dead = mj.jit(lambda a, b: (mj.jit(jnp.sin)(a + 1), b * 2)[1])
nested = mj.jit(lambda a, b: second(a, b))


@pytest.mark.parametrize("f", [second, dead, nested], ids=["unread", "dead", "nested"])
@pytest.mark.parametrize("places", [(3, 2), (None, 2), (2, None)], ids=str)
def test_unneeded_arguments_may_be_on_any_device(f, places):
    a, b = map(on, places)
    for _ in range(2):  # by Python, then by C++
        out = f(a, b)
        assert out.devices() == b.devices() and out.committed
        np.testing.assert_array_equal(out, VALUE * 2)
    out = f.lower(a, b).compile()(a, b)
    assert out.devices() == b.devices()


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: lax.cond(True, lambda a, b: b * 2, lambda a, b: b * 3, a, b),
        lambda a, b: lax.scan(lambda c, x: (c, x[1] * 2), 0.0, (a, b))[1],
        lambda a, b: lax.fori_loop(0, 1, lambda i, c: (c[0], c[1] * 2), (a, b))[1],
    ],
    ids=["cond", "scan", "fori_loop"],
)
def test_operands_that_no_branch_or_step_needs_may_be_on_any_device(f):
    out = f(on(3), on(2))
    assert out.devices() == {DEVICES[2]} and out.committed
    np.testing.assert_array_equal(out, VALUE * 2)


def test_such_arguments_commit_no_result():
    for a in (on(3), on(None)):
        for _ in range(2):
            out = second(a, VALUE)
            assert out.devices() == {DEVICES[0]} and not out.committed
    with mj.default_device(DEVICES[6]):
        assert second(on(3), VALUE).devices() == {DEVICES[6]}
    a = on(5)
    a.delete()
    for _ in range(2):
        assert second(a, on(2)).devices() == {DEVICES[2]}


def test_kept_arguments_are_needed():
    f = mj.jit(lambda a, b: b, keep_unused=True)
    with pytest.raises(ValueError, match="incompatible devices"):
        f(on(3), on(2))
    with pytest.raises(ValueError, match="incompatible devices"):
        f.lower(on(3), on(2))


def test_shardings_of_arguments_that_are_not_needed():
    f = mj.jit(lambda a, b: b, in_shardings=(SHARDED, None))
    assert f(on(None), on(2)).devices() == {DEVICES[2]}
    assert f(VALUE, on(2)).devices() == {DEVICES[2]}
    alone = [SingleDeviceSharding(DEVICES[i]) for i in (3, 2)]
    f = mj.jit(lambda a, b: b, in_shardings=tuple(alone))
    assert f(VALUE, VALUE).devices() == {DEVICES[2]}
    f = mj.jit(lambda a, b: b, in_shardings=(SHARDED, SHARDED))
    with pytest.raises(ValueError, match="Sharding passed to jit does not match"):
        f(on(3), VALUE)
    f = mj.jit(lambda a, b: b, out_shardings=SHARDED)
    assert f(on(2), on(None)).devices() == ALL
    assert f(on(2), VALUE).sharding == SHARDED


def test_donated_ones_stay():
    f = mj.jit(lambda a, b: b + 1, donate_argnums=(0, 1))
    for _ in range(2):
        a, b = on(4), on(3)
        assert f(a, b).devices() == {DEVICES[3]}
        assert not a.is_deleted() and b.is_deleted()


def test_flattened_trees_that_are_not_needed():
    flat = tree_util.flattened({"w": on(3)})
    for _ in range(3):
        out = second(flat, VALUE)
        assert out.devices() == {DEVICES[0]}
        assert second(flat, on(2)).devices() == {DEVICES[2]}


def test_in_and_out_shardings_are_counted_once():
    other = NamedSharding(MESH, P("y"))
    for f in (lambda x: x, lambda x: jnp.sin(x) * 2):
        g = mj.jit(f, in_shardings=SHARDED, out_shardings=other)
        assert "sharding_constraint" not in g.lower(VALUE).as_text()
        out = g(VALUE)
        assert out.sharding == other
        np.testing.assert_allclose(out, f(VALUE), rtol=1e-6)

    def inside(x):
        return mj.lax.with_sharding_constraint(x, other) * 2

    text = mj.jit(inside, in_shardings=SHARDED, out_shardings=SHARDED).lower(VALUE).as_text()
    assert text.count("sdy.sharding_constraint") == 1
