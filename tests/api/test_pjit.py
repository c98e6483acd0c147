"""`pjit`: the mesh of a block `with mesh:` is current for its calls, and for no others."""

import threading
from contextlib import contextmanager

import numpy as np
import pytest

import minijax as mj
from minijax import lax
from minijax.experimental.pjit import pjit
from minijax.runtime.sharding.mesh import block_mesh
from minijax.sharding import Mesh, NamedSharding
from minijax.sharding import PartitionSpec as P

DEVICES = np.array(mj.devices())
MESH = Mesh(DEVICES.reshape(4, 2), ("x", "y"))
TRANSPOSED = Mesh(DEVICES.reshape(2, 4), ("x", "y"))
FLAT = Mesh(DEVICES, ("z",))
HALF = Mesh(DEVICES[:4], ("x",))
A = np.arange(32, dtype=np.float32).reshape(8, 4)


def double(a):
    return a * 2


turn = pjit(double, in_shardings=P("x"), out_shardings=P(None, "y"))


@contextmanager
def block(mesh):
    with pytest.warns(DeprecationWarning, match="context manager"):
        mesh.__enter__()
    try:
        yield
    finally:
        mesh.__exit__()


def has_sharding(out, mesh, *spec):
    np.testing.assert_array_equal(out, A * 2)
    assert out.sharding == NamedSharding(mesh, P(*spec))


def test_a_spec_is_over_the_block_of_the_call():
    with block(MESH):
        has_sharding(turn(A), MESH, None, "y")
        with block(FLAT):
            has_sharding(pjit(double, in_shardings=P("z"))(A), FLAT, "z")
            with pytest.raises(ValueError, match="Resource axis: x"):
                turn(A)
        has_sharding(turn(A), MESH, None, "y")
    with block(TRANSPOSED):
        has_sharding(turn(A), TRANSPOSED, None, "y")
    with pytest.raises(RuntimeError, match="non-empty mesh in context"):
        turn(A)
    with mj.set_mesh(FLAT), block(MESH):  # the block goes before
        has_sharding(turn(A), MESH, None, "y")
    with mj.set_mesh(MESH):
        has_sharding(turn(A), MESH, None, "y")
        has_sharding(mj.jit(double, in_shardings=P("x"))(A), MESH, "x")


@pytest.mark.filterwarnings("ignore:.*context manager:DeprecationWarning")
def test_each_thread_has_its_blocks():
    entered, left = threading.Event(), threading.Event()

    def other():
        with FLAT:
            entered.set()
            left.wait(60)

    thread = threading.Thread(target=other)
    with MESH:
        with TRANSPOSED:
            thread.start()
            assert entered.wait(60)
        has_sharding(turn(A), MESH, None, "y")
    assert block_mesh() is None
    left.set()
    thread.join()


def test_no_other_call_sees_the_block():
    with block(MESH):
        with pytest.raises(RuntimeError, match="non-empty mesh in context"):
            mj.jit(double, in_shardings=P("x"))(A)
        assert len(mj.jit(double)(A).devices()) == 1
        has_sharding(pjit(double)(A), MESH)
        seen = []
        pjit(lambda a: seen.append(mj.sharding.get_abstract_mesh()) or a)(A)
        assert seen == [MESH.abstract_mesh]
        assert mj.sharding.get_abstract_mesh().empty
    with block(HALF):
        has_sharding(pjit(double)(A), HALF)
    assert len(pjit(double)(A).devices()) == 1


def test_none_is_replicated_over_the_block():
    def pair(a, b):
        return a * 2, b * 2

    sharded = mj.device_put(A, NamedSharding(MESH, P("x")))
    with block(MESH):
        first, second = pjit(pair, out_shardings=(P("x"), None))(A, sharded)
        has_sharding(first, MESH, "x")
        has_sharding(second, MESH)
        has_sharding(pjit(pair)(A, sharded)[1], MESH, "x")
        with pytest.raises(ValueError, match="Sharding passed to jit does not match"):
            pjit(pair, in_shardings=(P("x"), None))(A, sharded)
    has_sharding(pjit(pair, out_shardings=None)(A, sharded)[1], MESH, "x")


def test_it_composes():
    with block(MESH):
        (slope,) = mj.vjp(turn, mj.numpy.asarray(A))[1](mj.numpy.asarray(A))
        has_sharding(slope, MESH, "x")
        has_sharding(mj.vmap(turn)(A[None])[0], MESH, None, "y")
        has_sharding(mj.jit(lambda a: turn(a / 2) * 2)(A), MESH, None, "y")
        inside = pjit(lambda a: mj.jit(double, out_shardings=P("y"))(a))
        has_sharding(inside(A), MESH, "y")
        has_sharding(pjit(lambda a: lax.with_sharding_constraint(a * 2, P("y")))(A), MESH, "y")
        summed = mj.shard_map(lambda b: lax.psum(b, "x"), in_specs=P(None, "x"), out_specs=P())
        expected = A.reshape(8, 4, 1).sum(1)
        np.testing.assert_array_equal(pjit(summed)(A), expected)


def test_ahead_of_time_the_mesh_is_that_of_the_trace():
    with block(MESH):
        traced = turn.trace(mj.ShapeDtypeStruct(A.shape, A.dtype))
        assert turn.eval_shape(A).sharding == NamedSharding(MESH, P(None, "y"))
    assert traced.out_info.sharding == NamedSharding(MESH, P(None, "y"))
    has_sharding(traced.lower().compile()(A), MESH, None, "y")
    with mj.set_mesh(MESH):
        traced = mj.jit(double, out_shardings=P("x")).trace(A)
    has_sharding(traced.lower().compile()(A), MESH, "x")
