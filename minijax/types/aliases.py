"""Names of types for annotations.

Modules import them under `TYPE_CHECKING` only, so this module is never loaded.  `Value`,
`PyTree` and `Param` stand for `Any`, since Python's types cannot express what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from .avals import AbstractValue
from .dtypes import ExtendedDType
from .sizes import Size as Size

if TYPE_CHECKING:
    from jaxlib.mlir import ir

    from ..ir.jaxpr import Literal, Var
    from ..passes.ad_util import Zero

# An operand or result of a primitive: an array, tracer, reference, NumPy array or scalar,
# Python scalar, symbolic dimension, or an object with `__jax_array__`.
Value: TypeAlias = Any
Results: TypeAlias = Value | list[Value]  # a list if the primitive has `multiple_results`
Tangent: TypeAlias = "Value | Zero"
Atom: TypeAlias = "Var | Literal"  # in an equation
# Nested containers, with leaves of any type.
PyTree: TypeAlias = Any
# The type of a value.
Aval: TypeAlias = AbstractValue
# A static argument of an operation.
Param: TypeAlias = Any
Params: TypeAlias = dict[str, Any]

# A `np.dtype` or an `ExtendedDType`.  `Any` stands for the latter: code that needs a
# `np.dtype` mostly knows that it has one, and would have to check a union nevertheless.
DType: TypeAlias = np.dtype[Any] | Any


class SupportsDType(Protocol):
    """An object with a dtype, such as `jnp.float32`."""

    @property
    def dtype(self) -> DType: ...


DTypeLike: TypeAlias = str | type[Any] | np.dtype[Any] | ExtendedDType | SupportsDType
NumPyArray: TypeAlias = np.ndarray[Any, Any]
Shape: TypeAlias = tuple[int, ...]  # a symbolic dimension counts as an int
AxisName: TypeAlias = Hashable
# What `__reduce__` returns: a function and its arguments.
Reduced: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...]]
MlirValue: TypeAlias = "ir.Value[Any]"
MlirType: TypeAlias = "ir.Type"
