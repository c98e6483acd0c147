"""Compiler faults, by jaxlib version and platform, and how minijax avoids each.

A row of `FAULTS` describes one fault: where it occurs, the pattern that triggers it, the
cure, and the test of the cure. If the cure is a compile option, it is applied here: each
module is searched for the pattern before it is compiled, whichever caller compiles it, and
the option is set for programs with the pattern. Other cures are in the file that the row
names. `shown` is the test that compiles the pattern without the cure and observes the
fault. When it fails, that jaxlib has fixed the fault, and the row gets its `before`.

`python -m minijax.tools.faults` prints the table for docs/compiler.md.  Next: compile.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _stablehlo as hlo

from ...base import util
from ..backends import jaxlib_compat as compat


class Fault(NamedTuple):
    """One fault: `before` is the first fixed jaxlib release, or None."""

    name: str
    platforms: tuple[str, ...]
    before: tuple[int, ...] | None
    pattern: str
    effect: str
    cure: str
    where: str  # the file with the cure
    test: str  # the test of the cure: file::function
    shown: str = ""  # the test that observes the fault without the cure, if that is harmless
    mark: bytes = b""  # all programs with the pattern have this in their bytecode
    fits: Callable[[Any], bool] | None = None  # whether an operation has the pattern
    options: tuple[tuple[str, str], ...] = ()  # compile options that avoid the fault


# The library fuses a reduction with the product that it reduces. The result is wrong if the
# product has a free axis of more than 128 KiB and sums over 3 to 7 numbers. The compiler
# may merge axes and products first, so these limits are wider.
_LONG_AXIS, _SHORT_SUM = 4096, 16
# The library has arrays of 8 axes and adds one or two. The compiler merges the free axes of
# a product, but not its batch axes.
_MANY_AXES, _MANY_BATCH_AXES = 7, 4


def _axes_of_dot(op: Any) -> tuple[Any, Any, Any, Any]:
    """Return the contracted and batch axes of both operands."""
    if op.name == "stablehlo.dot":
        last = len(op.operands[0].type.shape) - 1
        return (last,), (0,), (), ()
    axes = hlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    return (
        axes.lhs_contracting_dimensions,
        axes.rhs_contracting_dimensions,
        axes.lhs_batching_dimensions,
        axes.rhs_batching_dimensions,
    )


def is_narrow_dot(op: ir.Operation) -> bool:
    """Whether an operation is a product whose fused reduction may be wrong."""
    if op.name not in ("stablehlo.dot_general", "stablehlo.dot"):
        return False
    lhs, rhs = (x.type.shape for x in op.operands)
    lhs_sum, rhs_sum, lhs_batch, rhs_batch = _axes_of_dot(op)
    if len(lhs_batch) >= _MANY_BATCH_AXES:
        return True
    if max(len(lhs), len(rhs), len(op.results[0].type.shape)) >= _MANY_AXES:
        return True
    summed = math.prod([lhs[i] for i in lhs_sum])
    free = (
        math.prod([n for i, n in enumerate(shape) if i not in out])
        for shape, out in ((lhs, {*lhs_sum, *lhs_batch}), (rhs, {*rhs_sum, *rhs_batch}))
    )
    return bool(summed <= _SHORT_SUM and max(free) >= _LONG_AXIS)


def is_wide_reduction(op: ir.Operation) -> bool:
    """Whether an operation reduces an array of more axes than the library supports."""
    if op.name != "stablehlo.reduce":
        return False
    return len(op.operands[0].type.shape) >= _MANY_AXES


# Smaller stacks of matrices are not divided among threads.
_LARGE_STACK = 4096


def is_large_stack(op: ir.Operation) -> bool:
    """Whether an operation calls LAPACK for a large stack of matrices."""
    if op.name != "stablehlo.custom_call" or not len(op.operands):
        return False
    if not ir.StringAttr(op.attributes["call_target_name"]).value.startswith("lapack_"):
        return False
    shapes = [x.type.shape for x in op.operands]
    return max(map(len, shapes)) > 2 and max(map(math.prod, shapes)) >= _LARGE_STACK


_SEQUENTIAL = (("xla_cpu_scheduler_type", "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"),)
_YNN = (
    (
        "xla_cpu_experimental_ynn_fusion_type",
        "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_INDIVIDUAL_CONVOLUTION",
    ),
)
_TESTS = "tests/runtime/test_compiler_faults.py::"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "reduced product", ("cpu",), (0, 11),
        "a matrix product that sums over few numbers, has a long axis, and is reduced",
        "wrong rows beyond 128 KiB of the long axis, without a message",
        "compiles such programs without the reductions of XLA's CPU library",
        "minijax/runtime/running/compiler_faults.py",
        _TESTS + "test_reduced_product", _TESTS + "test_reduced_product_without_cure",
        b"dot", is_narrow_dot, _YNN,
    ),
    Fault(
        "reduced product of many axes", ("cpu",), (0, 11),
        "a matrix product of very many axes that is reduced over one of them",
        "the process dies; seen in another library's test, and not reproduced since: the"
        " limit of 7 axes is the size of the compiler library's arrays, not a measurement",
        "compiles such programs without the reductions of XLA's CPU library",
        "minijax/runtime/running/compiler_faults.py",
        _TESTS + "test_reduced_product_of_many_axes", "",
        b"dot", is_narrow_dot, _YNN,
    ),
    Fault(
        "reduction of many axes", ("cpu",), (0, 11),
        "an elementwise product of arrays of very many axes that is summed over one",
        "memory is overwritten, and the process dies",
        "compiles such programs without the reductions of XLA's CPU library",
        "minijax/runtime/running/compiler_faults.py",
        _TESTS + "test_reduction_of_many_axes", "",
        b"reduce", is_wide_reduction, _YNN,
    ),
    Fault(
        "stacks of matrices", ("cpu",), (0, 11),
        "several LAPACK calls on large stacks of matrices that may run concurrently, such"
        " as the gradient of `linalg.solve`",
        "the program never ends: each call waits in its thread for the threads of others",
        "schedules programs with such calls for low memory, so that few calls are ready at"
        " the same time",
        "minijax/runtime/running/compiler_faults.py",
        _TESTS + "test_stacks_of_matrices", "",
        b"lapack_", is_large_stack, _SEQUENTIAL,
    ),
    Fault(
        "threads of OpenBLAS", ("cpu",), None,
        "`linalg.solve`, `inv` and `triangular_solve` of stacks of matrices, several"
        " concurrently, on busy cores",
        "XLA's threads each start threads of OpenBLAS, which wait for one another: a call of"
        " 0.03 s takes up to 16 s, or seems never to end",
        "the same as JAX; with `OPENBLAS_NUM_THREADS=1` in the environment it takes 0.03 s,"
        " and LAPACK uses one core for a large matrix",
        "docs/compiler.md",
        _TESTS + "test_many_stacks_with_one_thread_of_openblas",
    ),
    Fault(
        "sum with a constant", ("cpu",), (0, 12),
        "`(x + c) - c`, `(x - c) - d`, `(x * c) * d` with constants, under jit",
        "the constants are merged, so one rounding is missing",
        "marks such results in its own functions with `reduce_precision`"
        " (`double_double.rounded`); users set `minijax_ieee_arithmetic`",
        "minijax/prims/special/double_double.py",
        "tests/runtime/test_rounding.py::test_own_functions",
        "tests/runtime/test_rounding.py::test_sum_with_a_constant_without_cure",
    ),
    Fault(
        "division", ("cpu",), None,
        "`x / c` with a scalar or constant c; `x / sqrt(y)`; `(x / y) / z`; under jit"
        " and eager",
        "a third of the quotients are off by one unit in the last place",
        "`lax.div(accuracy=lax.AccuracyMode.HIGHEST)` divides; so does"
        " `minijax_ieee_arithmetic`",
        "minijax/prims/math/algebraic.py",
        "tests/runtime/test_rounding.py::test_division",
        "tests/runtime/test_rounding.py::test_division_without_cure",
    ),
    Fault(
        "product and sum", ("cpu",), None,
        "`x * y + z` under jit",
        "rounded once, not twice",
        "`minijax_ieee_arithmetic`",
        "minijax/runtime/lowering/rounding.py",
        "tests/runtime/test_rounding.py::test_ieee_arithmetic",
        "tests/runtime/test_rounding.py::test_division_without_cure",
    ),
    Fault(
        "chains of shifted reads", ("cpu",), None,
        "`x = x + roll(x, 1)` repeated many times, with `roll`, slices, `pad`, `flip`,"
        " transposes or gathers",
        "each step is recomputed from the first: 80 steps compile for 20 s, and their run"
        " time grows without bound",
        "splits such programs at every second step, with calls that are not inlined",
        "minijax/analysis/rereads.py",
        "tests/analysis/test_rereads.py::test_the_compiled_program_grows_linearly",
        "tests/analysis/test_rereads.py::test_without_cuts",
    ),
    Fault(
        "float64 to half precision", ("cpu",), None,
        "`x.astype(float16)`, `x.astype(bfloat16)` of float64, under jit and eager",
        "rounded to float32 first: 8 of 200,000 normal numbers are one unit of float16"
        " off",
        "the same as JAX; `jnp.asarray(x, float16)` of a NumPy array rounds once",
        "minijax/prims/math/cast.py",
        "tests/runtime/test_rounding.py::test_float64_is_rounded_twice_to_half_precision",
    ),
    Fault(
        "barriers", ("cpu",), None,
        "`lax.optimization_barrier` around the recomputation of `checkpoint`",
        "the barrier is removed and both computations are merged, so no memory is saved",
        "puts the recomputation into a branch",
        "minijax/control/calls/remat.py",
        "tests/test_real_programs.py::test_remat_keeps_a_third_of_a_transformers_memory",
    ),
    Fault(
        "integers divided by constant zeros", ("cpu",), None,
        "a division of integers by a divisor that the compiler finds to be 0",
        "the process dies",
        "replaces a divisor that may be 0 by 1 where it is 0, before the division",
        "minijax/prims/math/algebraic.py",
        _TESTS + "test_division_by_constant_zeros",
    ),
    Fault(
        "programs started ahead", ("cpu",), None,
        "more than 32 programs over several devices, started without waiting or by as many"
        " threads",
        "the process dies after a minute, since shards of programs wait for threads",
        "lets the host wait at every tenth start, and few threads start programs at once",
        "minijax/runtime/running/pacing.py",
        "tests/runtime/test_pacing.py::test_the_host_does_not_run_far_ahead",
    ),
)  # fmt: skip


def named(name: str) -> Fault:
    """Return the fault of this name."""
    return next(fault for fault in FAULTS if fault.name == name)


def applies(fault: Fault, platform: str, release: tuple[int, ...]) -> bool:
    """Whether a jaxlib of this release has the fault on this platform."""
    before = fault.before
    return platform in fault.platforms and (before is None or release < before)


@util.cached(1024)
def _cured_by_options(platform: str) -> tuple[tuple[bytes, Any, Any], ...]:
    """Return mark, pattern and options of this platform's faults; each pattern once."""
    by_pattern = {
        f.fits: (f.mark, f.fits, f.options)
        for f in FAULTS
        if f.options and applies(f, platform, compat.RELEASE)
    }
    return tuple(by_pattern.values())


def overrides_for(
    platform: str, module: ir.Module, bytecode: bytes, overrides: dict[str, Any] | None
) -> dict[str, Any] | None:
    """Return the compile options of a program: the caller's, and those that avoid faults."""
    for mark, fits, options in _cured_by_options(platform):
        requested = overrides or {}
        added = [
            (name, value)
            for name, value in options
            if name not in requested and name not in compat.xla_flags()
        ]
        if added and mark in bytecode and has_pattern(module, fits):
            overrides = {**requested, **dict(added)}
    return overrides


def has_pattern(module: ir.Module, fits: Callable[[ir.Operation], bool]) -> bool:
    """Whether an operation of a module, in any function or region, has the pattern."""
    is_present = False

    def visit(op: Any) -> Any:
        nonlocal is_present
        if fits(op):
            is_present = True
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    with module.context:
        module.operation.walk(visit)
    return is_present
