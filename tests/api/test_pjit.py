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
TURNED = Mesh(DEVICES.reshape(2, 4), ("x", "y"))
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


def lies(out, mesh, *spec):
    np.testing.assert_array_equal(out, A * 2)
    assert out.sharding == NamedSharding(mesh, P(*spec))


def test_a_spec_is_over_the_block_of_the_call():
    with block(MESH):
        lies(turn(A), MESH, None, "y")
        with block(FLAT):
            lies(pjit(double, in_shardings=P("z"))(A), FLAT, "z")
            with pytest.raises(ValueError, match="Resource axis: x"):
                turn(A)
        lies(turn(A), MESH, None, "y")
    with block(TURNED):
        lies(turn(A), TURNED, None, "y")
    with pytest.raises(RuntimeError, match="non-empty mesh in context"):
        turn(A)
    with mj.set_mesh(FLAT), block(MESH):  # the block goes before
        lies(turn(A), MESH, None, "y")
    with mj.set_mesh(MESH):
        lies(turn(A), MESH, None, "y")
        lies(mj.jit(double, in_shardings=P("x"))(A), MESH, "x")


@pytest.mark.filterwarnings("ignore:.*context manager:DeprecationWarning")
def test_each_thread_has_its_blocks():
    entered, left = threading.Event(), threading.Event()

    def other():
        with FLAT:
            entered.set()
            left.wait(60)

    thread = threading.Thread(target=other)
    with MESH:
        with TURNED:
            thread.start()
            assert entered.wait(60)
        lies(turn(A), MESH, None, "y")
    assert block_mesh() is None
    left.set()
    thread.join()


def test_no_other_call_sees_the_block():
    with block(MESH):
        with pytest.raises(RuntimeError, match="non-empty mesh in context"):
            mj.jit(double, in_shardings=P("x"))(A)
        assert len(mj.jit(double)(A).devices()) == 1
        lies(pjit(double)(A), MESH)
        seen = []
        pjit(lambda a: seen.append(mj.sharding.get_abstract_mesh()) or a)(A)
        assert seen == [MESH.abstract_mesh]
        assert mj.sharding.get_abstract_mesh().empty
    with block(HALF):
        lies(pjit(double)(A), HALF)
    assert len(pjit(double)(A).devices()) == 1


def test_none_is_replicated_over_the_block():
    def pair(a, b):
        return a * 2, b * 2

    cut = mj.device_put(A, NamedSharding(MESH, P("x")))
    with block(MESH):
        first, second = pjit(pair, out_shardings=(P("x"), None))(A, cut)
        lies(first, MESH, "x")
        lies(second, MESH)
        lies(pjit(pair)(A, cut)[1], MESH, "x")
        with pytest.raises(ValueError, match="Sharding passed to jit does not match"):
            pjit(pair, in_shardings=(P("x"), None))(A, cut)
    lies(pjit(pair, out_shardings=None)(A, cut)[1], MESH, "x")


def test_it_composes():
    with block(MESH):
        (slope,) = mj.vjp(turn, mj.numpy.asarray(A))[1](mj.numpy.asarray(A))
        lies(slope, MESH, "x")
        lies(mj.vmap(turn)(A[None])[0], MESH, None, "y")
        lies(mj.jit(lambda a: turn(a / 2) * 2)(A), MESH, None, "y")
        inside = pjit(lambda a: mj.jit(double, out_shardings=P("y"))(a))
        lies(inside(A), MESH, "y")
        lies(pjit(lambda a: lax.with_sharding_constraint(a * 2, P("y")))(A), MESH, "y")
        summed = mj.shard_map(lambda b: lax.psum(b, "x"), in_specs=P(None, "x"), out_specs=P())
        wanted = A.reshape(8, 4, 1).sum(1)
        np.testing.assert_array_equal(pjit(summed)(A), wanted)


def test_ahead_of_time_the_mesh_is_that_of_the_trace():
    with block(MESH):
        traced = turn.trace(mj.ShapeDtypeStruct(A.shape, A.dtype))
        assert turn.eval_shape(A).sharding == NamedSharding(MESH, P(None, "y"))
    assert traced.out_info.sharding == NamedSharding(MESH, P(None, "y"))
    lies(traced.lower().compile()(A), MESH, None, "y")
    with mj.set_mesh(MESH):
        traced = mj.jit(double, out_shardings=P("x")).trace(A)
    lies(traced.lower().compile()(A), MESH, "x")
