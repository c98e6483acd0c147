"""Calls from compiled programs back into Python: pure, with effects, and printing.

A callback is a custom call that carries an index into the executable's list of Python
functions.  C++ copies whatever bytes the function returns, so every callback is wrapped:
results are checked for shape and dtype first.  Ordered effects follow one another along
a token, and programs that have them run in turn.

Next: ../api.
"""

from __future__ import annotations

import atexit
import string
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base import config, errors, tree
from ..base.source import function_text
from ..core import core
from ..core.core import Primitive, unsupported
from ..interpreters import batch as batching
from ..interpreters.algebra import lib, unmapped_aval
from ..ops import structural
from ..runtime import array as arrays
from ..runtime import dispatch
from ..runtime.array import Array
from ..types import dtypes
from ..types.avals import shaped
from .mapping import map as map_rows


class Effect:
    """Something that a program does besides computing.

    once: it is to happen just as often as the program says; others, such as printing, may
    also happen where a transformation computes something that is not needed.
    """

    __slots__ = ("name", "once", "ordered")

    def __init__(self, name: str, *, ordered: bool, once: bool) -> None:
        self.name = name
        self.ordered = ordered
        self.once = once

    def __repr__(self) -> str:
        return self.name


debug_effect = Effect("Debug", ordered=False, once=False)
ordered_debug_effect = Effect("OrderedDebug", ordered=True, once=False)
io_effect = Effect("IO", ordered=False, once=True)
ordered_io_effect = Effect("OrderedIO", ordered=True, once=True)


# -------------------------------------------------------------------------- emission


def _host_argument(x: Any) -> Any:
    """A callback's argument: an `Array` over the memory that the runtime lent."""
    return Array(arrays.put_numpy(x))


def _checked(
    name: str, fun: Any, out: Sequence[Any], avals: Sequence[Any], x64: bool
) -> Any:
    """Results as arrays of exactly the promised types; without x64, 64 bits count as 32."""
    if len(out) != len(avals):
        raise RuntimeError(
            f"{name} of {function_text(fun)} returned {len(out)} values, but result_shape"
            f" promises {len(avals)}."
        )
    found = []
    for i, (x, aval) in enumerate(zip(out, avals, strict=True)):
        value = np.asarray(x)
        if value.shape != aval.shape:
            raise RuntimeError(
                errors.message(
                    f"Incorrect output shape for return value #{i} of {name}: expected"
                    f" {aval.shape}, actual {value.shape}.",
                    where=function_text(fun),
                )
            )
        python = isinstance(x, (bool, int, float, complex))
        got = value.dtype if x64 else dtypes.narrow(value.dtype)
        if got != aval.dtype and not python:
            raise RuntimeError(
                errors.message(
                    f"Incorrect output dtype for return value #{i} of {name}: expected"
                    f" {aval.dtype}, actual {value.dtype}.",
                    where=function_text(fun),
                    tries=["np.asarray(result, dtype) in the callback"],
                )
            )
        found.append(np.asarray(value, aval.dtype, order="C"))
    return tuple(found)


def emit_callback(
    ctx: Any, name: str, callback: Callable[..., Any], args: Sequence[Any], *,
    ordered: bool, effect: bool,
) -> list[Any]:  # fmt: skip
    """Emit the custom call of a Python function on flat values."""
    avals_out = list(ctx.avals_out)
    token = ctx.token if ordered else None
    fun, x64 = getattr(callback, "fun", callback), bool(config.X64.value)

    def run(*values: Any) -> Any:
        if token is not None:
            values = values[1:]
        out = callback(*map(_host_argument, values))
        found = _checked(name, fun, out, avals_out, x64)
        return (None, *found) if token is not None else found

    module = ctx.module
    target = {
        "cpu": "xla_ffi_python_cpu_callback",
        "cuda": "xla_ffi_python_gpu_callback",
    }
    if module.platform not in target:
        raise NotImplementedError(
            f"{name}: Python callbacks are not supported on platform {module.platform}."
        )
    index = len(module.callbacks)
    module.callbacks.append(run)
    tokens = [token] if token is not None else []
    types = [*(t.type for t in tokens), *(ctx.type(a) for a in avals_out)]
    op = ctx.create(
        "stablehlo.custom_call", types, [*tokens, *args],
        call_target_name=ctx.string(target[module.platform]), api_version=ctx.i32(4),
        has_side_effect=ctx.bool(effect), backend_config=ctx.parse(f"{{index = {index} : ui64}}"),
    )  # fmt: skip
    results = list(op.results)
    if tokens:
        ctx.token = results.pop(0)
    return results


