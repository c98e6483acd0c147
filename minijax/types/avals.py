"""Abstract values: the properties of a value that are known before it is computed.

`ShapedArray` has a shape, dtype, weak type, memory space, and the sharding over a mesh
(type_sharding.py).  Equal ones are one object, so that caches hash and compare them by
identity.  `AbstractToken` is the type of a token, `AbstractRef` of a mutable reference.
C++ reads only `shape`, `dtype` and `weak_type` of a type.

This module does not depend on any operation.  Next: ir/.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import errors
from ..base.above import Hook, LibraryAttribute
from . import dtypes
from .sizes import index_of, size_of
from .type_sharding import (
    UNSHARDED,
    TypeSharding,
    sharded_axis_text,
    to_manual_axes,
    type_sharding,
)

if TYPE_CHECKING:
    from ..runtime.sharding.manual_axis_type import ManualAxisType
    from ..runtime.sharding.shardings import NamedSharding
    from .aliases import DType, DTypeLike, Reduced, Shape, Size, Value


class MemorySpace(enum.Enum):
    """The memory of a value: the device's own, or its host's."""

    Device = 1
    Host = 2
    Any = 3

    __hash__ = object.__hash__  # enum's own is a Python function, and types are hashed often

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"

    __str__ = __repr__

    @staticmethod
    def of_kind(kind: str | None) -> MemorySpace:
        """Return the space of a runtime's memory kind, such as 'pinned_host'."""
        return MemorySpace.Host if kind in HOST_KINDS else MemorySpace.Device


HOST_KINDS = ("pinned_host", "unpinned_host")
DEVICE, HOST = MemorySpace.Device, MemorySpace.Host

no_sharding = Hook("no_sharding")  # (number of axes) -> the sharding of types without one
public_manual_axes = Hook("public_manual_axes")  # (manual axes) -> their public form


class AbstractValue:
    """Base of all abstract values."""

    __slots__ = ("__weakref__",)
    memory_space = DEVICE
    type_sharding: TypeSharding = UNSHARDED
    is_high = False  # whether it is a library's own type, made of values of other types
    to_tangent_aval: Any = LibraryAttribute()
    normalize: Any = LibraryAttribute()
    lo_ty: Any = LibraryAttribute()
    lower_val: Any = LibraryAttribute()
    raise_val: Any = LibraryAttribute()

    if TYPE_CHECKING:  # types of arrays and references have these; those of tokens do not

        @property
        def shape(self) -> Shape: ...
        @property
        def dtype(self) -> DType: ...
        @property
        def weak_type(self) -> bool: ...
        @property
        def ndim(self) -> int: ...
        @property
        def size(self) -> int: ...
        def update(self, **changes: Any) -> ShapedArray: ...
        @property
        def manual_axis_type(self) -> ManualAxisType: ...
        def strip_weak_type(self) -> ShapedArray: ...
        def __len__(self) -> int: ...

    def str_short(self, short_dtypes: bool = False) -> str:
        """Return its text: `float32[3]`, or `f32[3]`."""
        raise TypeError("a subclass of AbstractValue must define str_short")

    def to_tangent(self) -> AbstractValue:
        """Return the type of this value's tangents."""
        return self

    def to_ct_aval(self) -> AbstractValue:
        """Return the type of this value's cotangents."""
        return self.to_tangent()


