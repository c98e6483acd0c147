"""A transformed jaxpr is cached under everything that it depends on.

Each cached transformation runs with all values of its arguments on one jaxpr, forwards and
backwards, and each result must be that of a fresh jaxpr: a key that lacks an argument, the
constants or the axes in scope would return the result of another call.
"""

import itertools

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.control.refs.discharge import discharge_jaxpr
from minijax.ir import core
from minijax.ir.jaxpr import ClosedJaxpr
from minijax.passes.batch import Axis, batch_jaxpr
from minijax.passes.jvp import jvp_jaxpr
from minijax.passes.linearize import linearize_jaxpr
from minijax.passes.stage import remembered
from minijax.passes.transpose import transpose_jaxpr

FLAGS = [(False, False), (False, True), (True, False), (True, True)]
X = jnp.arange(3.0)


def program():
    """A program with two inputs, one constant, and results of one or both inputs."""
    return mj.make_jaxpr(lambda x, y: (jnp.sin(x) * X, x * y, jnp.exp(y)))(X, X)


def linear_program():
    return mj.make_jaxpr(lambda x, y: (2 * x, x - y, jnp.cumsum(y)))(X, X)


def linear_loop():
    """A linear scan, whose last carry and whose two stacks of ys are results."""

    def loop(x, y):
        carry, ys = lax.scan(lambda c, v: (c + v, (2 * c, v - c)), x, y)
        return carry, *ys

    return mj.make_jaxpr(loop)(X, X)


def linearized(closed, *args):
    out = linearize_jaxpr(closed, *args)
    return out.primal, out.linear, out.residuals, out.num_new, out.nonzero_out


OUTS = list(itertools.product((False, True), repeat=3))
CASES = {
    "jvp": (jvp_jaxpr, program, itertools.product(FLAGS, OUTS)),
    "linearize": (
        linearized,
        program,
        itertools.product(FLAGS[1:], OUTS[::3], FLAGS, [(False,) * 3, (True,) * 3]),
    ),
    "transpose": (
        transpose_jaxpr,
        linear_program,
        ((FLAGS[3], nonzero, force) for nonzero in OUTS[1:] for force in FLAGS),
    ),
    "transpose of scan": (
        transpose_jaxpr,
        linear_loop,
        ((FLAGS[3], nonzero, FLAGS[3]) for nonzero in OUTS[1:]),
    ),
    "batch": (
        batch_jaxpr,
        program,
        itertools.product(
            [Axis("i", 3), Axis("j", 3), Axis("i", 4), Axis("i", 3, "d")], FLAGS, OUTS[::2]
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_argument_is_part_of_the_key(name):
    transform, make, grid = CASES[name]
    grid = [tuple(args) for args in grid]
    fresh = [str(transform(make(), *args)) for args in grid]
    shared = make()
    assert [str(transform(shared, *args)) for args in grid] == fresh
    assert [str(transform(shared, *args)) for args in grid[::-1]] == fresh[::-1]
    assert len(set(fresh)) > len(grid) / 6  # arguments that change nothing would test nothing


@pytest.mark.parametrize("name", ["jvp", "batch"])
def test_results_are_cached(name):
    transform, make, _ = CASES[name]
    shared = make()
    first, second = (
        transform(shared, *([] if name == "jvp" else [Axis("i", 3)]), (True, False))
        for _ in range(2)
    )
    assert first[0] is second[0]


def test_constants_are_part_of_the_key():
    closed = program()
    for value in (1.0, 2.0, 1.0):
        other = ClosedJaxpr(closed.jaxpr, [jnp.full(3, value)])
        out, _ = jvp_jaxpr(other, (True, False))
        sines, *_ = mj.core.eval_jaxpr(out.jaxpr, out.consts, X, X, X)
        np.testing.assert_allclose(sines, np.sin(X) * value, rtol=1e-6)


def test_axes_in_scope_are_part_of_the_key():
    @mj.custom_jvp
    def f(x):
        return x

    @f.defjvp
    def rule(primals, tangents):
        return primals[0], tangents[0] * lax.axis_size("i")

    closed = mj.make_jaxpr(mj.jit(f))(1.0)
    for size in (2, 3, 2):
        with core.mapped_axis("i", size):
            out, _ = jvp_jaxpr(closed, (True,))
        assert mj.core.eval_jaxpr(out.jaxpr, out.consts, 1.0, 1.0)[1] == size


def test_the_function_is_part_of_the_key():
    closed = program()
    one, two = (remembered(lambda closed, x, n=n: (n, x)) for n in (1, 2))
    assert [one(closed, 5), two(closed, 5), one(closed, 5)] == [(1, 5), (2, 5), (1, 5)]


def test_whether_a_discharged_program_runs_next_is_part_of_the_key():
    """A rule that takes references is called as a function only by a program that runs next."""

    @mj.custom_vjp
    def store(ref, x):
        ref[...] = x
        return 2 * x

    store.defvjp(lambda ref, x: (store(ref, x), None), lambda _, ct: (None, 2 * ct))
    closed = mj.make_jaxpr(store)(mj.new_ref(1.0), 1.0)
    assert discharge_jaxpr(closed, (True, False))[1] == [True, False]
    with pytest.raises(NotImplementedError, match="a reference that a transformation holds"):
        mj.make_jaxpr(lambda: discharge_jaxpr(closed, (True, False)) and 0.0)()
    assert discharge_jaxpr(closed, (True, False))[1] == [True, False]


def test_the_mesh_axis_of_lanes_is_part_of_the_key():
    mesh = mj.make_mesh((2, 2), ("a", "b"), axis_types=(mj.sharding.AxisType.Auto,) * 2)
    replicated = mj.NamedSharding(mesh, mj.sharding.PartitionSpec())
    closed = mj.make_jaxpr(lambda x: lax.with_sharding_constraint(x, replicated))(jnp.ones(3))
    specs = []
    for name in (None, "a", "b", None, "a", "b"):
        batched, _ = batch_jaxpr(closed, Axis("i", 4, name), (True,))
        specs.append(batched.jaxpr.eqns[0].params["sharding"].spec[0])
    assert specs[:3] == specs[3:] and specs[1:3] == ["a", "b"] and specs[0] not in ("a", "b")
