"""The nodes of pytrees: registries, key types, registration, Partial.

Each registry here is one of jaxlib's C++ pytree registries.  In `USER` an array is a leaf:
users' trees are flattened with it.  `DISPATCH` has the same nodes, and the runtime adds its
array class as a node with one child.  With this registry the C++ dispatcher unwraps
arguments and wraps results without Python.  `FLATTENED_AS_LEAF` equals `DISPATCH`, except
that a tree which `flattened` returned is a leaf.

Every registration goes to all three.  Treedefs of different registries may be equal and
still have different hashes, and they do not compose: never mix them in one table.
jaxlib's own default registry is never changed: it belongs to other libraries in the
process.

This package knows neither arrays nor tracers.  Next: tree_diff.py, then tree.py.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import methodcaller
from typing import Any, TypeAlias, TypeVar

from jaxlib._jax import pytree

from .errors import message

__all__ = [
    "USER",
    "DISPATCH",
    "FLATTENED_AS_LEAF",
    "PyTreeDef",
    "DictKey",
    "SequenceKey",
    "GetAttrKey",
    "FlattenedIndexKey",
    "KeyEntry",
    "KeyPath",
    "Path",
    "Partial",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "path_str",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "static",
]

T = TypeVar("T")
ClassT = TypeVar("ClassT", bound="type[Any]")

PyTreeDef = pytree.PyTreeDef
DictKey = pytree.DictKey
SequenceKey = pytree.SequenceKey
GetAttrKey = pytree.GetAttrKey
FlattenedIndexKey = pytree.FlattenedIndexKey

KeyEntry = TypeVar("KeyEntry", bound=Hashable)
KeyPath = tuple[KeyEntry, ...]
Path: TypeAlias = tuple[Any, ...]


def _registry(name: str) -> Any:
    """Create a registry whose treedefs pickle: its module and name identify it."""
    registry = pytree.PyTreeRegistry(
        enable_none=True,
        enable_tuple=True,
        enable_namedtuple=True,
        enable_list=True,
        enable_dict=True,
    )
    # pickle looks up an object with these two attributes as a global of the module.
    registry.__module__, registry.__name__ = __name__, name
    return registry


USER = _registry("USER")
DISPATCH = _registry("DISPATCH")
FLATTENED_AS_LEAF = _registry("FLATTENED_AS_LEAF")


def _in_all(method: str, nodetype: Any, *args: Any) -> None:
    """Register in DISPATCH first: it contains all nodes of USER, so it fails first."""
    try:
        getattr(DISPATCH, method)(nodetype, *args)
    except ValueError as error:
        if "Duplicate" not in str(error):
            raise
        raise ValueError(
            message(
                str(error),
                why="the class is a pytree node already.",
                tries=("register each class once, where it is defined.",),
            )
        ) from None
    getattr(USER, method)(nodetype, *args)
    getattr(FLATTENED_AS_LEAF, method)(nodetype, *args)


def register_pytree_node(
    nodetype: type[T],
    flatten_func: Callable[[T], tuple[Any, Any]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_with_keys_func: Callable[[T], tuple[Any, Any]] | None = None,
) -> None:
    """Make a class a node of pytrees.

    Args:
      nodetype: the class; its subclasses stay leaves.
      flatten_func: takes an instance, returns `(children, aux_data)`; `aux_data` must
        have `==` and a hash, since it becomes part of the treedef.
      unflatten_func: takes `(aux_data, children)`, returns an instance.
      flatten_with_keys_func: like `flatten_func`, with `(key, child)` for each child.

    Returns:
      None; the class is a node from now on.

    Raises:
      ValueError: if the class is a node already.

    >>> from minijax import tree, tree_util
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> tree_util.register_pytree_node(
    ...     Pair, lambda p: ((p.a, p.b), None), lambda aux, children: Pair(*children))
    >>> tree.leaves([Pair(1, 2), 3])
    [1, 2, 3]
    """
    _in_all("register_node", nodetype, flatten_func, unflatten_func, flatten_with_keys_func)


def register_pytree_node_class(cls: ClassT) -> ClassT:
    """Make a class with `tree_flatten` and `tree_unflatten` methods a node of pytrees.

    Args:
      cls: a class; `tree_flatten(self)` returns `(children, aux_data)`, and the class
        method `tree_unflatten(cls, aux_data, children)` returns an instance.

    Returns: the class, so that this serves as a decorator.

    >>> from minijax import tree, tree_util
    >>> @tree_util.register_pytree_node_class
    ... class Scaled:
    ...     def __init__(self, x, by):
    ...         self.x, self.by = x, by
    ...     def tree_flatten(self):
    ...         return (self.x,), self.by
    ...     @classmethod
    ...     def tree_unflatten(cls, by, children):
    ...         return cls(*children, by)
    >>> tree.structure(Scaled(1.0, by=3))
    PyTreeDef(CustomNode(Scaled[3], [*]))
    """
    register_pytree_node(cls, methodcaller("tree_flatten"), cls.tree_unflatten)
    return cls


def register_pytree_with_keys(
    nodetype: type[T],
    flatten_with_keys: Callable[[T], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_func: Callable[[T], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Make a class a node of pytrees whose children have keys for paths.

    Args:
      nodetype: the class; its subclasses stay leaves.
      flatten_with_keys: takes an instance, returns `(pairs, aux_data)` with a
        `(key, child)` pair for each child.
      unflatten_func: takes `(aux_data, children)`, returns an instance.
      flatten_func: returns `(children, aux_data)`, for calls that need no keys; derived
        from `flatten_with_keys` by default.

    Returns:
      None; the class is a node from now on.

    Raises:
      ValueError: if the class is a node already.

    >>> from minijax import tree, tree_util
    >>> class Box:
    ...     def __init__(self, x):
    ...         self.x = x
    >>> tree_util.register_pytree_with_keys(
    ...     Box, lambda b: (((tree_util.GetAttrKey("x"), b.x),), None),
    ...     lambda aux, children: Box(*children))
    >>> [tree_util.keystr(path) for path, _ in tree.leaves_with_path([Box(1)])]
    ['[0].x']
    """
    if flatten_func is None:

        def flatten_func(node: T) -> tuple[Iterable[Any], Any]:
            pairs, aux_data = flatten_with_keys(node)
            return [child for _, child in pairs], aux_data

    register_pytree_node(nodetype, flatten_func, unflatten_func, flatten_with_keys)


