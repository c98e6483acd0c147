"""Differences between two pytrees, and messages about them.

Errors of every transformation name the path of a mismatch.  One function walks trees and
treedefs: a view of each presents its root as a `Level`.  This code runs only for errors,
so it is written for clear messages, not for speed.

This module does not know which transformation calls it.  Next: tree.py.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from . import source, tracebacks
from .errors import message, type_text
from .tree_nodes import (
    USER,
    FlattenedIndexKey,
    Path,
    PyTreeDef,
    flatten_one_level,
    flatten_one_level_with_keys,
    path_str,
)

__all__ = [
    "Difference",
    "equality_errors",
    "leaf_paths",
    "mismatch_error",
    "prefix_differences",
    "prefix_errors",
    "structure_errors",
    "unsortable_error",
]

IsLeaf = Callable[..., bool] | None
_LEAF = USER.flatten(0)[1]


class Level(NamedTuple):
    """The root of a tree: its type, its metadata, its children and their keys."""

    kind: type
    meta: Any
    keys: Sequence[Any]
    children: Sequence[Any]


class Difference(NamedTuple):
    """One difference of two trees: path, descriptions of both subtrees, and the cause."""

    path: Path
    what1: str
    what2: str
    why: str


# Presents a subtree at a path as a Level, or returns None for a leaf.
View = Callable[[Path, Any], "Level | None"]


def _view_tree(path: Path, tree: Any) -> Level | None:
    if not USER.is_node(type(tree)):
        return None
    pairs, meta = flatten_one_level_with_keys(tree)
    pairs = list(pairs)
    return Level(type(tree), meta, [k for k, _ in pairs], [c for _, c in pairs])


def _view_with(is_leaf: IsLeaf, takes_path: bool = False) -> View:
    """Return the view of a tree in which `is_leaf` ends the walk."""
    if is_leaf is None:
        return _view_tree

    def view(path: Path, tree: Any) -> Level | None:
        stop = is_leaf(path, tree) if takes_path else is_leaf(tree)
        return None if stop else _view_tree(path, tree)

    return view


def _view_treedef(path: Path, treedef: PyTreeDef) -> Level | None:
    data = treedef.node_data()
    if data is None:
        return None
    kind, meta = data
    children = treedef.children()
    if kind is dict:
        meta = tuple(meta)
    elif hasattr(kind, "_fields") and meta is None:
        meta = kind
    return Level(kind, meta, _treedef_keys(data, len(children)), children)


def _treedef_keys(node_data: Any, n: int) -> Sequence[Any]:
    """Return the keys of a treedef's children, found on an instance built for that."""
    try:
        one = PyTreeDef.from_node_data_and_children(USER, node_data, [_LEAF] * n)
        pairs, _ = flatten_one_level_with_keys(one.unflatten([object()] * n))
        keys = [key for key, _ in pairs]
    except Exception:  # a user's class may reject such children
        keys = []
    return keys if len(keys) == n else [FlattenedIndexKey(i) for i in range(n)]


def leaf_paths(treedef: PyTreeDef) -> list[Path]:
    """Return the paths of the leaves of a treedef, in order."""
    out: list[Path] = []

    def walk(path: Path, treedef: PyTreeDef) -> None:
        level = _view_treedef(path, treedef)
        if level is None:
            out.append(path)
            return
        for key, child in zip(level.keys, level.children):
            walk((*path, key), child)

    walk((), treedef)
    return out


def _walk(
    path: Path, a: Any, b: Any, view_a: View, view_b: View, prefix: bool
) -> Iterator[Difference]:
    """Yield the outermost differences; in `prefix` mode a leaf of `a` fits any subtree."""
    level_a = view_a(path, a)
    if level_a is None and prefix:
        return
    level_b = view_b(path, b)
    if level_a is None and level_b is None:
        return
    why = _cause(level_a, level_b)
    if why:
        yield Difference(path, _description(a, level_a), _description(b, level_b), why)
        return
    assert level_a is not None and level_b is not None
    for key, x, y in zip(level_a.keys, level_a.children, level_b.children):
        yield from _walk((*path, key), x, y, view_a, view_b, prefix)


