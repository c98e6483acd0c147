"""`jax.tree_util`: functions of pytrees, key types, and the registration of classes.

The functions are in minijax/base/tree.py; `minijax.tree` has the same
functions under short names.
"""

from .base import tree as _tree
from .base.flattened import flattened
from .base.tree import USER as default_registry
from .base.tree import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    Partial,
    PyTreeDef,
    SequenceKey,
    all_leaves,
    flatten_one_level,
    flatten_one_level_with_keys,
    is_tree_node,
    keystr,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
    treedef_children,
    treedef_is_leaf,
    treedef_tuple,
)
from .base.util import renamed as _renamed

tree_all = _renamed(_tree.all, "tree_all", __name__)
tree_broadcast = _renamed(_tree.broadcast, "tree_broadcast", __name__)
tree_flatten = _renamed(_tree.flatten, "tree_flatten", __name__)
tree_flatten_with_path = _renamed(_tree.flatten_with_path, "tree_flatten_with_path", __name__)
tree_leaves = _renamed(_tree.leaves, "tree_leaves", __name__)
tree_leaves_with_path = _renamed(_tree.leaves_with_path, "tree_leaves_with_path", __name__)
tree_map = _renamed(_tree.map, "tree_map", __name__)
tree_map_with_path = _renamed(_tree.map_with_path, "tree_map_with_path", __name__)
tree_reduce = _renamed(_tree.reduce, "tree_reduce", __name__)
tree_reduce_associative = _renamed(
    _tree.reduce_associative, "tree_reduce_associative", __name__
)
tree_structure = _renamed(_tree.structure, "tree_structure", __name__)
tree_transpose = _renamed(_tree.transpose, "tree_transpose", __name__)
tree_unflatten = _renamed(_tree.unflatten, "tree_unflatten", __name__)

__all__ = [
    "DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyEntry", "KeyPath", "Partial",
    "PyTreeDef", "SequenceKey", "all_leaves", "default_registry", "flatten_one_level",
    "flatten_one_level_with_keys", "flattened", "is_tree_node", "keystr",
    "register_dataclass",
    "register_pytree_node", "register_pytree_node_class", "register_pytree_with_keys",
    "register_pytree_with_keys_class", "register_static", "tree_all", "tree_broadcast",
    "tree_flatten", "tree_flatten_with_path", "tree_leaves", "tree_leaves_with_path",
    "tree_map", "tree_map_with_path", "tree_reduce", "tree_reduce_associative",
    "tree_structure", "tree_transpose", "tree_unflatten", "treedef_children",
    "treedef_is_leaf", "treedef_tuple",
]  # fmt: skip
