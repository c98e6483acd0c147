"""Recipes: what rules emitted is emitted again, exactly so, and only where it may be."""

import gc
import re
from collections import defaultdict

import numpy as np
import pytest
from jaxlib.mlir import ir

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.ir.core import Primitive
from minijax.runtime.lowering import context as lowering
from minijax.runtime.lowering.lower_jaxpr import lower_jaxpr
from minijax.runtime.lowering.mlir_context import context
from minijax.runtime.lowering.recorded_lowering import MAX_STEPS, RecordedLowering
from minijax.runtime.running.compile import module_bytes

X = np.ones((2, 3, 4), np.float32)
INTS = np.ones((2, 3), np.int32)


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """No recipe is known at first."""
    monkeypatch.setattr(context, "recipes", defaultdict(dict))


def module(f, *args, platform="cpu", **options):
    return lower_jaxpr(mj.make_jaxpr(f)(*args), "f", platform, **options).module


def text(f, *args, **options):
    """The module of a function, with the locations of all that is in it."""
    return module(f, *args, **options).operation.get_asm(enable_debug_info=True)


def learnt():
    return [
        r
        for kept in context.recipes.values()
        for r in kept.values()
        if type(r) is RecordedLowering
    ]


def mixed(x):
    """Scalars that repeat, regions, several results, results that are operands."""
    y = jnp.exp(x - x.max(-1, keepdims=True)) / x.sum(-1, keepdims=True)
    a, b = jnp.split(y * 2 + 2 * y, 2, -1)
    z = jnp.where(a > b, jnp.sort(a, -1), jnp.flip(b)) @ x[..., :2].mT
    pooled = lax.reduce_window(z, -jnp.inf, lax.max, (1, 2, 2), (1, 1, 1), "SAME")
    return pooled, a.at[0].add(1)


PROGRAMS = {
    "mixed": (mixed, X),
    "gradient": (mj.grad(lambda x: sum(y.sum() for y in mixed(x))), X),
    "integers": (lambda x: (x // 2 + x % 3, x.argmax(1), lax.population_count(x)), INTS),
    "complex": (lambda x: jnp.abs(x * 1j) + lax.reduce_max(x * 2j, (0,)).real, X),
    "loop": (lambda x: lax.scan(lambda c, y: (c + y * 2, c), x[0], x), X),
    "keys": (lambda x: mj.random.normal(mj.random.key(0), x.shape) + x + x, X),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_the_rules_emit_it(name):
    by_rules = text(*PROGRAMS[name])
    key = module_bytes(module(*PROGRAMS[name]))
    known = len(learnt())
    assert known
    assert text(*PROGRAMS[name]) == by_rules
    assert module_bytes(module(*PROGRAMS[name])) == key
    assert len(learnt()) == known


def test_at_the_place_of_each_equation():
    def f(x):
        with mj.named_scope("here"):
            y = x.sum(0)
        with mj.named_scope("there"):
            return y, x.sum(0)

    for _ in range(3):
        found = text(f, X)
        lines = dict(re.findall(r"^(#loc\d+) = (.*)$", found, re.M))
        places = re.findall(r"applies stablehlo.add.*loc\((#loc\d+)\)", found)
        names = [re.search('"(.*?)"', lines[n])[1] for n in places]
        assert names == ["jit(f)/here/reduce_sum", "jit(f)/there/reduce_sum"]


def test_bytes_of_programs_that_differ_in_locations_only():
    def other(x):
        with mj.named_scope("elsewhere"):
            return mixed(x)

    a, b = module(mixed, X), module(other, X)
    assert str(a) == str(b) and text(mixed, X) != text(other, X)
    with context.ir, context.unknown, ir.InsertionPoint(a.body):
        before = str(b)
        assert module_bytes(a) == module_bytes(b)
    assert str(a) == str(b) == before


# ------------------------------------------------------------------ what has no recipe


def counted(rule, **params):
    """How often the rule of a primitive runs in four programs of two such equations."""
    prim, runs = Primitive("counted"), []
    prim.abstract = lambda x, **_: x

    def lower(ctx, x, **given):
        runs.append(x)
        return rule(ctx, x, **given)

    prim.lower = lower
    for _ in range(4):
        module(lambda x: prim.bind(prim.bind(x, **params), **params), X)
    return len(runs)


def plain(ctx, x, **_):
    return ctx.op("sine", ctx.avals_out[0], x)


def within(ctx, x, **_):
    """A region that uses a value from around it."""
    aval = ctx.avals_out[0]
    op = ctx.region_op("stablehlo.case", [ctx.type(aval)], [ctx.constant(0, I0)])
    with ctx.block(op.regions[0]):
        ctx.return_(x)
    return op.result


I0 = mj.core.ShapedArray((), np.dtype("int32"))


def reading(name):
    return lambda ctx, x, **_: (getattr(ctx, name), plain(ctx, x))[1]


def many(ctx, x, **_):
    for _ in range(MAX_STEPS + 1):
        x = plain(ctx, x)
    return x


def test_a_rule_runs_once_for_itself_and_once_to_be_learnt():
    assert counted(plain) == counted(plain, axis=1, names=("a", None)) == 2


@pytest.mark.parametrize(
    "rule",
    [
        *map(reading, ("module", "axes", "consts", "token")),
        within,
        lambda ctx, x, **_: ctx.fun(jnp.sin, x)[0],
        lambda ctx, x, **_: (ctx.may_be_zero(x), plain(ctx, x))[1],
        many,
    ],
)
def test_what_looks_further_runs_each_time(rule):
    assert counted(rule) >= 8


@pytest.mark.parametrize("param", [0.0, (1, (2.0,)), lambda: 0, np.float32(1), {}, [1]])
def test_params_that_equality_does_not_tell_apart(param):
    assert counted(plain, param=param) == 8
    assert not learnt()


def test_each_platform_has_its_own():
    seen = lambda ctx, x, **_: ctx.op(
        "sine" if ctx.platform == "cpu" else "cosine", ctx.avals_out[0], x
    )
    prim = Primitive("platform")
    prim.abstract, prim.lower = lambda x: x, seen
    for _ in range(3):
        assert "stablehlo.sine" in text(prim.bind, X)
        assert "stablehlo.cosine" in text(prim.bind, X, platform="cuda")


def test_a_division_by_a_constant_is_not_that_by_zero_or_variables():
    for _ in range(3):
        assert "select" not in text(lambda x: lax.div(x, np.int32(3)), INTS)
        assert "select" in text(lambda x: lax.div(x, np.int32(0)), INTS)
        assert "select" in text(lambda x: lax.div(x, x), INTS)
        assert "select" not in text(lambda x: lax.div(x, np.int32(3)), INTS)


def test_few_are_kept(monkeypatch):
    monkeypatch.setattr(lowering, "MAX_RECIPES", 16)
    for n in range(1, 60):
        module(lambda x: jnp.sin(jnp.sin(x)), np.ones(n, np.float32))
    (kept,) = context.recipes.values()
    assert 8 <= len(kept) <= 16


def test_operations_outlive_the_module_they_came_from():
    for _ in range(3):
        found = text(mixed, X)
        gc.collect()
    assert found == text(mixed, X)
