"""Debugging of running programs: callbacks, printing, logging.

They receive concrete values under every transformation, and change nothing: differentiated,
they show the primals; batched, each lane; recomputed by remat, the values again.  The two
primitives have the same rules: `debug_callback` calls any function, `debug_print` has its
format string as a param.

Next: api/.
"""

from __future__ import annotations

import copy
import logging
import string
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base import errors, source, tree
from ...ir import core
from ...ir.core import Primitive
from ...ir.facts import READS, Facts
from ...passes import batch as batching
from ...passes.ad_util import core_ops
from ...prims.shape import shapes
from ...runtime.sharding import placement
from ..effects import effects
from .callbacks import FlatCallback, emit_callback, host_arguments, stage_callback

# ------------------------------------------------------------------------ the primitives

debug_callback_p = Primitive("debug_callback", multiple_results=True)
debug_print_p = Primitive("debug_print", multiple_results=True)


def show_callback(*values: Any, callback: Any, **_: Any) -> None:
    """Call the function of a `debug_callback` with concrete values."""
    callback(*values)


def show_print(
    *values: Any,
    fmt: str,
    has_placeholders: bool,
    in_tree: Any,
    static_args: Any,
    np_printoptions: Any,
    logging_record: Any,
    **_: Any,
) -> None:
    """Print the concrete values of a `debug_print`."""
    args, kwargs = tree.unflatten(in_tree, merge(static_args, values))
    with np.printoptions(**dict(np_printoptions)):
        if has_placeholders:
            text = fmt.format(*args, **kwargs)
        else:
            rest = [*args, *(f"{k}={v}" for k, v in kwargs.items())]
            text = " ".join([fmt, *map(str, rest)])
    if logging_record is None:
        sys.stdout.write(text + "\n")
    elif logger.isEnabledFor(logging_record.levelno):
        # A copy for each call: handlers modify records, and the param is shared.
        record = copy.copy(logging_record)
        record.msg = text
        logger.handle(record)


logger = logging.getLogger("minijax.debug")


def split_static(leaves: Sequence[Any]) -> tuple[tuple[tuple[int, Any], ...], list[Any]]:
    """Return the leaves that are not arrays, with their positions; and the arrays."""
    static = tuple((i, x) for i, x in enumerate(leaves) if not core.is_value(x))
    static_positions = {i for i, _ in static}
    return static, [x for i, x in enumerate(leaves) if i not in static_positions]


def merge(static: Sequence[tuple[int, Any]], values: Sequence[Any]) -> list[Any]:
    """Return all leaves again, from the results of `split_static`."""
    out = list(values)
    for i, x in static:
        out.insert(i, x)
    return out


