"""The inspection API of the Python array API standard.

Source: https://data-apis.org/array-api/2025.12/API_specification/inspection.html
"""

from __future__ import annotations

from typing import Any

from ...base import errors
from ...runtime.backends import client
from ...types import dtypes
from .dtype_info import isdtype

__all__ = ("__array_api_version__", "__array_namespace_info__")

API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
__array_api_version__ = API_VERSIONS[-1]

_DTYPES = (
    dtypes.bool_,
    *dtypes.SIGNED[-4:],
    *dtypes.UNSIGNED[-4:],
    dtypes.float32,
    dtypes.float64,
    dtypes.complex64,
    dtypes.complex128,
)
_KINDS = (
    "bool",
    "signed integer",
    "unsigned integer",
    "integral",
    "real floating",
    "complex floating",
    "numeric",
)


class ArrayNamespaceInfo:
    """Capabilities and defaults of the namespace."""

    def capabilities(self) -> dict[str, Any]:
        """Whether functions under `jit` may have results whose shapes depend on values."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> Any:
        """Return None: arrays are uncommitted unless the user names a device."""
        return None

    def devices(self) -> list[Any]:
        """Return None, and the devices that arrays can be on."""
        return [None, *client.devices()]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """Return the default dtypes of results, which are the same on all devices."""
        index = dtypes.int_default()
        return {
            "real floating": dtypes.canonical(dtypes.float64),
            "complex floating": dtypes.canonical(dtypes.complex128),
            "integral": index,
            "indexing": index,
        }

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, Any]:
        """Return the standard's dtypes that are enabled, by name, of one or more kinds."""
        kinds = _KINDS if kind is None else (kind,) if isinstance(kind, str) else kind
        for k in kinds:
            if k not in _KINDS:
                raise errors.error(
                    KeyError,
                    f"dtypes: no kind of dtypes is called {k!r}.",
                    tries=[f"one of {', '.join(map(repr, _KINDS))}"],
                )
        enabled = [d for d in _DTYPES if dtypes.canonical(d) is d]
        return {d.name: d for d in enabled if any(isdtype(d, k) for k in kinds)}


def __array_namespace_info__() -> ArrayNamespaceInfo:
    """Return the choices that the array API standard leaves to a library.

    Returns:
      An object with `capabilities()`, `default_device()`, `devices()`,
      `default_dtypes(device=)`, and `dtypes(device=, kind=)`.

    Example:
      >>> import minijax.numpy as jnp
      >>> jnp.__array_namespace_info__().dtypes(kind="bool")
      {'bool': dtype('bool')}

    Source: the Python array API standard, 2025.12.
    """
    return ArrayNamespaceInfo()
