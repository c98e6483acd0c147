"""Mutable references: `new_ref`, `ref[...]`, `ref[...] = v`, `freeze`.

A `Ref` holds an array or a tracer, its *home* is the trace in which that lives.  Where
it is used in its home, or in a transformation around no staging, nothing special
happens: writing replaces the value.  A function that is staged (by jit, scan, while,
cond) must not touch a reference from outside: it would leak a tracer.  So that raises
`Touched`; the higher-order function catches it, and stages again with the reference's
value as one more argument and result (`discharge`).  Programs stay functional; the
compiler updates in place.

This room knows traces and arrays' methods.  Next: jit.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..base import errors
from ..core import core
from ..core.core import EVAL, STATE, Trace, Tracer
from ..interpreters.algebra import lib
from ..interpreters.stage import StageTrace
from ..runtime.array import Array, default_placement, to_buffer
from ..types import dtypes
from ..types.avals import AbstractValue


class AbstractRef(AbstractValue):
    """The type of a reference to an array of type `inner_aval`."""

    __slots__ = ("inner_aval",)

    def __init__(self, inner_aval: Any) -> None:
        self.inner_aval = inner_aval

    def str_short(self, short_dtypes: bool = True) -> str:
        return f"Ref{{{self.inner_aval.str_short(short_dtypes)}}}"

    def __repr__(self) -> str:
        return self.str_short(False)

    def __hash__(self) -> int:
        return hash((AbstractRef, self.inner_aval))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractRef) and self.inner_aval == other.inner_aval


class Touched(TypeError):
    """A staged function used a reference from outside of it."""

    def __init__(self, ref: Ref, trace: Trace) -> None:
        super().__init__(
            errors.message(
                f"A reference of type {ref.aval} was used in a function that is staged,"
                " outside of which it was made.",
                where=f"{trace.describe()}; transformations: {core.stack_text()}",
                why="references go through jit, scan, while_loop, fori_loop, cond and"
                " switch alone.",
                tries=[
                    "make the reference inside",
                    "pass its value, and return the new one",
                ],
            )
        )
        self.ref = ref


class Passed(TypeError):
    """A reference is an argument of a jitted function."""


class Ref:
    """A mutable array: `ref[i]` reads, `ref[i] = x` writes, `ref[...]` is all of it.

    >>> import minijax.numpy as jnp
    >>> ref = new_ref(jnp.zeros(2))
    >>> ref[0] += 1
    >>> ref
    Ref([1., 0.], dtype=float32)
    """

    __slots__ = ("__weakref__", "_home", "_value", "aval")

    def __init__(self, value: Any) -> None:
        self._value = value
        self._home: Trace = STATE.trace
        self.aval = AbstractRef(core.aval_of(value))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.inner_aval.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        return self.aval.inner_aval.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return self.aval.inner_aval.size  # type: ignore[no-any-return]

    def __getitem__(self, idx: Any) -> Any:
        return get(self, idx)

    def __setitem__(self, idx: Any, value: Any) -> None:
        set(self, idx, value)

    def addupdate(self, value: Any, idx: Any = ...) -> None:
        """`ref[idx] += value`."""
        addupdate(self, idx, value)

    @property
    def alive(self) -> bool:
        """Whether the trace in which it was made goes on."""
        return self._home.alive

    def __len__(self) -> int:
        return len(self.aval.inner_aval)

    def __repr__(self) -> str:
        value = self._value
        return str(self.aval) if isinstance(value, Tracer) else f"Ref{repr(value)[5:]}"


def _read(ref: Any) -> Any:
    """The value of a reference, where it may be used."""
    if not isinstance(ref, Ref):
        raise TypeError(f"expected a Ref, got {ref!r} of type {type(ref)}.")
    home = ref._home
    trace = STATE.trace
    while trace is not home:
        if type(trace) is StageTrace and home.alive:
            raise Touched(ref, trace)
        if trace is EVAL:
            raise errors.UnexpectedTracerError(
                errors.message(
                    f"A reference of type {ref.aval} was used after the function that"
                    " made it had ended.",
                    why="references are not results of transformed functions.",
                    tries=["return freeze(ref), or ref[...]"],
                )
            )
        trace = trace.parent
    return ref._value


def _write(ref: Ref, value: Any) -> None:
    """Make `value`, a whole array, the value of a reference."""
    if isinstance(value, Tracer):
        trace: Trace = ref._home
        while trace is not value._trace:
            if trace is EVAL:
                kind = value._trace.transform
                what = "vmapped" if kind == "vmap" else "differentiated"
                raise ValueError(
                    errors.message(
                        f"performing a set/swap operation with a {what} value on a"
                        f" reference of type {ref.aval} from outside of {kind}.",
                        why="the reference has no place for the value's lanes or tangents.",
                        tries=[
                            f"make the reference inside the function given to {kind}"
                        ],
                    )
                )
            trace = trace.parent
    ref._value = value


def _all(idx: Any) -> bool:
    return (
        idx is None or idx is Ellipsis or (type(idx) is tuple and idx in ((), (...,)))
    )


def _in_bounds(ref: Ref, idx: Any) -> Any:
    """A subscript whose Python ints are known to lie within the array."""
    entries = idx if type(idx) is tuple else (idx,)
    if any(e is None or e is Ellipsis for e in entries):
        return idx
    for e, n in zip(entries, ref.shape, strict=False):
        if type(e) is int and not -n <= e < n:
            raise ValueError(f"Out of bound indexer: idx={e}, dim={n}.")
    return idx


def _same_dtype(ref: Ref, value: Any, name: str) -> Any:
    """A value of the reference's dtype: weak ones of its kind give way."""
    aval = core.aval_of(value)
    dtype = ref.dtype
    yields = aval.weak_type and dtypes.kind(aval.dtype) == dtypes.kind(dtype)
    if aval.dtype != dtype and not yields:
        raise ValueError(
            f"Invalid dtype for `{name}`. Ref dtype: {dtype.name}. Value dtype:"
            f" {aval.dtype.name}.\nTry: value.astype(ref.dtype)"
        )
    weak = ref.aval.inner_aval.weak_type
    if (
        aval.dtype == dtype
        and aval.weak_type == weak
        and isinstance(value, (Array, Tracer))
    ):
        return value
    convert = core.registry["convert_element_type"]
    return convert.bind(value, new_dtype=dtype, weak_type=weak, sharding=None)


