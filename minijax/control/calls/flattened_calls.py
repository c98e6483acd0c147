"""Calls with trees that were flattened once, without a look at their leaves.

C++ looks at each leaf of each call, its type and where it lies: a millisecond for
thousands, however few of them the program reads.  A `Flattened` does not change, so what
its leaves are is found out once and remembered with it, as a `Signature`; that of a
result is known from the program.  To C++ it is a leaf of an unknown class, and Python is
asked at once: here the program is found by signatures, and run on those leaves that it
reads.  What is no array on one device is looked at by C++, as any tree.

Next: jitted.py.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import config, tree, util
from ...base.flattened import Flattened
from ...base.tracebacks import simplify
from ...ir.core import EVAL, STATE
from ...runtime.arrays import array as arrays
from ...runtime.arrays.array import ArrayImpl, KeyArray
from ...runtime.arrays.operands import to_buffer
from ...runtime.backends import jaxlib_compat as compat
from ...runtime.running import dispatch
from ...runtime.sharding import placement
from ...runtime.sharding.shardings import has_custom_layout
from ..arguments import NO_STATICS, Statics
from .cpp_dispatch import FastpathData, dispatcher, is_cpp_convertible


class Signature:
    """What a program must know of the leaves of a `Flattened`: one object for equal ones.

    keys: the positions of random keys, and their dtypes.
    """

    __slots__ = ("__weakref__", "keys", "where")

    def __init__(self, keys: Sequence[tuple[int, Any]], where: Any) -> None:
        self.keys = keys
        self.where = where


_signatures: weakref.WeakValueDictionary[Any, Signature] = weakref.WeakValueDictionary()


def signature(flat: Flattened) -> Any:
    """The signature of a `Flattened`; False if its leaves are not arrays on one device."""
    if flat._cached is None:
        flat._cached = _found(flat)
    return flat._cached


def _found(flat: Flattened) -> Any:
    keys = []
    avals = []
    places = set()
    for i, x in enumerate(flat._leaves):
        if type(x) is KeyArray:
            keys.append((i, x.dtype))
            x = x._b
        elif type(x) is not ArrayImpl or arrays.foreign(x):
            return False
        place = placement.placement_of(x)
        if place is None or has_custom_layout(x):
            return False
        avals.append(x.aval)
        places.add(place)
    devices = {where for where, _ in places}
    if len(devices) != 1:
        return False
    (where,) = devices
    key = (flat._structure, tuple(avals), tuple(keys), where, (where, True) in places)
    known = _signatures.get(key)
    return known or _signatures.setdefault(key, Signature(keys, where))


class Route:
    """How a call is run whose program is known."""

    __slots__ = (
        "consts",
        "handlers",
        "hosts",
        "keys",
        "kept_indices",
        "out_tree",
        "outs",
        "run",
        "where",
    )

    def __init__(self, fast: FastpathData, leaves: Sequence[Any], result: Any) -> None:
        self.run = fast.xla_executable.execute_sharded
        types = zip(fast.out_avals, fast.out_shardings, fast.out_committed, strict=True)
        self.handlers = [compat.result_handler(*of) for of in types]
        self.consts = list(fast.const_args)
        # Which of the leaves within leaves are read.
        flat: list[Any] = []
        for x in leaves:
            if type(x) is Flattened:
                flat += x._leaves
            else:
                flat.append(x)
        bits = fast.kept_var_bitvec[len(self.consts) :]
        self.kept_indices = None if all(bits) else [i for i, b in enumerate(bits) if b]
        read = flat if self.kept_indices is None else [flat[i] for i in self.kept_indices]
        if fast.in_shardings:  # those that are not read may lie elsewhere
            self.where = placement.placement(fast.in_shardings[0]._device)
        self.keys = [k for k, x in enumerate(read) if type(x) is KeyArray]
        self.hosts = [k for k, x in enumerate(read) if type(x) not in (ArrayImpl, KeyArray)]
        # For each result how many leaves it has and what is known of it; None: one.
        found, self.out_tree = tree.FLATTENED_AS_LEAF.flatten(result)
        self.outs = [
            (len(x._leaves), x._structure, signature(x)) if type(x) is Flattened else None
            for x in found
        ]

    def __call__(self, leaves: Sequence[Any]) -> Any:
        buffers: list[Any] = []
        for x in leaves:
            if type(x) is Flattened:
                buffers += x._leaves
            else:
                buffers.append(x)
        if self.kept_indices is not None:
            buffers = [buffers[i] for i in self.kept_indices]
        for k in self.keys:
            buffers[k] = buffers[k]._b
        for k in self.hosts:
            buffers[k] = to_buffer(buffers[k], self.where)
        try:
            results = self.run(self.consts + buffers)
            out = results.consume_with_handlers(self.handlers)
        except (RuntimeError, ValueError) as e:
            raise dispatch.execution_error(e, buffers) from None
        return self.out_tree.unflatten(self.together(out))

    def together(self, out: list[Any]) -> list[Any]:
        """Results, those of one tree as a `Flattened`."""
        made: list[Any] = []
        at = 0
        for what in self.outs:
            if what is None:
                made.append(out[at])
                at += 1
                continue
            n, form, known = what
            leaves = out[at : at + n]
            if known and known.keys:
                for k, dtype in known.keys:
                    leaves[k] = KeyArray(leaves[k], dtype)
            made.append(Flattened(tuple(leaves), form, known))
            at += n
        return made


def on_one_device(fast: FastpathData) -> bool:
    """Whether a program is one device's: how others are started, C++ is told."""
    lie = (*fast.in_shardings, *fast.out_shardings)
    return all(isinstance(s, compat.SingleDeviceSharding) for s in lie)


