"""Pytrees that are flattened once, into a single node.

Each call of a compiled function flattens its arguments, and calls into Python for every
custom node.  For a model of thousands of nodes this takes longer than the computation.

Next: errors.py.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from . import tree
from .tree_nodes import keystr


class _PathKey:
    """The key of a leaf in a flattened tree: its full path, as messages display it."""

    __slots__ = ("path",)

    def __init__(self, path: tuple[Any, ...]) -> None:
        self.path = path

    def __str__(self) -> str:
        return keystr(self.path)

    __repr__ = __str__

    def __hash__(self) -> int:
        return hash(self.path)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _PathKey) and self.path == other.path


class _SharedStructure:
    """A tree's structure: equal structures share one object, compared by identity."""

    __slots__ = ("__weakref__", "keys", "treedef")

    def __init__(self, treedef: Any) -> None:
        self.treedef = treedef
        self.keys: list[_PathKey] | None = None

    def paths(self) -> list[_PathKey]:
        """Return the path of each leaf, as one key."""
        if self.keys is None:
            full = tree.unflatten(self.treedef, range(self.treedef.num_leaves))
            self.keys = [_PathKey(path) for path, _ in tree.leaves_with_path(full)]
        return self.keys

    def __repr__(self) -> str:
        return str(self.treedef)

    def __reduce__(self) -> Any:
        return _structure_of, (self.treedef,)


_structures: weakref.WeakValueDictionary[Any, _SharedStructure] = weakref.WeakValueDictionary()


def _structure_of(treedef: Any) -> _SharedStructure:
    cached = _structures.get(treedef)
    return (
        _structures.setdefault(treedef, _SharedStructure(treedef)) if cached is None else cached
    )


class Flattened:
    """The result of `flattened`: a pytree whose single node holds the tree's leaves.

    Attributes, items and calls are the tree's own; `tree` is the original tree, with its
    own classes.
    """

    # `_cached`: facts about the leaves' types and placements that calls of programs reuse
    # (control/calls/flattened_calls.py).
    __slots__ = ("_structure", "_cached", "_leaves", "_tree")
    _tree: Any

    def __init__(
        self, leaves: tuple[Any, ...], form: _SharedStructure, cached: Any = None
    ) -> None:
        self._leaves = leaves
        self._structure = form
        self._cached = cached

    @property
    def tree(self) -> Any:
        """The original tree; built at its first use."""
        try:
            return self._tree
        except AttributeError:
            self._tree = value = tree.unflatten(self._structure.treedef, self._leaves)
            return value

    def __getattr__(self, name: str) -> Any:
        # An unset slot ends here: `_tree` before its first use, and special methods that `copy` and
        # `pickle` look for on an object without fields.
        if name.startswith("__") or name == "_tree":
            raise AttributeError(f"'Flattened' object has no attribute {name!r}")
        return getattr(self.tree, name)

    def __getitem__(self, key: Any) -> Any:
        return self.tree[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tree)

    def __len__(self) -> int:
        return len(self.tree)

    def __contains__(self, item: Any) -> bool:
        return item in self.tree

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tree(*args, **kwargs)

    def __repr__(self) -> str:
        return f"flattened({self.tree!r})"

    def __reduce__(self) -> Any:
        return Flattened, (self._leaves, self._structure)


for _registry in (tree.USER, tree.DISPATCH):
    _registry.register_node(
        Flattened,
        lambda x: (x._leaves, x._structure),
        lambda form, leaves: Flattened(tuple(leaves), form),
        lambda x: (list(zip(x._structure.paths(), x._leaves, strict=True)), x._structure),
    )


def flattened(tree_: Any) -> Flattened:
    """Flatten a pytree once: the result goes through every transformation as the tree does.

    A call of a compiled function unpacks one node instead of all nodes of the tree; results
    of the same structure are flattened as well.

    Args:
      tree_: a pytree.

    Returns:
      A pytree of one node with the same leaves, which has the tree's attributes, items
      and methods; its attribute `tree` is the original tree.

    Example:
      >>> import minijax as mj
      >>> x = flattened({'a': 1.0, 'b': (2.0, 3.0)})
      >>> y = mj.jit(lambda x: mj.tree.map(lambda v: 2 * v, x))(x)
      >>> float(y['b'][1]), type(y.tree)
      (6.0, <class 'dict'>)

    Differs from JAX: JAX has no such function.
    """
    if isinstance(tree_, Flattened):
        return tree_
    leaves, treedef = tree.flatten(tree_)
    return Flattened(tuple(leaves), _structure_of(treedef))
