"""Random programs under random stacks of transformations.

They are compared with NumPy's reading of the same program, and with each other.  The
examples are the same in each run; MINIJAX_PROGRAMS=1000 tries so many, new ones.
"""

import os

import numpy as np
import pytest
import transformations
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from programs import MINIJAX, NUMPY, programs, run, uses
from transformations import BY_NAME

import minijax as mj
import minijax.numpy as jnp
from minijax.runtime.running import dispatch

COUNT = os.environ.get("MINIJAX_PROGRAMS")
X = np.array([0.61, -0.43, 0.92])
W = np.array([0.83, 0.52, -0.74])
U = np.array([0.7, -0.2, 0.4]), np.array([-0.5, 0.9, 0.3])
V = np.array([-0.6, 0.8, 0.1]), np.array([0.2, 0.3, -1.0])


def examples(count):
    return settings(
        max_examples=int(COUNT or count),
        derandomize=COUNT is None,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(scope="module", autouse=True)
def double_precision():
    with mj.enable_x64(True):
        yield
    mj.clear_caches()


@pytest.fixture
def by_hand(monkeypatch):
    """Staged programs are run one operation at a time, which takes no compiler."""
    monkeypatch.setattr(dispatch, "is_host_driven", lambda jaxpr: True)


def close(got, expected, tolerance=1e-9):
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape and got.dtype == expected.dtype
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(got / scale, expected / scale, rtol=0, atol=tolerance)


def staged(f):
    return lambda x, w: mj.make_jaxpr(f)(x, w)(x, w)[0]


@examples(40)
@given(programs())
def test_evaluated_and_compiled(program):
    expected = run(program, NUMPY)(X, W)
    f = run(program, MINIJAX)
    close(f(X, W), expected)
    close(mj.jit(f)(X, W), expected)


STACKED = [t for t in BY_NAME if t not in ("pmap",)]
STACKS = st.lists(st.sampled_from(STACKED), max_size=4).map(lambda s: [BY_NAME[t] for t in s])


def differentiates(t):
    return t.forward or t.reverse


ONE_SIDED = (0, -25 / 12), (1, 4.0), (2, -3.0), (3, 4 / 3), (4, -1 / 4)


def reference(program, stack, **differences):
    """The value of the NumPy program under a stack; how derivatives are taken."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in differences.items():
            patch.setattr(transformations, name, value)
        f = run(program, NUMPY)
        for t in reversed(stack):
            f = t.reference(f)
        return f(X, W)


@pytest.mark.usefixtures("by_hand")
@examples(100)
@given(programs(), STACKS, st.booleans())
def test_under_a_stack(program, stack, stage):
    assume(sum(map(differentiates, stack)) <= 2)
    f = run(program, MINIJAX)
    for t in reversed(stack):
        f = t.apply(f)
    if stage:
        f = staged(f)
    try:
        got = f(X, W)
    except ValueError as e:
        assert uses(program, "while_loop") and any(t.reverse for t in stack)
        assert "Reverse-mode differentiation does not work" in str(e)
        return
    expected = reference(program, stack)
    if any(map(differentiates, stack)):
        # Where other differences disagree, the program has a kink or jump.
        other = reference(program, stack, STEP=0.7e-3, STENCIL=ONE_SIDED)
        assume(np.abs(expected - other).max() <= 1e-6 * max(1.0, np.abs(expected).max()))
        close(got, expected, 1e-6)
    else:
        close(got, expected)


@pytest.mark.usefixtures("by_hand")
@examples(60)
@given(programs(), st.sampled_from(["grad", "staged", "checkpoint", "jit", "vmap"]))
def test_modes_agree(program, way):
    """Forward mode, its linear part, and reverse mode by inner products."""
    assume(not uses(program, "while_loop"))
    f = run(program, MINIJAX)
    y, forward = mj.jvp(f, (X, W), U)
    close(y, run(program, NUMPY)(X, W))
    value, push = mj.linearize(f, X, W)
    close(value, y)
    close(push(*U), forward)
    g = {
        "staged": mj.jit(f),
        "checkpoint": mj.checkpoint(f),
        "jit": mj.jit(f),
        "vmap": lambda x, w: mj.vmap(f)(jnp.stack([x, w]), jnp.stack([w, x]))[0],
    }.get(way, f)
    pull = mj.vjp(g, X, W)[1]
    back = staged(lambda c, _: jnp.stack(pull(c))) if way == "staged" else pull
    a, b = back(V[0]) if way != "staged" else back(V[0], V[0])
    close(np.vdot(a, U[0]) + np.vdot(b, U[1]), np.vdot(V[0], forward))


@pytest.mark.usefixtures("by_hand")
@examples(40)
@given(programs())
def test_second_derivatives_are_symmetric(program):
    """Forward over reverse, both ways; and forward over forward."""
    assume(not uses(program, "while_loop"))
    f = run(program, MINIJAX)
    total = lambda x, w: jnp.vdot(f(x, w), jnp.sin(x) + w)
    slope = mj.grad(total, argnums=(0, 1))
    dot = lambda a, b: np.vdot(a[0], b[0]) + np.vdot(a[1], b[1])
    uv = dot(mj.jvp(slope, (X, W), U)[1], V)
    close(uv, dot(mj.jvp(slope, (X, W), V)[1], U), 1e-8)
    twice = mj.jvp(lambda x, w: mj.jvp(total, (x, w), U)[1], (X, W), V)[1]
    close(twice, uv, 1e-8)
    reverse = mj.grad(lambda x, w: dot_of(slope(x, w), U), argnums=(0, 1))(X, W)
    close(dot(reverse, V), uv, 1e-8)


def dot_of(a, b):
    return jnp.vdot(a[0], b[0]) + jnp.vdot(a[1], b[1])
