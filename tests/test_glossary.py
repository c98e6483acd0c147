"""Names are the field's: words that the glossary of CONTRIBUTING.md replaced do not return.

Identifiers of the package are read from its syntax trees, those of tests from the names of
files and test functions.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# A whole name -> what to write in its place.
REPLACED = {
    "found": "what it holds: program, cached, specs, index, match",
    "given": "operands, user_value, nonzero_cts",
    "kept": "kept_indices, remaining_axes, residuals",
    "mine": "current_sharding, local_shards, axis_kinds",
    "there": "target_sharding, present",
    "here": "user_source, local_devices",
    "told": "describe_..., message, state, decoded",
    "said": "requested, message, spec, sharding_attr",
    "asked": "requested, expected",
    "asks": "request, cond_operands",
    "want": "expected, required_sharding",
    "wanted": "requested, expected",
    "lie": "specs, sharding",
    "lies": "type_sharding, shardings",
    "lying": "sharded",
    "alike": "equal_specs, equal",
    "plain": "with_default_layout, default",
    "whole": "full, replicated, global_value",
    "cut": "sharded, split, truncated",
    "cuts": "num_shards, sharded",
    "uncut": "drop_explicit_sharding",
    "loose": "uncommitted",
    "due": "needs_discharge",
    "turned": "transposed",
    "came": "src_layout, source",
    "stand": "the standard term",
    "stands": "the standard term",
    "laid_out": "has_custom_layout",
    "in_order": "with_layout",
    "settle": "fixed_point, align",
    "settled": "fixed_point, resolved",
    "gone": "removed_axes",
    "lead": "batch_shape",
    "moving": "dependent, nonzero_tangents",
    "still": "nonlinear",
    "l_sum": "lhs_contracting",
    "r_sum": "rhs_contracting",
}
# A part of a name, between underscores.
PARTS = {"lie", "lies", "lying", "told", "said", "unsaid", "asked", "mine", "alike", "uncut"}
# Names that are JAX's.
PUBLIC = {"shard_alike", "shard_alike_p"}


def identifiers(tree):
    """(name, line) of everything that the code defines or reads."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name, node.lineno
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.keyword(arg=str(name)):
                yield name, node.value.lineno


def replaced(name):
    """Whether the glossary replaces a name, or a part of it."""
    if name in PUBLIC:
        return False
    bare = name.strip("_").lower()
    return bare in REPLACED or not PARTS.isdisjoint(bare.split("_"))


FILES = sorted((ROOT / "minijax").rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_identifiers(path):
    old = {
        f"line {line}: {name}: {REPLACED.get(name.strip('_').lower(), 'see CONTRIBUTING.md')}"
        for name, line in identifiers(ast.parse(path.read_text()))
        if replaced(name)
    }
    assert not old, sorted(old)


def test_names_of_files_and_tests():
    paths = [*FILES, *sorted((ROOT / "tests").rglob("*.py"))]
    old = [str(p.relative_to(ROOT)) for p in paths if replaced(p.stem.removeprefix("test_"))]
    for path in paths:
        if path.is_relative_to(ROOT / "tests"):
            names = re.findall(r"^def test_(\w+)", path.read_text(), re.M)
            old += [
                f"{path.name}: test_{n}" for n in names if not PARTS.isdisjoint(n.split("_"))
            ]
    assert not old, old


def test_the_words_of_the_glossary_are_found():
    """The search itself: a function with an old name, argument, local and attribute."""
    code = "def f(lies):\n    found = lies.told\n    return g(x_lie=found)"
    names = {name for name, _ in identifiers(ast.parse(code)) if replaced(name)}
    assert names == {"lies", "found", "told", "x_lie"}
