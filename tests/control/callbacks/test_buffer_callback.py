"""`buffer_callback`: functions that write into buffers, compiled and mapped."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.experimental import buffer_callback as bc

SCALAR = mj.ShapeDtypeStruct((), "int32")
THREE = mj.ShapeDtypeStruct((3,), "int32")


def add_one(ctx, out, x):
    np.asarray(out)[...] = np.asarray(x) + 1


def test_trees_of_buffers():
    seen = []

    def both(ctx, out, a, *, b):
        seen.append((ctx.stage, type(a), a.shape, a.dtype, a.writeable, out["y"].writeable))
        np.asarray(out["x"])[...] = np.asarray(a) * 2
        np.asarray(out["y"])[...] = np.asarray(b) - 1

    shapes = {
        "x": mj.ShapeDtypeStruct((3,), "float32"),
        "y": mj.ShapeDtypeStruct((2, 2), "int32"),
    }
    out = bc.buffer_callback(both, shapes)(jnp.arange(3.0), b=jnp.ones((2, 2), int))
    assert out["x"].tolist() == [0, 2, 4] and out["y"].tolist() == [[0, 0], [0, 0]]
    stage, kind, *rest = seen[0]
    assert stage is bc.ExecutionStage.EXECUTE and kind is bc.Buffer
    assert rest == [(3,), np.float32, False, True]


@pytest.mark.parametrize(
    "method", ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all"]
)
def test_lanes(method):
    fun = bc.buffer_callback(add_one, SCALAR, vmap_method=method)
    assert mj.vmap(fun)(jnp.arange(3)).tolist() == [1, 2, 3]


def test_shared_memory():
    def more(ctx, out, x):
        np.asarray(out)[...] += 5  # the result begins as the operand

    fun = bc.buffer_callback(more, THREE, input_output_aliases={0: 0})
    x = jnp.arange(3)
    assert fun(x).tolist() == mj.jit(fun)(x).tolist() == [5, 6, 7]
    assert x.tolist() == [0, 1, 2]
    for aliases, text in (
        ({1: 0}, r"input index 1 outside the range \[0, 1\)"),
        ({0: 1}, r"output index 1 outside the range \[0, 1\)"),
    ):
        with pytest.raises(ValueError, match=text):
            bc.buffer_callback(more, THREE, input_output_aliases=aliases)(x)
    with pytest.raises(ValueError, match="different abstract value"):
        bc.buffer_callback(more, SCALAR, input_output_aliases={0: 0})(x)


def test_side_effects_happen_without_need():
    calls = []

    def note(ctx, out, x):
        calls.append(int(np.asarray(x)[0]))

    for effect in (True, False):
        fun = bc.buffer_callback(note, THREE, has_side_effect=effect)

        def program(x, fun=fun):
            fun(x)
            return x + 1

        mj.jit(program)(jnp.full(3, 7)).block_until_ready()
        mj.effects_barrier()
    assert calls == [7]


def test_errors():
    x = jnp.int32(1)
    with pytest.raises(mj.errors.JaxRuntimeError, match="must not return any values"):
        bc.buffer_callback(lambda ctx, out, x: 3, SCALAR)(x).block_until_ready()
    with pytest.raises(ValueError, match="Buffer callbacks do not support JVP"):
        fun = bc.buffer_callback(add_one, mj.ShapeDtypeStruct((), "float32"))
        mj.grad(fun)(1.0)
    with pytest.raises(NotImplementedError, match="supported for the buffer_callback"):
        mj.vmap(bc.buffer_callback(add_one, SCALAR))(jnp.arange(3))
    with pytest.raises(ValueError, match="vmap_method must be on of the allowed"):
        bc.buffer_callback(add_one, SCALAR, vmap_method="fast")