# --------------------------------------------------------------------------- functions


def new_ref(init_val: Any, *, memory_space: Any = None, kind: str | None = None) -> Ref:
    """A mutable array that starts as `init_val`.

    Args:
      init_val: an array or number, which itself never changes.

    Raises:
      TypeError: `init_val` is no array. NotImplementedError: a `memory_space` or `kind`.

    Example:
      >>> ref = new_ref(1.)
      >>> ref[...] = ref[...] + 1.
      >>> ref[...]
      Array(2., dtype=float32, weak_type=True)
    """
    if memory_space is not None or kind is not None:
        raise NotImplementedError("new_ref: only references in default memory exist.")
    if isinstance(init_val, Ref):
        raise TypeError("new_ref: the initial value is itself a Ref; pass ref[...].")
    if not isinstance(init_val, (Array, Tracer)):
        core.aval_of(init_val)
        init_val = Array(to_buffer(init_val, default_placement()))
    return Ref(init_val)


def get(ref: Ref, idx: Any = None) -> Any:
    """`ref[idx]`; all of it without `idx`.

    >>> get(new_ref(3))
    Array(3, dtype=int32, weak_type=True)
    """
    value = _read(ref)
    return value if _all(idx) else value[_in_bounds(ref, idx)]


def set(ref: Ref, idx: Any, value: Any) -> None:
    """`ref[idx] = value`.

    Raises:
      ValueError: dtype or shape of `value` do not fit.

    >>> ref = new_ref(3)
    >>> set(ref, (), 4)
    """
    old = _read(ref)
    value = _same_dtype(ref, value, "set")
    if not _all(idx):
        _write(ref, old.at[_in_bounds(ref, idx)].set(value))
        return
    shape = core.aval_of(value).shape
    if shape not in (ref.shape, ()):
        raise ValueError(
            f"Invalid shape for `set`. Ref shape: {ref.shape}. Value shape: {shape}."
        )
    _write(ref, value if shape == ref.shape else lib.broadcast_to(value, ref.shape))


def swap(ref: Ref, idx: Any, value: Any) -> Any:
    """Write, and return what was there before.

    >>> swap(new_ref(3), None, 4)
    Array(3, dtype=int32, weak_type=True)
    """
    old = get(ref, idx)
    set(ref, idx, value)
    return old


def addupdate(ref: Ref, idx: Any, x: Any) -> None:
    """`ref[idx] += x`; positions that are named twice get both.

    >>> ref = new_ref(3)
    >>> addupdate(ref, None, 4)
    >>> ref[...]
    Array(7, dtype=int32, weak_type=True)
    """
    old = _read(ref)
    x = _same_dtype(ref, x, "addupdate")
    if _all(idx):
        set(ref, None, old + x)
    else:
        _write(ref, old.at[_in_bounds(ref, idx)].add(x))


