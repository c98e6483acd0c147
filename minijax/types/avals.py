"""Abstract values: what is known of a value before it is computed.

`ShapedArray` is shape, dtype, weak type, memory space and, along `Explicit` axes of a mesh,
how the value lies, and along manual ones whether it varies; equal ones are one object, so
that caches hash and compare them by identity.  `AbstractToken` is the type of a
token, `AbstractRef` of a mutable reference.  C++ reads `shape`, `dtype` and
`weak_type` of what it is given, nothing else.

This room knows no operations.  Next: ir/.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..base import errors
from . import dtypes
from .manual_axes import ManualAxisKinds, ManualAxisType, held, manual_axis_type
from .symbolic_dims import index_of, size_of


class MemorySpace(enum.Enum):
    """Where a value is kept: in the device's own memory, or in its host's."""

    Device = 1
    Host = 2
    Any = 3

    __hash__ = object.__hash__  # enum's is a Python function, and each type is hashed

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"

    __str__ = __repr__

    @staticmethod
    def of_kind(kind: str | None) -> MemorySpace:
        """The space of a runtime's memory kind, such as 'pinned_host'."""
        return MemorySpace.Host if kind in HOST_KINDS else MemorySpace.Device


HOST_KINDS = ("pinned_host", "unpinned_host")
DEVICE, HOST = MemorySpace.Device, MemorySpace.Host


class AbstractValue:
    """Base of all abstract values."""

    __slots__ = ("__weakref__",)
    memory_space = DEVICE
    explicit_sharding: Any = None
    manual_axis_kinds: Any = None
    is_high = False  # whether it is a library's own, made of values of other types

    def str_short(self, short_dtypes: bool = False) -> str:
        """Its text: `float32[3]`, or `f32[3]`."""
        raise TypeError("an abstract value must say what it is called")

    def to_tangent(self) -> AbstractValue:
        """The type of this value's tangents."""
        return self

    # As libraries ask for it, and for that of cotangents.
    def to_tangent_aval(self) -> AbstractValue:
        return self.to_tangent()

    def to_ct_aval(self) -> AbstractValue:
        return self.to_tangent()

    def normalize(self) -> AbstractValue:
        """The type that equal ones share: itself."""
        return self

    # What a value is made of: itself, but for a library's own type.
    def lo_ty(self) -> list[Any]:
        return [self]

    def lower_val(self, x: Any) -> list[Any]:
        return [x]

    def raise_val(self, *lows: Any) -> Any:
        (x,) = lows
        return x


