"""The public module `minijax.experimental.colocated_python.serialization`."""

from ...runtime.backends.jaxlib_compat import DeviceList as DeviceList

__all__ = [
    "DeviceList"
]