def freeze(ref: Ref) -> Any:
    """The value of a reference, which is not to be used any more.

    >>> freeze(new_ref(3))
    Array(3, dtype=int32, weak_type=True)
    """
    return _read(ref)


# ----------------------------------------------------------------- higher-order functions


class _Final:
    """The values of bound references when the block has ended."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: tuple[Any, ...] = ()


@contextmanager
def bound(refs: Sequence[Ref], values: Sequence[Any]) -> Iterator[_Final]:
    """Let references stand for other values, at home in the current trace."""
    saved = [(r._value, r._home) for r in refs]
    final = _Final()
    for r, v in zip(refs, values, strict=True):
        r._value, r._home = v, STATE.trace
    try:
        yield final
        final.values = tuple(r._value for r in refs)
    finally:
        for r, (v, home) in zip(refs, saved, strict=True):
            r._value, r._home = v, home


def values_of(refs: Sequence[Ref]) -> tuple[Any, ...]:
    return tuple(map(_read, refs))


def write_all(refs: Sequence[Ref], values: Sequence[Any]) -> None:
    for r, v in zip(refs, values, strict=True):
        _write(r, v)


def discharge(
    attempt: Callable[[tuple[Ref, ...]], Any], refs: tuple[Ref, ...] = ()
) -> Any:
    """`attempt(refs)`, with all the references that it turns out to touch."""
    while True:
        try:
            return attempt(refs)
        except Touched as e:
            if e.ref in refs:
                raise
            refs = (*refs, e.ref)


def through_scan(scan: Callable[..., Any]) -> Callable[..., Any]:
    """Carry the references that the body of a scan touches."""

    @functools.wraps(scan)
    def scan_with_refs(f: Any, init: Any = None, *args: Any, **kwargs: Any) -> Any:
        def attempt(refs: tuple[Ref, ...]) -> Any:
            if not refs:
                return scan(f, init, *args, **kwargs)

            @functools.wraps(f)
            def step(carry: Any, x: Any) -> Any:
                with bound(refs, carry[1]) as final:
                    new, y = f(carry[0], x)
                return (new, final.values), y

            (out, values), ys = scan(step, (init, values_of(refs)), *args, **kwargs)
            write_all(refs, values)
            return out, ys

        return discharge(attempt)

    return scan_with_refs


def through_while(while_loop: Callable[..., Any]) -> Callable[..., Any]:
    """Carry the references that a while loop touches; its condition may only read."""

    @functools.wraps(while_loop)
    def while_with_refs(
        cond_fun: Any, body_fun: Any, init_val: Any, **kwargs: Any
    ) -> Any:
        def attempt(refs: tuple[Ref, ...]) -> Any:
            if not refs:
                return while_loop(cond_fun, body_fun, init_val, **kwargs)

            @functools.wraps(cond_fun)
            def go_on(carry: Any) -> Any:
                with bound(refs, carry[1]) as final:
                    out = cond_fun(carry[0])
                if any(a is not b for a, b in zip(final.values, carry[1], strict=True)):
                    raise ValueError(
                        "while_loop: cond_fun must not write to a reference."
                    )
                return out

            @functools.wraps(body_fun)
            def step(carry: Any) -> Any:
                with bound(refs, carry[1]) as final:
                    new = body_fun(carry[0])
                return new, final.values

            out, values = while_loop(go_on, step, (init_val, values_of(refs)), **kwargs)
            write_all(refs, values)
            return out

        return discharge(attempt)

    return while_with_refs


def _returning(fun: Callable[..., Any], refs: tuple[Ref, ...], values: Any) -> Any:
    """A branch that also returns the references' values."""

    @functools.wraps(fun)
    def branch(*operands: Any) -> Any:
        with bound(refs, values) as final:
            out = fun(*operands)
        return out, final.values

    return branch


def through_cond(cond: Callable[..., Any]) -> Callable[..., Any]:
    """Return the references that branches touch: `cond` or `switch`."""

    @functools.wraps(cond)
    def cond_with_refs(*args: Any, **kwargs: Any) -> Any:
        def attempt(refs: tuple[Ref, ...]) -> Any:
            if not refs:
                return cond(*args, **kwargs)
            values = values_of(refs)

            def wrap(a: Any) -> Any:
                if callable(a):
                    return _returning(a, refs, values)
                if _is_branches(a):
                    return [_returning(f, refs, values) for f in a]
                return a

            named = {name: wrap(a) for name, a in kwargs.items()}
            out, values = cond(*map(wrap, args), **named)
            write_all(refs, values)
            return out

        return discharge(attempt)

    return cond_with_refs


def _is_branches(a: Any) -> bool:
    return isinstance(a, (list, tuple)) and bool(a) and all(map(callable, a))
