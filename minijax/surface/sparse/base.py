"""What all sparse formats share: the base class, what is known of indices, warnings.

A sparse array is a pytree: its leaves are buffers (data, indices ...), its shape is part
of the treedef.  Its class knows how it is stored; what can be done with it is given to
the class by methods.py, since those functions make sparse arrays themselves.

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
    """A routine of cuSPARSE is not used where one could be."""


class SparseInfo(NamedTuple):
    """What is known of a sparse array without looking at its numbers.

    >>> from minijax.experimental import sparse
    >>> import minijax.numpy as jnp
    >>> sparse.BCOO.fromdense(jnp.eye(2))._info
    SparseInfo(shape=(2, 2), indices_sorted=True, unique_indices=True)
    """

    shape: Shape
    indices_sorted: bool = False
    unique_indices: bool = False


class JAXSparse(abc.ABC):
    """An array of which only some elements are stored; base class of all formats.

    >>> from minijax.experimental import sparse
    >>> import minijax.numpy as jnp
    >>> isinstance(sparse.BCOO.fromdense(jnp.eye(2)), sparse.JAXSparse)
    True
    """

    data: Any
    shape: Shape
    __hash__ = None  # type: ignore[assignment]
    # So that NumPy arrays leave operators to the sparse operand.
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
        """What the printed form says behind the number of stored elements."""
        return ""

    def __repr__(self) -> str:
        name = type(self).__name__
        try:
            text = f"{name}({self.dtype}{list(self.shape)}, nse={self.nse}"
            text += f"{self._layout()})"
        except Exception:  # buffers may be anything while trees are rebuilt
            return f"{name}(<invalid>)"
        if isinstance(self.data, Tracer):
            return f"{type(self.data).__name__}[{text}]"
        return text

    @abc.abstractmethod
    def tree_flatten(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The buffers, and what is known of them."""

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: Sequence[Any]) -> Any:
        """An array of these buffers, unchecked: they may be anything."""
        raise NotImplementedError(f"{cls}.tree_unflatten")

    @abc.abstractmethod
    def transpose(self, axes: Any = None) -> Any:
        """The array with its axes in another order."""

    @abc.abstractmethod
    def todense(self) -> Any:
        """All elements, as an array."""

    def block_until_ready(self) -> Any:
        """Wait until the buffers are computed; returns the array."""
        for x in self.tree_flatten()[0]:
            x.block_until_ready()
        return self


def _missing(name: str) -> Callable[..., Any]:
    """A method that a format does not have."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self)}.{name}")

    method.__name__ = name
    method.__doc__ = "A format that has it says what it does."
    return method


def add_methods(cls: type, **methods: Any) -> None:
    """Give a class its methods: functions of a room above."""
    for name, method in methods.items():
        setattr(cls, name, method)
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
