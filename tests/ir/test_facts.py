"""Laws of the record `facts` of primitives: each fact is of its kind, and each is read."""

import ast
import inspect
from pathlib import Path

import pytest

import minijax
from minijax.ir.core import ByPlatform, Missing, Primitive, Unsupported, registry
from minijax.ir.facts import NO_FACTS, Facts, KeyUse
from minijax.tools import rules

PACKAGE = Path(minijax.__file__).parent
# How each fact that is a rule is called: the number of its arguments, or None for any.
RULES = {
    "axes_of": 3,
    "as_program": 2,
    "depends": 2,
    "bounds": None,
    "checked": 3,
    "flops": 3,
    "workspace": 3,
    "uses_keys": 2,
    "pretty": 2,
    "text": 2,
}
FLAGS = """elementwise makes_no_nans keeps_nans keeps_finite has_closures lowers_key_arrays
    sets_memory_space""".split()
MOVEMENTS = (None, "moved", "in order", "back", "nothing")
NOT_RULES = "name multiple_results regions sharding facts".split()


@pytest.fixture(scope="module")
def primitives():
    rules.load_all()
    return [prim for name, prim in sorted(registry.items()) if not name.startswith("test_")]


def takes(rule, count):
    """Whether a rule can be called with this number of arguments."""
    try:
        inspect.signature(rule).bind(*range(count))
    except TypeError:
        return False
    return True


def test_every_fact_has_a_kind():
    assert set(Facts._fields) == {*RULES, *FLAGS, "data_movement", "divisor"}
    assert all(getattr(NO_FACTS, name) is False for name in FLAGS)
    assert all(getattr(NO_FACTS, name) is None for name in Facts._fields if name not in FLAGS)


def test_facts_of_every_primitive_are_of_their_kinds(primitives):
    for prim in primitives:
        facts = prim.facts
        assert type(facts) is Facts, prim
        for name in FLAGS:
            assert type(getattr(facts, name)) is bool, (prim, name)
        assert facts.data_movement in MOVEMENTS, prim
        assert facts.divisor is None or type(facts.divisor) is int, prim
        for name, count in RULES.items():
            rule = getattr(facts, name)
            if rule is None or (name == "uses_keys" and type(rule) is KeyUse):
                continue
            if name == "pretty" and type(rule) is dict:
                assert all(type(param) is str for param in rule), prim
                continue
            assert callable(rule), (prim, name)
            assert count is None or takes(rule, count), (prim, name)


def test_facts_do_not_contradict_each_other(primitives):
    for prim in primitives:
        facts = prim.facts
        if facts.data_movement in ("moved", "in order"):
            assert not facts.elementwise, prim
        assert facts.divisor is None or not facts.makes_no_nans, prim
        assert facts.as_program is None or prim.regions is None, prim
        assert facts.depends is None or prim.regions is not None, prim
        assert facts.pretty is None or facts.text is None, prim


def test_every_fact_is_stated_and_read(primitives):
    stated = {
        name
        for prim in primitives
        for name, fact, default in zip(Facts._fields, prim.facts, NO_FACTS, strict=True)
        if fact != default
    }
    assert stated == set(Facts._fields)
    reads = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and is_facts(node.value):
                reads.add((node.attr, str(path.relative_to(PACKAGE))))
    undefined = {row for row in reads if row[0] not in {*Facts._fields, "_replace"}}
    assert not undefined
    assert {name for name, _ in reads} >= set(Facts._fields)


def is_facts(node):
    """Whether an expression is `facts` or `....facts`, by the name that the record has."""
    if isinstance(node, ast.Name):
        return node.id == "facts"
    return isinstance(node, ast.Attribute) and node.attr == "facts"


def test_an_unknown_fact_is_an_error():
    with pytest.raises(TypeError):
        Facts(keeps_nan=True)
    with pytest.raises(AttributeError):
        Primitive("test_unknown_fact").facts.keeps_nans = True


def test_other_slots_are_rules(primitives):
    slots = set(Primitive.__slots__) - {"__weakref__"}
    assert not hasattr(Primitive, "__getattr__")  # it would slow down every attribute
    assert not slots & set(Facts._fields)
    assert len(slots) <= 16
    for prim in primitives:
        for slot in slots - {*NOT_RULES}:
            rule = getattr(prim, slot)
            assert rule is None or callable(rule), (prim, slot)


def test_a_lowering_chooses_its_rule_by_platform(primitives):
    def rule(ctx, x):
        return "default", x

    def special(ctx, x):
        return "special", x

    class Context:
        platform = "cpu"

    lower = ByPlatform(rule, cuda=special)
    assert lower.on("cuda") is special and lower.on("tpu") is rule
    assert lower(Context, 1) == ("default", 1)
    Context.platform = "cuda"
    assert lower(Context, 1) == ("special", 1)
    chosen = [prim for prim in primitives if isinstance(prim.lower, ByPlatform)]
    assert len(chosen) > 20
    for prim in chosen:
        assert not isinstance(prim.lower.default, (ByPlatform, Missing)), prim
        assert prim.lower.rules and not set(prim.lower.rules) - {"cpu", "cuda", "rocm", "tpu"}
        for special in prim.lower.rules.values():
            assert callable(special) and not isinstance(special, Unsupported), prim