class ShapedArray(AbstractValue):
    """An array of known shape and dtype.

    `lies` is the sharding over an abstract mesh by which `Explicit` axes cut it, or None
    where none does; `sharding` is that, or one that says of no axis that it is cut.
    `manual` says the same of manual axes, or is None; `manual_axis_type` is that for users.

    >>> import numpy as np
    >>> shaped((3,), np.dtype('float32')).str_short(True)
    'f32[3]'
    """

    __slots__ = (
        "dtype",
        "explicit_sharding",
        "manual_axis_kinds",
        "memory_space",
        "shape",
        "weak_type",
    )
    shape: tuple[int, ...]
    dtype: Any
    weak_type: bool
    memory_space: MemorySpace

    def __new__(
        cls,
        shape: Any,
        dtype: Any,
        weak_type: bool = False,
        *,
        sharding: Any = None,
        manual_axis_type: ManualAxisType | None = None,
        memory_space: MemorySpace = DEVICE,
    ) -> ShapedArray:
        dtype = dtypes.as_dtype(dtype)
        lies = None if sharding is None else sharding.to_explicit(len(shape))
        manual = held(manual_axis_type)
        try:
            sizes = tuple(map(index_of, shape))
        except TypeError:
            raise TypeError(
                f"Shapes must be 1D sequences of concrete values of integer type, got {shape}."
            ) from None
        return shaped(sizes, dtype, bool(weak_type), memory_space, lies, manual)

    def __reduce__(self) -> Any:
        parts = (
            self.shape,
            self.dtype,
            self.weak_type,
            self.memory_space,
            self.explicit_sharding,
        )
        return shaped, (*parts, self.manual_axis_kinds)

    @property
    def sharding(self) -> Any:
        """How values lie along `Explicit` axes: a sharding over an abstract mesh."""
        return (
            _uncut[0](len(self.shape))
            if self.explicit_sharding is None
            else self.explicit_sharding
        )

    @property
    def manual_axis_type(self) -> ManualAxisType:
        """Along which manual axes values vary, or are terms of sums."""
        return manual_axis_type(self.manual_axis_kinds)

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
        short = short_dtypes or self.dtype == dtypes.float0  # whose name is not its own
        name = dtypes.short_name(self.dtype) if short else str(self.dtype.name)
        there = self.memory_space
        space = "" if there is DEVICE else f"<{there.name.lower()}>"
        kinds = "" if self.manual_axis_kinds is None else self.manual_axis_kinds.text()
        if self.explicit_sharding is not None and (
            self.explicit_sharding.spec.unreduced or self.explicit_sharding.spec.reduced
        ):
            kinds = _with_sums(self.manual_axis_kinds, self.explicit_sharding).text()
        if self.explicit_sharding is not None:
            sizes = ",".join(map(sharded_axis_text, self.shape, self.explicit_sharding.spec))
            return f"{name}{space}[{sizes}]{kinds}"
        return f"{name}{space}[{','.join(map(str, self.shape))}]{kinds}"

    def __str__(self) -> str:
        return ("~" if self.weak_type else "") + self.str_short(False)

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short(False)}{weak})"

    def update(self, **changes: Any) -> ShapedArray:
        """A copy that differs in some of its parts, by their names.

        One of another shape is not cut, unless `lies` says how.
        """
        lies = None if "shape" in changes else self.explicit_sharding
        return shaped(
            changes.get("shape", self.shape),
            changes.get("dtype", self.dtype),
            changes.get("weak_type", self.weak_type),
            changes.get("memory_space", self.memory_space),
            changes.get("explicit_sharding", lies),
            changes.get("manual_axis_kinds", self.manual_axis_kinds),
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
        """The type of cotangents: terms of sums where values are reduced, and so on."""
        found = self.to_tangent()
        kinds = found.manual_axis_kinds
        if kinds is not None and (kinds.unreduced or kinds.reduced):
            turned = ManualAxisKinds(kinds.varying, kinds.reduced, kinds.unreduced)
            found = found.update(manual_axis_kinds=turned)
        if found.explicit_sharding is not None:
            found = found.update(explicit_sharding=found.explicit_sharding.of_cotangents())
        return found

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an unsized abstract value")
        return self.shape[0]


def _with_sums(manual: ManualAxisKinds | None, lies: Any) -> ManualAxisKinds:
    """What types show of manual axes, and of `Explicit` ones along which there are sums."""
    mine, spec, names = manual or ManualAxisKinds(), lies.spec, lies.mesh.axis_names
    unreduced = [n for n in names if n in spec.unreduced]
    reduced = [n for n in names if n in spec.reduced]
    return ManualAxisKinds(
        mine.varying, (*mine.unreduced, *unreduced), (*mine.reduced, *reduced)
    )


def sharded_axis_text(size: int, entry: Any) -> str:
    """An axis as types show it: its size, and the mesh axes that cut it."""
    axes = f"({','.join(map(str, entry))})" if isinstance(entry, tuple) else entry
    return str(size) if entry is None else f"{size}@{axes}"


class TypeFlags:
    """What has been seen in this process."""

    # a type that says how its values lie, or whether they vary: else nobody need look
    has_sharded_types = False


# (number of axes) -> the sharding that types show which say nothing of it
_uncut: list[Callable[[int], Any]] = []
register_uncut = _uncut.append

_interned: dict[tuple[Any, ...], ShapedArray] = {}
_blank = object.__new__


def shaped(
    shape: tuple[int, ...],
    dtype: Any,
    weak_type: bool = False,
    memory: MemorySpace = DEVICE,
    explicit_sharding: Any = None,
    manual_axis_kinds: ManualAxisKinds | None = None,
) -> ShapedArray:
    """The `ShapedArray` of a tuple of ints and a dtype: one object for equal ones."""
    key = (shape, dtype, weak_type, memory, explicit_sharding, manual_axis_kinds)
    aval = _interned.get(key)
    if aval is None:
        aval = _blank(ShapedArray)
        aval.shape, aval.dtype = tuple(map(size_of, shape)), dtype
        aval.weak_type, aval.memory_space, aval.explicit_sharding = (
            weak_type,
            memory,
            explicit_sharding,
        )
        aval.manual_axis_kinds = manual_axis_kinds
        if explicit_sharding is not None or manual_axis_kinds is not None:
            TypeFlags.has_sharded_types = True
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

    def __init__(self, inner_aval: Any) -> None:
        self.inner_aval = inner_aval

    @property
    def weak_type(self) -> bool:
        """Whether the dtype of what it holds gives way to others."""
        return bool(self.inner_aval.weak_type)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self.inner_aval.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self.inner_aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.inner_aval.size  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self.inner_aval)

    def str_short(self, short_dtypes: bool = False) -> str:
        return f"Ref{{{self.inner_aval.str_short(short_dtypes)}}}"

    def __repr__(self) -> str:
        return self.str_short(False)

    def to_tangent(self) -> ShapedArray:
        """None: what a reference holds is differentiated, not the reference."""
        return shaped(self.shape, dtypes.float0)

    def __hash__(self) -> int:
        return hash((AbstractRef, self.inner_aval))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractRef) and self.inner_aval == other.inner_aval


