"""Programs nested a thousand deep work; endless recursion raises RecursionError."""

import sys

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.base import depth
from minijax.ir.jaxpr import closed_jaxprs
from minijax.runtime.lowering import nesting


def nested(wrap, depth, f=lambda x: x + 1):
    for _ in range(depth):
        f = wrap(f)
    return f


WRAPS = {
    "jit": lambda f: mj.jit(lambda x, f=f: f(x)),
    "cond": lambda f: lambda x: lax.cond(x > 0, f, lambda x: x, x),
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, 1)[0],
}


WRAPS["fori_loop"] = lambda f: lambda x: lax.fori_loop(0, 1, lambda i, c: f(c), x)
# Python 3.12 allows 1,500 calls that pass through C, whatever the recursion limit is, and
# a call of a jitted function takes two of them.
DEEP = 700 if sys.version_info[:2] == (3, 12) else 1000


@pytest.mark.parametrize("name", WRAPS)
def test_nested(name):
    limit = sys.getrecursionlimit()
    f = nested(WRAPS[name], DEEP, lambda x: jnp.sin(x))
    jaxpr, levels = mj.make_jaxpr(f)(1.0).jaxpr, 0
    while inner := [p.jaxpr for e in jaxpr.eqns for p in closed_jaxprs(e.params)]:
        jaxpr, levels = max(inner, key=lambda p: len(p.eqns)), levels + 1
    assert levels == DEEP
    assert jaxpr.eqns[-1].primitive.name == "sin"
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize(("name", "levels"), [("jit", 400), ("fori_loop", 120)])
def test_every_stage_of_a_deep_program(name, levels):
    f = nested(WRAPS[name], levels, lambda x: jnp.sin(x))
    assert str(mj.make_jaxpr(f)(1.0)).count("sin") == 1
    assert mj.jit(f).lower(1.0).as_text().count("stablehlo.sine") == 1
    text = str(mj.make_jaxpr(mj.grad(f))(1.0))
    assert "cos" in text
    assert mj.make_jaxpr(mj.vmap(f))(jnp.ones(3)).out_avals[0].shape == (3,)
    out, tangent = mj.linearize(f, 1.0)
    assert out == pytest.approx(np.sin(1.0))
    assert tangent(2.0) == pytest.approx(2 * np.cos(1.0))
    assert mj.jit(f)(1.0) == pytest.approx(np.sin(1.0))
    assert mj.grad(f)(1.0) == pytest.approx(np.cos(1.0))


def test_what_is_too_deep_for_the_compiler_runs_from_the_outside_in(monkeypatch):
    monkeypatch.setattr(nesting, "MAX_DEPTH", 6)
    loop = lambda f: lambda x: lax.while_loop(lambda c: c < 3, f, x)
    f = mj.jit(nested(loop, 10, lambda x: x + 1.0))
    assert f(0.0) == 3.0
    assert f(0.5) == 3.5
    assert nested(WRAPS["cond"], 10, lambda x: x * 2)(1.0) == 2.0
    g = mj.grad(nested(WRAPS["cond"], 10, lambda x: x * x))
    assert g(3.0) == 6.0
    with pytest.raises(nesting.TooDeep, match="10 nested loops and branches"):
        f.lower(0.0).compile()
    assert mj.jit(nested(loop, 4, lambda x: x + 1.0)).lower(0.0).compile()(0.0) == 3.0


def test_a_chain_that_needs_no_depth_pays_nothing(monkeypatch):
    monkeypatch.setattr(depth, "call_with_more_stack", None)
    assert nested(WRAPS["jit"], 12)(1.0) == 2
    assert mj.grad(nested(WRAPS["scan"], 12))(1.0) == 1


def test_python_ran_out_of_stack_within_cpp():
    def fails(x):
        raise SystemError("a result with an exception set") from cause

    cause = RecursionError("maximum recursion depth exceeded")
    with pytest.raises(RecursionError, match="maximum"):
        mj.jit(fails)(1.0)
    cause = ValueError("something else")
    with pytest.raises(SystemError, match="with an exception set"):
        mj.jit(fails)(1.0)


def test_deep_trees():
    tree = nested(lambda t: [t], 300, np.float32(1))
    out = mj.jit(lambda t: mj.tree.map(lambda x: x + 1, t))(tree)
    assert mj.tree.leaves(out) == [2]
    assert mj.tree.structure(out) == mj.tree.structure(tree)
    with pytest.raises((RecursionError, SystemError)):  # in C++, as in JAX
        mj.tree.leaves(nested(lambda t: [t], 12_000, 1.0))
    assert mj.tree.leaves(tree) == [1]


def test_a_function_that_calls_itself():
    @mj.jit
    def forever(x):
        return forever(x)

    limit = sys.getrecursionlimit()
    with pytest.raises(RecursionError):
        forever(1.0)
    assert sys.getrecursionlimit() == limit
    assert mj.jit(lambda x: x + 1)(1.0) == 2

    def turning(x):
        return lax.cond(x > 0, turning, lambda x: x, x)

    with pytest.raises(RecursionError):
        mj.jit(turning)(1.0)
    assert sys.getrecursionlimit() == limit
