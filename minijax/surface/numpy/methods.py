"""Operators, methods and properties, which are installed in `Array` and `Tracer`.

`x + y` on arrays is a compiled call from C++; on tracers it is the Python function behind
it.  For an operand that is not an array, it returns NotImplemented, and Python tries the
operand's own operator. Methods are the functions of the same names.

Next: runtime/arrays/array_methods.py, which lists the methods that are installed here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...base import above, errors, util
from ...control.calls.jit import composite
from ...ir import core
from ...ir.core import EVAL, STATE, Tracer
from ...prims import lax
from ...runtime.arrays import array as arrays
from ...runtime.arrays import array_methods
from ...runtime.arrays.array import ArrayImpl
from ...runtime.arrays.row_access import is_row_sharded, iterate_rows
from ...runtime.sharding import placement
from ...types import dtypes
from . import (
    conversion,
    diagonals,
    elementwise,
    indexing,
    linear,
    manipulation,
    moments,
    rearrange,
    reductions,
    running,
    searching,
    selection,
    sorting,
    ufuncs,
)
from .standard import API_VERSIONS
from .updates import _IndexUpdateHelper

_QUICK = frozenset((ArrayImpl, int, float, bool, complex, np.ndarray))
_SEQUENCES = (list, tuple, set, dict)


# --------------------------------------------------------------------------- operators


def accepts(symbol: str, swapped: bool = False) -> Callable[[Any, Any], bool]:
    """Return the predicate of an operator's operands; it raises TypeError for lists.

    For comparisons by order, and for subclasses of list, Python tries the operand's own
    operator.
    """
    orders = symbol in ("<", "<=", ">", ">=")

    def check(x: Any, y: Any) -> bool:
        for v in (x, y):
            if type(v) in _QUICK:
                continue
            # Exact types: a subclass may define the operator itself.
            if type(v) in _SEQUENCES and not orders:
                raise TypeError(
                    sequence_operand_message(symbol, *((y, x) if swapped else (x, y)))
                )
            if not core.is_value(v):
                return False
        return True

    return check


def sequence_operand_message(symbol: str, x: Any, y: Any) -> str:
    """Return the message for an operator between an array and a list, in Python's order."""
    return errors.message(
        f"unsupported operand type(s) for {symbol}:"
        f" {type(x).__name__!r} and {type(y).__name__!r}",
        which=f"{errors.type_text(x)} {symbol} {errors.type_text(y)}",
        why="lists, tuples, sets and dicts are not converted silently.",
        tries=["jnp.asarray(...) around it"],
    )


def on_tracers(fun: Any, check: Any) -> Any:
    """Return a binary operator for tracers."""

    def method(self: Any, other: Any) -> Any:
        accepted = type(other) in _QUICK or isinstance(other, Tracer)
        return fun(self, other) if accepted or check(self, other) else NotImplemented

    return method


def reflected(fun: Any) -> Any:
    """Return the function with its operands swapped."""

    def swapped(x: Any, y: Any) -> Any:
        return fun(y, x)

    # The name of the compiled program, and of the function in messages.
    swapped.__name__ = fun.__name__
    swapped.__qualname__ = fun.__name__
    swapped.__module__ = fun.__module__
    return swapped


_BINARY: dict[str, tuple[str, Any]] = {
    "add": ("+", ufuncs.add),
    "sub": ("-", ufuncs.subtract),
    "mul": ("*", ufuncs.multiply),
    "truediv": ("/", ufuncs.divide),
    "floordiv": ("//", elementwise.floor_divide),
    "mod": ("%", elementwise.remainder),
    "divmod": ("divmod()", elementwise.divmod),
    "matmul": ("@", linear.matmul),
    "and": ("&", ufuncs.bitwise_and),
    "or": ("|", ufuncs.bitwise_or),
    "xor": ("^", ufuncs.bitwise_xor),
    "lshift": ("<<", ufuncs.left_shift),
    "rshift": (">>", ufuncs.right_shift),
}
_COMPARE: dict[str, tuple[str, Any]] = {
    "eq": ("==", ufuncs.equal),
    "ne": ("!=", ufuncs.not_equal),
    "lt": ("<", ufuncs.less),
    "le": ("<=", ufuncs.less_equal),
    "gt": (">", ufuncs.greater),
    "ge": (">=", ufuncs.greater_equal),
}


_UNARY: dict[str, Any] = {
    "neg": ufuncs.negative,
    "pos": ufuncs.positive,
    "abs": ufuncs.absolute,
    "invert": ufuncs.bitwise_not,
}


def install_operators() -> None:
    """Set the binary operators and comparisons."""
    for name, (symbol, public) in {**_BINARY, **_COMPARE}.items():
        # The Python function: each operator is its own `composite`, with `accepts`.
        fun = public.__wrapped__
        check = accepts(symbol)
        set_operator(f"__{name}__", fun, check)
        if name in _BINARY:
            check = accepts(symbol, swapped=True)
            set_operator(f"__r{name}__", reflected(fun), check)


