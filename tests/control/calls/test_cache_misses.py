"""`no_tracing` and `explain_cache_misses`: reports of repeated traces."""

import logging

import pytest

import minijax as mj
import minijax.numpy as jnp


def test_tracing_can_be_forbidden():
    f = mj.jit(lambda x: x + 1)
    three, four = jnp.ones(3), jnp.ones(4)
    f(1.0)
    with mj.no_tracing():
        assert float(f(2.0)) == 3
        with pytest.raises(RuntimeError, match=r"re-tracing function <lambda> at .* for"):
            f(three)
        with mj.no_tracing(False):
            f(four)
        assert f(four).shape == (4,)
    assert f(three).shape == (3,)
    assert mj.config.jax_no_tracing is False


def test_misses_are_explained(caplog):
    f = mj.jit(lambda x, n: x * n, static_argnums=1)

    def logged(*args):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "minijax"):
            f(*args)
        return "\n".join(r.getMessage() for r in caplog.records)

    with mj.explain_cache_misses():
        first = logged(1.0, 2)
        assert "TRACING CACHE MISS at" in first
        assert "test_cache_misses.py" in first
        assert "never seen function: <lambda>" in first
        assert logged(3.0, 2) == ""
        assert "x: known ~float32[], now float32[3]" in logged(jnp.ones(3), 2)
        assert "static arguments differ" in logged(1.0, 5)
    assert logged(jnp.ones(5), 2) == ""


def test_a_change_of_an_option_is_explained(caplog):
    f = mj.jit(lambda x: x @ x)
    with mj.explain_cache_misses():
        f(jnp.ones(3))
        caplog.clear()
        with (
            mj.default_matmul_precision("highest"),
            caplog.at_level(logging.WARNING, "minijax"),
        ):
            f(jnp.ones(3))
    assert "options that change tracing differ" in caplog.text


def test_copies_to_the_host_start():
    tree = {"a": jnp.ones(3), "b": 2.0, "c": None}
    assert mj.copy_to_host_async(tree) is tree


def test_debug_effects_are_classes():
    effects = lambda ordered: (
        mj.make_jaxpr(lambda x: mj.debug.print("{}", x, ordered=ordered))(1.0).effects
    )
    assert [type(e) for e in effects(False)] == [mj.debug.DebugEffect]
    assert [type(e) for e in effects(True)] == [mj.debug.OrderedDebugEffect]
