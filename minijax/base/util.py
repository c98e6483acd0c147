"""Small utilities."""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType
from typing import Any, Generic, NamedTuple, TypeVar

from . import errors

T = TypeVar("T")
K = TypeVar("K")


def split_list(items: Sequence[T], sizes: Sequence[int]) -> list[list[T]]:
    """Split `items` into runs of the given sizes, and a last run with the rest."""
    out, start = [], 0
    for n in sizes:
        out.append(list(items[start : start + n]))
        start += n
    out.append(list(items[start:]))
    return out


def pick(items: Iterable[T], flags: Iterable[bool]) -> list[T]:
    """Return the flagged items."""
    return list(itertools.compress(items, flags))


def merge(flags: Iterable[bool], flagged: Iterable[T], others: Iterable[T]) -> list[T]:
    """Return one item per flag: the next flagged item, or the next of the others."""
    yes, no = iter(flagged), iter(others)
    return [next(yes) if f else next(no) for f in flags]


def canonical_axis(axis: Any, ndim: int, what: str = "axis") -> int:
    """Return a non-negative axis below `ndim`, or raise AxisError.

    AxisError is a ValueError and an IndexError.
    """
    import operator

    try:
        i = operator.index(axis)
    except TypeError as e:
        if type(e) is not TypeError:  # a tracer's own error is more specific
            raise
        raise TypeError(f"{what} must be an integer, got {axis!r}.") from None
    if not -ndim <= i < ndim:
        raise errors.AxisError(f"{what} {i} is out of bounds for array of dimension {ndim}")
    return i + ndim if i < 0 else i


_caches: list[Any] = []


def cache(container: T) -> T:
    """Register a container that `clear_caches` empties, and return it."""
    _caches.append(container)
    return container


def clear_caches() -> None:
    """Empty all containers that were registered with `cache`."""
    for container in _caches:
        container.clear()


# Threads change shared containers only by single atomic operations, which need no lock:
# `setdefault`, `pop` with a default, `list` of a container.  These helpers are for code that
# looks up first and stores later.


