"""Small tools that libraries take from JAX's inside: names, pairs, hashable functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from ..base import tree, tree_nodes
from ..base.util import merge, pick
from ..ir.core import STATE
from .hijax import EffectTypeSet

BuiltInKeyEntry = (
    tree_nodes.DictKey
    | tree_nodes.SequenceKey
    | tree_nodes.GetAttrKey
    | tree_nodes.FlattenedIndexKey
)
Out = TypeVar("Out")
T = TypeVar("T")
Shape = tuple[int, ...]
# Constants in programs are NumPy's and Python's: none of them is one of the next three.
TypedNdArray = np.ndarray


class _Typed:
    """A number of Python's that knows its dtype."""

    dtype: np.dtype[Any]

    def __new__(cls, value: Any, dtype: Any) -> Any:
        made = super().__new__(cls, value)  # type: ignore[call-arg]
        made.dtype = np.dtype(dtype)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        kind = type(self).__mro__[2]
        return type(self), (kind(self), self.dtype)  # type: ignore[call-arg]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({super().__repr__()}, dtype={self.dtype.name})"

    def __str__(self) -> str:
        return str(super().__repr__())


class TypedInt(_Typed, int):
    """An integer that knows its dtype."""


class TypedFloat(_Typed, float):
    """A float that knows its dtype."""


class TypedComplex(_Typed, complex):
    """A complex number that knows its dtype."""


# All effects may be in what is computed again, and in custom rules; these are the kinds
# that a library has said so of.
remat_allowed_effects = EffectTypeSet()
custom_derivatives_allowed_effects = EffectTypeSet()


def wrap_name(transform_name: str, name: str) -> str:
    """The name of something inside of a transformation."""
    return f"{transform_name}({name})"


def unzip2(xys: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The first and the second ones of pairs."""
    pairs = list(xys)
    return tuple(x for x, _ in pairs), tuple(y for _, y in pairs)


def unzip3(xyzs: Iterable[tuple[Any, Any, Any]]) -> tuple[tuple[Any, ...], ...]:
    """The first, second and third ones of triples."""
    triples = list(xyzs)
    return tuple(tuple(t[i] for t in triples) for i in range(3))


class HashableFunction:
    """A function that equals others of the same code and the same `closure`."""

    __slots__ = ("closure", "f")

    def __init__(self, f: Callable[..., Any], closure: Hashable) -> None:
        self.f = f
        self.closure = closure

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HashableFunction) and (
            (self.f.__code__, self.closure) == (other.f.__code__, other.closure)  # type: ignore[attr-defined]
        )

    def __hash__(self) -> int:
        return hash((self.f.__code__, self.closure))  # type: ignore[attr-defined]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.f(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<hashable {self.f.__name__} with closure={self.closure}>"


class HashablePartial:
    """A call with some arguments given, which equals others of the same function and
    arguments.

    f: the function; args, kwargs: its first arguments, and some by name.
    """

    __slots__ = ("args", "f", "kwargs")

    def __init__(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        self.f = f
        self.args = args
        self.kwargs = kwargs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HashablePartial) and (
            (self.f, self.args, self.kwargs) == (other.f, other.args, other.kwargs)
        )

    def __hash__(self) -> int:
        return hash((self.f, self.args, tuple(sorted(self.kwargs.items()))))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.f(*self.args, *args, **{**self.kwargs, **kwargs})


def partition_list(bs: Sequence[bool], xs: Sequence[T]) -> tuple[list[T], list[T]]:
    """The elements that are not flagged, and those that are."""
    return pick(xs, [not b for b in bs]), pick(xs, bs)


def merge_lists(bs: Sequence[bool], l0: Sequence[T], l1: Sequence[T]) -> list[T]:
    """The list of which `partition_list` made two."""
    return merge(bs, l1, l0)


def ceil_of_ratio(x: int, y: int) -> int:
    """The quotient, rounded up."""
    return -(-x // y)


def tuple_insert(t: tuple[T, ...], idx: int, val: T) -> tuple[T, ...]:
    """The tuple with a further element before this position."""
    return (*t[:idx], val, *t[idx:])


def tuple_delete(t: tuple[T, ...], idx: int) -> tuple[T, ...]:
    """The tuple without the element at this position."""
    return (*t[:idx], *t[idx + 1 :])


def tuple_update(t: tuple[T, ...], idx: int, val: T) -> tuple[T, ...]:
    """The tuple with another element at this position."""
    return (*t[:idx], val, *t[idx + 1 :])


def concatenate(xs: Iterable[Sequence[T]]) -> list[T]:
    """The elements of several sequences."""
    return [x for part in xs for x in part]


def stable_unique(it: Iterable[T]) -> Iterable[T]:
    """Each element once, in the order of their first places."""
    return dict.fromkeys(it).keys()


def curry(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function of the first arguments that waits for the others."""
    return functools.wraps(f)(functools.partial(functools.partial, f))


def cache(
    max_size: int | None = 4096, trace_context_in_key: bool | Callable[..., Any] = True
) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: results are remembered by arguments.

    max_size: how many, the latest used.
    trace_context_in_key: whether also by the mapped axes in scope; or what they are
      remembered by besides.
    """

    def decorate(f: Callable[..., Any]) -> Any:
        @functools.lru_cache(max_size)
        def remembered(_: Any, *args: Any, **kwargs: Any) -> Any:
            return f(*args, **kwargs)

        @functools.wraps(f)
        def found(*args: Any, **kwargs: Any) -> Any:
            where = STATE.axes if trace_context_in_key else None
            if callable(trace_context_in_key):
                where = trace_context_in_key(*args, **kwargs)
            return remembered(where, *args, **kwargs)

        found.cache_clear = remembered.cache_clear  # type: ignore[attr-defined]
        found.cache_info = remembered.cache_info  # type: ignore[attr-defined]
        return found

    return decorate


class _Trees:
    """What is known of trees, asked as of jaxlib's registry."""

    def flatten(self, x: Any, leaf_predicate: Any = None) -> tuple[list[Any], Any]:
        """The leaves of a tree, and its structure."""
        return tree.flatten(x, leaf_predicate)

    def flatten_with_path(self, x: Any, leaf_predicate: Any = None) -> tuple[Any, Any]:
        """The leaves of a tree with their paths, and its structure."""
        found = tree.leaves_with_path(x, leaf_predicate)
        return found, tree.structure(x, leaf_predicate)


tracing_registry = _Trees()
