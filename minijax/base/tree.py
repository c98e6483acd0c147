"""Pytrees: nested containers seen as a list of leaves and a treedef.

jaxlib's C++ does the work; these functions are thin wrappers that turn its errors into
errors with a path.  Dicts are traversed in the order of their sorted keys; None is a node
without leaves, unless `is_leaf` says otherwise.

`flatten_axes` and `broadcast_prefix` expand a prefix tree (such as `in_axes`) to the
leaves of a full one.  tree_nodes.py defines nodes, tree_diff.py compares trees; this
module re-exports both, so that other packages import one module.  Arrays and tracers are
unknown here: they are leaves.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, TypeVar

from jaxlib._jax import pytree

from .errors import message
from .tree_diff import (
    Difference,
    IsLeaf,
    equality_errors,
    leaf_paths,
    mismatch_error,
    prefix_differences,
    prefix_errors,
    structure_errors,
    unsortable_error,
)
from .tree_nodes import (
    DISPATCH,
    FLATTENED_AS_LEAF,
    USER,
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    Partial,
    Path,
    PyTreeDef,
    SequenceKey,
    flatten_one_level,
    flatten_one_level_with_keys,
    is_tree_node,
    keystr,
    path_str,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
    static,
)

__all__ = [
    "flatten", "unflatten", "leaves", "structure", "map", "reduce",
    "reduce_associative", "all", "all_leaves", "transpose", "flatten_with_path",
    "leaves_with_path", "map_with_path", "leaf_paths", "keystr", "path_str", "Path",
    "KeyPath", "KeyEntry", "DictKey", "SequenceKey", "GetAttrKey", "FlattenedIndexKey",
    "broadcast", "broadcast_prefix", "flatten_axes", "prefix_errors", "equality_errors",
    "structure_errors", "mismatch_error", "Difference", "PyTreeDef", "LEAF",
    "build_tree", "treedef_children", "treedef_is_leaf", "treedef_tuple", "USER",
    "DISPATCH", "FLATTENED_AS_LEAF", "Partial", "flatten_one_level", "flatten_one_level_with_keys",
    "is_tree_node", "register_dataclass", "register_pytree_node",
    "register_pytree_node_class", "register_pytree_with_keys",
    "register_pytree_with_keys_class", "register_static", "static",
]  # fmt: skip

T = TypeVar("T")

_flatten: Callable[[Any, IsLeaf], tuple[list[Any], PyTreeDef]] = USER.flatten
_flatten_with_path: Callable[[Any, IsLeaf], tuple[list[tuple[Path, Any]], PyTreeDef]] = (
    USER.flatten_with_path
)
_builtin_all = builtins.all
_builtin_map = builtins.map


class Unspecified:
    """The type of a default that cannot equal a user's value."""


_UNSPECIFIED = Unspecified()

#: The treedef of a single leaf.
LEAF: PyTreeDef = _flatten(0, None)[1]


def flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """Flatten a tree into its leaves and its structure.

    Args:
      tree: a pytree.
      is_leaf: called on every subtree; where it is true, the subtree is a leaf.

    Returns: the list of leaves and the treedef.

    Raises:
      ValueError: if the keys of a dict cannot be sorted.

    >>> from minijax import tree
    >>> tree.flatten({"b": [1, None], "a": (2, 3)})
    ([2, 3, 1], PyTreeDef({'a': (*, *), 'b': [*, None]}))
    """
    try:
        return _flatten(tree, is_leaf)
    except ValueError as error:
        raise _flatten_error(error, tree, is_leaf) from None


def leaf_names(in_tree: PyTreeDef) -> list[str]:
    """Return the names of the leaves of (args, kwargs): `args[0]['a']`."""
    names = []
    for path in leaf_paths(in_tree):
        label = "kwargs" if path[0].idx else "args"
        names.append(label + keystr(path[1:]))
    return names


def _flatten_error(
    error: ValueError, tree: Any, is_leaf: IsLeaf, takes_path: bool = False
) -> ValueError:
    """Return a better error for unsortable keys, or the original error."""
    if not str(error).startswith("Comparator raised"):
        return error
    return unsortable_error(tree, is_leaf, takes_path=takes_path) or error


def leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves of a tree, in order.

    Args:
      tree: a pytree.
      is_leaf: called on every subtree; where it is true, the subtree is a leaf.

    Returns:
      A list of the leaves; None and empty containers have none.

    Raises:
      ValueError: the keys of a dict cannot be sorted.

    >>> from minijax import tree
    >>> tree.leaves({"b": [1, None], "a": (2, 3)})
    [2, 3, 1]
    """
    try:
        return _flatten(tree, is_leaf)[0]
    except ValueError as error:
        raise _flatten_error(error, tree, is_leaf) from None


def structure(tree: Any, is_leaf: IsLeaf = None) -> PyTreeDef:
    """Return the treedef of a tree: its structure without its leaves.

    Args:
      tree: a pytree.
      is_leaf: called on every subtree; where it is true, the subtree is a leaf.

    Returns:
      A treedef: equal for trees of equal nodes and keys, whatever their leaves.

    Raises:
      ValueError: the keys of a dict cannot be sorted.

    >>> from minijax import tree
    >>> tree.structure([1, (2, None)])
    PyTreeDef([*, (*, None)])
    """
    try:
        return _flatten(tree, is_leaf)[1]
    except ValueError as error:
        raise _flatten_error(error, tree, is_leaf) from None


def unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Build a tree from its structure and leaves: the inverse of `flatten`.

    Args:
      treedef: a structure.
      leaves: as many leaves as the structure has.

    Returns:
      A tree of that structure.

    Raises:
      ValueError: if there are too few or too many leaves.

    >>> from minijax import tree
    >>> tree.unflatten(tree.structure({"a": 0, "b": [0]}), [1, 2])
    {'a': 1, 'b': [2]}
    """
    return treedef.unflatten(leaves)


def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Apply a function to the leaves of trees, and return a tree of the results.

    Args:
      f: called with a leaf of `tree` and the subtrees of `rest` at the same place.
      tree: a pytree, whose structure the result has.
      *rest: trees that have `tree` as a prefix.
      is_leaf: called on every subtree of `tree`; where it is true, it is a leaf.

    Returns:
      A tree of the structure of `tree`, with the results of `f` as leaves.

    Raises:
      ValueError: if a tree of `rest` does not have the structure of `tree`.

    >>> from minijax import tree
    >>> tree.map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    first, treedef = flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten(_builtin_map(f, first))
    others = _flatten_rest("map", treedef, tree, rest, is_leaf)
    return treedef.unflatten(_builtin_map(f, first, *others))


def _flatten_rest(
    name: str,
    treedef: PyTreeDef,
    tree: Any,
    rest: Sequence[Any],
    is_leaf: IsLeaf,
    takes_path: bool = False,
) -> list[list[Any]]:
    """Return the subtrees of each tree of `rest` at the leaves of `tree`."""
    try:
        return [treedef.flatten_up_to(r) for r in rest]
    except ValueError as error:
        for i, r in enumerate(rest):
            differences = _prefix_differences(error, tree, r, is_leaf, takes_path)
            if differences:
                what = f"tree.{name} over {len(rest) + 1} trees."
                tries = ("pass trees that have the structure of the first.",)
                raise mismatch_error(
                    what, differences, "tree", f"rest[{i}]", tries, f"tree_{name} tree"
                ) from None
        raise


def _prefix_differences(
    error: ValueError, prefix: Any, full: Any, is_leaf: IsLeaf, takes_path: bool = False
) -> list[Difference]:
    """Explain why `flatten_up_to` failed; unsortable keys raise their own error."""
    if str(error).startswith("Comparator raised"):
        raise _flatten_error(error, full, None) from None
    return prefix_differences(prefix, full, is_leaf, takes_path=takes_path)


def flatten_with_path(
    tree: Any, is_leaf: IsLeaf = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[Path, Any]], PyTreeDef]:
    """Flatten a tree into its leaves, each with its path, and its structure.

    Args:
      tree: a pytree.
      is_leaf: called on every subtree; where it is true, the subtree is a leaf.
      is_leaf_takes_path: call `is_leaf(path, subtree)`.

    Returns: a list of `(path, leaf)` and the treedef.

    Raises:
      ValueError: if the keys of a dict cannot be sorted.

    >>> from minijax import tree
    >>> tree.flatten_with_path({"w": [1.0]})[0]
    [((DictKey(key='w'), SequenceKey(idx=0)), 1.0)]
    """
    predicate = is_leaf
    if is_leaf is not None and not is_leaf_takes_path:
        on_subtree = is_leaf
        predicate = lambda _, x: on_subtree(x)
    try:
        return _flatten_with_path(tree, predicate)
    except ValueError as error:
        raise _flatten_error(error, tree, predicate, takes_path=True) from None


