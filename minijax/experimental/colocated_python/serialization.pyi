"""The face `minijax.experimental.colocated_python.serialization`."""

from ...runtime.jaxlib_compat import DeviceList as DeviceList

__all__ = [
    "DeviceList"
]
