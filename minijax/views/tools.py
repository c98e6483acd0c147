"""Small utilities from JAX's internals: names, pairs, hashable functions."""

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
# Constants in programs are NumPy's and Python's: minijax creates none of the next three.
TypedNdArray = np.ndarray


class _Typed:
    """A Python number with a dtype."""

    dtype: np.dtype[Any]

    def __new__(cls, value: Any, dtype: Any) -> Any:
        number = super().__new__(cls, value)  # type: ignore[call-arg]
        number.dtype = np.dtype(dtype)
        return number

    def __reduce__(self) -> tuple[Any, ...]:
        kind = type(self).__mro__[2]
        return type(self), (kind(self), self.dtype)  # type: ignore[call-arg]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({super().__repr__()}, dtype={self.dtype.name})"

    def __str__(self) -> str:
        return str(super().__repr__())


class TypedInt(_Typed, int):
    """An integer with a dtype."""


class TypedFloat(_Typed, float):
    """A float with a dtype."""


class TypedComplex(_Typed, complex):
    """A complex number with a dtype."""


# minijax allows all effects in rematerialization and custom rules; these sets only record
# the types that a library has added.
remat_allowed_effects = EffectTypeSet()
custom_derivatives_allowed_effects = EffectTypeSet()


def wrap_name(transform_name: str, name: str) -> str:
    """Return the name of a function under a transformation."""
    return f"{transform_name}({name})"


def unzip2(xys: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the first and the second elements of pairs."""
    pairs = list(xys)
    return tuple(x for x, _ in pairs), tuple(y for _, y in pairs)


def unzip3(xyzs: Iterable[tuple[Any, Any, Any]]) -> tuple[tuple[Any, ...], ...]:
    """Return the first, second and third elements of triples."""
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
    """A partial call that equals others of the same function and arguments.

    f: the function; args, kwargs: its first arguments, and its keyword arguments.
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
    """Return the elements that are not flagged, and those that are."""
    return pick(xs, [not b for b in bs]), pick(xs, bs)


def merge_lists(bs: Sequence[bool], l0: Sequence[T], l1: Sequence[T]) -> list[T]:
    """Merge the two lists that `partition_list` returns."""
    return merge(bs, l1, l0)


def ceil_of_ratio(x: int, y: int) -> int:
    """Return the quotient, rounded up."""
    return -(-x // y)


def tuple_insert(t: tuple[T, ...], idx: int, val: T) -> tuple[T, ...]:
    """Return the tuple with a further element before this position."""
    return (*t[:idx], val, *t[idx:])


def tuple_delete(t: tuple[T, ...], idx: int) -> tuple[T, ...]:
    """Return the tuple without the element at this position."""
    return (*t[:idx], *t[idx + 1 :])


def tuple_update(t: tuple[T, ...], idx: int, val: T) -> tuple[T, ...]:
    """Return the tuple with another element at this position."""
    return (*t[:idx], val, *t[idx + 1 :])


def concatenate(xs: Iterable[Sequence[T]]) -> list[T]:
    """Return the elements of several sequences as one list."""
    return [x for part in xs for x in part]


def stable_unique(it: Iterable[T]) -> Iterable[T]:
    """Return each element once, in order of first occurrence."""
    return dict.fromkeys(it).keys()


def curry(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the first arguments that returns a function of the others."""
    return functools.wraps(f)(functools.partial(functools.partial, f))


def cache(
    max_size: int | None = 4096, trace_context_in_key: bool | Callable[..., Any] = True
) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that caches results by arguments.

    max_size: the number of results, the last used ones.
    trace_context_in_key: whether the mapped axes in scope are part of the key; or a function
      that returns a further part of the key.
    """

    def decorate(f: Callable[..., Any]) -> Any:
        @functools.lru_cache(max_size)
        def cached(_: Any, *args: Any, **kwargs: Any) -> Any:
            return f(*args, **kwargs)

        @functools.wraps(f)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            context = STATE.axes if trace_context_in_key else None
            if callable(trace_context_in_key):
                context = trace_context_in_key(*args, **kwargs)
            return cached(context, *args, **kwargs)

        wrapper.cache_clear = cached.cache_clear  # type: ignore[attr-defined]
        wrapper.cache_info = cached.cache_info  # type: ignore[attr-defined]
        return wrapper

    return decorate


class _Trees:
    """Functions of trees, as methods of jaxlib's registry."""

    def flatten(self, x: Any, leaf_predicate: Any = None) -> tuple[list[Any], Any]:
        """Return the leaves of a tree, and its structure."""
        return tree.flatten(x, leaf_predicate)

    def flatten_with_path(self, x: Any, leaf_predicate: Any = None) -> tuple[Any, Any]:
        """Return the leaves of a tree with their paths, and its structure."""
        leaves = tree.leaves_with_path(x, leaf_predicate)
        return leaves, tree.structure(x, leaf_predicate)


tracing_registry = _Trees()
