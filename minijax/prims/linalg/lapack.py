"""Calls of matrix libraries from a lowering: LAPACK on CPUs, cuSOLVER on GPUs.

The routines are custom calls (typed FFI, batched over leading axes).  Matrices are
column-major.  A routine returns one integer per matrix, nonzero if it failed; the results
of failed matrices become NaN.

This file emits calls; it does not depend on what the routines compute.  Next: matrix.py.
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
            f"LAPACK has no routine for dtype {dtype}.\nWhy: It supports only float32,"
            " float64, complex64 and complex128.\nTry: .astype(float32) before"
        )
    if prefix in "cz":
        name = _COMPLEX.get(name, name)
    return f"lapack_{prefix}{name}_ffi"


_COMPLEX = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd", "sytrd": "hetrd"}


def layout(rank: int, batch: int, row_major: bool = False) -> str:
    """Return the layout attribute of a value with `batch` leading axes."""
    axes = list(range(rank - 1, -1, -1))  # minor to major
    if rank - batch == 2 and not row_major:  # column-major: the row axis is minor
        axes[:2] = rank - 2, rank - 1
    return f"dense<{axes}> : tensor<{rank}xindex>" if rank else "dense<> : tensor<0xindex>"


def along_batch(avals_in: Sequence[Any], avals_out: Sequence[Any], batch: int) -> str:
    """Return Shardy's rule of a call that may be sharded along its leading axes.

    Each axis has a letter, and all values share the letters of the leading axes."""
    sizes: list[int] = list(avals_in[0].shape[:batch])
    axes = []
    for aval in (*avals_in, *avals_out):
        # All matrices share a value without the leading axes.
        shared = range(batch) if aval.shape[:batch] == tuple(sizes[:batch]) else ()
        own = range(len(sizes), len(sizes) + aval.ndim - len(shared))
        sizes += aval.shape[len(shared) :]
        axes.append([*shared, *own])
    axis_texts = [f"[{', '.join(map(_letter, letters))}]" for letters in axes]
    ins, outs = axis_texts[: len(avals_in)], axis_texts[len(avals_in) :]
    letters = ", ".join(f"{_letter(i)}={n}" for i, n in enumerate(sizes))
    return (
        f"#sdy.op_sharding_rule<({', '.join(ins)})->({', '.join(outs)}) {{{letters}}}, custom>"
    )


def _letter(number: int) -> str:
    """Return Shardy's name of an axis: i, j .. z, z_1, z_2 .."""
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
    # XLA finds CPU kernels only after they are registered.
    if target.startswith(("lapack_", "tridiagonal_")):
        compat.register_lapack()
    ins = ", ".join(layout(a.ndim, batch, row_major) for a in avals_in)
    outs = ", ".join(layout(a.ndim, batch, row_major) for a in avals_out)
    alias_text = ", ".join(
        "#stablehlo.output_operand_alias<output_tuple_indices ="
        f" [{o if len(avals_out) > 1 else ''}], operand_index = {i},"
        " operand_tuple_indices = []>"
        for i, o in aliases
    )
    sharding_attrs = {}
    static_shapes = all(isinstance(n, int) for a in (*avals_in, *avals_out) for n in a.shape)
    if batch and static_shapes:  # for Shardy, and for XLA's partitioner
        sharding_attrs["sdy.sharding_rule"] = ctx.parse(along_batch(avals_in, avals_out, batch))
        sharding_attrs["mhlo.frontend_attributes"] = ctx.parse(
            f'{{num_batch_dims = "{batch}"}}'
        )
    op = ctx.library_call(
        avals_out,
        list(operands),
        call_target_name=ctx.string(target),
        **typed_call(ctx, ctx.parse("{" + config + "}")),
        operand_layouts=ctx.parse(f"[{ins}]"),
        result_layouts=ctx.parse(f"[{outs}]"),
        output_operand_aliases=ctx.parse(f"[{alias_text}]"),
        **sharding_attrs,
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
    """Emit a call of a routine that the compiler expands (on TPUs)."""
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
    """Return the values, with NaN for failed matrices.

    A matrix failed if its `info` is not 0, or negative if `positive_is_fine`.
    """
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
    """Return NaN, for complex dtypes in both parts."""
    nan = float("nan")
    if dtypes.narrow(dtype) is dtype or dtypes.wide_types():
        return dtype.type(complex(nan, nan) if dtypes.is_complex(dtype) else nan)
    if dtypes.is_complex(dtype):
        return complex_p.bind(*[_nan(dtypes.float64)] * 2)
    short = dtypes.float32.type(nan)  # without x64, 64-bit scalars would become 32-bit
    return convert_element_type_p.bind(short, new_dtype=dtype, weak_type=False, sharding=None)


def char(letter: str) -> str:
    """Return a character in the form of LAPACK's attributes."""
    return f"{ord(letter)} : ui8"


def flag(value: bool) -> str:
    """Return a boolean attribute."""
    return str(bool(value)).lower()