class ShapedArray(AbstractValue):
    """An array of known shape and dtype.

    `type_sharding` is how it is divided over a mesh.  `sharding` and `manual_axis_type` are
    JAX's names for its parts.

    >>> import numpy as np
    >>> shaped((3,), np.dtype('float32')).str_short(True)
    'f32[3]'
    """

    __slots__ = (
        "dtype",
        "memory_space",
        "shape",
        "type_sharding",
        "weak_type",
    )
    shape: Shape
    dtype: DType
    weak_type: bool
    memory_space: MemorySpace

    def __new__(
        cls,
        shape: Sequence[Size],
        dtype: DTypeLike,
        weak_type: bool = False,
        *,
        sharding: NamedSharding | None = None,
        manual_axis_type: ManualAxisType | None = None,
        memory_space: MemorySpace = DEVICE,
    ) -> ShapedArray:
        dtype = dtypes.as_dtype(dtype)
        explicit = None if sharding is None else sharding.to_explicit(len(shape))
        division = type_sharding(explicit, to_manual_axes(manual_axis_type))
        try:
            sizes = tuple(map(index_of, shape))
        except TypeError:
            raise TypeError(
                f"Shapes must be 1D sequences of concrete values of integer type, got {shape}."
            ) from None
        return shaped(sizes, dtype, bool(weak_type), memory_space, division)

    def __reduce__(self) -> Reduced:
        attributes = self.shape, self.dtype, self.weak_type, self.memory_space
        return shaped, (*attributes, self.type_sharding)

    @property
    def sharding(self) -> NamedSharding:
        """The sharding over an abstract mesh along `Explicit` axes; never None."""
        explicit = self.type_sharding.explicit
        return no_sharding.call(len(self.shape)) if explicit is None else explicit

    @property
    def manual_axis_type(self) -> ManualAxisType:
        """The manual axes along which values vary, are unreduced, or are reduced."""
        kinds: ManualAxisType = public_manual_axes.call(self.type_sharding.manual)
        return kinds

    mat = manual_axis_type

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        n = 1
        for d in self.shape:
            n *= d
        return n

    def str_short(self, short_dtypes: bool = False) -> str:
        # NumPy's name of float0 is `void`.
        short = short_dtypes or self.dtype == dtypes.float0
        name = dtypes.short_name(self.dtype) if short else str(self.dtype.name)
        memory_space = self.memory_space
        space = "" if memory_space is DEVICE else f"<{memory_space.name.lower()}>"
        sharding = self.type_sharding
        if sharding is UNSHARDED:
            return f"{name}{space}[{','.join(map(str, self.shape))}]"
        sizes = map(sharded_axis_text, self.shape, sharding.spec(len(self.shape)))
        return f"{name}{space}[{','.join(sizes)}]{sharding.axes_text()}"

    def __str__(self) -> str:
        return ("~" if self.weak_type else "") + self.str_short(False)

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short(False)}{weak})"

    def update(self, **changes: Any) -> ShapedArray:
        """Return a copy with some attributes changed, by their names.

        `explicit` and `manual` change one part of `type_sharding`.  If the shape changes,
        `explicit` becomes None unless it is given.
        """
        sharding = changes.get("type_sharding")
        if sharding is None:
            sharding = self.type_sharding
            reshaped = sharding is not UNSHARDED and "shape" in changes
            if reshaped or "explicit" in changes or "manual" in changes:
                default = None if "shape" in changes else sharding.explicit
                sharding = type_sharding(
                    changes.get("explicit", default), changes.get("manual", sharding.manual)
                )
        return shaped(
            changes.get("shape", self.shape),
            changes.get("dtype", self.dtype),
            changes.get("weak_type", self.weak_type),
            changes.get("memory_space", self.memory_space),
            sharding,
        )

    def strip_weak_type(self) -> ShapedArray:
        return self.update(weak_type=False) if self.weak_type else self

    def update_weak_type(self, weak_type: bool) -> ShapedArray:
        return self.update(weak_type=bool(weak_type))

    def to_tangent(self) -> ShapedArray:
        if dtypes.is_differentiable(self.dtype):
            return self
        return self.update(dtype=dtypes.tangent_of(self.dtype), weak_type=False)

    def to_ct_aval(self) -> ShapedArray:
        """Return the type of cotangents: unreduced and reduced axes change places."""
        aval = self.to_tangent()
        if aval.type_sharding is UNSHARDED:
            return aval
        return aval.update(type_sharding=aval.type_sharding.of_cotangents())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an unsized abstract value")
        return self.shape[0]


_interned: dict[tuple[Any, ...], ShapedArray] = {}
_blank = object.__new__


def shaped(
    shape: Shape,
    dtype: DType,
    weak_type: bool = False,
    memory: MemorySpace = DEVICE,
    sharding: TypeSharding = UNSHARDED,
) -> ShapedArray:
    """Return the `ShapedArray` of these attributes: equal ones are one object."""
    key = (shape, dtype, weak_type, memory, sharding)
    aval = _interned.get(key)
    if aval is None:
        # `ShapedArray.__new__` would check and convert arguments that are correct already.
        aval = _blank(ShapedArray)
        aval.shape, aval.dtype = tuple(map(size_of, shape)), dtype
        aval.weak_type, aval.memory_space, aval.type_sharding = weak_type, memory, sharding
        # setdefault: two threads that meet here must get one object.
        aval = _interned.setdefault(key, aval)
    return aval


