"""Calls of matrix libraries from a lowering: LAPACK on CPUs, cuSOLVER on GPUs.

The routines are custom calls (typed FFI, batched over leading axes).  Matrices are
column-major: their last two axes count as one column after the other.  A routine that
fails says so by an integer a matrix; its results become NaN.

This room knows the form of calls, not what routines compute.  Next: matrix.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...runtime.backends import jaxlib_compat as compat
from ...runtime.lowering.context import typed_call
from ...types import dtypes
from ...types.avals import shaped
from ..math.cast import convert_element_type_p
from ..math.logic import eq, ge, select
from ..math.order import complex_p
from ..shape.shapes import broadcast_in_dim

_PREFIX = {
    dtypes.float32: "s",
    dtypes.float64: "d",
    dtypes.complex64: "c",
    dtypes.complex128: "z",
}


def routine(name: str, dtype: Any) -> str:
    """Return the target of LAPACK's `name` on matrices of `dtype`: lapack_sgeqrf_ffi."""
    prefix = _PREFIX.get(dtype)
    if prefix is None:
        raise NotImplementedError(
            f"No routine of LAPACK works on dtype {dtype}.\nWhy: there are float32,"
            " float64, complex64 and complex128 alone.\nTry: .astype(float32) before"
        )
    if prefix in "cz":
        name = _COMPLEX.get(name, name)
    return f"lapack_{prefix}{name}_ffi"


_COMPLEX = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd", "sytrd": "hetrd"}


def layout(rank: int, batch: int, row_major: bool = False) -> str:
    """Return the layout attribute of a value with `batch` leading axes."""
    order = list(range(rank - 1, -1, -1))
    if rank - batch == 2 and not row_major:
        order[:2] = rank - 2, rank - 1
    return f"dense<{order}> : tensor<{rank}xindex>" if rank else "dense<> : tensor<0xindex>"


def along_batch(avals_in: Sequence[Any], avals_out: Sequence[Any], batch: int) -> str:
    """Shardy's rule of a call that may be cut along its leading axes: each axis has a
    letter, and the leading ones share theirs."""
    sizes: list[int] = list(avals_in[0].shape[:batch])
    axes = []
    for aval in (*avals_in, *avals_out):
        # A value without the leading axes is the same for all matrices.
        shared = range(batch) if aval.shape[:batch] == tuple(sizes[:batch]) else ()
        own = range(len(sizes), len(sizes) + aval.ndim - len(shared))
        sizes += aval.shape[len(shared) :]
        axes.append([*shared, *own])
    told = [f"[{', '.join(map(_letter, each))}]" for each in axes]
    ins, outs = told[: len(avals_in)], told[len(avals_in) :]
    each = ", ".join(f"{_letter(i)}={n}" for i, n in enumerate(sizes))
    return f"#sdy.op_sharding_rule<({', '.join(ins)})->({', '.join(outs)}) {{{each}}}, custom>"


def _letter(number: int) -> str:
    """Return how Shardy calls an axis: i, j .. z, z_1, z_2 .."""
    return "ijklmnopqrstuvwxyz"[number] if number < 18 else f"z_{number - 17}"


def call(
    ctx,
    target: str,
    operands: Sequence[Any],
    avals_in: Sequence[Any],
    avals_out: Sequence[Any],
    config: str = "",
    *,
    batch: int,
    aliases: Sequence[tuple[int, int]] = (),
    row_major: bool = False,
) -> list[Any]:
    """Emit a call of `target`.

    config: the routine's attributes, such as 'uplo = 76 : ui8'.
    batch: the number of leading axes.
    aliases: pairs (operand, result) that may share memory.
    """
    if target.startswith(("lapack_", "tridiagonal_")):
        compat.register_lapack()
    ins = ", ".join(layout(a.ndim, batch, row_major) for a in avals_in)
    outs = ", ".join(layout(a.ndim, batch, row_major) for a in avals_out)
    shared = ", ".join(
        "#stablehlo.output_operand_alias<output_tuple_indices ="
        f" [{o if len(avals_out) > 1 else ''}], operand_index = {i},"
        " operand_tuple_indices = []>"
        for i, o in aliases
    )
    cut = {}
    known = all(isinstance(n, int) for a in (*avals_in, *avals_out) for n in a.shape)
    if batch and known:  # over a mesh: for Shardy, and for what makes the parts
        cut["sdy.sharding_rule"] = ctx.parse(along_batch(avals_in, avals_out, batch))
        cut["mhlo.frontend_attributes"] = ctx.parse(f'{{num_batch_dims = "{batch}"}}')
    op = ctx.library_call(
        avals_out,
        list(operands),
        call_target_name=ctx.string(target),
        **typed_call(ctx, ctx.parse("{" + config + "}")),
        operand_layouts=ctx.parse(f"[{ins}]"),
        result_layouts=ctx.parse(f"[{outs}]"),
        output_operand_aliases=ctx.parse(f"[{shared}]"),
        **cut,
    )
    return list(op.results)


def plain_call(
    ctx: Any,
    target: str,
    operands: Sequence[Any],
    avals_out: Sequence[Any],
    config: str = "",
    version: int = 1,
) -> list[Any]:
    """Emit a call of a routine that the compiler itself expands (on TPUs)."""
    op = ctx.library_call(
        avals_out,
        list(operands),
        call_target_name=ctx.string(target),
        api_version=ctx.i32(version),
        backend_config=ctx.string(config),
    )
    return list(op.results)


def nan_where_failed(
    ctx: Any,
    info: Any,
    batch_shape: Sequence[int],
    values: Sequence[Any],
    avals: Sequence[Any],
    *,
    positive_is_fine: bool = False,
) -> list[Any]:
    """Return the values, NaN for matrices whose `info` is not 0 (or negative)."""
    axes = tuple(range(len(batch_shape)))

    def checked(status: Any, *xs: Any) -> list[Any]:
        zero = dtypes.int32.type(0)
        fine = ge(status, zero) if positive_is_fine else eq(status, zero)
        return [
            select(
                broadcast_in_dim(fine, a.shape, axes),
                x,
                broadcast_in_dim(_nan(a.dtype), a.shape, ()),
            )
            for x, a in zip(xs, avals, strict=True)
        ]

    status = shaped(tuple(batch_shape), dtypes.int32)
    return ctx.fun(checked, info, *values, avals=[status, *avals])


def _nan(dtype: Any) -> Any:
    """Return a number that is none, in both parts."""
    nan = float("nan")
    if dtypes.narrow(dtype) is dtype or dtypes.wide_types():
        return dtype.type(complex(nan, nan) if dtypes.is_complex(dtype) else nan)
    if dtypes.is_complex(dtype):
        return complex_p.bind(*[_nan(dtypes.float64)] * 2)
    short = dtypes.float32.type(nan)  # scalars have no 64 bits here
    return convert_element_type_p.bind(short, new_dtype=dtype, weak_type=False, sharding=None)


def char(letter: str) -> str:
    """Return a character as LAPACK's attributes spell it."""
    return f"{ord(letter)} : ui8"


def flag(value: bool) -> str:
    """Return a boolean attribute."""
    return str(bool(value)).lower()
