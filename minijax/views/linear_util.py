"""Functions under transformation: `WrappedFun`, and functions of trees as flat ones.

A transformation wraps a function: it transforms its arguments and its results.  It has one
of two forms: a generator that yields once for each, or a function that receives the inner
one.  It may have auxiliary output, which is read after the function has run.

Next: partial.py.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from ..api.eval_shape import aval_like
from ..base import tree
from ..base.source import function_text, name_of
from ..control.arguments import ArgNames, resolve_statics
from ..ir import core
from .attributes import DebugInfo


class StoreException(Exception):
    """Auxiliary output was read before the function ran, or stored twice."""


class Store:
    """Auxiliary output of a transformation."""

    __slots__ = ("stored",)

    def __init__(self) -> None:
        self.stored: tuple[Any, ...] = ()

    def store(self, val: Any) -> None:
        """Store the value: once."""
        if self.stored and self.stored[0] != val:
            raise StoreException("Store occupied")
        self.stored = (val,)

    def reset(self) -> None:
        """Clear the value."""
        self.stored = ()

    @property
    def val(self) -> Any:
        if not self.stored:
            raise StoreException("Store empty")
        return self.stored[0]

    def __bool__(self) -> bool:
        return bool(self.stored)


class WrappedFun:
    """A function with the transformations around it, the outermost first.

    f: the function itself.
    f_transformed: the function that calls it through its transformations.
    transforms: pairs (transformation, its static arguments).
    stores: where each one stores its auxiliary output, or None.
    """

    __slots__ = (
        "__weakref__",
        "debug_info",
        "f",
        "f_transformed",
        "in_type",
        "params",
        "stores",
        "transforms",
    )

    def __init__(
        self,
        f: Callable[..., Any],
        f_transformed: Callable[..., Any] | None = None,
        transforms: tuple[Any, ...] = (),
        stores: tuple[Store | None, ...] = (),
        params: Any = (),
        in_type: Any = None,
        debug_info: DebugInfo | None = None,
    ) -> None:
        self.f = f
        self.f_transformed = f if f_transformed is None else f_transformed
        self.transforms = transforms
        self.stores = stores
        self.params = params
        self.in_type = in_type
        self.debug_info = debug_info

    @property
    def __name__(self) -> str:
        return name_of(self.f)

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function through its transformations."""
        return self.f_transformed(*args, **kwargs)

    def wrap(
        self,
        gen: Callable[..., Any],
        gen_static_args: tuple[Hashable, ...],
        out_store: Store | None,
    ) -> WrappedFun:
        """Wrap the function in another transformation: gen(inner, *statics, *args)."""
        inner = self.f_transformed

        def transformed(*args: Any, **kwargs: Any) -> Any:
            if out_store is None:
                return gen(inner, *gen_static_args, *args, **kwargs)
            return gen(inner, out_store, *gen_static_args, *args, **kwargs)

        return WrappedFun(
            self.f,
            transformed,
            ((gen, gen_static_args), *self.transforms),
            (out_store, *self.stores),
            self.params,
            None,
            self.debug_info,
        )

    def replace_debug_info(self, debug_info: DebugInfo) -> WrappedFun:
        """Return the function with another debug info."""
        return WrappedFun(
            self.f,
            self.f_transformed,
            self.transforms,
            self.stores,
            self.params,
            self.in_type,
            debug_info,
        )

    def with_unknown_names(self) -> WrappedFun:
        """Return the function without names of arguments and results."""
        info = self.debug_info
        return self if info is None else self.replace_debug_info(info.with_unknown_names())

    def populate_stores(self, stores: Sequence[Store | None]) -> None:
        """Copy the auxiliary output of an equal function."""
        for store, other in zip(self.stores, stores, strict=True):
            if store is not None and other is not None and other:
                store.store(other.val)

    def _key(self) -> tuple[Any, ...]:
        return self.f, self.transforms, self.params, self.in_type

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WrappedFun) and self._key() == other._key()

    def __repr__(self) -> str:
        around = "".join(f"{i}: {name_of(t)}\n" for i, (t, _) in enumerate(self.transforms))
        return f"Wrapped function:\n{around}Core: {self.__name__}\n"


def wrap_init(
    f: Callable[..., Any],
    params: dict[str, Any] | None = None,
    *,
    debug_info: DebugInfo | None = None,
) -> WrappedFun:
    """Wrap a function, without transformations so far; `params` are keyword arguments."""
    key_params = tuple(sorted((params or {}).items()))

    def run(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **{**(params or {}), **kwargs})

    return WrappedFun(f, run if params else f, params=key_params, debug_info=debug_info)