class FlatCallback:
    """A user's function on the leaves of its arguments."""

    __slots__ = ("fun", "in_tree")

    def __init__(self, fun: Callable[..., Any], in_tree: Any) -> None:
        self.fun = fun
        self.in_tree = in_tree

    def __call__(self, *leaves: Any) -> list[Any]:
        args, kwargs = tree.unflatten(self.in_tree, leaves)
        return tree.leaves(self.fun(*args, **kwargs))

    def __repr__(self) -> str:
        return f"_FlatCallback(callback_func={self.fun}, in_tree={self.in_tree})"

    def __hash__(self) -> int:
        return hash((id(self.fun), self.in_tree))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FlatCallback) and (
            self.fun is other.fun and self.in_tree == other.in_tree
        )


def result_avals(shapes: Any) -> tuple[tuple[Any, ...], Any]:
    """Types and tree of `result_shape_dtypes`."""
    leaves, out_tree = tree.flatten(shapes)
    out = []
    for s in leaves:
        dtype = dtypes.canonical(s.dtype)
        if dtype != s.dtype:
            raise ValueError(
                f"result_shape_dtypes: dtype {s.dtype} is not available without"
                " jax_enable_x64."
            )
        out.append(shaped(tuple(s.shape), dtype))
    return tuple(out), out_tree


def _run_on_host(
    name: str, callback: Any, args: Sequence[Any], avals: Any
) -> list[Any]:
    """A callback in evaluation: no program needed."""
    values = [
        x
        if type(x) in arrays.ARRAYS
        else Array(arrays.to_buffer(x, arrays.default_placement()))
        for x in args
    ]
    out = callback(*values)
    fun = getattr(callback, "fun", callback)
    found = _checked(name, fun, out, avals, bool(config.X64.value))
    return [Array(arrays.put_numpy(v, a)) for v, a in zip(found, avals, strict=True)]


# ----------------------------------------------------------------------- pure_callback

pure_callback_p = Primitive("pure_callback", multiple_results=True)
pure_callback_p.abstract = lambda *avals, result_avals, **params: list(result_avals)
pure_callback_p.impl = lambda *args, callback, result_avals, **params: _run_on_host(
    "pure_callback", callback, args, result_avals
)
pure_callback_p.jvp = unsupported(
    "Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks while"
    " taking gradients.",
    ValueError,
)
pure_callback_p.transpose = pure_callback_p.jvp


def pure_callback_batch(
    axis: Any, args: Any, dims: Any, *, callback: Any, result_avals: Any, vmap_method: Any,
    sharding: Any,
) -> Any:  # fmt: skip
    n = axis.size
    lanes = tuple(unmapped_aval(n, 0, a) for a in result_avals)
    params = {"callback": callback, "vmap_method": vmap_method, "sharding": sharding}
    if vmap_method in ("broadcast_all", "expand_dims", "legacy_vectorized"):
        ins = []
        for x, d in zip(args, dims, strict=True):
            if d is not None:
                ins.append(batching.bring_front(x, n, d))
            elif vmap_method == "broadcast_all":
                ins.append(batching.bring_front(x, n, None))
            elif vmap_method == "expand_dims":
                ins.append(structural.expand_dims(x, (0,)))
            else:
                ins.append(x)
        out = pure_callback_p.bind(*ins, result_avals=lanes, **params)
        return out, [0] * len(out)
    if vmap_method in ("sequential", "sequential_unrolled"):

        def one(*xs: Any) -> Any:
            return pure_callback_p.bind(*xs, result_avals=result_avals, **params)

        return over_lanes(
            one, axis, args, dims, unrolled=vmap_method.endswith("unrolled")
        )
    raise NotImplementedError(
        errors.message(
            "vmap is only supported for the pure_callback primitive when vmap_method is"
            f" one of {', '.join(map(repr, _VMAP_METHODS))}. Got vmap_method=None.",
            where=function_text(callback.fun),
            tries=[
                "vmap_method='sequential'",
                "'broadcast_all' if it takes many at once",
            ],
        )
    )