def remember(container: dict[K, T], key: K, value: T, limit: int) -> T:
    """Store a value in a dictionary of about `limit` entries; return the stored value.

    The oldest entries are dropped.  Threads that store the same key get the same value.
    """
    if len(container) >= limit:
        # Dropping an eighth at a time makes the cost of the copy small per entry.
        for old in list(container)[: 1 + limit // 8]:
            container.pop(old, None)  # another thread may have removed it already
    return container.setdefault(key, value)


class CachedFunction(NamedTuple):
    """A function under a caching decorator.

    is_pure: whether its result depends on nothing but its arguments.
    """

    cached: Callable[..., Any]
    fun: Callable[..., Any]
    is_pure: bool


# All of them, also those of ir/jaxpr.py and passes/stage.py: for tests/test_caches.py.
cached_functions: list[CachedFunction] = []


def cached(
    limit: int, context: Callable[[], Any] | None = None
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Cache a function of hashable arguments: its last `limit` results, by all arguments.

    context: a function that returns what else the result depends on. Without it, the result
    depends on nothing but the arguments.
    """

    def decorate(fun: Callable[..., T]) -> Callable[..., T]:
        # `typed`, because 1 == 1.0 == True.
        caching = functools.lru_cache(limit, typed=True)
        if context is None:
            table: Any = caching(fun)
            result: Callable[..., T] = table
        else:
            table = caching(lambda _, *args: fun(*args))

            @functools.wraps(fun)
            def result(*args: Any) -> T:
                return table(context(), *args)  # type: ignore[no-any-return]

        cache(_Clearing(table.cache_clear))
        cached_functions.append(CachedFunction(result, fun, context is None))
        return result

    return decorate


class _Clearing:
    __slots__ = ("clear",)

    def __init__(self, clear: Callable[[], None]) -> None:
        self.clear = clear


class WeakIdentitySet(Generic[T]):
    """A set of objects, compared by identity, that lists those still alive."""

    __slots__ = ("_refs",)

    def __init__(self) -> None:
        self._refs: set[weakref.ref[T]] = set()

    def add(self, x: T) -> None:
        self._refs.add(weakref.ref(x, self._refs.discard))

    def clear(self) -> None:
        self._refs.clear()

    def __iter__(self) -> Iterator[T]:
        objects = [ref() for ref in list(self._refs)]
        return iter([x for x in objects if x is not None])

    def __len__(self) -> int:
        return len(self._refs)


class Memo(dict[Any, Any]):
    """A cache of an object, which owns it.  It pickles as an empty dict."""

    __slots__ = ("__weakref__", "owner")
    # Hashed and compared by identity, as `WeakIdentitySet` requires; a dict is unhashable.
    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__
    __ne__ = object.__ne__

    def __init__(self, owner: Any) -> None:
        self.owner = weakref.ref(owner)

    def __reduce__(self) -> Any:
        return dict, ()


class _SharedMemo(dict[Any, Any]):
    """A cache of an object that cannot own it, for one holder.

    Other holders see, through `shared` in a table, only values that pass `is_shareable`.
    """

    __slots__ = ("is_shareable", "shared")

    def __init__(self, shared: dict[Any, Any], is_shareable: Callable[[Any], bool]) -> None:
        self.shared = shared
        self.is_shareable = is_shareable

    def get(self, key: Any, default: Any = None) -> Any:
        own_value = super().get(key, self)
        return self.shared.get(key, default) if own_value is self else own_value

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        if self.is_shareable(value):
            self.shared[key] = value

    def setdefault(self, key: Any, default: Any = None) -> Any:
        own_value = super().setdefault(key, default)
        if self.is_shareable(own_value):
            remember(self.shared, key, own_value, _SHARED_LIMIT)
        return own_value

    def pop(self, key: Any, *default: Any) -> Any:
        self.shared.pop(key, None)
        return super().pop(key, *default)

    def clear(self) -> None:
        self.shared.clear()
        super().clear()


_SHARED_LIMIT = 4096
_owners: set[type] = {FunctionType, functools.partial}


def owns_memos(cls: type[T]) -> type[T]:
    """Let objects of a class, which must have a `__dict__`, own their caches."""
    _owners.add(cls)
    return cls


class WeakIdentityCache:
    """A dictionary for each object, as long as the object lives.

    Objects are compared by identity, since equal objects may behave differently.

    A value often refers to its object: the program of a function contains rules of custom
    derivatives, which call that function.  A weakly keyed table would keep both alive
    forever.  Therefore an object owns its dictionary, as an attribute derived from `name`,
    and the garbage collector can free the cycle.  Objects of other classes (bound methods,
    users' callables) get no attribute: a table keeps only those of their values that cannot
    refer to them, by `is_shareable(value)`.
    """

    __slots__ = ("_is_shareable", "_tables", "_memos", "_name")

    def __init__(self, name: str, is_shareable: Callable[[Any], bool]) -> None:
        self._name = f"__minijax_{name}__"
        self._is_shareable = is_shareable
        self._tables: dict[int, tuple[weakref.ref[Any], dict[Any, Any]]] = {}
        self._memos: WeakIdentitySet[Memo] = WeakIdentitySet()

    def of(self, x: Any) -> dict[Any, Any]:
        """Return the dictionary of `x`; a new one if `x` has no weak references."""
        if type(x) not in _owners:
            return self._shared_memo(x)
        attributes = x.__dict__
        memo = attributes.get(self._name)
        # `functools.wraps` and `copy` may have copied another function's attribute.
        if type(memo) is Memo and memo.owner() is x:
            return memo
        new = Memo(x)
        self._memos.add(new)
        if memo is None:
            return attributes.setdefault(self._name, new)  # type: ignore[no-any-return]
        attributes[self._name] = new
        return new

    def _shared_memo(self, x: Any) -> dict[Any, Any]:
        entry = self._tables.get(id(x))
        if entry is None or entry[0]() is not x:
            try:  # a C callback: in Python code, a signal's exception would be swallowed
                key = weakref.ref(x, functools.partial(self._tables.pop, id(x)))
            except TypeError:
                return {}
            if entry is not None:  # it belongs to a dead object whose id was reused
                self._tables.pop(id(x), None)
            entry = self._tables.setdefault(id(x), (key, {}))
        return _SharedMemo(entry[1], self._is_shareable)

    def clear(self) -> None:
        """Clear all dictionaries."""
        self._tables.clear()
        for memo in self._memos:
            memo.clear()


_MISSING: Any = object()


def cached_by(
    is_shareable: Callable[[Any], bool],
    context: Callable[[], Any] | None = None,
    is_lasting: Callable[[Any], bool] | None = None,
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Cache a function with its first argument, which is compared by identity.

    The other arguments must be hashable; lists count as tuples. A `WeakIdentityCache` holds
    the results.

    context: a function that returns what else the result depends on.
    is_lasting: whether a result may be cached.
    """

    def decorate(fun: Callable[..., T]) -> Callable[..., T]:
        results = cache(WeakIdentityCache(fun.__name__.strip("_"), is_shareable))

        @functools.wraps(fun)
        def cached(owner: Any, *args: Any) -> T:
            memo = results.of(owner)
            key = (fun, None if context is None else context(), *args)
            try:
                value = memo.get(key, _MISSING)
            except TypeError:
                key = (*key[:2], *hashable(args))
                value = memo.get(key, _MISSING)
            if value is _MISSING:
                value = fun(owner, *args)
                if is_lasting is None or is_lasting(value):
                    value = memo.setdefault(key, value)
            return value  # type: ignore[no-any-return]

        cached_functions.append(CachedFunction(cached, fun, context is None))
        return cached

    return decorate


def hashable(args: Sequence[Any]) -> tuple[Any, ...]:
    """Return arguments as a part of a key: lists as tuples."""
    return tuple([tuple(x) if type(x) is list else x for x in args])


def flags_of(flags: Sequence[bool] | bool, n: int) -> tuple[bool, ...]:
    """Return a tuple of flags, from one flag for all or one flag each."""
    return (flags,) * n if isinstance(flags, bool) else tuple(flags)


def named_after(stub: Any, fun: Callable[..., T]) -> Callable[..., T]:
    """Give `fun` the name, module and docstring of `stub`, and return it."""
    fun.__name__, fun.__qualname__ = stub.__name__, stub.__qualname__
    fun.__module__, fun.__doc__ = stub.__module__, stub.__doc__
    return fun


# Cached, so that every access of a renamed function returns the same object.
@functools.cache
def _copied(fun: FunctionType, name: str, home: str) -> Any:
    copy = FunctionType(fun.__code__, fun.__globals__, name, fun.__defaults__, fun.__closure__)
    copy.__kwdefaults__, copy.__annotations__ = fun.__kwdefaults__, fun.__annotations__
    copy.__qualname__, copy.__module__, copy.__doc__ = name, home, fun.__doc__
    vars(copy).update(vars(fun))
    return copy


def renamed(fun: T, name: str, home: str) -> T:
    """Copy a Python function under another public name, for the module `home`."""
    return _copied(fun, name, home) if isinstance(fun, FunctionType) else fun
