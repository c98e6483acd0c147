"""`jax.tree_util`: functions of pytrees, key types, and the registration of classes.

A face over minijax/base/tree.py, which does the work; `minijax.tree` has the same
functions under short names.
"""

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
from .base.tree import all as tree_all
from .base.tree import broadcast as tree_broadcast
from .base.tree import flatten as tree_flatten
from .base.tree import flatten_with_path as tree_flatten_with_path
from .base.tree import leaves as tree_leaves
from .base.tree import leaves_with_path as tree_leaves_with_path
from .base.tree import map as tree_map
from .base.tree import map_with_path as tree_map_with_path
from .base.tree import reduce as tree_reduce
from .base.tree import reduce_associative as tree_reduce_associative
from .base.tree import structure as tree_structure
from .base.tree import transpose as tree_transpose
from .base.tree import unflatten as tree_unflatten

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