def set_operator(name: str, fun: Any, check: Any) -> None:
    """Set one binary operator: compiled on arrays, the plain function on tracers."""
    arrays.set_method(name, composite(fun, accepts=check))
    setattr(Tracer, name, on_tracers(fun, check))


def power(x: Any, y: Any) -> Any:
    """Return `x ** y`; an int `y` is part of the program."""
    return elementwise.power(x, y) if _accepts_power(x, y) else NotImplemented


_accepts_power = accepts("** or pow()")
_accepts_reflected_power = accepts("** or pow()", swapped=True)


def reflected_power(x: Any, y: Any) -> Any:
    """Return `y ** x` for an array `x`."""
    return elementwise.power(y, x) if _accepts_reflected_power(x, y) else NotImplemented


def rounded(self: Any, ndigits: int | None = None) -> Any:
    """Round to integers, or with `ndigits` to decimals in the same dtype."""
    if ndigits is None:
        return conversion.astype(elementwise.round(self), int)
    return elementwise.round(self, ndigits)


def iterate(self: Any) -> Iterator[Any]:
    """Return an iterator over the rows of an array."""
    if not self.shape:
        raise TypeError("iteration over a 0-d array")
    eager = STATE.trace is EVAL and not isinstance(self, Tracer)
    if eager and not placement.placement_of(self):
        return multi_device_rows(self)
    if eager:
        if may_be_keys(self) and self.shape[0] <= 16:
            return iter(rows_at_once(self))
        if type(self) is ArrayImpl:
            aval = self.aval
            if aval in _iterated:
                return rows_in_chunks(self, aval.shape[0])
            util.remember(_iterated, aval, True, 1024)
            return iterate_rows(self)
    return (indexing.getitem(self, i) for i in range(int(self.shape[0])))


# Types of arrays that were iterated over: compiling pays off from the second time.
_iterated: dict[Any, bool] = util.cache({})
_CHUNK = 100  # rows per call; the time to compile grows with the number of results


def multi_device_rows(x: Any) -> Iterator[Any]:
    """Return the rows of a multi-device array, on one device where that is cheaper.

    An array that is not sharded by rows is read once, and its rows are uncommitted: one
    program per row, on all devices, would take many times as long.
    """
    if x.is_fully_replicated:
        return rows_in_chunks(x, x.shape[0])
    if x.is_fully_addressable and not (type(x) is ArrayImpl and is_row_sharded(x)):
        return iterate_rows(x)
    return (indexing.getitem(x, i) for i in range(x.shape[0]))


def rows_in_chunks(x: Any, n: int) -> Iterator[Any]:
    """Return the rows of an array, 100 per call of a compiled program."""
    if n <= _CHUNK:
        return iter(rows_at_once(x))
    n_chunked = n - n % _CHUNK
    chunks = (
        rows_at_once(lax.dynamic_slice_in_dim(x, start, _CHUNK))
        for start in range(0, n_chunked, _CHUNK)
    )
    rest = [lax.slice_in_dim(x, n_chunked, n)] if n_chunked < n else []
    last = (rows_at_once(piece) for piece in rest)
    return itertools.chain.from_iterable(itertools.chain(chunks, last))


def may_be_keys(x: Any) -> bool:
    """Whether an array has the type of raw random keys, which are few and soon split."""
    if type(x) is not ArrayImpl:
        return True
    return x.dtype == dtypes.uint32 and x.ndim == 2 and x.shape[1] <= 4


@composite
def rows_at_once(x: Any) -> Any:
    """Return all rows, by one compiled program."""
    return lax.unstack(x)


def contains(self: Any, value: Any) -> bool:
    """Evaluate `value in x` for an array of one axis."""
    if self.ndim != 1:
        raise ValueError(
            "Array.__contains__: search array must be one-dimensional, got"
            f" arr.shape={self.shape}."
        )
    if core.aval_of(value).shape:
        raise ValueError(
            "Array.__contains__: value must be a scalar, got"
            f" value.shape={core.aval_of(value).shape}."
        )
    return bool(reductions.any(ufuncs.equal(self, value)))


def no_deletion(self: Any, index: Any) -> None:
    """Raise on `del x[i]`, as for a missing attribute."""
    raise AttributeError("__delitem__: arrays are immutable; jnp.delete(x, i) makes another")


def no_assignment(self: Any, idx: Any, value: Any) -> None:
    """Raise on `x[i] = y`."""
    raise errors.type_error(
        "JAX arrays are immutable and do not support in-place item assignment."
        " Instead of x[idx] = y, use x = x.at[idx].set(y) or another .at[] method.",
        which=errors.type_text(self),
        tries=["x = x.at[idx].set(y)", "x.at[idx].add(y), ..."],
    )


# --------------------------------------------------------------- methods, properties


def astype(self: Any, dtype: Any, copy: bool = False, device: Any = None) -> Any:
    """Convert the elements to a dtype; None means the default float."""
    return conversion.astype(self, dtype, copy=copy, device=device)