class _Transformation:
    """`t(fun, *statics)`, the transformed function, or a partial call without `fun`."""

    def __init__(self, gen: Callable[..., Any], aux: bool) -> None:
        self.gen = gen
        self.aux = aux
        self.__name__ = self.__qualname__ = name_of(gen)
        self.__wrapped__ = gen

    def __call__(
        self,
        fun: WrappedFun,
        *gen_static_args: Any,
        use_eq_store: bool = False,
        unk_names: bool = False,
    ) -> Any:
        if not self.aux:
            return fun.wrap(self.gen, gen_static_args, None)
        store = Store()
        return fun.wrap(self.gen, gen_static_args, store), lambda: store.val


def _from_generator(gen: Callable[..., Any], aux: bool) -> Callable[..., Any]:
    """Convert a generator to a transformation of the second form."""

    def run(inner: Callable[..., Any], *rest: Any, **kwargs: Any) -> Any:
        steps = gen(*(rest[1:] if aux else rest), **kwargs)
        try:
            inner_args, inner_kwargs = next(steps)
            out = steps.send(inner(*inner_args, **inner_kwargs))
        finally:
            steps.close()  # exits its `with` blocks, also after an error
        if aux:
            out, aux_out = out
            rest[0].store(aux_out)
        return out

    run.__name__ = name_of(gen)
    return run


def _maker(aux: bool, generator: bool, name: str, doc: str) -> Callable[..., Any]:
    def transformation(gen: Callable[..., Any], *args: Any, **options: Any) -> Any:
        run = _from_generator(gen, aux) if generator else gen
        wrapper = _Transformation(run, aux)
        return wrapper(*args, **options) if args else wrapper

    transformation.__name__ = transformation.__qualname__ = name
    transformation.__doc__ = doc
    return transformation


transformation = _maker(
    False,
    True,
    "transformation",
    "Return a transformation from a generator: (*statics, *args) -> it yields (args, kwargs)"
    " of the inner function, receives its result, and yields the outer result.",
)
transformation_with_aux = _maker(
    True,
    True,
    "transformation_with_aux",
    "Return a transformation from a generator that finally yields (result, auxiliary output).",
)
transformation2 = _maker(
    False,
    False,
    "transformation2",
    "Return a transformation from a function: (inner, *statics, *args) -> result.",
)
transformation_with_aux2 = _maker(
    True,
    False,
    "transformation_with_aux2",
    "Return a transformation from a function: (inner, store, *statics, *args) -> result; it"
    " stores its auxiliary output in `store`.",
)


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> Any:
    """Return (whether the first function ran, the auxiliary output of the one that ran)."""
    try:
        first = aux1()
    except StoreException:
        try:
            return False, aux2()
        except StoreException:
            raise StoreException("neither store occupied") from None
    try:
        aux2()
    except StoreException:
        return True, first
    raise StoreException("both stores occupied")


