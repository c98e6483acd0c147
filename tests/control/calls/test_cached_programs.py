"""Derived programs are computed once, also if the program captured arrays."""

import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.passes.batch import Axis, batch_jaxpr
from minijax.passes.jvp import jvp_jaxpr
from minijax.passes.stage import StageTrace
from minijax.passes.transpose import transpose_jaxpr

X = jnp.arange(3.0)
CAPTURED = X + 1
USES = {
    "jvp": lambda f: mj.jvp(f, (X,), (X,)),
    "grad": lambda f: mj.grad(lambda x: f(x).sum())(X),
    "vmap": lambda f: mj.vmap(f)(jnp.ones((2, 3))),
    "hessian": lambda f: mj.jvp(mj.grad(lambda x: f(x).sum()), (X,), (X,)),
}


@pytest.mark.parametrize("use", USES)
def test_derives_once_what_captured_arrays(use, monkeypatch):
    f = mj.jit(lambda x: jnp.sin(x * CAPTURED))
    USES[use](f)
    USES[use](f)
    made = []
    init = StageTrace.__init__

    def count(self, *args, **kwargs):
        made.append(kwargs.get("transform", args[1:]))
        init(self, *args, **kwargs)

    monkeypatch.setattr(StageTrace, "__init__", count)
    USES[use](f)
    # `grad` records the linear part of each call; no other program is staged.
    assert all(kind == "" for kind in made), made


def test_derives_anew_for_other_constants():
    program = mj.make_jaxpr(lambda x: x * CAPTURED)(X)
    other = program.replace(consts=[CAPTURED * 10])
    axis = Axis("i", 1)
    for derive in (
        lambda p: jvp_jaxpr(p, [True])[0](X, X)[1],
        lambda p: batch_jaxpr(p, axis, [True])[0](X[None])[0][0],
        lambda p: transpose_jaxpr(p, [True])[0](X)[0],
    ):
        assert derive(other).tolist() == (10 * derive(program)).tolist()