_VMAP_METHODS = (
    "sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized",
)  # fmt: skip


def over_lanes(
    fun: Callable[..., Any], axis: Any, args: Sequence[Any], dims: Sequence[Any], *,
    unrolled: bool,
) -> Any:  # fmt: skip
    """Apply a flat function lane after lane, in a loop or unrolled."""
    moving = [
        batching.bring_front(x, axis.size, d)
        for x, d in zip(args, dims, strict=True) if d is not None
    ]  # fmt: skip

    def call(rows: Sequence[Any]) -> Any:
        it = iter(rows)
        return fun(
            *(x if d is None else next(it) for x, d in zip(args, dims, strict=True))
        )

    if not unrolled:
        out = map_rows(call, moving)
        return out, [0] * len(out)
    lanes = [call([_lane(x, i) for x in moving]) for i in range(axis.size)]
    out = [structural.stack(column) for column in zip(*lanes, strict=True)]
    return out, [0] * len(out)


def _lane(x: Any, i: int) -> Any:
    return structural.squeeze(lib.slice_axis(x, 0, i, i + 1), (0,))


pure_callback_p.batch = pure_callback_batch
pure_callback_p.lower = lambda ctx, *args, callback, **params: emit_callback(
    ctx, "pure_callback", callback, args, ordered=False, effect=False
)


def pure_callback(
    callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, sharding: Any = None,
    vmap_method: str | None = None, vectorized: Any = None, **kwargs: Any,
) -> Any:  # fmt: skip
    """Call a pure Python function from compiled code.

    Args:
      callback: takes arrays, returns NumPy arrays of the promised types.  It may be
        called any number of times, or not at all.
      result_shape_dtypes: a pytree of values with `shape` and `dtype`.
      vmap_method: how `vmap` calls it: 'sequential', 'sequential_unrolled',
        'expand_dims', 'broadcast_all', 'legacy_vectorized'; None refuses.

    Raises:
      RuntimeError: a result has another shape or dtype than promised; ValueError: no such
      `vmap_method`.

    Example:
      >>> import minijax as mj, numpy as np
      >>> mj.pure_callback(np.sin, mj.ShapeDtypeStruct((), 'float32'), np.float32(0.))
      Array(0., dtype=float32)
    """
    if vectorized is not None:
        raise TypeError("pure_callback: vectorized was removed; use vmap_method.")
    if not callable(callback):
        raise TypeError(f"Expected a callable value, got {callback!r}.")
    if vmap_method is not None and vmap_method not in _VMAP_METHODS:
        raise ValueError(
            f"vmap_method must be one of {', '.join(map(repr, _VMAP_METHODS))} or None, got"
            f" {vmap_method!r}."
        )
    leaves, in_tree = tree.flatten((args, kwargs))
    avals, out_tree = result_avals(result_shape_dtypes)
    out = pure_callback_p.bind(
        *leaves, callback=FlatCallback(callback, in_tree), result_avals=avals,
        sharding=sharding, vmap_method=vmap_method,
    )  # fmt: skip
    return tree.unflatten(out_tree, out)


# ------------------------------------------------------------------------- io_callback

io_callback_p = Primitive("io_callback", multiple_results=True)
io_callback_p.abstract = lambda *avals, result_avals, **params: list(result_avals)
io_callback_p.effects = lambda params: frozenset(
    (ordered_io_effect if params["ordered"] else io_effect,)
)
io_callback_p.impl = lambda *args, callback, result_avals, **params: _run_on_host(
    "io_callback", callback, args, result_avals
)
io_callback_p.jvp = unsupported(
    "IO callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks while"
    " taking gradients.",
    ValueError,
)
io_callback_p.transpose = io_callback_p.jvp


