"""Calls with pytrees that were flattened once, without inspecting their leaves.

C++ inspects each leaf of each call, its type and placement: a millisecond for thousands of
leaves, however few of them the program reads.  A `Flattened` is immutable, so the types of
its leaves are computed once and cached with it, as a `Signature`; the signature of a
result follows from the program.  C++ treats it as a leaf of an unknown class and calls
Python immediately: here the program is looked up by signatures, and run on the leaves that
it reads.  If some leaf is not an array on one device, C++ inspects them all.

Next: jitted.py.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import config, option, tree, util
from ...base.flattened import Flattened
from ...base.tracebacks import simplify
from ...ir.core import EVAL, STATE
from ...runtime.arrays import array as arrays
from ...runtime.arrays.array import ArrayImpl, KeyArray
from ...runtime.arrays.operands import to_buffer
from ...runtime.backends import jaxlib_compat as compat
from ...runtime.running import dispatch
from ...runtime.sharding.placement import on_device, placement_of
from ...runtime.sharding.shardings import has_custom_layout
from ..arguments import NO_STATICS, Statics
from .cpp_dispatch import FastpathData, dispatcher, is_cpp_convertible


class Signature:
    """The types of the leaves of a `Flattened`; equal ones share one object.

    keys: the positions of random keys, and their dtypes.
    where: the placement of the leaves.
    """

    __slots__ = ("__weakref__", "keys", "placement")

    def __init__(self, keys: Sequence[tuple[int, Any]], placement: Any) -> None:
        self.keys = keys
        self.placement = placement


# Weak: a signature lives as long as some `Flattened` or route holds it.
_signatures: weakref.WeakValueDictionary[Any, Signature] = weakref.WeakValueDictionary()


def signature(flat: Flattened) -> Any:
    """Return a `Flattened`'s signature; False if its leaves are not on one device."""
    if flat._cached is None:
        flat._cached = _compute_signature(flat)
    return flat._cached


def _compute_signature(flat: Flattened) -> Any:
    keys = []
    avals = []
    placements = set()
    for i, x in enumerate(flat._leaves):
        if type(x) is KeyArray:
            keys.append((i, x.dtype))
            x = x._b
        elif type(x) is not ArrayImpl or arrays.foreign(x):
            return False
        own = placement_of(x)
        if own is None or has_custom_layout(x):
            return False
        avals.append(x.aval)
        placements.add(own)
    if len({p.uncommitted for p in placements}) != 1:
        return False
    placement = next((p for p in placements if p.committed), own)
    key = flat._structure, tuple(avals), tuple(keys), placement
    cached = _signatures.get(key)
    return cached or _signatures.setdefault(key, Signature(keys, placement))


