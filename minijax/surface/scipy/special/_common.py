"""Helpers of special functions: declarations, argument checks, power series.

A function is declared by its summary with the formula, descriptions of its arguments, and
an example.  `special` builds the docstring from them and makes the function one compiled
call, which is inlined under tracing.

Next: logarithms.py.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....api.vjp import vjp
from ....base import errors, util
from ....control.calls.jit import composite, jit
from ....control.rules.custom_jvp import SymbolicZero, custom_jvp
from ....ir.core import aval_of
from ....prims import lax
from ....prims.elementwise import const, filled
from ....prims.special.bessel import enough
from ....prims.special.double_double import rounded
from ....prims.special.log_gamma import polynomial
from ....types import dtypes
from ...numpy._common import (
    ArrayLike,
    as_array,
    broadcast_to,
    choose,
    convert,
    joint_shape,
    promote_args_inexact,
)

__all__ = (
    "ArrayLike",
    "broadcast_pair",
    "aval_of",
    "as_array",
    "by_slopes",
    "chebyshev",
    "choose",
    "composite",
    "const",
    "convert",
    "custom_jvp",
    "dtype_of",
    "dtypes",
    "errors",
    "filled",
    "in_float32",
    "lax",
    "subtract_precise",
    "np",
    "only_float",
    "polynomial",
    "promote_args_inexact",
    "promote_real",
    "special",
    "staged",
    "strip_weak_type",
)


def special(
    summary: str,
    example: str,
    *args: str,
    returns: str = "",
    raises: str = "",
    source: str = "",
    differs: str = "",
    static: Sequence[str] = (),
) -> Callable[[Any], Any]:
    """Return a decorator that documents a special function and makes it one compiled call.

    `example` is "0.5 -> 0.52050": the arguments of a call, and its printed result or
    results, whose digits set the format.  Each of `args` describes an argument.
    """
    many = len(args) > 1 or "," in args[0].partition(":")[0]
    joint = "their joint" if many else "its"

    def declare(fun: Any) -> Any:
        call_args, _, printed = example.partition(" -> ")
        digits = len(printed.rpartition(".")[2].rstrip("j"))
        call = f"special.{fun.__name__}({call_args})"
        if " " in printed:  # several results
            printing = f'print(*[f"{{y:.{digits}f}}" for y in {call}])'
        else:
            printing = f'print(f"{{{call}:.{digits}f}}")'
        sections = [
            summary,
            "\n  ".join(("Args:", *args)),
            f"Returns:\n  {returns or f'An array of {joint} shape and dtype.'}",
            f"Raises:\n  {raises}" if raises else "",
            f"Example:\n  >>> from minijax.scipy import special\n  >>> {printing}\n  {printed}",
            f"Source: {source}" if source else "",
            f"Differs from JAX: {differs}" if differs else "",
        ]
        fun.__doc__ = "\n\n".join(filter(None, sections)) + "\n"
        return composite(fun, static=static, floats=not static)

    return declare


def staged(fun: Any) -> Any:
    """Return a long function as a jitted call, traced once per type of its operands."""
    return jit(fun)


def dtype_of(x: Any) -> Any:
    """Return the dtype of an array-like value."""
    return aval_of(x).dtype


def promote_real(name: str, *xs: Any) -> Sequence[Any]:
    """Promote operands to one float dtype; raise ValueError if one is complex."""
    xs = tuple(promote_args_inexact(name, *xs))
    if dtypes.is_complex(dtype_of(xs[0])):
        raise errors.value_error(
            f"{name} does not support complex-valued inputs.",
            which=str(aval_of(xs[0]).str_short(True)),
            tries=["jnp.real(x)"],
        )
    return xs


def broadcast_pair(a: Any, b: Any) -> tuple[Any, Any]:
    """Broadcast two operands to their joint shape."""
    shape = joint_shape("mul", aval_of(a).shape, aval_of(b).shape)
    return broadcast_to(a, shape), broadcast_to(b, shape)


def by_slopes(fun: Callable[..., Any]) -> Any:
    """Return an elementwise function whose derivative stores one slope per operand.

    Differentiating a long formula operation by operation would store an array for each.
    One backward pass with cotangents of 1 computes all slopes.
    """

    @custom_jvp
    def call(*xs: Any) -> Any:
        return fun(*xs)

    def rule(primals: Any, tangents: Any) -> Any:
        differentiated = [i for i, t in enumerate(tangents) if not isinstance(t, SymbolicZero)]

        def of_differentiated(*some: Any) -> Any:
            xs = dict(enumerate(primals)) | dict(zip(differentiated, some, strict=True))
            return fun(*xs.values())

        out, slopes_of = vjp(of_differentiated, *(primals[i] for i in differentiated))
        slopes = slopes_of(filled(out, 1))
        terms = [tangents[i] * s for i, s in zip(differentiated, slopes, strict=True)]
        return out, functools.reduce(lax.add, terms)

    call.defjvp(rule, symbolic_zeros=True)

    @functools.wraps(fun)
    def elementwise(*xs: Any) -> Any:
        shape = joint_shape("mul", *(aval_of(x).shape for x in xs))
        return call(*(broadcast_to(x, shape) for x in xs))

    return elementwise


def only_float(x: Any, hint: str = "") -> Any:
    """Convert `x` to an array; raise TypeError unless it is float32 or float64."""
    x = as_array(x)
    dtype = dtype_of(x)
    if dtype not in (dtypes.float32, dtypes.float64):
        raise errors.type_error(
            f"x.dtype={dtype} is not supported{hint}.",
            why="this function is implemented only in float32 and float64.",
            tries=["x.astype(jnp.float32)"],
        )
    return x


def strip_weak_type(x: Any) -> Any:
    """Return `x` without weak type."""
    return convert(x, dtype_of(x))


def chebyshev(t: Any, coefficients: tuple[float, ...]) -> Any:
    """Return the sum of c_k T_k(t), to the precision of the dtype of `t`."""
    return polynomial(t, _powers(coefficients, dtype_of(t)))


@util.cached(1024)
def _powers(coefficients: tuple[float, ...], dtype: Any) -> tuple[float, ...]:
    """Return the power series of a Chebyshev sum; its coefficients decrease as well."""
    # The recurrence T_k+1 = 2t T_k - T_k-1 cancels: use integer multiples of 2^-120.
    scale = 120
    term, next_term = [1], [0, 1]
    powers = [0] * len(coefficients)
    for c in enough(coefficients, dtype):
        scaled_c = int(math.ldexp(c, scale))
        for k, factor in enumerate(term):
            powers[k] += scaled_c * factor
        new = [0, *[2 * v for v in next_term]]
        for k, factor in enumerate(term):
            new[k] -= factor
        term, next_term = next_term, new
    while not powers[-1]:
        powers.pop()
    return tuple([p / 2**scale for p in powers])


def subtract_precise(x: Any, number: float, rest: float) -> Any:
    """Return x - (number + rest) to full precision; `number` alone is rounded."""
    rounded_number = dtype_of(x).type(number)
    return rounded(x - rounded_number) - ((number - float(rounded_number)) + rest)


def in_float32(fun: Callable[..., Any], elementwise: bool = True) -> Callable[..., Any]:
    """Return `fun` with narrow float operands computed in float32.

    For narrow operands, derivatives store slopes of the narrow dtype.
    """

    def widened(*xs: Any) -> Any:
        out = fun(*[convert(x, dtypes.float32) for x in xs])
        dtype = dtype_of(xs[0])
        if isinstance(out, tuple):
            return tuple([convert(y, dtype) for y in out])
        return convert(out, dtype)

    narrow = by_slopes(widened)

    def wide(*xs: Any) -> Any:
        dtype = dtype_of(xs[0])
        if dtype.itemsize >= 4:
            return fun(*xs)
        return (narrow if elementwise else widened)(*xs)

    return wide
