"""Rules of `jet` that users give, and those of the house seen as a table of such."""

import numpy as np
import pytest

import minijax as mj
from minijax import lax
from minijax.api.jet import taylor_rules
from minijax.experimental import jet as jets
from minijax.ir.core import Primitive


def primitive(name, fun, **options):
    """A primitive that computes what `fun` does, without a jvp rule."""
    prim = Primitive(name, **options)
    prim.abstract = lambda *avals, **params: mj.eval_shape(fun, *avals, **params)
    prim.impl = fun
    return prim


TERMS = (1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ("define", "fun"),
    [
        (lambda p: jets.def_deriv(p, lax.cos), lax.sin),
        (lambda p: jets.deflinear(p), lax.neg),
        (lambda p: jets.defzero(p), lax.floor),
        (lambda p: jets.def_comp(p, lax.integer_pow, y=3), lambda x: x * x * x),
        (lambda p: jets.jet_rules.update({p: jets.jet_rules[lax.abs_p]}), lax.abs),
    ],
)
def test_rules_for_new_primitives(define, fun):
    prim = primitive("of_test", fun)
    define(prim)
    try:
        result = jets.jet2(prim.bind, (0.7,), (TERMS,))
        expected = jets.jet2(fun, (0.7,), (TERMS,))
        np.testing.assert_allclose(result[0], expected[0], rtol=1e-6)
        np.testing.assert_allclose(result[1], expected[1], rtol=1e-5)
    finally:
        del jets.jet_rules[prim]
    assert prim not in jets.jet_rules


def test_built_in_rules():
    value, terms = jets.jet_rules[lax.mul_p]([2.0, 3.0], [[1.0, 0.0], jets.zero_series])
    assert float(value) == 6 and [float(t) for t in terms] == [3, 0]
    assert {lax.sin_p, lax.dot_general_p} <= set(jets.jet_rules)
    assert len(jets.jet_rules) == len(list(jets.jet_rules)) > 50
    with pytest.raises(KeyError):
        jets.jet_rules[primitive("unknown", lax.neg)]


def test_a_rule_replaces_the_built_in_one():
    old, calls = jets.jet_rules[lax.sin_p], []

    def rule(primals, series, **params):
        calls.append(len(series[0]))
        return jets.deriv_prop(lax.sin_p, lax.cos, primals, series, **params)

    taylor = taylor_rules[lax.sin_p]
    try:
        jets.jet_rules[lax.sin_p] = rule
        assert jets.jet_rules[lax.sin_p] is rule
        result = jets.jet2(lax.sin, (0.5,), (TERMS,))
    finally:
        taylor_rules[lax.sin_p] = taylor
    assert calls == [3]
    expected = old([0.5], [list(TERMS)], accuracy=None)
    np.testing.assert_allclose(result[1], expected[1], rtol=1e-6)


def test_functions_of_series():
    fun = jets.jet_subtrace(lambda x, y: [x * y, lax.gt(x, y)])
    outs, terms = fun(None, 2, [2.0, 3.0], [[1.0, 0.0], jets.zero_series])
    assert [float(x) for x in outs] == [6, 0]
    assert [float(t) for t in terms[0]] == [3, 0] and terms[1] is jets.zero_series
    outs, terms = jets.jet_fun(fun, 2).call_wrapped([2.0, 3.0], [[1.0, 0.0], [0.0, 1.0]])
    assert [float(t) for t in terms[0]] == [3, 2]
    assert [float(t) for t in terms[1]] == [0, 0]
    assert mj.tree.leaves([jets.zero_term, jets.zero_series]) == []
    assert [float(jets.fact(n)) for n in range(6)] == [1, 1, 2, 6, 24, 120]
    tracers = []
    jets.jet2(lambda x: tracers.append(x) or x, (1.0,), (TERMS,))
    assert isinstance(tracers[0], jets.JetTracer) and tracers[0].primal == 1.0
    assert tracers[0].terms == list(TERMS)
