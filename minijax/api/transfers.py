"""Transfers of arrays between programs, through a server from jaxlib.

One program offers arrays under a number, another one pulls them; neither needs to know the
other's code.  The classes are jaxlib's; this module adds methods that accept pytrees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jaxlib import _jax

from ..base import tree
from ..runtime.backends import jaxlib_compat as compat
from ..runtime.sharding.placement import on_device
from ..runtime.sharding.shardings import SingleDeviceSharding
from ..types.avals import shaped

if TYPE_CHECKING:
    from ..runtime.arrays.array import Array

__all__ = ("TransferConnection", "TransferServer", "make_error_array", "start_transfer_server")

start_transfer_server: Any = _jax.start_transfer_server
TransferServer: Any = _jax.TransferServer
TransferConnection: Any = _jax.TransferConnection


def _client_of(sharding: Any) -> Any:
    return next(iter(sharding.device_set)).client


class _RequestedType:
    """A requested type, with the attributes that C++ reads."""

    def __init__(self, struct: Any) -> None:
        self.aval = aval = shaped(tuple(struct.shape), struct.dtype)
        self.shape, self.dtype, self.weak_type = aval.shape, aval.dtype, False
        sharding = struct.sharding
        if isinstance(sharding, SingleDeviceSharding):
            self.sharding = on_device(sharding.devices[0]).sharding_of(aval)
        else:
            self.sharding = sharding.cpp_sharding(len(aval.shape))

    def of(self, x: Any) -> Any:
        """Return an array from C++ with this type."""
        return compat.with_aval(x, self.aval, self.sharding)


def _pull(self: Any, uuid: int, xs: Any, timeout: Any = None) -> Any:
    """Fetch the arrays that the other program offers under a number.

    Args:
      uuid: the number.
      xs: a pytree of `ShapeDtypeStruct`s with shardings: types and target devices.
      timeout: a `datetime` after which the call fails.

    Returns:
      A pytree of arrays.
    """
    leaves, treedef = tree.flatten(xs)
    if not leaves:
        return xs
    options = {} if timeout is None else {"timeout": timeout}
    types = [_RequestedType(s) for s in leaves]
    fetched = self._pull_flat(uuid, _client_of(leaves[0].sharding), types, **options)
    flat = [t.of(x) for x, t in zip(fetched, types, strict=True)]
    return tree.unflatten(treedef, flat)


def _await_pull(self: Any, uuid: int, arrays: Any, timeout: Any = None) -> None:
    """Offer a pytree of arrays under a number, until they are fetched.

    Args:
      uuid: the number.
      arrays: the arrays.
      timeout: a `datetime` after which the offer ends.
    """
    options = {} if timeout is None else {"timeout": timeout}
    self._await_pull_flat(uuid, tree.leaves(arrays), **options)


def make_error_array(aval: Any, message: object) -> Array:
    """Return an array that raises an error when it is read.

    Args:
      aval: a `ShapeDtypeStruct` with a sharding.
      message: the text of the error.

    Returns:
      The array.

    Example:
      >>> import minijax as mj
      >>> sharding = mj.sharding.SingleDeviceSharding(mj.devices()[0])
      >>> x = make_error_array(mj.ShapeDtypeStruct((2,), 'float32', sharding=sharding), 'lost')
      >>> x + 1  # doctest: +IGNORE_EXCEPTION_DETAIL
      Traceback (most recent call last):
      JaxRuntimeError: INTERNAL: lost
    """
    error_type = _RequestedType(aval)
    error_array = _jax._make_error_array(_client_of(aval.sharding), error_type, str(message))
    return error_type.of(error_array)


for _class, _name, _method in (
    (TransferConnection, "pull", _pull),
    (TransferServer, "await_pull", _await_pull),
):
    # jaxlib's classes have only methods for flat lists; JAX adds these two under these names,
    # and may have done so already in this process.
    if not hasattr(_class, _name):
        setattr(_class, _name, _method)