def leaves_with_path(
    tree: Any, is_leaf: IsLeaf = None, is_leaf_takes_path: bool = False
) -> list[tuple[Path, Any]]:
    """Return the leaves of a tree, each with its path.

    Args:
      tree: a pytree.
      is_leaf: called on every subtree; where it is true, the subtree is a leaf.
      is_leaf_takes_path: call `is_leaf(path, subtree)`.

    Returns:
      A list of pairs (path, leaf); a path is a tuple of keys.

    Raises:
      ValueError: the keys of a dict cannot be sorted.

    >>> from minijax import tree
    >>> tree.leaves_with_path({"w": [1.0]})
    [((DictKey(key='w'), SequenceKey(idx=0)), 1.0)]
    """
    return flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Apply a function to the paths and leaves of trees, and return a tree of the results.

    Args:
      f: called with a path, a leaf of `tree` and the subtrees of `rest` at that path.
      tree: a pytree, whose structure the result has.
      *rest: trees that have `tree` as a prefix.
      is_leaf: called on every subtree of `tree`; where it is true, it is a leaf.
      is_leaf_takes_path: call `is_leaf(path, subtree)`.

    Returns:
      A tree of the structure of `tree`, with the results of `f` as leaves.

    Raises:
      ValueError: if a tree of `rest` does not have the structure of `tree`.

    >>> from minijax import tree, tree_util
    >>> tree.map_with_path(lambda path, x: tree_util.keystr(path), {"w": [1, 2]})
    {'w': ["['w'][0]", "['w'][1]"]}
    """
    pairs, treedef = flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    others = _flatten_rest("map_with_path", treedef, tree, rest, is_leaf, is_leaf_takes_path)
    columns = zip(*pairs) if pairs else ((), ())
    return treedef.unflatten(_builtin_map(f, *columns, *others))


def reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _UNSPECIFIED,
    is_leaf: IsLeaf = None,
) -> Any:
    """Fold the leaves of a tree from left to right, as `functools.reduce`.

    Args:
      function: called with the value so far and a leaf.
      tree: a pytree.
      initializer: the first value; without it, the first leaf.
      is_leaf: called on every subtree; where it is true, the subtree is a leaf.

    Returns:
      The last result of `function`; `initializer` for a tree without leaves.

    Raises:
      TypeError: if there is no leaf and no `initializer`.

    >>> from minijax import tree
    >>> tree.reduce(lambda total, x: total + x, {"a": 1, "b": [2, 3]}, 0)
    6
    """
    if isinstance(initializer, Unspecified):
        return functools.reduce(function, leaves(tree, is_leaf))
    return functools.reduce(function, leaves(tree, is_leaf), initializer)


def reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = _UNSPECIFIED,
    is_leaf: IsLeaf = None,
) -> Any:
    """Combine the leaves of a tree pairwise: depth log n, where `reduce` has depth n.

    Args:
      operation: an associative function of two values.
      tree: a pytree.
      identity: the result for a tree without leaves.
      is_leaf: called on every subtree; where it is true, the subtree is a leaf.

    Returns:
      The last result of `operation`, a single leaf itself, or `identity`.

    Raises:
      TypeError: if there is no leaf and no `identity`.

    >>> from minijax import tree
    >>> tree.reduce_associative(lambda x, y: f"({x}{y})", list("abcd"))
    '((ab)(cd))'
    """
    items = leaves(tree, is_leaf)
    if items:
        return _combine(operation, items)
    if isinstance(identity, Unspecified):
        raise TypeError(
            message(
                "tree.reduce_associative of a tree without leaves.",
                why="there is nothing to combine.",
                tries=("pass identity=, the value for an empty tree.",),
            )
        )
    return identity


def _combine(operation: Callable[[Any, Any], Any], items: list[Any]) -> Any:
    if len(items) == 1:
        return items[0]
    half = len(items) // 2
    return operation(_combine(operation, items[:half]), _combine(operation, items[half:]))


def all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Whether all leaves of a tree are true.

    Args:
      tree: a pytree.
      is_leaf: called on every subtree; where it is true, the subtree is a leaf.

    Returns:
      A bool; True for a tree without leaves.

    >>> from minijax import tree
    >>> tree.all({"a": True, "b": [1, []]}), tree.all((True, 0))
    (True, False)
    """
    return _builtin_all(leaves(tree, is_leaf))


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Whether every element of an iterable is a leaf.

    Args:
      iterable: values, such as a list from `leaves`.
      is_leaf: which values count as leaves, besides those that are not nodes.

    Returns:
      A bool; True for an empty iterable.

    >>> from minijax import tree_util
    >>> tree_util.all_leaves([1, "a"]), tree_util.all_leaves([1, (2,)])
    (True, False)
    """
    if is_leaf is None:
        return bool(pytree.all_leaves(USER, iterable))
    return _builtin_all(structure(x, is_leaf) == LEAF for x in iterable)


def transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """Transpose a tree of trees: exchange the outer and the inner structure.

    Args:
      outer_treedef: the structure of the outer tree.
      inner_treedef: the structure of each inner tree; None: that of the first.
      pytree_to_transpose: a tree whose structure is the two composed; only the number
        of its leaves is checked.

    Returns: a tree of structure `inner_treedef` whose leaves are trees of structure
      `outer_treedef`.

    Raises:
      TypeError: if the number of leaves differs from that of the composed structures.
      ValueError: if `inner_treedef` is None and does not follow from the tree.

    >>> from minijax import tree
    >>> tree.transpose(tree.structure([0, 0]), None, [{"a": 1}, {"a": 2}])
    {'a': [1, 2]}
    """
    items, treedef = flatten(pytree_to_transpose)
    if inner_treedef is None:
        inner_treedef = _inner_treedef(outer_treedef, pytree_to_transpose)
    n = inner_treedef.num_leaves
    if len(items) != outer_treedef.num_leaves * n:
        differences = list(structure_errors(outer_treedef.compose(inner_treedef), treedef))
        name = "outer_treedef of inner_treedef"
        raise TypeError(str(_transpose_error(differences, name)))
    return inner_treedef.unflatten([outer_treedef.unflatten(items[i::n]) for i in range(n)])


def _inner_treedef(outer_treedef: PyTreeDef, tree: Any) -> PyTreeDef:
    """Return the structure of the first inner tree."""
    try:
        subtrees = outer_treedef.flatten_up_to(tree)
    except ValueError as error:
        differences = _prefix_differences(error, outer_treedef, tree, None)
        if not differences:
            raise
        raise _transpose_error(differences, "outer_treedef") from None
    if not subtrees:
        raise ValueError(
            message(
                "tree.transpose of a tree without leaves.",
                why="inner_treedef=None takes the structure of the first inner tree.",
                tries=("pass an inner_treedef.",),
            )
        )
    return structure(subtrees[0])


def _transpose_error(differences: list[Difference], name: str) -> ValueError:
    tries = ("pass the structures of the outer and of the inner trees, in this order.",)
    what = "Mismatch: tree.transpose of a tree of trees."
    return mismatch_error(what, differences, name, "pytree_to_transpose", tries)


def broadcast_prefix(prefix: Any, full: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves of a prefix tree, each repeated for the leaves it stands for.

    Args:
      prefix: a tree that is a prefix of `full`.
      full: a pytree.
      is_leaf: which subtrees of `prefix` count as leaves.

    Returns: a list as long as `leaves(full)`.

    Raises:
      ValueError: if `prefix` is not a prefix of `full`.

    >>> from minijax.base.tree import broadcast_prefix
    >>> broadcast_prefix((0, 1), ([5, 6], 7))
    [0, 0, 1]
    """
    heads, treedef = flatten(prefix, is_leaf)
    try:
        subtrees = treedef.flatten_up_to(full)
    except ValueError as error:
        differences = _prefix_differences(error, prefix, full, is_leaf)
        if not differences:
            raise
        raise mismatch_error(
            "A prefix tree could not be expanded to a full tree.",
            differences,
            "prefix_tree",
            "full_tree",
            ("a leaf of the prefix stands for the full subtree at its place.",),
            "broadcast_prefix prefix_tree",
        ) from None
    out: list[Any] = []
    for head, subtree in zip(heads, subtrees):
        out += repeat(head, flatten(subtree)[1].num_leaves)
    return out


def broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """Expand a prefix tree to a full tree.

    Args:
      prefix_tree: a tree that is a prefix of `full_tree`.
      full_tree: a pytree, whose structure the result has.
      is_leaf: which subtrees of `prefix_tree` count as leaves.

    Returns:
      A tree of the structure of `full_tree`, with leaves of `prefix_tree`.

    Raises:
      ValueError: if `prefix_tree` is not a prefix of `full_tree`.

    >>> from minijax import tree
    >>> tree.broadcast((0, 1), ([5, 6], 7))
    ([0, 0], 1)
    """
    repeated = broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return structure(full_tree).unflatten(repeated)


def _is_none(x: Any) -> bool:
    return x is None


def flatten_axes(
    name: str, treedef: PyTreeDef, axis_tree: Any, *, of: str = "the value"
) -> list[Any]:
    """Expand a prefix tree of specifications (None is one) to a flat list.

    Args:
      name: what the user calls the specifications (`vmap in_axes`), for errors.
      treedef: the structure that they describe.
      axis_tree: a prefix of it; a leaf stands for the full subtree at its place.
      of: what the user calls the thing described, for errors.

    Returns: one entry for each leaf of `treedef`.

    Raises:
      ValueError: if `axis_tree` is not a prefix; the message contains the path.

    >>> from minijax.base import tree
    >>> tree.flatten_axes("in_axes", tree.structure(({"w": 1, "b": 2}, 3)), (None, 0))
    [None, None, 0]
    """
    if axis_tree is None or type(axis_tree) is int:
        return [axis_tree] * treedef.num_leaves
    entries, axis_def = _flatten(axis_tree, _is_none)
    if axis_def.num_nodes == treedef.num_nodes and axis_def == treedef:
        return entries
    out: list[Any] = []
    if not _append_entries(axis_def, treedef, iter(entries), out):
        raise mismatch_error(
            f"{name} specification must be a tree prefix of the corresponding value"
            + ("." if of == "the value" else f" ({of})."),
            prefix_differences(axis_tree, treedef, _is_none),
            name,
            of,
            (f"write one entry of {name} for the full subtree there.",),
        )
    return out