def register_pytree_with_keys_class(cls: ClassT) -> ClassT:
    """Make a class with `tree_flatten_with_keys` a node of pytrees with keys.

    Args:
      cls: a class; `tree_flatten_with_keys(self)` returns `(pairs, aux_data)` with a
        `(key, child)` pair for each child; the class method
        `tree_unflatten(cls, aux_data, children)` returns an instance; an optional method
        `tree_flatten` is used if no keys are needed.

    Returns: the class, so that this serves as a decorator.

    >>> from minijax import tree, tree_util
    >>> @tree_util.register_pytree_with_keys_class
    ... class Layer:
    ...     def __init__(self, w):
    ...         self.w = w
    ...     def tree_flatten_with_keys(self):
    ...         return ((tree_util.GetAttrKey("w"), self.w),), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux_data, children):
    ...         return cls(*children)
    >>> [tree_util.keystr(path) for path, _ in tree.leaves_with_path(Layer([1, 2]))]
    ['.w[0]', '.w[1]']
    """
    has_flatten = callable(getattr(cls, "tree_flatten", None))
    register_pytree_with_keys(
        cls,
        methodcaller("tree_flatten_with_keys"),
        cls.tree_unflatten,
        methodcaller("tree_flatten") if has_flatten else None,
    )
    return cls


def register_static(cls: ClassT) -> ClassT:
    """Make instances of a class nodes without leaves: part of the treedef.

    Args:
      cls: a class whose instances have `==` and a hash.

    Returns: the class, so that this serves as a decorator.

    >>> from minijax import tree, tree_util
    >>> @tree_util.register_static
    ... class Mode(str):
    ...     pass
    >>> tree.leaves((Mode("train"), 1.0))
    [1.0]
    """
    register_pytree_node(cls, lambda obj: ((), obj), lambda obj, _: obj)
    return cls