def _define(prim: Primitive, show: Callable[..., None]) -> None:
    """Define the rules of a primitive that shows values to the user."""

    def impl(*args: Any, **params: Any) -> list[Any]:
        show(*host_arguments(args, placement.default_placement()), **params)
        return []

    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        return prim.bind(*primals, **params), []

    def linearize(trace: Any, primals: Any, tangents: Any, **params: Any) -> Any:
        return prim.bind(*primals, **params), []

    def batch(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
        lanes_first = [
            None if d is None else batching.lane_to_front(x, axis, d)
            for x, d in zip(args, dims, strict=True)
        ]
        for i in range(axis.size):
            lane = (
                x if r is None else _lane(r, i) for x, r in zip(args, lanes_first, strict=True)
            )
            prim.bind(*lane, **params)
        return [], []

    def emit(ctx: Any, *args: Any, **params: Any) -> list[Any]:
        def run(*values: Any) -> tuple[Any, ...]:
            show(*values, **params)
            return ()

        run.fun = getattr(params.get("callback"), "fun", run)  # type: ignore[attr-defined]
        ordered = _effect(params).ordered
        if ordered and params["partitioned"] and ctx.placement is not None:
            raise errors.value_error(
                "The following ordered effects are not supported for more than 1 device:"
                f" {prim.name} with partitioned=True.",
                why="Devices run in no particular order.",
                tries=["ordered=False", "partitioned=False"],
            )
        return emit_callback(
            ctx,
            prim.name,
            run,
            args,
            ordered=ordered,
            effect=True,
            partitioned=params["partitioned"],
        )

    prim.abstract = lambda *avals, **params: []
    prim.effects = lambda params: effects.set_of(_effect(params))
    prim.impl = impl
    prim.stage = stage_callback(prim)
    prim.jvp = jvp
    prim.linearize = linearize
    prim.transpose = lambda cts, *args, **params: [None] * len(args)
    prim.batch = batch
    prim.lower = emit
    prim.facts = Facts(uses_keys=READS, lowers_key_arrays=True)


def _effect(params: Any) -> effects.Effect:
    effect = params.get("effect")
    if effect is None:
        ordered = params["ordered"]
        effect = effects.ordered_debug_effect if ordered else effects.debug_effect
    return effect


def _lane(x: Any, i: int) -> Any:
    return shapes.squeeze(core_ops.slice_axis(x, 0, i, i + 1), (0,))


_define(debug_callback_p, show_callback)
_define(debug_print_p, show_print)


# ----------------------------------------------------------------------------- callbacks


class _WithStatics:
    """A flat callback with arguments that are not arrays."""

    __slots__ = ("flat", "fun", "static")

    def __init__(self, flat: FlatCallback, static: Sequence[tuple[int, Any]]) -> None:
        self.flat = flat
        self.fun = flat.fun
        self.static = static

    def __call__(self, *values: Any) -> Any:
        return self.flat(*merge(self.static, values))


def debug_callback(
    callback: Callable[..., Any] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function, whose result is ignored, for debugging.

    It receives concrete values under every transformation; the compiler may call it again
    or not at all.

    Args:
      callback: the function; without it, the options are stored, and the result takes a
        function and its arguments: `callback(ordered=True)(fun, x)`.
      args, kwargs: pytrees of arrays; other leaves are passed unchanged.
      ordered: keep the order of the program among ordered effects (on each replica).
      partitioned: for a sharded value, call it once for each shard.

    Returns:
      None; without `callback`, a function that takes it and its arguments.

    Raises:
      TypeError: `callback` is not callable.
      JaxRuntimeError: it raised, in a compiled program; evaluated, its own exception is
        raised.

    Example:
      >>> debug_callback(lambda x: print('x is', x), 1)
      x is 1
    """
    if callback is None:
        return lambda callback, *args, **kwargs: _call_back(
            callback, args, kwargs, ordered, partitioned
        )
    return _call_back(callback, args, kwargs, ordered, partitioned)


def _call_back(
    callback: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    ordered: bool,
    partitioned: bool,
) -> None:
    if not callable(callback):
        raise TypeError(
            "first argument to jax.debug.callback must be callable, but got an object of"
            f" type {type(callback)}"
        )
    leaves, in_tree = tree.flatten((args, kwargs))
    static, values = split_static(leaves)
    flat: Any = FlatCallback(callback, in_tree)
    debug_callback_p.bind(
        *values,
        callback=_WithStatics(flat, static) if static else flat,
        effect=effects.ordered_debug_effect if ordered else effects.debug_effect,
        partitioned=partitioned,
    )


# ------------------------------------------------------------------------------ printing


class _Formatter(string.Formatter):
    """A formatter that checks that a format string uses all its arguments."""

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        unused = [x.value for i, x in enumerate(args) if i not in used_args]
        names = [k for k in kwargs if k not in used_args]
        if unused:
            raise ValueError(f"Unused positional arguments to `jax.debug.print`: {unused}")
        if names:
            raise ValueError(
                f"Unused keyword arguments to `jax.debug.print`: {names}. You may be"
                ' passing an f-string (i.e, `f"{x}"`) into `jax.debug.print` and instead'
                " should pass in a regular string."
            )


_formatter = _Formatter()


class _Placeholder:
    """A stand-in for a value while a format string is checked."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __format__(self, spec: str) -> str:
        return ""

    def __getattr__(self, name: str) -> Any:
        return self

    def __getitem__(self, item: Any) -> Any:
        return self


def _check_format(fmt: str, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    holes = [_Placeholder(x) for x in args]
    try:
        _formatter.vformat(fmt, holes, {k: _Placeholder(x) for k, x in kwargs.items()})
    except IndexError:
        raise IndexError(
            f"tuple index out of range: the format string {fmt!r} has more placeholders"
            f" than the {len(args)} values."
        ) from None


def debug_print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    _use_logging: bool = False,
    **kwargs: Any,
) -> Any:
    """Print values from inside compiled code.

    Args:
      fmt: a format string such as `'x = {}'` (not an f-string, which has no values yet), as
        for `str.format`; one without placeholders is printed unchanged.  Without `fmt` the
        options are stored, and the result takes it: `print(ordered=True)('x = {}', x)`.
      args, kwargs: pytrees of arrays, or other values to print.
      ordered: keep the order of the program among ordered effects (on each replica).
      partitioned: for a sharded value, print each shard.
      skip_format_check: allow values without a placeholder in `fmt`; if it has none at
        all, they are printed after it.

    Returns:
      None; without `fmt`, a function that takes it and the values.

    Raises:
      ValueError: arguments that `fmt` does not use.
      IndexError, KeyError: placeholders without an argument.
      TypeError: `fmt` is not a string.

    Example:
      >>> debug_print('x is {x}', x=1)
      x is 1
    """
    options = {
        "ordered": ordered,
        "partitioned": partitioned,
        "check": not skip_format_check,
        "log": _use_logging,
    }
    if fmt is None:
        return lambda fmt, *args, **kwargs: _print(fmt, args, kwargs, **options)
    return _print(fmt, args, kwargs, **options)


def _print(
    fmt: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    ordered: bool,
    partitioned: bool,
    check: bool,
    log: bool,
) -> None:
    if not isinstance(fmt, str):
        raise TypeError(
            f"expected str, got {type(fmt).__name__}: the first argument of debug.print is"
            " a format string."
        )
    if check:
        _check_format(fmt, args, kwargs)
    fields = [field for _, field, _, _ in string.Formatter().parse(fmt)]
    leaves, in_tree = tree.flatten((args, kwargs))
    static, values = split_static(leaves)
    debug_print_p.bind(
        *values,
        fmt=fmt,
        ordered=ordered,
        partitioned=partitioned,
        in_tree=in_tree,
        static_args=static,
        np_printoptions=tuple(np.get_printoptions().items()),
        has_placeholders=any(f is not None for f in fields),
        logging_record=_record() if log else None,
    )


def _record() -> logging.LogRecord:
    """Return a log record of the user's line, without its text."""
    user_line = source.user_source()
    file, line = ("", 0) if user_line is None else (user_line.file, user_line.position()[0])
    return logger.makeRecord(logger.name, logging.INFO, file, line, "", (), None)


def debug_log(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    _use_logging: bool = True,
    **kwargs: Any,
) -> Any:
    """Write values from inside compiled code to the log `minijax.debug`, at level
    INFO.

    The record has the file and line of the call.

    Args:
      fmt: a format string, as for `debug.print`; without it the options are stored, and
        the result takes it.
      args, kwargs: pytrees of arrays, or other values to log.
      ordered: keep the order of the program among ordered effects (on each replica).
      partitioned: for a sharded value, log each shard.
      skip_format_check: allow values without a placeholder in `fmt`.
      _use_logging: False: print them, as `debug.print` does.

    Returns:
      None; without `fmt`, a function that takes it and the values.

    Raises:
      ValueError: arguments that `fmt` does not use.
      IndexError, KeyError: placeholders without an argument.
      TypeError: `fmt` is not a string.

    Example:
      >>> debug_log('x is {}', 1)
    """
    return debug_print(
        fmt,
        *args,
        ordered=ordered,
        partitioned=partitioned,
        skip_format_check=skip_format_check,
        _use_logging=_use_logging,
        **kwargs,
    )
