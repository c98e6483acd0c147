"""What libraries ask of dtypes and of registered classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..base.tree import is_tree_node
from ..surface.numpy.dtype_info import finfo

DType = np.dtype


def supports_inf(dtype: Any) -> bool:
    """Whether a floating dtype has infinities."""
    kind = np.dtype(dtype)
    with np.errstate(all="ignore"):
        return bool(np.isinf(np.array(np.inf).astype(kind).astype(np.float64)))


class _Registry(Mapping[type, Any]):
    """The classes that are nodes of trees."""

    def __contains__(self, kind: object) -> bool:
        return isinstance(kind, type) and is_tree_node(kind)

    def __getitem__(self, kind: type) -> Any:
        if kind not in self:
            raise KeyError(kind)
        return kind

    def __iter__(self) -> Iterator[type]:
        raise TypeError("classes are found one by one")

    def __len__(self) -> int:
        raise TypeError("classes are found one by one")


_registry = _Registry()
__all__ = ["DType", "finfo", "supports_inf"]