def io_callback_batch(
    axis: Any, args: Any, dims: Any, *, ordered: bool, **params: Any
) -> Any:
    if ordered:
        raise ValueError("Cannot `vmap` ordered IO callback.")
    return over_lanes(
        lambda *xs: io_callback_p.bind(*xs, ordered=False, **params), axis, args, dims,
        unrolled=False,
    )  # fmt: skip


io_callback_p.batch = io_callback_batch
io_callback_p.lower = lambda ctx, *args, callback, ordered, **params: emit_callback(
    ctx, "io_callback", callback, args, ordered=ordered, effect=True
)


def io_callback(
    callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, sharding: Any = None,
    ordered: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """Call a Python function with side effects from compiled code: once a run.

    Args are those of `pure_callback`; with `ordered` the calls happen in the program's
    order.

    Example:
      >>> import minijax as mj, numpy as np
      >>> io_callback(lambda: np.int32(7), mj.ShapeDtypeStruct((), 'int32'))
      Array(7, dtype=int32)
    """
    leaves, in_tree = tree.flatten((args, kwargs))
    avals, out_tree = result_avals(result_shape_dtypes)
    out = io_callback_p.bind(
        *leaves, callback=FlatCallback(callback, in_tree), result_avals=avals,
        sharding=sharding, ordered=ordered,
    )  # fmt: skip
    return tree.unflatten(out_tree, out)


# --------------------------------------------------------------------------- debugging

debug_callback_p = Primitive("debug_callback", multiple_results=True)
debug_callback_p.abstract = lambda *avals, **params: []
debug_callback_p.effects = lambda params: frozenset(
    (ordered_debug_effect if params["ordered"] else debug_effect,)
)


def debug_impl(*args: Any, callback: Any, **_: Any) -> list[Any]:
    where = arrays.default_placement()
    callback(*(
        x if type(x) in arrays.ARRAYS else Array(arrays.to_buffer(x, where))
        for x in args
    ))  # fmt: skip
    return []


debug_callback_p.impl = debug_impl


def debug_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    debug_callback_p.bind(*primals, **params)
    return [], []


debug_callback_p.jvp = debug_jvp
debug_callback_p.linearize = lambda trace, primals, tangents, **params: debug_jvp(
    primals, tangents, **params
)
debug_callback_p.transpose = lambda cts, *args, **params: [None] * len(args)


def debug_batch(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
    """One call a lane, in their order."""
    rows = [
        None if d is None else batching.bring_front(x, axis.size, d)
        for x, d in zip(args, dims, strict=True)
    ]
    for i in range(axis.size):
        debug_callback_p.bind(
            *(x if r is None else _lane(r, i) for x, r in zip(args, rows, strict=True)),
            **params,
        )
    return [], []


debug_callback_p.batch = debug_batch


def debug_lower(
    ctx: Any, *args: Any, callback: Any, ordered: bool, **_: Any
) -> list[Any]:
    def run(*values: Any) -> tuple[Any, ...]:
        callback(*values)
        return ()

    run.fun = getattr(callback, "fun", callback)  # type: ignore[attr-defined]
    return emit_callback(ctx, "debug_callback", run, args, ordered=ordered, effect=True)


debug_callback_p.lower = debug_lower


def debug_callback(
    callback: Callable[..., Any], *args: Any, ordered: bool = False, partitioned: bool = False,
    **kwargs: Any,
) -> None:  # fmt: skip
    """Call a Python function, whose result is ignored, for debugging.

    It sees concrete values under every transformation; it may be called again or not at
    all when the compiler so decides.

    >>> debug_callback(lambda x: print('x is', x), 1)
    x is 1
    """
    if not callable(callback):
        raise TypeError(
            f"first argument to debug callback must be callable, got {callback!r}."
        )
    leaves, in_tree = tree.flatten((args, kwargs))
    static = {i: x for i, x in enumerate(leaves) if not core.is_value(x)}
    flat: Any = FlatCallback(callback, in_tree)
    if static:
        flat = _WithStatics(flat, static, len(leaves))
    dynamic = [x for i, x in enumerate(leaves) if i not in static]
    debug_callback_p.bind(
        *dynamic, callback=flat, ordered=ordered, partitioned=partitioned
    )


class _WithStatics:
    """A flat callback some of whose arguments are no arrays."""

    __slots__ = ("flat", "fun", "n", "static")

    def __init__(self, flat: FlatCallback, static: dict[int, Any], n: int) -> None:
        self.flat = flat
        self.fun = flat.fun
        self.static = static
        self.n = n

    def __call__(self, *leaves: Any) -> Any:
        it = iter(leaves)
        return self.flat(
            *(self.static[i] if i in self.static else next(it) for i in range(self.n))
        )


class _Formatter(string.Formatter):
    """Checks that a format string uses all its arguments."""

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        unused = [i for i in range(len(args)) if i not in used_args]
        unused_names = [k for k in kwargs if k not in used_args]
        if unused:
            raise ValueError(
                f"Unused positional arguments to `jax.debug.print`: {unused}"
            )
        if unused_names:
            raise ValueError(
                f"Unused keyword arguments to `jax.debug.print`: {unused_names}"
            )


_formatter = _Formatter()


class _Placeholder:
    """Stands for a value while a format string is checked."""

    def __format__(self, spec: str) -> str:
        return ""

    def __getattr__(self, name: str) -> Any:
        return self

    def __getitem__(self, item: Any) -> Any:
        return self


class _Print:
    """The callback of `debug_print`."""

    __slots__ = ("__name__", "fmt", "options")

    def __init__(self, fmt: str, options: dict[str, Any]) -> None:
        self.fmt = fmt
        self.options = options
        self.__name__ = "print"

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        with np.printoptions(**self.options):
            sys.stdout.write(self.fmt.format(*args, **kwargs) + "\n")

    def __hash__(self) -> int:
        return hash(self.fmt)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Print) and self.fmt == other.fmt


def debug_print(
    fmt: str, *args: Any, ordered: bool = False, partitioned: bool = False,
    skip_format_check: bool = False, **kwargs: Any,
) -> None:  # fmt: skip
    """Print values from inside compiled code.

    Args:
      fmt: a format string such as `'x = {}'` (no f-string: values come later).
      args, kwargs: pytrees of arrays, or values to print as they are.
      ordered: keep the order of the program among such prints.

    Raises:
      ValueError: arguments that `fmt` does not use.

    Example:
      >>> debug_print('x is {x}', x=1)
      x is 1
    """
    if not isinstance(fmt, str):
        raise TypeError(f"debug.print takes a format string first, got {fmt!r}.")
    if not skip_format_check:
        try:
            holes = [_Placeholder() for _ in args]
            _formatter.vformat(fmt, holes, {k: _Placeholder() for k in kwargs})
        except IndexError:
            raise IndexError(
                f"debug.print: {fmt!r} has more places than the {len(args)} values given."
            ) from None
    options = {
        k: v
        for k, v in np.get_printoptions().items()
        if k not in ("override_repr", "legacy")
    }
    debug_callback(
        _Print(fmt, options), *args, ordered=ordered, partitioned=partitioned, **kwargs
    )


# ---------------------------------------------------------------------------- barriers

_pending: list[Any] = []
_pending_lock = threading.Lock()


def note_effects(token: Any) -> None:
    """Remember a running program with effects."""
    with _pending_lock:
        _pending.append(token)
        if len(_pending) > 256:
            del _pending[:128]


dispatch.on_effects.append(note_effects)


def effects_barrier() -> None:
    """Wait until the effects of every program started so far have happened.

    >>> effects_barrier()
    """
    with _pending_lock:
        waiting = list(_pending)
        _pending.clear()
    for token in waiting:
        token.block_until_ready()


@atexit.register
def _flush() -> None:
    try:
        effects_barrier()
    except Exception as e:  # the interpreter is ending: say what failed, and go on
        sys.stderr.write(f"{e}\n")