def _append_entries(
    prefix: PyTreeDef, full: PyTreeDef, entries: Iterator[Any], out: list[Any]
) -> bool:
    """Append the entries to `out`, repeated; return False if the structures do not fit.

    Only treedefs are traversed: building an instance of a user's class with placeholders
    as leaves might fail.
    """
    data = prefix.node_data()
    if data is None:
        out += repeat(next(entries), full.num_leaves)
        return True
    if data != full.node_data():
        return False
    children, full_children = prefix.children(), full.children()
    if len(children) != len(full_children):
        return False
    for child, full_child in zip(children, full_children):
        if not _append_entries(child, full_child, entries, out):
            return False
    return True


def build_tree(treedef: PyTreeDef, xs: Any) -> Any:
    """Build a tree from its structure and nested iterables in place of its nodes.

    Args:
      treedef: a structure.
      xs: nested iterables of the same structure; the value of a leaf is not unpacked.

    >>> from minijax.base import tree
    >>> tree.build_tree(tree.structure({"a": 1, "b": (2, 3)}), [4, [5, 6]])
    {'a': 4, 'b': (5, 6)}
    """
    return treedef.from_iterable_tree(xs)


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Return the structure of a tuple of trees, from their structures.

    Args:
      treedefs: the structures of the tuple's elements.

    Returns:
      A treedef whose root is a tuple.

    >>> from minijax import tree, tree_util
    >>> tree_util.treedef_tuple([tree.structure(1), tree.structure([2])])
    PyTreeDef((*, [*]))
    """
    return pytree.treedef_tuple(USER, list(treedefs))


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Return the structures of the children of a tree's root.

    Args:
      treedef: a structure.

    Returns:
      A list of treedefs; an empty one for a leaf.

    >>> from minijax import tree, tree_util
    >>> tree_util.treedef_children(tree.structure([1, (2,)]))
    [PyTreeDef(*), PyTreeDef((*,))]
    """
    return list(treedef.children())


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether a structure has one node only: a leaf, None, or an empty container.

    Args:
      treedef: a structure.

    Returns:
      A bool.

    >>> from minijax import tree, tree_util
    >>> tree_util.treedef_is_leaf(tree.structure(1))
    True
    """
    return bool(treedef.num_nodes == 1)