_MOST_ROUTES = 4096  # of a function, as of its traces
_MOST_OTHERS = 200  # leaves beside: C++ looks at more of them sooner
_UNSEEN: Any = object()


class _Directs(util.WeakIdentitySet["FlattenedDispatch"]):
    """What keeps routes."""

    __slots__ = ()

    def clear(self) -> None:
        for direct in self:
            direct.forget()


_directs = util.cache(_Directs())


class FlattenedDispatch:
    """A function of C++, `cpp`, that runs what `miss` taught it; and calls with a
    `Flattened` here."""

    __slots__ = ("__weakref__", "cpp", "look", "cache_miss", "of", "routes", "statics")

    def __init__(
        self,
        name: str,
        fun: Callable[..., Any],
        miss: Callable[..., Any],
        statics: Statics,
        key: tuple[Any, ...],
    ) -> None:
        self.cache_miss = miss
        self.statics = statics
        self.of = (name, fun, miss, statics, key)
        self.routes: dict[Any, Route | None] = {}
        self.look: Any = None
        whole = (*key, "whole")
        self.cpp = dispatcher(name, fun, self.missed, statics, whole, tree.FLATTENED_AS_LEAF)
        _directs.add(self)

    def forget(self) -> None:
        """Forget what calls were seen."""
        self.routes.clear()
        if self.look is not None:
            self.look._clear_cache()

    def missed(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """What C++ calls for leaves that it does not know, and for new signatures."""
        try:
            forbidden = dispatch.barred and config.NO_EXECUTION.value
            if STATE.trace is not EVAL or config.TRACING.value or forbidden:
                # Not as a method, which with `*args` passes through C: see flat.py.
                call: Any = self.cache_miss
                return call.__func__(call.__self__, *args, **kwargs)  # type: ignore
            static: tuple[Any, ...] = ()
            dynamic: Any = args, kwargs
            if self.statics != NO_STATICS:
                static, _, dynamic = self.statics.apart(args, kwargs)
            leaves, in_tree = tree.FLATTENED_AS_LEAF.flatten(dynamic)
            if Flattened not in map(type, leaves):
                return self.cache_miss(*args, **kwargs)  # type: ignore[no-any-return]
            types = types_of(leaves)
            if types is None:
                return self.looked(args, kwargs)
            kinds = tuple([type(value) for _, value in static])
            key = (in_tree, config.trace_key(), STATE.axes, static, kinds, *types)
            try:
                route = self.routes.get(key, _UNSEEN)
            except TypeError:  # of a static argument
                return self.cache_miss(*args, **kwargs)  # type: ignore[no-any-return]
            if route is None:
                return self.looked(args, kwargs)
            if route is _UNSEEN:
                out: tuple[Any, Any, bool] = self.cache_miss(*args, **kwargs)
                fits = out[1] is not None and on_one_device(out[1])
                route = Route(out[1], leaves, out[0]) if fits else None
                util.remember(self.routes, key, route, _MOST_ROUTES)
                return out[0], None, False
            try:
                return route(leaves), None, False
            except OverflowError:
                return self.looked(args, kwargs)
        except Exception as e:
            simplify(e)
            raise

    def looked(self, args: Any, kwargs: Any) -> tuple[Any, Any, bool]:
        """A call of which C++ looks at all leaves."""
        if self.look is None:
            self.look = dispatcher(*self.of)
        return self.look(*args, **kwargs), None, False


def types_of(leaves: Sequence[Any]) -> list[Any] | None:
    """By what a program for these leaves is known; None if C++ is to look at them."""
    if len(leaves) > _MOST_OTHERS:
        return None
    types: list[Any] = []
    for x in leaves:
        kind = type(x)
        if kind is Flattened:
            known = x._cached or signature(x)
            if not known:
                return None
            types.append(known)
        elif kind is ArrayImpl and not arrays.foreign(x):
            where = placement.placement_of(x)
            if where is None or has_custom_layout(x):
                return None
            types += (x.aval, where)
        elif kind is np.ndarray and is_cpp_convertible(x):
            types += (kind, x.dtype, x.shape)
        elif kind is bool or kind is int or kind is float or kind is complex:
            types.append(kind)
        elif isinstance(x, np.generic) and is_cpp_convertible(x):
            if config.EXPLICIT_X64.value == "allow":  # which jit reads otherwise
                return None
            types.append(kind)
        else:
            return None
    return types
