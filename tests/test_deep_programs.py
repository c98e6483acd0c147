"""Programs nested deeply work, or raise RecursionError; nothing ends the interpreter.

Recorded from JAX 0.10.2, which gives up at these depths, too.
"""

import numpy as np
import pytest

import minijax as mj
from minijax import lax


def nested(wrap, depth, f=lambda x: x + 1):
    for _ in range(depth):
        f = wrap(f)
    return f


WRAPS = {
    "jit": lambda f: mj.jit(lambda x, f=f: f(x)),
    "cond": lambda f: lambda x: lax.cond(x > 0, f, lambda x: x, x),
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, 1)[0],
}


@pytest.mark.parametrize("name", WRAPS)
def test_nested(name):
    assert nested(WRAPS[name], 12)(1.0) == 2
    with pytest.raises(RecursionError):
        mj.make_jaxpr(nested(WRAPS[name], 2000))(1.0)
    assert mj.jit(lambda x: x + 1)(1.0) == 2  # it goes on


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
        mj.tree.leaves(nested(lambda t: [t], 5000, 1.0))
    assert mj.tree.leaves(tree) == [1]


def test_a_function_that_calls_itself():
    @mj.jit
    def forever(x):
        return forever(x)

    with pytest.raises(RecursionError):
        forever(1.0)
    assert mj.jit(lambda x: x + 1)(1.0) == 2
