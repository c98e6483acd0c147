"""What jaxlib's C++ dispatcher is told: how to run a signature by itself.

A `PjitFunction` finds a signature among those that it knows, and runs its program; for
all others it asks Python, which answers with the result and a `FastpathData`, or with None where
Python is to be asked each time.

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
from ...runtime.arrays.array import ARRAYS, base_array
from ...runtime.backends import jaxlib_compat as compat
from ...runtime.lowering import context
from ...runtime.running import dispatch, pacing
from ...runtime.sharding import placement
from ...runtime.sharding.partitioned_placement import PartitionedPlacement, put_sharded
from ...runtime.sharding.shardings import has_custom_layout, user_sharding_of
from ...types.avals import DEVICE
from ..arguments import Statics

_cpp_cache = compat.PjitFunctionCache(8192)


class FastpathData(NamedTuple):
    """What C++ needs to run a signature by itself (the names are its own)."""

    xla_executable: Any
    out_pytree_def: Any
    in_shardings: Any
    out_shardings: Any
    out_avals: Any
    out_committed: Any
    kept_var_bitvec: Any
    in_device_local_layouts: Any
    const_args: Any


class _Itself:
    """Stands in C++ for a function that it could not compare or refer to weakly."""

    __slots__ = ("__weakref__", "fun")

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fun(*args, **kwargs)

    def __repr__(self) -> str:
        return repr(self.fun)


def for_cpp(fun: Callable[..., Any]) -> Callable[..., Any]:
    kind = type(fun)
    plain = kind.__eq__ is object.__eq__ or kind is MethodType  # nobody's code is run
    return fun if plain and kind.__weakrefoffset__ else _Itself(fun)


def dispatcher(
    name: str,
    fun: Callable[..., Any],
    miss: Callable[..., Any],
    statics: Statics,
    key: tuple[Any, ...],
    registry: Any = tree.DISPATCH,
) -> Any:
    """A function of C++ that runs what `miss` taught it, and asks it for all else."""
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


def fast_path(program: dispatch.Program, leaves: Sequence[Any], result: Any) -> Any:
    """What lets C++ run a program for values of these types by itself; None: it cannot."""
    watched = dispatch.checks and dispatch.is_nan_check_enabled()
    if not program.stable or watched or not _native(leaves, program):
        return None
    if program.operand_layouts is not None and any(program.operand_layouts):
        return None
    n = len(leaves)
    kept = range(n) if program.kept_indices is None else program.kept_indices
    bits = [False] * n
    for i in kept:
        bits[i] = True
    m = len(program.consts)
    sharding = program.in_sharding
    place: Any = program.placement
    if isinstance(place, PartitionedPlacement):
        lie = [b._sharding for b in program.consts]
        lie += [
            place.sharding_in(k).cpp_sharding(context.physical(core.aval_of(x)).ndim)
            for k, x in enumerate(leaves[i] for i in kept)
        ]
    else:
        lie = [sharding] * m
        lie += [_sharding_of(leaves[i], sharding) for i in kept]
    return FastpathData(
        program.executable,
        pacing.result_tree(result, program.pace),
        lie,
        program.out_shardings,
        list(map(context.physical, program.out_avals)),
        [program.committed] * len(program.out_avals),
        [True] * m + bits,
        [None] * (m + len(kept)),
        program.consts,
    )


def _sharding_of(x: Any, sharding: Any) -> Any:
    """The C++ sharding of an argument: the program's, but for what the host keeps."""
    kept = type(x) in ARRAYS and x.aval.memory_space is not DEVICE
    return x._sharding if kept else sharding


_C_TYPES = (np.ndarray, bool, int, float, complex)


def _native(leaves: Sequence[Any], program: dispatch.Program) -> bool:
    """Whether C++ can take these leaves by itself."""
    place: Any = program.placement
    over = isinstance(place, PartitionedPlacement)
    if program.kept_indices is not None:
        leaves = [leaves[i] for i in program.kept_indices]
    numbers = False
    for i, x in enumerate(leaves):
        kind = type(x)
        if kind in ARRAYS:
            if over:
                if not place.has_operand_sharding(i, base_array(x)):
                    return False
                continue
            where = placement.placement_of(x)
            if where is None or where[0] is not place:
                return False
            if has_custom_layout(base_array(x)):
                return False
        elif is_cpp_convertible(x):
            numbers = True
        else:
            return False
    if not numbers:
        return True
    if not program.committed and config.DEFAULT_DEVICE.value is not None:
        return False
    return sees_x64()


def is_cpp_convertible(x: Any) -> bool:
    """Whether C++ can take a value of the host's by itself."""
    if type(x) not in _C_TYPES and not isinstance(x, np.generic):
        return False
    dtype = getattr(x, "dtype", None)
    return dtype is None or (dtype.isnative and bool(dtype.isbuiltin))


def sees_x64() -> bool:
    """Whether the x64 switch that C++ sees, jax's once it is loaded, is ours."""
    jax = compat.real_jax()
    return jax is None or bool(jax.config.jax_enable_x64) == bool(config.X64.value)


def _fallback(x: Any, sharding: Any, layout: Any) -> Any:
    """A number or NumPy array, put where C++ wants it."""
    if isinstance(sharding, compat.GSPMDSharding):
        return put_sharded(x, user_sharding_of(sharding))
    return transfers.put_numpy(np.asarray(x))
