"""Universal functions: `jnp.ufunc`, `frompyfunc`, and the methods of `add` and others.

A ufunc works elementwise and carries `reduce`, `accumulate`, `at`, `outer` and `reduceat`.
The methods of NumPy's own functions use existing reductions; for any other function, the
general methods here scan the axis.  `jnp.add(...)` calls the compiled function (see
ufuncs.py) directly: each of these ufuncs has its own class, whose `__call__` is that
function.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...base import errors
from ...base.source import name_of
from ...base.util import owns_memos
from ...control.arguments import check_callable
from ...control.body_staging import kept_by
from ...control.calls.jit import composite
from ...control.loop_functions.scan import run_scan
from ...prims import lax
from ...prims.elementwise import const
from ...types import dtypes
from . import elementwise, reductions, running, ufuncs
from ._common import (
    as_array,
    aval_of,
    canonical_axes,
    canonical_axis,
    check_arraylike,
    choose,
    convert,
    shape_of,
    static_dtype,
)
from .creation import asarray
from .functional import vectorize
from .manipulation import broadcast_arrays, broadcast_to, expand_dims, moveaxis, ravel, reshape
from .ranges import arange

# The public module exports the functions of UFUNCS with the methods that they have here.
__all__ = ("ufunc", "frompyfunc", *ufuncs.UFUNCS)


@owns_memos
class ufunc:
    """An elementwise function with reductions along axes.

    Args:
      func: a function of `nin` scalars with `nout` results.
      nin, nout: numbers of arguments and results.
      name: the name (default: the function's name).
      nargs: number of arguments that `func` may take.
      identity: the neutral value, or None.
      call, reduce, accumulate, at, reduceat: faster implementations than the general ones.

    Example:
      >>> import minijax.numpy as jnp
      >>> times = jnp.frompyfunc(lambda x, y: x * y, 2, 1, identity=1)
      >>> times.reduce(jnp.array([2., 3., 4.]))
      Array(24., dtype=float32)
    """

    __module__ = "minijax.numpy"

    def __init__(
        self,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: Any = None,
        call: Callable[..., Any] | None = None,
        reduce: Callable[..., Any] | None = None,
        accumulate: Callable[..., Any] | None = None,
        at: Callable[..., Any] | None = None,
        reduceat: Callable[..., Any] | None = None,
    ) -> None:
        self.func = func
        self.__name__ = name or name_of(func)
        self.__doc__ = func.__doc__
        self._arity = nin, nout, nin if nargs is None else nargs, identity
        self._special_methods = (call, reduce, accumulate, at, reduceat)
        self._call = call or vectorize(func)

    @property
    def nin(self) -> int:
        """Number of arguments."""
        return self._arity[0]

    @property
    def nout(self) -> int:
        """Number of results."""
        return self._arity[1]

    @property
    def nargs(self) -> int:
        """Number of arguments that the function accepts."""
        return self._arity[2]

    @property
    def identity(self) -> Any:
        """Neutral value, or None."""
        return self._arity[3]

    def _key(self) -> Any:
        return (
            self.func,
            self.__name__,
            self.nin,
            self.nout,
            self.nargs,
            self._special_methods,
        )

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ufunc)
            and self._key() == other._key()
            and self.identity is other.identity
        )

    def __repr__(self) -> str:
        return f"<jnp.ufunc {self.__name__!r}>"

    def __call__(self, *args: Any, out: None = None, where: None = None) -> Any:
        """Apply the function elementwise to arrays that broadcast."""
        if out is not None:
            raise NotImplementedError(f"out argument of {self}")
        if where is not None:
            raise NotImplementedError(f"where argument of {self}")
        return self._call(*args)

    def reduce(
        self,
        a: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        """Combine all elements along an axis, first to last, with the function."""
        self._check("reduce", out)
        special = self._special_methods[1] or functools.partial(fold, self)
        check_arraylike(f"{self.__name__}.reduce", a)
        if where is not None and self.identity is None and initial is None:
            raise ValueError(
                f"reduction operation {self.__name__!r} does not have an identity, so"
                " to use a where mask one has to specify 'initial'."
            )
        return special(
            a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where
        )

    def accumulate(self, a: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
        """Return the result of `reduce` for every prefix of the axis."""
        self._check("accumulate", out)
        check_arraylike(f"{self.__name__}.accumulate", a)
        special = self._special_methods[2] or functools.partial(running_fold, self)
        return special(a, axis=axis, dtype=dtype)

    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        """Return `a` with the function applied at some positions, once per occurrence."""
        if inplace:
            raise NotImplementedError(
                "Because JAX arrays are immutable, jnp.ufunc.at() cannot operate"
                " inplace like np.ufunc.at(). Instead, you can pass inplace=False and"
                " capture the result."
            )
        special = self._special_methods[3] or functools.partial(apply_at, self)
        return special(asarray(a), indices) if b is None else special(asarray(a), indices, b)

    def outer(self, A: Any, B: Any, /) -> Any:
        """Apply the function to every pair of elements of A and B."""
        if self.nin != 2:
            raise ValueError("outer only supported for binary ufuncs")
        check_arraylike(f"{self.__name__}.outer", A, B)
        ones = (1,) * len(shape_of(B))
        return self(reshape(A, shape_of(A) + ones), B)

    def reduceat(
        self, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: None = None
    ) -> Any:
        """Return `reduce` of the segments of an axis that begin at `indices`."""
        self._check("reduceat", out)
        check_arraylike(f"{self.__name__}.reduceat", a, indices)
        special = self._special_methods[4] or functools.partial(fold_segments, self)
        reduceat = functools.partial(special, axis=axis, dtype=dtype)
        axis = canonical_axis(axis, len(shape_of(a)))
        if not math.prod(shape_of(indices)):  # slice the result of one to none
            some = lax.full(_resized(a, axis, 1), 0, aval_of(as_array(a)).dtype)
            return lax.slice_in_dim(reduceat(some, np.zeros(1, int)), 0, 0, axis=axis)
        if not shape_of(a)[axis]:
            raise errors.error(
                IndexError,
                "Cannot do a non-empty jnp.take() from an empty axis.",
                which=f"axis {axis} of a, which has shape {shape_of(a)}",
                why=f"{self.__name__}.reduceat reads an element at each index.",
            )
        return reduceat(a, indices)

    def _check(self, method: str, out: Any) -> None:
        if self.nin != 2 or self.nout != 1:
            raise ValueError(f"{method} only supported for binary ufuncs")
        if out is not None:
            raise NotImplementedError(f"out argument of {self}.{method}()")


def _resized(a: Any, axis: int, size: int) -> tuple[int, ...]:
    """Return the shape of `a` with another size along one axis."""
    shape = shape_of(a)
    return (*shape[:axis], size, *shape[axis + 1 :])


def frompyfunc(
    func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None
) -> ufunc:
    """Return a ufunc from a function of scalars.

    Args:
      func: the function.
      nin, nout: numbers of arguments and results.
      identity: the neutral value, if it exists.

    Returns:
      A `ufunc` that broadcasts its arguments, and has `reduce`, `accumulate`, `at`,
      `reduceat` and `outer`.

    Raises:
      TypeError: `func` is not a function.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.frompyfunc(lambda x, y: x + y, 2, 1)(jnp.ones(2), 1)
      Array([2., 2.], dtype=float32)
    """
    check_callable(func)
    return ufunc(func, nin, nout, identity=identity)


# ----------------------------------------------------------------- the general methods


def fold(f: ufunc, a, *, axis, dtype, keepdims: bool, initial, where):
    """Evaluate `reduce` with a scan along the axis."""
    if isinstance(axis, (tuple, list)):
        raise NotImplementedError("tuple of axes")
    rank = len(shape_of(a))
    if where is not None:
        a, where = broadcast_arrays(a, where)
    if axis is None:
        a, axis, keepdims_shape = ravel(a), 0, (1,) * rank
        where = None if where is None else ravel(where)
    else:
        axis = canonical_axis(axis, rank)
        keepdims_shape = shape_of(a)[:axis] + (1,) + shape_of(a)[axis + 1 :]
    result_dtype = aval_of(a).dtype if dtype is None else static_dtype(dtype, f.__name__)
    if initial is None and shape_of(a)[axis] == 0 and f.identity is None:
        raise ValueError(
            f"zero-size array to reduction operation {f.__name__} which has no identity"
        )
    out = _compiled(f, _fold)(a, initial, where, axis, result_dtype)
    return reshape(out, keepdims_shape) if keepdims else out


def _compiled(f: ufunc, walk: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that scans an axis with a ufunc, as one compiled call."""
    return kept_by(f, _walking, walk)  # type: ignore[no-any-return]


def _walking(f: ufunc, walk: Callable[..., Any]) -> Callable[..., Any]:
    static = [n for n in ("axis", "dtype") if n in walk.__code__.co_varnames]
    return composite(functools.partial(walk, f), static=static)  # type: ignore[no-any-return]


def _fold(f: ufunc, a: Any, initial: Any, where: Any, axis: int, dtype: Any) -> Any:
    rows = convert(moveaxis(a, axis, 0), dtype)
    masks = None if where is None else moveaxis(where, axis, 0)
    shape = shape_of(rows)[1:]
    start = f.identity if initial is None else initial
    if start is None or (initial is None and where is None and shape_of(rows)[0]):
        first, rows = lax.split(rows, (1, shape_of(rows)[0] - 1), 0)
        start = lax.squeeze(first, (0,))
    start = convert(broadcast_to(start, shape), dtype)

    def step(carry: Any, row: Any) -> Any:
        x, mask = row
        out = convert(f(carry, x), dtype)
        return (out if mask is None else choose(mask, out, carry)), None

    return run_scan(step, start, (rows, masks))[0]


def running_fold(f: ufunc, a: Any, *, axis: Any, dtype: Any) -> Any:
    """Evaluate `accumulate` with a scan along the axis."""
    if axis is None or isinstance(axis, (tuple, list)):
        raise ValueError(f"{f.__name__}.accumulate takes one axis, got {axis!r}")
    axis = canonical_axis(operator.index(axis), len(shape_of(a)))
    result_dtype = aval_of(a).dtype if dtype is None else static_dtype(dtype, f.__name__)
    return _compiled(f, _running_fold)(a, axis, result_dtype)


def _running_fold(f: ufunc, a: Any, axis: int, dtype: Any) -> Any:
    rows = convert(moveaxis(a, axis, 0), dtype)
    if not shape_of(rows)[0]:
        return as_array(moveaxis(rows, 0, axis))
    first, rest = lax.split(rows, (1, shape_of(rows)[0] - 1), 0)

    def step(carry: Any, x: Any) -> Any:
        out = convert(f(carry, x), dtype)
        return out, out

    _, outs = run_scan(step, lax.squeeze(first, (0,)), rest)
    return moveaxis(lax.concatenate([first, outs], 0), 0, axis)


def apply_at(f: ufunc, a: Any, indices: Any, *b: Any) -> Any:
    """Evaluate `at`, one position after another."""
    shape = shape_of(a)
    positions = reshape(arange(math.prod(shape)), shape)[indices]
    if not b:
        return reshape(_compiled(f, _apply_at)(ravel(a), ravel(positions), None), shape)
    values = broadcast_to(b[0], shape_of(positions))
    return reshape(_compiled(f, _apply_at)(ravel(a), ravel(positions), ravel(values)), shape)


def _apply_at(f: ufunc, flat: Any, positions: Any, values: Any) -> Any:
    def step(carry: Any, item: Any) -> Any:
        position, value = item
        old = carry[position]
        new = f(old) if value is None else f(old, value)
        return carry.at[position].set(convert(new, aval_of(carry).dtype)), None

    return run_scan(step, flat, (positions, values))[0]


def fold_segments(f: ufunc, a: Any, indices: Any, *, axis: Any, dtype: Any) -> Any:
    """Evaluate `reduceat` for all segments, with one scan along the axis."""
    if axis is None or isinstance(axis, (tuple, list)):
        raise ValueError("reduceat requires a single integer axis.")
    axis = canonical_axis(operator.index(axis), len(shape_of(a)))
    result_dtype = aval_of(a).dtype if dtype is None else static_dtype(dtype, f.__name__)
    return _compiled(f, _fold_segments)(a, indices, axis, result_dtype)


def _fold_segments(f: ufunc, a: Any, indices: Any, axis: int, dtype: Any) -> Any:
    rows = convert(moveaxis(a, axis, 0), dtype)
    size, rank = shape_of(rows)[0], len(shape_of(rows))
    starts = convert(indices, dtypes.int32)
    last = lax.full((1,), size, dtypes.int32)
    stops = lax.concatenate([lax.split(starts, (1, shape_of(starts)[0] - 1), 0)[1], last], 0)

    def step(carry: Any, item: Any) -> Any:
        position, row = item
        inside = lax.bitwise_and(
            lax.gt(_like(position, starts), starts), lax.lt(_like(position, starts), stops)
        )
        inside = expand_dims(inside, tuple(range(1, rank))) if rank > 1 else inside
        out = convert(f(carry, row), dtype)
        return choose(inside, out, carry), None

    first = rows[starts]
    out, _ = run_scan(step, first, (lax.iota(dtypes.int32, size), rows))
    return moveaxis(out, 0, axis)


def _like(position: Any, others: Any) -> Any:
    return lax.broadcast_in_dim(position, shape_of(others), ())


# ------------------------------------------------------------------ NumPy's own ufuncs


def _sum_of_rest(a, *, axis, dtype, keepdims: bool, initial, where):
    """Evaluate subtract.reduce: the first element minus all others."""
    if where is not None or initial is not None or axis is None or isinstance(axis, tuple):
        return fold(
            subtract, a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where
        )
    axis = canonical_axis(axis, len(shape_of(a)))
    if shape_of(a)[axis] == 0:
        raise ValueError(
            "zero-size array to reduction operation subtract which has no identity"
        )
    sizes = (1, shape_of(a)[axis] - 1)
    first, rest = lax.split(as_array(a), sizes, axis)
    if dtype is not None:
        first = convert(first, static_dtype(dtype, "subtract"))
    total = reductions.sum(rest, axis=axis, dtype=aval_of(first).dtype, keepdims=True)
    out = lax.sub(first, total)
    return out if keepdims else lax.squeeze(out, (axis,))


def _reduce_bits(
    prim, identity, truth: bool, a, *, axis, dtype, keepdims: bool, initial, where
):
    """Evaluate the `reduce` of a bitwise function by one primitive."""
    a = as_array(a)
    a = ufuncs.truth(a) if truth else a
    a = a if dtype is None else convert(a, static_dtype(dtype, prim.name))
    if dtypes.is_inexact(aval_of(a).dtype):
        raise ValueError(f"integer argument required; got dtype={aval_of(a).dtype}")
    if where is not None:
        a = choose(where, a, const(a, identity))
    axes = canonical_axes(axis, len(shape_of(a)))
    out = prim.bind(a, axes=axes)
    if initial is not None:
        out = _COMBINE[prim](out, initial)
    return expand_dims(out, tuple(sorted(axes))) if keepdims else out


_COMBINE = {
    lax.reduce_and_p: ufuncs.bitwise_and,
    lax.reduce_or_p: ufuncs.bitwise_or,
    lax.reduce_xor_p: ufuncs.bitwise_xor,
}


def _log_of_sum(base, a, *, axis, dtype, keepdims: bool, initial, where):
    """Evaluate logaddexp.reduce: log(sum(exp(a))), scaled by the largest element."""
    a = as_array(a)
    if dtype is not None:
        a = convert(a, static_dtype(dtype, "logaddexp"))
    if not dtypes.is_inexact(aval_of(a).dtype):
        a = convert(a, dtypes.to_inexact(aval_of(a).dtype))
    if where is not None:
        a = choose(where, a, const(a, -np.inf))
    high = reductions.max(a, axis=axis, keepdims=True, initial=-np.inf)
    high = choose(lax.is_finite(high), high, const(high, 0))
    shifted = ufuncs.subtract(a, high)
    grow, shrink = (ufuncs.exp, ufuncs.log) if base is None else (ufuncs.exp2, ufuncs.log2)
    total = reductions.sum(grow(shifted), axis=axis, keepdims=True)
    out = ufuncs.add(shrink(total), high)
    if not keepdims:
        out = reductions.max(out, axis=axis)
    if initial is not None:
        out = (elementwise.logaddexp if base is None else elementwise.logaddexp2)(out, initial)
    return out


def _extremum(reduction: Callable[..., Any]) -> Callable[..., Any]:
    """Return max or min as `reduce`."""

    def reduce(a: Any, *, dtype: Any, **rest: Any) -> Any:
        out = reduction(a, **rest)
        return out if dtype is None else convert(out, static_dtype(dtype, "reduce"))

    return reduce


def _truth_of_all(reduction: Callable[..., Any], combine: Any) -> Callable[..., Any]:
    """Return all or any as `reduce`."""

    def reduce(a: Any, *, dtype: Any, initial: Any, **rest: Any) -> Any:
        out = reduction(a, **rest)
        if initial is not None:
            out = combine(out, initial)
        return out if dtype is None else convert(out, static_dtype(dtype, "reduce"))

    return reduce


def _running(op: Callable[..., Any]) -> Callable[..., Any]:
    """Return cummax or cummin as `accumulate`."""

    def accumulate(a: Any, *, axis: int, dtype: Any) -> Any:
        a = as_array(a)
        a = a if dtype is None else convert(a, static_dtype(dtype, "accumulate"))
        axis = canonical_axis(axis, len(shape_of(a)))
        if dtypes.is_bool(aval_of(a).dtype):
            return ufuncs.truth(op(convert(a, dtypes.uint8), axis))
        return op(a, axis)

    return accumulate


def _update(name: str) -> Callable[..., Any]:
    """Return `at` by one scatter."""
    return lambda a, indices, b: getattr(a.at[indices], name)(b)


def _negate_at(a: Any, indices: Any) -> Any:
    return a.at[indices].set(ufuncs.negative(a[indices]))


def _ufunc(
    fun,
    nin: int,
    identity,
    reduce: Callable[..., Any] | None = None,
    accumulate: Callable[..., Any] | None = None,
    at: Callable[..., Any] | None = None,
    reduceat: Callable[..., Any] | None = None,
) -> ufunc:
    """Return the ufunc of a compiled function, which its `__call__` calls directly."""
    # Python looks up __call__ on the type: with the compiled function there, a call does not
    # enter a Python frame first.
    space = {
        "__call__": staticmethod(fun),
        "__module__": "minijax.numpy",
        "__reduce__": lambda self: self.__name__,  # a pickle stores only the name
    }
    instance = type("ufunc", (ufunc,), space)(
        fun.__wrapped__,
        nin,
        1,
        name=fun.__name__,
        identity=identity,
        call=fun,
        reduce=reduce,
        accumulate=accumulate,
        at=at,
        reduceat=reduceat,
    )
    owns_memos(type(instance))  # registration does not extend to subclasses
    instance.__qualname__ = instance.__name__
    instance.__wrapped__ = fun.__wrapped__
    return instance


def _bits(prim: Any, identity: Any, truth: bool = False) -> Callable[..., Any]:
    return functools.partial(_reduce_bits, prim, identity, truth)


_running_sum = lambda a, *, axis, dtype: running.cumsum(a, axis, dtype)
_running_product = lambda a, *, axis, dtype: running.cumprod(a, axis, dtype)

add = _ufunc(ufuncs.add, 2, 0, reductions.sum, _running_sum, _update("add"))
subtract = _ufunc(ufuncs.subtract, 2, None, _sum_of_rest, None, _update("subtract"))
multiply = _ufunc(ufuncs.multiply, 2, 1, reductions.prod, _running_product, _update("multiply"))
negative = _ufunc(ufuncs.negative, 1, None, at=_negate_at)
maximum = _ufunc(
    ufuncs.maximum, 2, None, _extremum(reductions.max), _running(lax.cummax), _update("max")
)
minimum = _ufunc(
    ufuncs.minimum, 2, None, _extremum(reductions.min), _running(lax.cummin), _update("min")
)
bitwise_and = _ufunc(ufuncs.bitwise_and, 2, -1, _bits(lax.reduce_and_p, -1))
bitwise_or = _ufunc(ufuncs.bitwise_or, 2, 0, _bits(lax.reduce_or_p, 0))
bitwise_xor = _ufunc(ufuncs.bitwise_xor, 2, 0, _bits(lax.reduce_xor_p, 0))
logaddexp = _ufunc(elementwise.logaddexp, 2, -np.inf, functools.partial(_log_of_sum, None))
logaddexp2 = _ufunc(elementwise.logaddexp2, 2, -np.inf, functools.partial(_log_of_sum, 2))


def _logical_ufunc(fun: Any, identity: bool, reduce: Callable[..., Any]) -> ufunc:
    """Return the ufunc of a logical function, whose general methods scan bools."""

    def accumulate(a: Any, *, axis: int, dtype: Any) -> Any:
        return running_fold(logical, ufuncs.truth(as_array(a)), axis=axis, dtype=dtype)

    def reduceat(a: Any, indices: Any, *, axis: Any, dtype: Any) -> Any:
        truths = ufuncs.truth(as_array(a))
        return fold_segments(logical, truths, indices, axis=axis, dtype=dtype)

    logical = _ufunc(fun, 2, identity, reduce, accumulate, reduceat=reduceat)
    return logical


logical_and = _logical_ufunc(
    ufuncs.logical_and, True, _truth_of_all(reductions.all, ufuncs.logical_and)
)
logical_or = _logical_ufunc(
    ufuncs.logical_or, False, _truth_of_all(reductions.any, ufuncs.logical_or)
)
logical_xor = _logical_ufunc(
    ufuncs.logical_xor, False, _bits(lax.reduce_xor_p, False, truth=True)
)