def reshape(self: Any, *args: Any, order: str = "C", out_sharding: Any = None) -> Any:
    """Return the elements in another shape, given as one tuple or as sizes."""
    shape = args[0] if len(args) == 1 else args
    return manipulation.reshape(self, shape, order, out_sharding=out_sharding)


def transpose(self: Any, *args: Any) -> Any:
    """Permute the axes: reverse them, or use one tuple or several numbers."""
    axes: Any = args or None
    if len(args) == 1:
        axes = args[0] if args[0] is None or np.ndim(args[0]) else args
    return manipulation.transpose(self, axes)


def flatten(self: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """Return the elements in an array of one axis."""
    return manipulation.ravel(self, order, out_sharding=out_sharding)


def clip(self: Any, min: Any = None, max: Any = None) -> Any:
    """Clip the elements to the bounds."""
    return elementwise.clip(self, min, max)


def compress(
    self: Any,
    condition: Any,
    axis: int | None = None,
    *,
    out: None = None,
    size: int | None = None,
    fill_value: Any = 0,
) -> Any:
    """Return the slices along an axis where a mask is true."""
    return selection.compress(condition, self, axis, size=size, fill_value=fill_value, out=out)


def view(self: Any, dtype: Any = None, type: None = None) -> Any:
    """Reinterpret the bits as another dtype."""
    if type is not None:
        raise NotImplementedError("`type` argument of array.view() is not supported.")
    return conversion.view(self, dtype)


def to_device(self: Any, device: Any, *, stream: Any = None) -> Any:
    """Return a copy on another device."""
    if stream is not None:
        raise NotImplementedError("stream argument of array.to_device()")
    from ...api.devices import device_put

    return device_put(self, device)


def array_namespace(self: Any, *, api_version: str | None = None) -> Any:
    """Return the module with the array API's functions."""
    if api_version not in (None, *API_VERSIONS):
        raise ValueError(
            f"api_version={api_version!r} is not available; available versions are:"
            f" {list(API_VERSIONS)}"
        )
    return above.load("array_namespace")


# Functions that are methods under their own names.
_SAME = (
    reductions.all, reductions.any, reductions.argmax, reductions.argmin,
    conversion.byteswap, sorting.argpartition, sorting.argsort, astype,
    selection.choose, clip, compress,
    ufuncs.conjugate, conversion.copy, running.cumprod, running.cumsum,
    diagonals.diagonal, linear.dot, flatten, reductions.max, moments.mean,
    reductions.min, searching.nonzero, reductions.prod, reductions.ptp,
    manipulation.ravel, rearrange.repeat, reshape, elementwise.round,
    searching.searchsorted, sorting.sort, manipulation.squeeze, moments.std,
    reductions.sum, manipulation.swapaxes, indexing.take, diagonals.trace, transpose,
    moments.var, view, to_device,
)  # fmt: skip
_METHODS: dict[str, Any] = {
    **{fun.__name__: fun for fun in _SAME},
    "__array_namespace__": array_namespace,
    "__round__": rounded,
    "__getitem__": indexing.getitem,
    "__iter__": iterate,
    "__contains__": contains,
    "__setitem__": no_assignment,
    "__delitem__": no_deletion,
    "__pow__": power,
    "__rpow__": reflected_power,
    "conj": ufuncs.conjugate,
}


def flat(self: Any) -> Any:
    """Raise on `x.flat`."""
    raise NotImplementedError(
        "JAX Arrays do not implement the arr.flat property: consider arr.flatten() instead."
    )


# name -> (function of the array, docstring)
_PROPERTIES: dict[str, tuple[Any, str]] = {
    "T": (
        lambda self: manipulation.transpose(self),
        "The array with its axes reversed; see `minijax.numpy.transpose`.",
    ),
    "mT": (
        lambda self: manipulation.matrix_transpose(self),
        "The array with its last two axes swapped; see `minijax.numpy.matrix_transpose`.",
    ),
    "real": (lambda self: ufuncs.real(self), "The real parts."),
    "imag": (lambda self: ufuncs.imag(self), "The imaginary parts; zeros for real x."),
    "at": (
        _IndexUpdateHelper,
        "`x.at[i].set(y)` is x with y at i; so are add, multiply, min, max, get ...",
    ),
    "flat": (flat, "Not supported: `x.flatten()` returns the elements in one axis."),
    "nbytes": (
        lambda self: self.size * self.dtype.itemsize,
        "The size of all elements in bytes.",
    ),
    "itemsize": (lambda self: self.dtype.itemsize, "The size of one element in bytes."),
}


def install() -> None:
    """Install operators, methods and properties in `Array` and `Tracer`."""
    install_operators()
    for name, fun in _UNARY.items():
        arrays.set_method(f"__{name}__", fun)
        setattr(Tracer, f"__{name}__", fun.__wrapped__)
    array_methods.install(_METHODS)
    array_methods.install(
        {name: property(get, doc=doc) for name, (get, doc) in _PROPERTIES.items()}
    )


install()