def cache(
    call: Callable[..., Any], *, explain: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Cache `call(fun, *args)` by the function, while it lives, and its arguments."""
    # Weak, so that a cached program does not keep the user's function alive.
    memo: Any = weakref.WeakKeyDictionary()

    def cached(fun: WrappedFun, *args: Any) -> Any:
        entries = memo.setdefault(fun.f, {})
        key = fun.transforms, fun.params, fun.in_type, args, core.STATE.axes
        entry = entries.get(key)
        if entry is None:
            entry = entries[key] = call(fun, *args), fun.stores
        # The call did not run for this function, whose owner reads its own stores.
        elif entry[1] is not fun.stores:
            fun.populate_stores(entry[1])
        return entry[0]

    cached.cache_clear = memo.clear  # type: ignore[attr-defined]
    cached.__wrapped__ = call  # type: ignore[attr-defined]
    return cached


# --------------------------------------------------------------------- trees and leaves


@transformation_with_aux2
def flatten_fun(
    f: Callable[..., Any], store: Store, in_tree: Any, *args_flat: Any
) -> list[Any]:
    """Call a function of (args, kwargs) on leaves; store the result's tree."""
    args, kwargs = tree.unflatten(in_tree, args_flat)
    out, out_tree = tree.flatten(f(*args, **kwargs))
    store.store(out_tree)
    return out


@transformation_with_aux2
def flatten_fun_nokwargs(
    f: Callable[..., Any], store: Store, in_tree: Any, *args_flat: Any
) -> list[Any]:
    """Call a function of args on leaves; store the result's tree."""
    out, out_tree = tree.flatten(f(*tree.unflatten(in_tree, args_flat)))
    store.store(out_tree)
    return out


@transformation2
def _with_fixed(
    f: Callable[..., Any],
    positions: tuple[int, ...],
    fixed: tuple[Any, ...],
    *dyn_args: Any,
    **kwargs: Any,
) -> Any:
    args: list[Any] = [None if x is None else x.value for x in fixed]
    for i, x in zip(positions, dyn_args, strict=True):
        args[i] = x
    return f(*args, **kwargs)


class _Fixed:
    """An argument with a fixed value; hashed and compared by that value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Fixed) and bool(self.value == other.value)


def argnums_partial(
    f: WrappedFun,
    dyn_argnums: int | Sequence[int],
    args: Sequence[Any],
    require_static_args_hashable: bool = True,
) -> tuple[WrappedFun, tuple[Any, ...]]:
    """Return the function of some of its arguments, the others fixed, and these."""
    numbers = (dyn_argnums,) if isinstance(dyn_argnums, int) else tuple(dyn_argnums)
    positions = tuple([i % len(args) for i in numbers])
    fixed = []
    for i, x in enumerate(args):
        if i not in positions and require_static_args_hashable:
            try:
                hash(x)
            except TypeError:
                raise ValueError(
                    "Non-hashable static arguments are not supported, as this can lead to"
                    f" unexpected cache-misses. Static argument (index {i}) of type"
                    f" {type(x)} for function {f.__name__} is non-hashable."
                ) from None
        fixed.append(None if i in positions else _Fixed(x))
    wrapped = _with_fixed(f, positions, tuple(fixed))
    return wrapped, tuple([args[i] for i in positions])


def debug_info(
    traced_for: str,
    fun: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    *,
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
    result_paths_thunk: Any = None,
    sourceinfo: str | None = None,
    signature: Any = None,
) -> DebugInfo:
    """Return the debug info of a program: purpose, function, and names of leaves."""
    n = len(args)
    static = {i % n if n else i for i in static_argnums}
    positions = tuple(i for i in range(n) if i not in static)
    dynamic = tuple([args[i] for i in positions])
    named = {k: v for k, v in kwargs.items() if k not in static_argnames}
    names = ArgNames(fun, tree.structure((dynamic, named)), positions)
    source_text = sourceinfo or function_text(fun)
    return DebugInfo(traced_for, source_text, tuple(names), None)


def missing_debug_info(traced_for: str) -> DebugInfo:
    """Return a debug info without names of the function, its arguments or its results."""
    return DebugInfo(traced_for, None, None, None)


def shaped_abstractify(x: Any) -> Any:
    """Return the type of a value, or of an object with `shape` and `dtype`."""
    return aval_like(x)


def flatten_axes(
    name: str, treedef: Any, axis_tree: Any, *, kws: bool = False, tupled_args: bool = False
) -> list[Any]:
    """Expand a prefix tree of specifications to one for each leaf.

    kws: the tree is of (args, kwargs); specifications are of args, and kwargs are mapped
      along axis 0.
    """
    if not kws:
        return tree.flatten_axes(name, treedef, axis_tree)
    args, kwargs = treedef.children()
    return [*tree.flatten_axes(name, args, axis_tree), *[0] * kwargs.num_leaves]


def donation_vector(
    donate_argnums: Sequence[int],
    donate_argnames: Sequence[str],
    in_tree: Any,
    kws: bool = True,
) -> tuple[bool, ...]:
    """Return for each leaf of (args, kwargs) whether it is donated."""
    args, kwargs = in_tree.children() if kws else (in_tree, None)
    donated: list[bool] = []
    for i, child in enumerate(args.children()):
        donated += [i in donate_argnums] * child.num_leaves
    if kwargs is not None:
        names = kwargs.node_data()[1]
        for name, child in zip(names, kwargs.children(), strict=True):
            donated += [name in donate_argnames] * child.num_leaves
    return tuple(donated)


def rebase_donate_argnums(
    donate_argnums: Sequence[int], static_argnums: Sequence[int]
) -> tuple[int, ...]:
    """Return positions among the arguments that are not static."""
    if both := set(donate_argnums) & set(static_argnums):
        raise ValueError(
            f"static_argnums and donate_argnums cannot intersect: they share {sorted(both)}"
        )
    return tuple(i - sum(s < i for s in static_argnums) for i in sorted(donate_argnums))


def infer_argnums_and_argnames(
    sig: inspect.Signature,
    argnums: int | Iterable[int] | None,
    argnames: str | Iterable[str] | None,
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return positions and names of arguments, each inferred from the other if missing."""

    def fun(*_: Any) -> None: ...

    vars(fun)["__signature__"] = sig
    statics = resolve_statics(fun, argnums, argnames, "static")
    return statics.nums, statics.names
