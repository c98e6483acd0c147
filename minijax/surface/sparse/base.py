"""The base class of sparse arrays, static information about indices, and warnings.

A sparse array is a pytree: its leaves are buffers (data, indices ...), and its shape is
part of the treedef.  Each class defines the storage.  methods.py adds the operations to the
classes, because the operations construct sparse arrays themselves.

Next: kernels.py, then bcoo.py.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...ir.core import Tracer

__all__ = (
    "JAXSparse",
    "SparseInfo",
    "SparseEfficiencyError",
    "SparseEfficiencyWarning",
    "CuSparseEfficiencyWarning",
    "add_methods",
)

Shape = tuple[int, ...]


class SparseEfficiencyError(ValueError):
    """An operation on sparse arrays would need far more storage than its operands."""


class SparseEfficiencyWarning(UserWarning):
    """An operation on sparse arrays needs far more storage or time than it could."""


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """A cuSPARSE routine exists for an operation but is not used."""


class SparseInfo(NamedTuple):
    """Static information about a sparse array: everything except its buffers.

    >>> from minijax.experimental import sparse
    >>> import minijax.numpy as jnp
    >>> sparse.BCOO.fromdense(jnp.eye(2))._info
    SparseInfo(shape=(2, 2), indices_sorted=True, unique_indices=True)
    """

    shape: Shape
    indices_sorted: bool = False
    unique_indices: bool = False


class JAXSparse(abc.ABC):
    """An array that stores only some of its elements; the base class of all formats.

    >>> from minijax.experimental import sparse
    >>> import minijax.numpy as jnp
    >>> isinstance(sparse.BCOO.fromdense(jnp.eye(2)), sparse.JAXSparse)
    True
    """

    data: Any
    shape: Shape
    __hash__ = None  # type: ignore[assignment]
    # NumPy arrays then defer binary operators to the sparse operand.
    __array_priority__ = 100

    def __init__(self, args: tuple[Any, ...], *, shape: Sequence[int]) -> None:
        self.shape = tuple(shape)

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self.data.dtype

    @property
    def nse(self) -> int:
        """The number of stored elements (in each batch)."""
        return int(self.data.size)

    @property
    def size(self) -> int:
        """The number of elements, stored or not."""
        size = 1
        for n in self.shape:
            size *= n
        return size

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def T(self) -> Any:
        """The array with its axes in reverse order."""
        return self.transpose()

    def __len__(self) -> int:
        return self.shape[0]

    def _layout(self) -> str:
        """Return the part of the repr that follows the number of stored elements."""
        return ""

    def __repr__(self) -> str:
        name = type(self).__name__
        try:
            text = f"{name}({self.dtype}{list(self.shape)}, nse={self.nse}"
            text += f"{self._layout()})"
        except Exception:  # while trees are rebuilt, buffers may be any objects
            return f"{name}(<invalid>)"
        if isinstance(self.data, Tracer):
            return f"{type(self.data).__name__}[{text}]"
        return text

    @abc.abstractmethod
    def tree_flatten(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the buffers and the static information."""

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: Sequence[Any]) -> Any:
        """Return an array with these buffers, unchecked: they may be any objects."""
        raise NotImplementedError(f"{cls}.tree_unflatten")

    @abc.abstractmethod
    def transpose(self, axes: Any = None) -> Any:
        """Return the array with permuted axes."""

    @abc.abstractmethod
    def todense(self) -> Any:
        """Return the array as a dense one."""

    def block_until_ready(self) -> Any:
        """Wait until the buffers are computed, and return the array."""
        for x in self.tree_flatten()[0]:
            x.block_until_ready()
        return self


class BatchedSparse(JAXSparse):
    """A sparse array with batch axes first and dense axes last: BCOO and BCSR.

    `_buffer_names`: the attributes that hold its buffers.
    """

    _buffer_names: tuple[str, ...]
    indices: Any
    indices_sorted: bool
    unique_indices: bool

    @property
    @abc.abstractmethod
    def n_batch(self) -> int:
        """The number of batch axes, which come first."""

    @property
    def n_dense(self) -> int:
        """The number of dense axes, which come last."""
        return len(self.data.shape) - 1 - self.n_batch

    @property
    def _info(self) -> SparseInfo:
        return SparseInfo(self.shape, self.indices_sorted, self.unique_indices)

    @property
    def _bufs(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self._buffer_names)

    def _layout(self) -> str:
        axis_counts = {"n_batch": self.n_batch, "n_dense": self.n_dense}
        return "".join(f", {name}={n}" for name, n in axis_counts.items() if n)

    def tree_flatten(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the buffers and the static information."""
        return self._bufs, self._info._asdict()

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: Sequence[Any]) -> Any:
        """Return an array with these buffers, unchecked: they may be any objects."""
        if set(aux_data) != set(SparseInfo._fields):
            raise ValueError(f"{cls.__name__}.tree_unflatten: invalid aux_data={aux_data}")
        # Bypass `__init__`, whose checks would fail for leaves that are not arrays.
        self = object.__new__(cls)
        self.__dict__.update(zip(cls._buffer_names, children, strict=True), **aux_data)
        return self


def with_data(mat: Any, data: Any) -> Any:
    """Return a sparse array with other data at the same positions."""
    leaves, aux_data = mat.tree_flatten()
    return type(mat).tree_unflatten(aux_data, (data, *leaves[1:]))


def _missing(name: str) -> Callable[..., Any]:
    """Return a placeholder for a method that a format does not have."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self)}.{name}")

    method.__name__ = name
    method.__doc__ = "Raise NotImplementedError: this format lacks the operation."
    return method


def add_methods(cls: type, **methods: Any) -> None:
    """Add methods to a class: functions of a later module of this package."""
    for name, method in methods.items():
        setattr(cls, name, method)
    # `ABCMeta` computed this set when the class was created, before it had the methods.
    if abstract := getattr(cls, "__abstractmethods__", None):
        cls.__abstractmethods__ = abstract - set(methods)  # type: ignore[attr-defined]


_OPERATIONS = (
    "sum",
    "__neg__",
    "__pos__",
    "__matmul__",
    "__rmatmul__",
    "__mul__",
    "__rmul__",
    "__add__",
    "__radd__",
    "__sub__",
    "__rsub__",
    "__getitem__",
)
add_methods(JAXSparse, **{name: _missing(name) for name in _OPERATIONS})
