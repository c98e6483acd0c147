"""The verifier refuses what is malformed."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.analysis.check import JaxprTypeError, check_jaxpr
from minijax.ir.jaxpr import Var
from minijax.types.avals import shaped


def program():
    return mj.make_jaxpr(lambda x: jnp.sin(x) * x)(1.0).jaxpr


def test_staged_programs_pass():
    check_jaxpr(program())


def test_unbound_variables():
    jaxpr = program()
    with pytest.raises(JaxprTypeError, match="not bound"):
        check_jaxpr(jaxpr.replace(invars=[]))
    with pytest.raises(JaxprTypeError, match="not bound"):
        check_jaxpr(jaxpr.replace(eqns=jaxpr.eqns[1:]))
    with pytest.raises(JaxprTypeError, match="output"):
        check_jaxpr(jaxpr.replace(eqns=[]))


def test_variables_bound_twice():
    jaxpr = program()
    with pytest.raises(JaxprTypeError, match="again"):
        check_jaxpr(jaxpr.replace(eqns=[jaxpr.eqns[0], *jaxpr.eqns]))
    with pytest.raises(JaxprTypeError, match="twice"):
        check_jaxpr(jaxpr.replace(invars=[*jaxpr.invars, *jaxpr.invars]))


def test_wrong_types():
    jaxpr = program()
    wrong = Var(shaped((3,), np.dtype("float32")))
    eqns = [jaxpr.eqns[0].replace(outvars=[wrong])]
    with pytest.raises(
        JaxprTypeError, match=r"has type f32\[3\], but its rule returns f32\[\]"
    ):
        check_jaxpr(jaxpr.replace(eqns=eqns, outvars=[wrong]))


def test_each_stage_is_checked_on_request(monkeypatch):
    prim = mj.lax.sin_p
    with mj.enable_checks(True):
        right = prim.abstract
        calls = []
        monkeypatch.setattr(
            prim, "abstract", lambda *a, **k: (calls.append(1), right(*a, **k))[1]
        )
        mj.make_jaxpr(lambda x: mj.lax.sin(x))(jnp.ones((7, 11, 13)))
    assert len(calls) == 2, "once to stage, once to check"