def register_dataclass(
    nodetype: ClassT,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> ClassT:
    """Make a dataclass a node of pytrees: fields are children or part of the treedef.

    Args:
      nodetype: a dataclass, or any class that can be called with its fields by name
        (`data_fields` and `meta_fields` are then needed).
      data_fields: names of the fields that are children.
      meta_fields: names of the fields that belong to the treedef; they need `==` and a
        hash.  If both lists are left out, a field of the dataclass is a meta field if its
        metadata contains `static=True` (see `tree.static`).
      drop_fields: names of other fields: a rebuilt instance has their default values.

    Returns: the class, so that this serves as a decorator.

    Raises:
      TypeError: if only one of the two lists is passed, or none for another class.
      ValueError: if the lists do not fit the dataclass, or it is a node already.

    >>> import dataclasses
    >>> from minijax import tree, tree_util
    >>> @tree_util.register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     w: list
    ...     name: str = tree.static(default="layer")
    >>> tree.map(lambda x: 2 * x, Layer([1, 2], "first"))
    Layer(w=[2, 4], name='first')

    Differs from JAX: `drop_fields` may be given without the other two, and may name
    fields with `init=False`.
    """
    if (data_fields is None) != (meta_fields is None):
        raise TypeError(
            message(
                "register_dataclass: data_fields and meta_fields must both be specified"
                f" when either is specified. Got {data_fields=} {meta_fields=}.",
                tries=("mark static fields with tree.static(), and pass neither list.",),
            )
        )
    if not isinstance(nodetype, type):
        raise TypeError(
            message(
                f"register_dataclass: expected a class, got {nodetype!r}.",
                tries=("register_dataclass(type(x))",),
            )
        )
    is_dataclass = dataclasses.is_dataclass(nodetype)
    if data_fields is None or meta_fields is None:
        if not is_dataclass:
            raise TypeError(
                message(
                    "register_dataclass: data_fields and meta_fields are required when"
                    f" nodetype is not a dataclass. Got {nodetype=}.",
                    tries=("put @dataclasses.dataclass under register_dataclass.",),
                )
            )
        data_fields, meta_fields = _inferred_fields(nodetype, drop_fields)
    data, meta = list(data_fields), list(meta_fields)
    _check_fields(nodetype, data, meta, drop_fields, is_dataclass)
    _in_all("register_dataclass_node", nodetype, data, meta)
    return nodetype


def _inferred_fields(cls: Any, drop: Sequence[str]) -> tuple[list[str], list[str]]:
    fields = [f for f in dataclasses.fields(cls) if f.name not in drop]
    data = [f.name for f in fields if not f.metadata.get("static", False)]
    meta = [f.name for f in fields if f.metadata.get("static", False)]
    return data, meta


def _check_fields(
    cls: Any, data: list[str], meta: list[str], drop: Sequence[str], is_dataclass: bool
) -> None:
    """Raise unless each field occurs once, and includes all that the constructor takes."""
    both = {name for name in data if name in meta}
    if both:
        raise ValueError(
            message(
                f"data_fields and meta_fields must not overlap. Overlapping fields: {both}.",
                where=f"register_dataclass of {cls!r}",
            )
        )
    if len({*data, *meta}) != len(data) + len(meta):
        raise ValueError(
            message(
                f"data_fields and meta_fields name a field twice: {data + meta}.",
                where=f"register_dataclass of {cls!r}",
            )
        )
    if not is_dataclass:
        return
    expected = [f.name for f in dataclasses.fields(cls) if f.init and f.name not in drop]
    unexpected = {name for name in data + meta if name not in expected}
    missing = {name for name in expected if name not in data and name not in meta}
    if not unexpected and not missing:
        return
    what = (
        "data_fields and meta_fields must include all dataclass fields with"
        " ``init=True`` and only them."
    )
    if missing:
        what += f" Missing fields: {missing}. Add them to drop_fields to suppress this error."
    if unexpected:
        what += f" Unexpected fields: {unexpected}."
    raise ValueError(
        message(
            what,
            where=f"register_dataclass of {cls!r}",
            why="an instance is rebuilt by calling the class with these fields.",
        )
    )


def static(**kwargs: Any) -> Any:
    """Declare a dataclass field that belongs to the treedef, for `register_dataclass`.

    Args:
      **kwargs: the arguments of `dataclasses.field`.

    Returns:
      A `dataclasses.Field` whose metadata contains `static=True`.

    >>> from minijax import tree
    >>> dict(tree.static(default=3).metadata)
    {'static': True}
    """
    metadata = {**(kwargs.pop("metadata", None) or {}), "static": True}
    return dataclasses.field(metadata=metadata, **kwargs)


def is_tree_node(typ: type) -> bool:
    """Whether instances of a type are nodes of pytrees, not leaves.

    Args:
      typ: a class, such as `dict`.

    Returns:
      A bool; also True for NoneType, a node without children.

    >>> from minijax import tree_util
    >>> tree_util.is_tree_node(dict), tree_util.is_tree_node(int)
    (True, False)
    """
    return bool(USER.is_node(typ))


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Hashable]:
    """Return the children and the metadata of the root of a tree.

    Args:
      tree: a pytree.

    Returns:
      The pair (children, metadata); the metadata has `==` and a hash.

    Raises:
      ValueError: if the tree is a leaf.

    >>> from minijax import tree_util
    >>> tree_util.flatten_one_level({"b": [1], "a": 2})
    ((2, [1]), ('a', 'b'))
    """
    level: tuple[Iterable[Any], Hashable] | None = USER.flatten_one_level(tree)
    if level is None:
        raise _leaf_error(tree)
    return level


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[Any], Hashable]:
    """Return pairs of key and child, and the metadata, of the root of a tree.

    Args:
      tree: a pytree.

    Returns:
      The pair (pairs of key and child, metadata).

    Raises:
      ValueError: if the tree is a leaf.

    >>> from minijax import tree_util
    >>> tree_util.flatten_one_level_with_keys([1, 2])[0]
    ((SequenceKey(idx=0), 1), (SequenceKey(idx=1), 2))
    """
    level: tuple[Iterable[Any], Hashable] | None
    level = USER.flatten_one_level_with_keys(tree)
    if level is None:
        raise _leaf_error(tree)
    pairs, meta = level
    if meta is type(tree) and hasattr(tree, "_fields"):
        # jaxlib names every child of a namedtuple after the first field: name each by its own.
        names = map(GetAttrKey, tree._fields)
        pairs = [(key, child) for key, (_, child) in zip(names, pairs)]
    return pairs, meta