class Route:
    """A cached program, with the positions of its operands among a call's leaves."""

    __slots__ = (
        "consts",
        "handlers",
        "hosts",
        "keys",
        "kept_indices",
        "out_tree",
        "outs",
        "run",
        "placement",
    )

    def __init__(self, fast: FastpathData, leaves: Sequence[Any], result: Any) -> None:
        self.run = fast.xla_executable.execute_sharded
        types = zip(fast.out_avals, fast.out_shardings, fast.out_committed, strict=True)
        self.handlers = [compat.result_handler(*of) for of in types]
        self.consts = list(fast.const_args)
        # The indices of leaves, inside `Flattened` ones, that are read.
        flat: list[Any] = []
        for x in leaves:
            if type(x) is Flattened:
                flat += x._leaves
            else:
                flat.append(x)
        bits = fast.kept_var_bitvec[len(self.consts) :]
        self.kept_indices = None if all(bits) else [i for i, b in enumerate(bits) if b]
        read = flat if self.kept_indices is None else [flat[i] for i in self.kept_indices]
        if fast.in_shardings:  # unread arguments may be on other devices
            device = fast.in_shardings[0]._device
            self.placement = on_device(device, committed=False)
        self.keys = [k for k, x in enumerate(read) if type(x) is KeyArray]
        self.hosts = [k for k, x in enumerate(read) if type(x) not in (ArrayImpl, KeyArray)]
        # For each result its number of leaves, form and signature; None: a single leaf.
        result_leaves, self.out_tree = tree.FLATTENED_AS_LEAF.flatten(result)
        self.outs = [
            (len(x._leaves), x._structure, signature(x)) if type(x) is Flattened else None
            for x in result_leaves
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
            buffers[k] = to_buffer(buffers[k], self.placement)
        try:
            results = self.run(self.consts + buffers)
            out = results.consume_with_handlers(self.handlers)
        except (RuntimeError, ValueError) as e:
            raise dispatch.execution_error(e, buffers) from None
        return self.out_tree.unflatten(self.group_results(out))

    def group_results(self, out: list[Any]) -> list[Any]:
        """Group results: those of one tree into a `Flattened`."""
        results: list[Any] = []
        at = 0
        for what in self.outs:
            if what is None:
                results.append(out[at])
                at += 1
                continue
            n, form, sig = what
            leaves = out[at : at + n]
            if sig and sig.keys:
                for k, dtype in sig.keys:
                    leaves[k] = KeyArray(leaves[k], dtype)
            results.append(Flattened(tuple(leaves), form, sig))
            at += n
        return results


def on_one_device(fast: FastpathData) -> bool:
    """Whether a program runs on one device; others C++ starts itself."""
    shardings = (*fast.in_shardings, *fast.out_shardings)
    return all(isinstance(s, compat.SingleDeviceSharding) for s in shardings)


_MOST_ROUTES = 4096  # per function, as for its traces
_MOST_OTHERS = 200  # other leaves: with more of them, inspection in C++ is faster
_UNSEEN: Any = object()


class _Dispatches(util.WeakIdentitySet["FlattenedDispatch"]):
    """The set of all owners of routes."""

    __slots__ = ()

    def clear(self) -> None:
        for direct in self:
            direct.forget()


_dispatches = util.cache(_Dispatches())


class FlattenedDispatch:
    """A C++ function, `cpp`, that runs the signatures `miss` added; calls with a
    `Flattened` are run here."""

    __slots__ = (
        "__weakref__",
        "cpp",
        "leafwise",
        "cache_miss",
        "dispatcher_args",
        "routes",
        "statics",
    )

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
        self.dispatcher_args = (name, fun, miss, statics, key)
        self.routes: dict[Any, Route | None] = {}
        self.leafwise: Any = None
        flattened_key = (*key, "whole")
        self.cpp = dispatcher(
            name, fun, self.on_miss, statics, flattened_key, tree.FLATTENED_AS_LEAF
        )
        _dispatches.add(self)

    def forget(self) -> None:
        """Drop the cached routes and signatures."""
        self.routes.clear()
        if self.leafwise is not None:
            self.leafwise._clear_cache()

    def on_miss(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """Handle a call with leaves that C++ does not support, or a new signature."""
        try:
            forbidden = dispatch.was_execution_forbidden and config.NO_EXECUTION.peek()
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
                return self.call_leafwise(args, kwargs)
            # Types as well: 1, 1.0 and True are equal and have equal hashes.
            kinds = tuple([type(value) for _, value in static])
            key = (in_tree, option.state(), STATE.axes, static, kinds, *types)
            try:
                route = self.routes.get(key, _UNSEEN)
            except TypeError:  # a static argument is not hashable
                return self.cache_miss(*args, **kwargs)  # type: ignore[no-any-return]
            # None: the program has no fast path on one device, so C++ inspects all leaves.
            if route is None:
                return self.call_leafwise(args, kwargs)
            if route is _UNSEEN:
                out: tuple[Any, Any, bool] = self.cache_miss(*args, **kwargs)
                fits = out[1] is not None and on_one_device(out[1])
                route = Route(out[1], leaves, out[0]) if fits else None
                stored_key = in_tree, option.interned_state(), *key[2:]
                util.remember(self.routes, stored_key, route, _MOST_ROUTES)
                return out[0], None, False
            try:
                return route(leaves), None, False
            except OverflowError:
                return self.call_leafwise(args, kwargs)
        except Exception as e:
            simplify(e)
            raise

    def call_leafwise(self, args: Any, kwargs: Any) -> tuple[Any, Any, bool]:
        """Call with every leaf inspected by C++."""
        if self.leafwise is None:
            self.leafwise = dispatcher(*self.dispatcher_args)
        return self.leafwise(*args, **kwargs), None, False


def types_of(leaves: Sequence[Any]) -> list[Any] | None:
    """Return the cache key of these leaves; None if C++ must inspect them."""
    if len(leaves) > _MOST_OTHERS:
        return None
    types: list[Any] = []
    for x in leaves:
        kind = type(x)
        if kind is Flattened:
            sig = x._cached or signature(x)
            if not sig:
                return None
            types.append(sig)
        elif kind is ArrayImpl and not arrays.foreign(x):
            own = placement_of(x)
            if own is None or has_custom_layout(x):
                return None
            types += (x.aval, own)
        elif kind is np.ndarray and is_cpp_convertible(x):
            types += (kind, x.dtype, x.shape)
        elif kind is bool or kind is int or kind is float or kind is complex:
            types.append(kind)
        elif isinstance(x, np.generic) and is_cpp_convertible(x):
            if config.EXPLICIT_X64.value == "allow":  # jit converts these to arrays first
                return None
            types.append(kind)
        else:
            return None
    return types