def scalar_aval(kind: type) -> ShapedArray:
    """The weakly typed aval of a Python scalar of type `kind`."""
    return shaped((), dtypes.scalar_dtype(kind), kind is not bool)


# Dtypes that are what they seem, whatever the options say.
_PLAIN = frozenset(
    (
        dtypes.float32,
        dtypes.int32,
        dtypes.bool_,
        dtypes.uint8,
        dtypes.uint32,
        dtypes.bfloat16,
        dtypes.float16,
        dtypes.int8,
        dtypes.complex64,
    )
)


def numpy_aval(x: Any) -> ShapedArray:
    """The aval of a NumPy array or scalar (64-bit types narrow unless x64 is on).

    Scalars, of which constants beside operands are made, keep 64 bits where those that are
    asked for are allowed.
    """
    dtype = x.dtype
    if dtype in _PLAIN:
        return shaped(x.shape, dtype)
    if not dtype.isnative:
        dtype = dtype.newbyteorder("=")
    if not dtypes.is_valid(dtype):
        raise errors.ElementError(
            f"Dtype {dtype} is not a valid JAX array type. Only arrays of"
            " numeric types are supported by JAX.\n"
            "Why: only numeric and bool dtypes exist here.\n"
            "Try: convert it, e.g. x.astype(float)."
        )
    narrow = dtypes.canonical(dtype)
    if narrow is not dtype and isinstance(x, np.generic) and dtypes.wide_types():
        narrow = dtype
    return shaped(x.shape, narrow)


WIDE_SCALARS = frozenset((np.float64, np.int64, np.uint64, np.complex128))


def is_wide_beside(x: Any, operands: Iterable[Any]) -> bool:
    """Whether a NumPy scalar of 64 bits, which alone means 32, is beside others of 64.

    Then it is a constant that a rule made for them, and keeps its dtype, too.
    """
    if dtypes.wide_types():
        return False
    avals = [getattr(y, "aval", None) for y in operands]
    return any(isinstance(a, ShapedArray) and a.dtype == x.dtype for a in avals)


def str_short(x: Any) -> str:
    """Short text of an abstract value."""
    return str(x.str_short(True))


def same_type(a: Any, b: Any) -> bool:
    """Equal types, weak types aside."""
    if isinstance(a, ShapedArray) and isinstance(b, ShapedArray):
        same = a.shape == b.shape and a.memory_space is b.memory_space
        alike = (
            same
            and a.explicit_sharding == b.explicit_sharding
            and a.manual_axis_kinds == b.manual_axis_kinds
        )
        return alike and bool(a.dtype == b.dtype)
    return bool(a == b)