class AbstractToken(AbstractValue):
    """The type of a token, which orders effects."""

    __slots__ = ()

    def str_short(self, short_dtypes: bool = False) -> str:
        return "Tok"

    def __hash__(self) -> int:
        return hash(AbstractToken)

    def __eq__(self, other: object) -> bool:
        return type(other) is AbstractToken

    def __repr__(self) -> str:
        return "AbstractToken()"


abstract_token = AbstractToken()


class AbstractRef(AbstractValue):
    """The type of a mutable reference to an array of type `inner_aval`."""

    __slots__ = ("inner_aval",)

    def __init__(self, inner_aval: AbstractValue) -> None:
        self.inner_aval = inner_aval

    @property
    def weak_type(self) -> bool:
        """Whether the dtype of its array is weak in promotion."""
        return bool(self.inner_aval.weak_type)

    @property
    def shape(self) -> Shape:
        """The sizes of the axes."""
        return self.inner_aval.shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.inner_aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.inner_aval.size

    def __len__(self) -> int:
        return len(self.inner_aval)

    def str_short(self, short_dtypes: bool = False) -> str:
        return f"Ref{{{self.inner_aval.str_short(short_dtypes)}}}"

    def __repr__(self) -> str:
        return self.str_short(False)

    def to_tangent(self) -> ShapedArray:
        """Return float0: the array in a reference is differentiated, not the reference."""
        return shaped(self.shape, dtypes.float0)

    def __hash__(self) -> int:
        return hash((AbstractRef, self.inner_aval))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractRef) and self.inner_aval == other.inner_aval


def scalar_aval(kind: type) -> ShapedArray:
    """Return the weakly typed aval of a Python scalar of type `kind`."""
    return shaped((), dtypes.scalar_dtype(kind), kind is not bool)


# Dtypes that are canonical whatever the options are.
_ALWAYS_CANONICAL = frozenset(
    map(
        dtypes.as_dtype,
        "bool int8 int32 uint8 uint32 bfloat16 float16 float32 complex64".split(),
    )
)


def numpy_aval(x: np.ndarray[Any, Any] | np.generic) -> ShapedArray:
    """Return the aval of a NumPy array or scalar (64-bit types narrow unless x64 is on).

    Scalars, from which rules make constants of their operands' dtypes, keep 64 bits where
    explicitly requested 64-bit types are allowed.
    """
    dtype = x.dtype
    if dtype in _ALWAYS_CANONICAL:
        return shaped(x.shape, dtype)
    if not dtype.isnative:
        dtype = dtype.newbyteorder("=")
    if not dtypes.is_valid(dtype):
        raise errors.ElementError(
            f"Dtype {dtype} is not a valid JAX array type. Only arrays of"
            " numeric types are supported by JAX.\n"
            "Why: minijax has only numeric and bool dtypes.\n"
            "Try: convert it, e.g. x.astype(float)."
        )
    narrow = dtypes.canonical(dtype)
    if narrow is not dtype and isinstance(x, np.generic) and dtypes.wide_types():
        narrow = dtype
    return shaped(x.shape, narrow)


WIDE_SCALARS = frozenset((np.float64, np.int64, np.uint64, np.complex128))


def keeps_wide_dtype(x: np.generic, operands: Iterable[Value]) -> bool:
    """Whether a 64-bit NumPy scalar, which alone means 32 bits, has operands with 64 bits.

    Then it is a constant that a rule made for them, and keeps its dtype as well.
    """
    if dtypes.wide_types():
        return False
    avals = [getattr(y, "aval", None) for y in operands]
    return any(isinstance(a, ShapedArray) and a.dtype == x.dtype for a in avals)


def str_short(x: AbstractValue) -> str:
    """Return the short text of an abstract value."""
    return str(x.str_short(True))


def same_type(a: AbstractValue, b: AbstractValue) -> bool:
    """Whether types are equal, except for their weak types."""
    if isinstance(a, ShapedArray) and isinstance(b, ShapedArray):
        same = a.shape == b.shape and a.memory_space is b.memory_space
        return same and a.type_sharding is b.type_sharding and bool(a.dtype == b.dtype)
    return bool(a == b)
