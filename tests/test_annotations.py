"""Public functions say their types: few of their annotations are `Any`.

Counted are parameters, results and attributes of functions and classes that are public, or
that another module uses. `Any` inside another type, as in `dict[str, Any]`, is not counted.
A missing annotation counts as `Any`.
"""

import ast
import collections
import importlib
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parent.parent / "minijax"
MODULES = {path: ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}
# The most annotations of a package that may be `Any`, in percent.
LIMITS = {
    **{"types": 8, "ir": 9, "passes": 5, "symbolic": 5, "analysis": 5, "text": 5},
    **{"runtime": 6, "api": 6},
}


def names_used(tree: ast.Module) -> set[str]:
    """The names that a module imports, or reads as attributes."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
    return names


USERS = collections.defaultdict(set)
for path, tree in MODULES.items():
    for name in names_used(tree):
        USERS[name].add(path)


def is_shared(name: str, path: pathlib.Path) -> bool:
    """Whether a name is public, or another module uses it."""
    is_special = name.startswith("__") and name.endswith("__")
    return not name.startswith("_") or is_special or bool(USERS[name] - {path})


def annotations(path, body, owner=None):
    """The (line, annotation or None) of parameters, results and attributes of a module."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if is_shared(node.name, path):
                yield from of_function(node, owner)
        elif isinstance(node, ast.ClassDef):
            if is_shared(node.name, path):
                yield from annotations(path, node.body, node)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if is_shared(node.target.id, path):
                yield node.lineno, node.annotation
        elif isinstance(node, (ast.If, ast.Try)):
            yield from annotations(path, node.body, owner)


def of_function(node, owner):
    """The annotations of a function or method, and of the attributes that it sets."""
    args = node.args
    positional = [*args.posonlyargs, *args.args]
    if owner is not None and "staticmethod" not in map(ast.unparse, node.decorator_list):
        del positional[0]
    for arg in (*positional, args.vararg, *args.kwonlyargs, args.kwarg):
        if arg is not None:
            yield arg.lineno, arg.annotation
    if node.name != "__init__":
        yield node.lineno, node.returns
    if owner is not None:
        for inner in ast.walk(node):
            if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Attribute):
                yield inner.lineno, inner.annotation


@pytest.mark.parametrize("package", LIMITS)
def test_few_annotations_are_any(package):
    total, places = 0, []
    for path, tree in MODULES.items():
        if path.relative_to(ROOT).parts[0] == package:
            for line, annotation in annotations(path, tree.body):
                total += 1
                if annotation is None or ast.unparse(annotation) == "Any":
                    places.append(f"{path.relative_to(ROOT)}:{line}")
    share = 100 * len(places) / total
    print(f"{package}: {len(places)} of {total} annotations are `Any`, {share:.1f} %")
    assert share <= LIMITS[package], places


@pytest.mark.parametrize("package", LIMITS)
def test_imports_for_annotations_exist(package):
    """Type checkers take a name of a missing module for `Any`, without a message."""
    for path, tree in MODULES.items():
        name = ".".join(("minijax", *path.relative_to(ROOT).with_suffix("").parts))
        if name.startswith(f"minijax.{package}."):
            for block in tree.body:
                if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
                    scope = dict(vars(importlib.import_module(name)))
                    for node in block.body:
                        exec(ast.unparse(node), scope)


def test_aliases_are_for_type_checkers_only():
    """No module loads the names for annotations, which import modules of all layers."""
    for path, tree in MODULES.items():
        for node in tree.body:  # not those in `if TYPE_CHECKING`
            if isinstance(node, ast.ImportFrom):
                assert "aliases" not in (node.module or "").split("."), path
                assert "aliases" not in [alias.name for alias in node.names], path
