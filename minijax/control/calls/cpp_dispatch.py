"""Data for jaxlib's C++ dispatcher: how to run a signature without Python.

A `PjitFunction` looks a signature up in its cache and runs the cached program.  For
other signatures it calls Python, which returns the result and a `FastpathData`, or None
instead if Python must be called each time.

Next: flattened_calls.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any, NamedTuple

import numpy as np

from ...base import config, tree
from ...ir import core
from ...runtime.arrays import transfers
from ...runtime.arrays.array import ARRAYS, KeyArray, base_array, foreign
from ...runtime.backends import jaxlib_compat as compat
from ...runtime.lowering import context
from ...runtime.running import dispatch, pacing
from ...runtime.running.device_put import put_sharded
from ...runtime.running.program import Program
from ...runtime.sharding.placement import Placement
from ...runtime.sharding.shardings import has_custom_layout, user_sharding_of
from ...types.avals import DEVICE
from ..arguments import Statics

# One cache of 8192 signatures for all functions: C++ drops the least recently used ones.
_cpp_cache = compat.PjitFunctionCache(8192)


class FastpathData(NamedTuple):
    """The data with which C++ runs a signature (the field names are C++'s)."""

    xla_executable: Any
    out_pytree_def: Any
    in_shardings: Any
    out_shardings: Any
    out_avals: Any
    out_committed: Any
    kept_var_bitvec: Any
    in_device_local_layouts: Any
    const_args: Any


class _Wrapper:
    """A wrapper for functions that C++ cannot compare or cannot reference weakly."""

    __slots__ = ("__weakref__", "fun")

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fun(*args, **kwargs)

    def __repr__(self) -> str:
        return repr(self.fun)


def for_cpp(fun: Callable[..., Any]) -> Callable[..., Any]:
    kind = type(fun)
    has_default_eq = kind.__eq__ is object.__eq__ or kind is MethodType  # runs no user code
    return fun if has_default_eq and kind.__weakrefoffset__ else _Wrapper(fun)


def dispatcher(
    name: str,
    fun: Callable[..., Any],
    miss: Callable[..., Any],
    statics: Statics,
    key: tuple[Any, ...],
    registry: Any = tree.DISPATCH,
) -> Any:
    """Return a C++ function that runs the signatures `miss` added, and else calls it."""
    return compat.pjit(
        name,
        fun,
        miss,
        list(statics.nums),
        list(statics.names),
        key,
        registry,
        _fallback,
        _cpp_cache,
    )


def fast_path(
    program: Program, leaves: Sequence[Any], result: Any, starts_in_cpp: bool
) -> FastpathData | None:
    """Return the data for C++ to run a program on values of these types, or None.

    starts_in_cpp: `pacing.starts_in_cpp()` when the call began.
    """
    watched = dispatch.checks and dispatch.is_nan_check_enabled()
    if not program.stable or watched:
        return None
    if program.pace is not None and not starts_in_cpp:
        return None
    # C++ compares shardings, not layouts: Python must check these at each call.
    if program.operand_layouts is not None and any(program.operand_layouts):
        return None
    n, m = len(leaves), len(program.consts)
    kept_indices = range(n) if program.kept_indices is None else program.kept_indices
    operands = [leaves[i] for i in kept_indices]
    if not _native(operands, program.placement):
        return None
    bits = [False] * n
    for i in kept_indices:
        bits[i] = True
    placement = program.placement
    in_shardings = [b._sharding for b in program.consts]
    in_shardings += [_cpp_sharding(x, placement, k) for k, x in enumerate(operands)]
    return FastpathData(
        program.executable,
        pacing.result_tree(result, program.pace),
        in_shardings,
        program.out_shardings,
        list(map(context.physical, program.out_avals)),
        [placement.committed] * len(program.out_avals),
        [True] * m + bits,
        [None] * (m + len(operands)),
        program.consts,
    )


def _cpp_sharding(x: Any, placement: Placement, k: int) -> Any:
    """Return the C++ sharding in which operand number `k` of a program is passed to it."""
    if type(x) in ARRAYS:
        over_mesh = placement.mesh is not None and placement.accepts(k, base_array(x))
        if over_mesh or (placement.mesh is None and x.aval.memory_space is not DEVICE):
            return base_array(x)._sharding
    return placement.cpp_sharding_in(k, context.physical(core.aval_of(x)))


_C_TYPES = (np.ndarray, bool, int, float, complex)


def _native(operands: Sequence[Any], placement: Placement) -> bool:
    """Whether C++ can pass these operands to a program, converted or as they are."""
    numbers = False
    for k, x in enumerate(operands):
        if type(x) in ARRAYS:
            if not placement.accepts(k, base_array(x)) and not _is_moved(x, placement):
                return False
        elif is_cpp_convertible(x):
            numbers = True
        else:
            return False
    if not numbers:
        return True
    # C++ converts numbers with its own x64 flag, and puts them on the program's device.
    if not placement.committed and config.DEFAULT_DEVICE.value is not None:
        return False
    return sees_x64()


def _is_moved(x: Any, placement: Placement) -> bool:
    """Whether C++ calls `_fallback` for an array that is elsewhere than over the mesh.

    It compares shardings only, so it would take an array in another layout as it is.
    """
    if placement.mesh is None or foreign(x) or type(x) is KeyArray:
        return False
    return not has_custom_layout(x)


def is_cpp_convertible(x: Any) -> bool:
    """Whether C++ can convert a host value."""
    if type(x) not in _C_TYPES and not isinstance(x, np.generic):
        return False
    dtype = getattr(x, "dtype", None)
    return dtype is None or (dtype.isnative and bool(dtype.isbuiltin))


def sees_x64() -> bool:
    """Whether the x64 flag that C++ reads (JAX's, once JAX is loaded) equals ours."""
    jax = compat.real_jax()
    return jax is None or bool(jax.config.jax_enable_x64) == bool(config.X64.value)


def _fallback(x: Any, sharding: Any, layout: Any) -> Any:
    """Put an operand on devices as C++ requests."""
    if isinstance(sharding, compat.GSPMDSharding):
        return put_sharded(x, user_sharding_of(sharding))
    return transfers.put_numpy(np.asarray(x))