def _cause(a: Level | None, b: Level | None) -> str:
    """Return why two roots do not match, or an empty text if they do."""
    if a is None or b is None:
        return "one is a leaf, the other a node"
    if a.kind is not b.kind:
        return "their types differ"
    if a.kind is dict:
        only_a = [k for k in a.meta if k not in b.meta]
        only_b = [k for k in b.meta if k not in a.meta]
        if only_a or only_b:
            return "; ".join(
                f"{'key' if len(keys) == 1 else 'keys'} {_listed(keys)} only in the {n}"
                for n, keys in (("first", only_a), ("second", only_b))
                if keys
            )
        return ""
    if len(a.children) != len(b.children):
        return f"their {'lengths' if a.meta is None else 'numbers of children'} differ"
    return "" if _same(a.meta, b.meta) else "their metadata differ"


def _cause_phrase(difference: Difference) -> str:
    """Return the cause of a difference, as a phrase that programs may search for."""
    what, why = difference.what1, difference.why
    if "types" in why or "leaf" in why:
        return "different types"
    if "lengths" in why:
        return f"different lengths of {what.split()[1]}"
    if "metadata" in why or ("only in the first" in why and "second" in why):
        return "different pytree metadata"
    return "different numbers of pytree children"


def _same(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except Exception:  # metadata without a truth value, such as an array
        return False


def static_arrays(trees: Any) -> list[str]:
    """Return class and field of each array in the metadata of these trees' nodes."""
    descriptions: dict[str, None] = {}
    pending = [trees]
    while pending:
        node = pending.pop()
        if not USER.is_node(type(node)):
            continue
        children, meta = flatten_one_level(node)
        pending += children
        values = [meta, *meta] if isinstance(meta, tuple) else [meta]
        arrays = [x for x in values if hasattr(type(x), "__array__")]
        fields = dataclasses.fields(node) if dataclasses.is_dataclass(node) else ()
        names = [
            f.name for f in fields if any(getattr(node, f.name, None) is x for x in arrays)
        ]
        kind = type(node).__qualname__
        if names:
            descriptions |= dict.fromkeys(f"the static field `{n}` of {kind}" for n in names)
        elif arrays:
            descriptions[f"the metadata of {kind}"] = None
    return list(descriptions)


def _explain(error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Add the arrays for which two structures could not be compared to the message."""
    text = str(error.args[0]) if error.args else ""
    if not text.startswith(_UNEQUAL) or "\nWhich:" in text:
        return
    if names := static_arrays([args, kwargs]):
        text = message(
            text,
            which=f"an array in {', '.join(names)}",
            why="arrays have no single truth value, so the trees cannot be compared.",
            tries=["a data field, which is a child of the tree", "a tuple of numbers"],
        )
        error.args = (text,)


_UNEQUAL = "Exception raised while checking equality of metadata fields of pytree"
tracebacks.explainers.append(_explain)


def _listed(items: Sequence[Any], limit: int = 6) -> str:
    text = ", ".join(repr(x) for x in items[:limit])
    return text + ", ..." if len(items) > limit else text


def _description(x: Any, level: Level | None) -> str:
    """Return a short description of a subtree."""
    if level is None:
        return "a leaf" + ("" if isinstance(x, PyTreeDef) else f" ({type_text(x)})")
    kind, n = level.kind, len(level.children)
    if kind is type(None):
        return "None"
    if kind is dict:
        return f"a dict with keys {_listed(level.meta)}" if n else "an empty dict"
    if kind in (list, tuple):
        return f"a {kind.__name__} of length {n}"
    if level.meta is None or level.meta is kind:
        return f"{kind.__qualname__} with {n} {'child' if n == 1 else 'children'}"
    meta = repr(level.meta)
    if dataclasses.is_dataclass(kind) and isinstance(level.meta, tuple):
        children = {getattr(key, "name", None) for key in level.keys}
        static = [f.name for f in dataclasses.fields(kind) if f.name not in children]
        arrays = any(hasattr(type(x), "__array__") for x in level.meta)
        if arrays and len(static) == len(level.meta):
            pairs = zip(static, level.meta, strict=True)
            meta = ", ".join(f"{name}={x!r}" for name, x in pairs)
    meta = meta if len(meta) <= 60 else meta[:57] + "..."
    return f"{kind.__qualname__} with metadata {meta}"


def prefix_differences(
    prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None, *, takes_path: bool = False
) -> list[Difference]:
    """List the places where a tree is not a prefix of another; either may be a treedef."""
    view: View = _view_with(is_leaf, takes_path)
    view_full: View = _view_tree
    if isinstance(prefix_tree, PyTreeDef):
        view = _view_treedef
    if isinstance(full_tree, PyTreeDef):
        view_full = _view_treedef
    return list(_walk((), prefix_tree, full_tree, view, view_full, True))


def prefix_errors(
    prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None
) -> list[Callable[[str], ValueError]]:
    """Return errors for the places where a tree is not a prefix of another.

    Args:
      prefix_tree: the tree that should be a prefix.
      full_tree: the tree, or the treedef, that it should fit.
      is_leaf: which subtrees of the prefix count as leaves.

    Returns: a function for each place, which takes the name of the prefix in the
      user's program and returns a ValueError.

    >>> from minijax.base.tree import prefix_errors
    >>> [make] = prefix_errors((0, [1]), (0, (1,)))
    >>> print(str(make("in_axes")).splitlines()[3])
    Which: in_axes[1] is a list of length 1, but the full tree has a tuple of length 1
    """

    def maker(difference: Difference) -> Callable[[str], ValueError]:
        what = "must be a tree prefix of the tree it describes."
        return lambda name: mismatch_error(
            f"{name} {what}", [difference], name, "the full tree", label=name
        )

    return [maker(d) for d in prefix_differences(prefix_tree, full_tree, is_leaf)]


def equality_errors(tree1: Any, tree2: Any, is_leaf: IsLeaf = None) -> Iterator[Difference]:
    """Yield the outermost places where the structures of two trees differ.

    Args:
      tree1, tree2: the trees; their leaves are not compared.
      is_leaf: which subtrees count as leaves.

    Returns: an iterator of `(path, what1, what2, why)`.

    >>> from minijax.base.tree import equality_errors
    >>> [tuple(d)[1:] for d in equality_errors([1, 2], [1])]
    [('a list of length 2', 'a list of length 1', 'their lengths differ')]
    """
    view = _view_with(is_leaf)
    return _walk((), tree1, tree2, view, view, False)


def structure_errors(treedef1: PyTreeDef, treedef2: PyTreeDef) -> Iterator[Difference]:
    """Yield the outermost places where two treedefs differ, as `equality_errors` does."""
    return _walk((), treedef1, treedef2, _view_treedef, _view_treedef, False)


def mismatch_error(
    what: str,
    differences: Sequence[Difference],
    name1: str,
    name2: str,
    tries: tuple[str, ...] = (),
    label: str = "",
) -> ValueError:
    """Return the error for trees that do not fit: the first difference, and how many.

    With `label`, the user's name of the first tree, it begins as JAX's error does.
    """
    path, what1, what2, why = differences[0]
    if "None" in (what1, what2):
        tries = (*tries, "pass is_leaf=lambda x: x is None where None is a leaf.")
    n = len(differences) - 1
    more = f" ({n} more such {'place' if n == 1 else 'places'})" if n else ""
    if label:
        kind, location = _cause_phrase(differences[0]), f"{label}{path_str(path)}"
        what = f"pytree structure error: {kind} at key path\n    {location}\n{what}"
    return ValueError(
        message(
            what,
            which=f"{name1}{path_str(path)} is {what1}, but {name2} has {what2}{more}",
            where=_user_location(),
            why=f"pytree structures do not match: {why}.",
            tries=tries,
        )
    )


def _user_location() -> str | None:
    user_source = source.user_source()
    return None if user_source is None else user_source.text()


def unsortable_error(
    tree: Any, is_leaf: IsLeaf = None, *, takes_path: bool = False
) -> ValueError | None:
    """Return the error for the first dict with unsortable keys, or None."""
    unsortable = _unsortable((), tree, _view_with(is_leaf, takes_path))
    if unsortable is None:
        return None
    path, keys, error = unsortable
    return ValueError(
        message(
            "A pytree could not be flattened.",
            which=f"tree{path_str(path)}, a dict with keys {_listed(keys)}",
            where=_user_location(),
            why=f"Comparator raised exception while sorting pytree dictionary keys: {error}.",
            tries=("use keys of one type, so that they have an order.",),
        )
    )


def _unsortable(
    path: Path, tree: Any, view: View
) -> tuple[Path, list[Any], BaseException] | None:
    try:
        level = view(path, tree)
    except ValueError as error:
        if type(tree) is not dict:
            raise
        return path, list(tree), error.__cause__ or error
    if level is not None:
        for key, child in zip(level.keys, level.children):
            unsortable = _unsortable((*path, key), child, view)
            if unsortable is not None:
                return unsortable
    return None