def _leaf_error(tree: Any) -> ValueError:
    return ValueError(
        message(
            "A leaf cannot be flattened by one level.",
            why=f"can't tree-flatten type: {type(tree)}: it is a leaf.",
            tries=("register the class, if it should be a node.",),
        )
    )


def keystr(keys: Path, *, simple: bool = False, separator: str = "") -> str:
    """Return the text of a path, as it would follow a variable's name in Python.

    Args:
      keys: a path, as from `tree.flatten_with_path`.
      simple: only the keys, without brackets, dots and quotes.
      separator: the text between two keys.

    Returns:
      A string; an empty one for an empty path.

    >>> from minijax import tree, tree_util
    >>> [(path, _)] = tree.leaves_with_path({"w": [1]})
    >>> tree_util.keystr(path), tree_util.keystr(path, simple=True, separator="/")
    ("['w'][0]", 'w/0')
    """
    return separator.join([_bare(key) if simple else str(key) for key in keys])


def path_str(path: Path) -> str:
    """Return the text of a path for messages: `['w1'][0].x`, to follow a name."""
    return "".join(map(str, path))


def _bare(key: Any) -> str:
    if isinstance(key, SequenceKey):
        return str(key.idx)
    if isinstance(key, GetAttrKey):
        return str(key.name)
    if isinstance(key, DictKey | FlattenedIndexKey):
        return str(key.key)
    return str(key)


class Partial(functools.partial):  # type: ignore[type-arg]
    """A `functools.partial` that is a pytree: its arguments are the children.

    Thus a function with bound arrays can be passed to and returned from transformed
    functions.  The function itself belongs to the treedef.  If it is a partial as well, it
    is not unpacked, and its bound values are not among the children.

    Args:
      func: a callable with `==` and a hash.
      *args, **kw: pytrees to bind.

    Raises:
      TypeError: if `func` is not callable.

    >>> from minijax import tree, tree_util
    >>> add = tree_util.Partial(lambda x, y: x + y, 1)
    >>> add(2), tree.map(lambda x: 10 * x, add)(2)
    (3, 12)

    Differs from JAX: `.func` of a partial of a partial is the inner partial itself.
    """

    __module__ = "minijax.tree_util"

    def __new__(klass, func: Callable[..., Any], *args: Any, **kw: Any) -> Partial:
        if not isinstance(func, functools.partial):
            return super().__new__(klass, func, *args, **kw)
        # The base class would merge the two partials; setting the state does not.
        self = super().__new__(klass, _unbound)
        functools.partial.__setstate__(self, (func, args, kw, None))  # type: ignore[attr-defined]
        return self


def _unbound() -> None:
    """Fill the place of the function in a Partial until its state is set."""


def _by_key(keys: Iterable[Any], values: Iterable[Any]) -> list[Any]:
    return [(DictKey(key), value) for key, value in zip(keys, values)]


def _flatten_defaultdict(d: Any) -> tuple[Any, Any]:
    try:
        keys = tuple(sorted(d))
    except TypeError as error:
        raise TypeError(
            message(
                "A pytree with a defaultdict could not be flattened.",
                which=f"keys {', '.join(map(repr, d))}"[:160],
                why=f"leaves are ordered by the sorted keys; {error}.",
                tries=("use keys of one type.",),
            )
        ) from None
    return [d[key] for key in keys], (d.default_factory, keys)


def _flatten_defaultdict_with_keys(d: Any) -> tuple[Any, Any]:
    values, aux = _flatten_defaultdict(d)
    return _by_key(aux[1], values), aux


register_pytree_node(
    collections.OrderedDict,
    lambda d: (list(d.values()), tuple(d)),
    lambda keys, values: collections.OrderedDict(zip(keys, values)),
    lambda d: (_by_key(d, d.values()), tuple(d)),
)
register_pytree_node(
    collections.defaultdict,
    _flatten_defaultdict,
    lambda aux, values: collections.defaultdict(aux[0], zip(aux[1], values)),
    _flatten_defaultdict_with_keys,
)
register_pytree_node(
    Partial,
    lambda p: ((p.args, p.keywords), p.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)
