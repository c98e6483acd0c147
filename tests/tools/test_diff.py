"""`tools.diff`: where two programs part."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax, tools
from minijax.tools.jaxpr_diff import matches

X = jnp.linspace(0.1, 1, 12).reshape(3, 4)


def layer(x, eps=1e-5, gain=1.0):
    mean = x.mean(-1, keepdims=True)
    var = ((x - mean) ** 2).mean(-1, keepdims=True)
    normal = (x - mean) * lax.rsqrt(var + eps)
    return jnp.tanh(normal * gain)


def test_the_first_operation_that_differs_is_named():
    report = tools.diff(layer, mj.jit(lambda x: layer(x, gain=1.1)), X)
    assert report
    assert report.first.primitive == "mul"
    assert report.first.first.variable == "return"
    assert report.first.relative == pytest.approx(0.1, rel=1e-3)
    assert report.left == report.right == 0
    assert len(report.partings) == 3  # mul, tanh and the result
    assert "First: the operation mul differs by" in str(report)
    assert report.to_dict()["first"]["second"]["function"] == "layer"


def test_different_equations_with_equal_results():
    other = lambda x: layer(x) * 1.0 + 0.0
    report = tools.diff(layer, other, X)
    assert not report
    assert report.right == 2
    assert "They agree." in str(report)
    assert not tools.diff(
        mj.grad(lambda x: layer(x).sum()), mj.grad(lambda x: layer(x).sum()), X
    )
    close = lambda x: layer(x, eps=1.1e-5)
    assert not tools.diff(layer, close, X)
    assert tools.diff(layer, close, X, rtol=1e-7).first.first.variable == "normal"


def test_another_library():
    def numpy_layer(x):
        assert type(x) is np.ndarray
        mean = x.mean(-1, keepdims=True)
        return np.tanh((x - mean) / np.sqrt(x.var(-1, keepdims=True) + 1e-5))

    assert not tools.diff(layer, numpy_layer, X)
    report = tools.diff(layer, lambda x: np.asarray(numpy_layer(np.asarray(x))) * 2, X)
    assert (report.first.what, report.matched) == ("a result", 0)
    nan = tools.diff(lambda x: x, lambda x: x / (x - x), jnp.float32(1))
    assert nan.first.error == np.inf
    with pytest.raises(ValueError, match="differ in structure"):
        tools.diff(lambda x: x, lambda x: (x, x), X)


def test_the_text_of_a_comparison():
    def first(x):
        wave = jnp.sin(x)
        return wave * 2

    def second(x):
        wave = jnp.sin(x)
        return wave * 3 + 1

    report = tools.diff(first, second, jnp.float32(1))
    head, parts, one, two, more = str(report).splitlines()
    assert head == "2 operations match, 0 are only in the first and 1 only in the second"
    assert (report.matched, report.left, report.right) == (2, 0, 1)
    assert parts.startswith("First: the operation mul differs by 0.841 (0.5 relative)")
    assert one.endswith("in first: return wave * 2")
    assert two.endswith("in second: return wave * 3 + 1")
    assert more.split()[:2] == ["+", "add"] and more.endswith("return wave * 3 + 1")


def test_integers_agree_exactly_or_not_at_all():
    assert not tools.diff(lambda n: n * 3, lambda n: n + n + n, jnp.arange(4))
    report = tools.diff(lambda n: n * 300, lambda n: n * 300 + n // 3, jnp.arange(4))
    assert (report.first.error, report.first.at) == (1.0, (3,))


def test_results_of_different_structure_are_an_error():
    def theirs(x):  # which cannot be traced
        return [np.asarray(x)] * 2

    def pair(x):
        return x, x

    with pytest.raises(ValueError, match="diff: 1 results, but 2 of theirs"):
        tools.diff(jnp.sin, theirs, X)
    with pytest.raises(ValueError, match="results of sin and pair differ in structure"):
        tools.diff(jnp.sin, pair, X)


def test_long_programs_match_as_short_ones_do():
    rng = np.random.default_rng(0)
    for _ in range(200):
        ours, theirs = (rng.integers(0, 3, rng.integers(0, 9)).tolist() for _ in "ab")
        pairs = []
        ends = 0, 0
        for tag, i, i_end, j, j_end in matches(ours, theirs):
            assert (i, j) == ends
            ends = i_end, j_end
            if tag == "equal":
                assert ours[i:i_end] == theirs[j:j_end]
                pairs += ours[i:i_end]
        assert ends == (len(ours), len(theirs))
        least = min(len(ours), len(theirs))
        same = [a == b for a, b in zip(ours, theirs, strict=False)]
        assert len(pairs) >= (same.index(False) if False in same else least)
