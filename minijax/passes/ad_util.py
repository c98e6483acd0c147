"""Operations that transformations need: zeros, sums of cotangents, lane axes.

Transformations must not name primitives.  They reach the few operations that they need
through `core_ops`, which `prims/` fills when it loads.  `Zero` is a tangent or cotangent
that is known to be zero and never materialised; `UndefinedPrimal` marks a linear argument
in a transpose rule.

Next: stage.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import above, errors, source
from ..ir import core
from ..types import dtypes
from ..types.avals import AbstractRef, ShapedArray
from ..types.sizes import is_symbolic
from ..types.type_sharding import with_axis, without_axis

if TYPE_CHECKING:
    from ..types.aliases import Aval, Tangent, Value


class CoreOps:
    """The operations of `prims/` that transformations call."""

    add: Callable[[Any, Any], Any]
    zeros: Callable[[Any], Any]
    move_axis: Callable[[Any, int, int], Any]
    broadcast_lane: Callable[[Any, int, int], Any]
    reshape: Callable[[Any, tuple[int, ...]], Any]
    broadcast_in_dim: Callable[[Any, tuple[int, ...], tuple[int, ...]], Any]
    broadcast_to: Callable[[Any, tuple[int, ...]], Any]
    eye: Callable[[int, int, int, Any], Any]
    select: Callable[..., Any]
    slice_axis: Callable[[Any, int, int, int], Any]
    strided: Callable[[Any, tuple[int, ...]], Any]
    sum: Callable[[Any, tuple[int, ...]], Any]
    reshard_to_aval: Callable[[Any, Any], Any]  # (value, type)
    # (primitive, operands, their types) -> operands that vary along the same manual axes
    match_varying_axes: Callable[[Any, Any, Any], tuple[Any, ...]]
    device_put: Callable[[Any, Any], Any]  # (value, a device, sharding or memory space)

    def __getattr__(self, name: str) -> Any:
        # The first use loads prims/, which sets the attributes.  Other threads wait on the
        # import lock; after an interrupt the next use loads again.
        if name.startswith("_"):
            raise AttributeError(name)
        above.load("operations")
        if name not in vars(self):
            raise AttributeError(name)
        return vars(self)[name]


core_ops = CoreOps()


class Zero:
    """A tangent or cotangent of type `aval` that is known to be zero."""

    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        self.aval = aval

    def instantiate(self) -> Value:
        """Return zeros of the type."""
        return instantiate(self)

    def __repr__(self) -> str:
        return f"Zero({self.aval})"


class UndefinedPrimal:
    """Stands for a linear argument, which has no value, in a call of a transpose rule."""

    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Linear({self.aval})"


def _read(x: UndefinedPrimal) -> Any:
    raise TypeError(
        errors.message(
            "Only linear functions can be transposed, and this one applies a nonlinear"
            " operation to a linear argument.",
            which=x.aval.str_short(True),
            where=str(source.user_source() or core.stack_text()),
            tries=["vjp, which linearizes first"],
        )
    )


core.register_aval(UndefinedPrimal, _read)


def is_linear(x: Value | UndefinedPrimal) -> bool:
    """Whether `x` marks a linear argument."""
    return type(x) is UndefinedPrimal


def zero_tangent(x: Value) -> Zero:
    """Return the zero tangent of a value."""
    return Zero(core.aval_of(x).to_tangent())


def instantiate(tangent: Tangent) -> Value:
    """Return a value for a tangent that may be a `Zero`.

    While a linear jaxpr is recorded, the zeros become an equation of it, not a residual.
    """
    if type(tangent) is not Zero:
        return tangent
    aval, trace = tangent.aval, core.STATE.trace
    if trace.is_linear_only and not trace.all:  # type: ignore[attr-defined]
        return trace.instantiate(tangent)  # type: ignore[attr-defined]
    if aval.dtype == dtypes.float0 and not any(map(is_symbolic, aval.shape)):
        return np.zeros(aval.shape, dtypes.float0)
    return core_ops.zeros(aval)


def nonzero_flags(tangents: Sequence[Tangent]) -> list[bool]:
    """Return, for each tangent, whether it may be nonzero."""
    return [type(t) is not Zero for t in tangents]


def pick_nonzero(tangents: Sequence[Tangent], flags: Sequence[bool]) -> list[Value]:
    """Return the values of the flagged tangents."""
    return [instantiate(t) for t, f in zip(tangents, flags, strict=True) if f]


def with_zeros(
    nonzero: Iterable[Value], flags: Sequence[bool], avals: Iterable[Aval]
) -> list[Tangent]:
    """Return a tangent for each result: the next of `nonzero` if flagged, else a `Zero`."""
    it = iter(nonzero)
    return [next(it) if f else Zero(a.to_tangent()) for f, a in zip(flags, avals, strict=True)]


def add(x: Tangent, y: Tangent) -> Tangent:
    """Return the sum of two tangents or cotangents; both may be `Zero`."""
    if type(x) is Zero:
        return y
    if type(y) is Zero:
        return x
    return core_ops.add(x, y)


# Kind of abstract value -> two functions (size, axis, type) -> type: from the type of all
# lanes to that of one lane, and back.  Types of other kinds do not change.
mappings: dict[type, tuple[Callable[..., Any], Callable[..., Any]]] = {
    ShapedArray: (
        lambda size, dim, a: without_axis(a, dim),
        lambda size, dim, a: with_axis(a, size, dim),
    ),
    AbstractRef: (
        lambda size, dim, a: AbstractRef(without_axis(a.inner_aval, dim)),
        lambda size, dim, a: AbstractRef(with_axis(a.inner_aval, size, dim)),
    ),
}


def mapped_aval(size: int, dim: int | None, aval: Aval) -> Aval:
    """Return the type of one lane."""
    rules = None if dim is None else mappings.get(type(aval))
    return aval if rules is None else rules[0](size, dim, aval)


def unmapped_aval(size: int, dim: int | None, aval: Aval) -> Aval:
    """Return the type of all lanes, stacked along `dim`."""
    rules = None if dim is None else mappings.get(type(aval))
    return aval if rules is None else rules[1](size, dim, aval)
