"""Devices and transfers: device_put, device_get, counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import errors, tree
from ..base.util import renamed
from ..ir import core
from ..ir.core import EVAL, STATE, Tracer
from ..prims import device_put as transfer
from ..prims.device_put import Copy
from ..prims.layout import layout_constraint_p
from ..prims.sharding_constraint import check_not_manual
from ..runtime.arrays import array as arrays
from ..runtime.arrays import transfers
from ..runtime.arrays.array import ARRAYS, Array, ArrayImpl, base_array
from ..runtime.backends import client, guards
from ..runtime.backends import jaxlib_compat as compat
from ..runtime.running import device_put as placing
from ..runtime.running.resharding import array_with_layout
from ..runtime.sharding import shardings
from ..runtime.sharding.layouts import AutoLayout, Format, Layout
from ..runtime.sharding.mesh import Mesh, mesh_of_specs
from ..runtime.sharding.partition_spec import UNCONSTRAINED, PartitionSpec
from ..types.avals import shaped

if TYPE_CHECKING:
    from ..runtime.backends.jaxlib_types import Client
    from ..types.aliases import PyTree

Device = compat.Device
# Placeholder where the user requested no layout; None requests the default layout.
UNSPECIFIED_LAYOUT = object()
clear_backends = client.clear_backends


def device_put(
    x: PyTree,
    device: PyTree = None,
    *,
    src: PyTree = None,
    donate: PyTree = False,
    may_alias: PyTree = None,
) -> PyTree:
    """Move a pytree of values to a device.

    Args:
      x: arrays, NumPy arrays or numbers.
      device: a device, a sharding, a `Format` or a `minijax.memory.Space`, or a pytree
        prefix of them; None: the default device, without commitment.
      src: the current placement of `x`; under tracing, a cotangent is moved back there.
      donate: whether the memory of `x` may be reused (or a pytree prefix of booleans).
      may_alias: whether the result may share memory with `x` (or a prefix; None: it may).

    Returns:
      The tree of `x` with an `Array` of the same shape and dtype for each leaf.

    Raises:
      ValueError: `device` is of another kind, is not a prefix of `x`, or does not fit it; or
        both `donate` and `may_alias` are true.

    Example:
      >>> import minijax as mj
      >>> mj.device_put([1., 2.])
      [Array(1., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True)]
    """
    leaves, treedef = tree.flatten(x)

    def per_leaf(name: str, user_value: Any) -> list[Any]:
        if isinstance(user_value, (tuple, list, dict)):
            return tree.flatten_axes(f"device_put {name}", treedef, user_value)
        return [user_value] * len(leaves)

    destinations, donations = per_leaf("device", device), per_leaf("donate", donate)
    aliases = per_leaf("may_alias", may_alias)
    if any(donated and alias for donated, alias in zip(donations, aliases, strict=True)):
        raise errors.value_error(
            "may_alias and donate cannot be True at the same time.",
            why="a donated array is deleted, so it cannot share memory with the result.",
        )
    layouts: list[Any] = [UNSPECIFIED_LAYOUT] * len(leaves)
    for i, (leaf, destination) in enumerate(zip(leaves, destinations, strict=True)):
        destinations[i], layouts[i] = _destination_and_layout(leaf, destination)
    if STATE.trace is not EVAL or any(isinstance(leaf, Tracer) for leaf in leaves):
        if not leaves:
            return x
        how = tuple(
            Copy.ALWAYS_COPY
            if alias is False
            else Copy.DONATE_INPUT
            if donated
            else Copy.REUSE_INPUT
            for donated, alias in zip(donations, aliases, strict=True)
        )
        srcs = tuple(per_leaf("src", src))
        out = transfer.device_put_p.bind(
            *leaves, devices=tuple(destinations), srcs=srcs, copy_semantics=how
        )
        out = [
            layout_constraint_p.bind(x, layout=layout) if isinstance(layout, Layout) else x
            for x, layout in zip(out, layouts, strict=True)
        ]
        return tree.unflatten(treedef, out)
    out = []
    for leaf, destination, layout, donated, alias in zip(
        leaves, destinations, layouts, donations, aliases, strict=True
    ):
        with guards.explicit_put():
            moved = placing.put_value(leaf, destination)
            if layout is not UNSPECIFIED_LAYOUT:
                moved = array_with_layout(moved, layout)
        if donated and type(leaf) in ARRAYS and moved is not leaf:
            leaf.delete()
        # `put_value` returns an array that is in place already; `may_alias=False` requires a copy.
        elif alias is False and type(leaf) in ARRAYS and moved is leaf:
            moved = arrays.wrap(transfers.copied(base_array(leaf)), leaf.aval)
        out.append(moved)
    return tree.unflatten(treedef, out)


def _destination_and_layout(leaf: Any, destination: Any) -> tuple[Any, Any]:
    """Return the placement and the layout that `device_put` must give to a leaf."""
    layout: Any = UNSPECIFIED_LAYOUT
    if isinstance(destination, Format):
        if isinstance(destination.layout, AutoLayout):
            raise errors.value_error(
                "sharding and layout in `Layout` instance should be concrete. Got"
                f" layout: {destination} for input {errors.type_text(leaf)}",
                tries=["Format(None, sharding)"],
            )
        destination, layout = destination.sharding_and_layout(
            core.aval_of(leaf).shape, "device_put arguments"
        )
    if isinstance(destination, PartitionSpec):
        mesh = mesh_of_specs()
        if mesh is None:
            raise errors.value_error(
                "Please set a mesh via `jax.set_mesh` if a PartitionSpec is passed to"
                " device_put",
                tries=["NamedSharding(mesh, spec)"],
            )
        destination = shardings.NamedSharding(mesh, destination)
    else:
        transfer.check_place(destination)
    if isinstance(destination, shardings.NamedSharding):
        check_not_manual(destination)
        destination.check_compatible_aval(core.aval_of(leaf).shape, "device_put args")
        if UNCONSTRAINED in destination.spec:
            raise errors.value_error(
                f"Unconstrained dims are not allowed when passed to device_put: {destination}",
                why="no compiler runs that could choose the sharding.",
                tries=["None for that axis"],
            )
    return destination, layout


def device_put_sharded(shards: Sequence[PyTree], devices: Sequence[Device]) -> PyTree:
    """Stack shards along a new first axis, one on each device.

    Args:
      shards: as many pytrees as devices, of equal trees, shapes and dtypes.
      devices: the devices, one for each shard.

    Returns:
      A tree of arrays of shape `(len(devices), *shard.shape)`.

    Raises:
      ValueError: the numbers of shards and devices, or the shards' types, differ.

    Example:
      >>> import minijax as mj
      >>> device_put_sharded([mj.numpy.ones(2)], mj.devices()[:1]).shape
      (1, 2)
    """
    if len(shards) != len(devices):
        raise ValueError(
            f"len(shards) = {len(shards)} must equal len(devices) = {len(devices)}."
        )
    mesh = Mesh(np.array(devices, dtype=object), ("_device_put_sharded",))
    sharding = shardings.NamedSharding(mesh, PartitionSpec(*mesh.axis_names))

    def stack(*xs: Any) -> Array:
        aval = core.aval_of(xs[0])
        for other in map(core.aval_of, xs):
            if (other.shape, other.dtype) != (aval.shape, aval.dtype):
                raise ValueError(
                    "the shards passed to device_put_sharded must have consistent shape"
                    f" and dtype, got {aval.str_short(True)} and {other.str_short(True)}."
                )
        stacked_aval = shaped((len(xs), *aval.shape), aval.dtype)
        slices = [np.asarray(x, aval.dtype)[None] for x in xs]
        inner = sharding.cpp_sharding(len(stacked_aval.shape))
        return compat.put_shards(stacked_aval, inner, slices, mesh.flat)

    return tree.map(stack, *shards)


def device_put_replicated(x: PyTree, devices: Sequence[Device]) -> PyTree:
    """Copy `x` to each device, stacked along a new first axis.

    Args:
      x: a pytree of arrays or numbers.
      devices: the devices of the copies.

    Returns:
      A tree of arrays of shape `(len(devices), *x.shape)`.

    Raises:
      ValueError: `devices` is not a sequence, or is empty.

    Example:
      >>> import minijax as mj
      >>> device_put_replicated(1., mj.devices()[:1])
      Array([1.], dtype=float32)
    """
    if not isinstance(devices, Sequence) or not devices:
        raise ValueError(
            "`devices` argument to `device_put_replicated must be a non-empty sequence."
        )
    return device_put_sharded([x] * len(devices), devices)


def device_get(x: PyTree) -> PyTree:
    """Copy a pytree of arrays to the host, as NumPy arrays.

    Args:
      x: a pytree; traced values, and leaves that are not arrays, are returned unchanged.

    Returns:
      The tree with NumPy arrays of the same shapes and dtypes.

    Example:
      >>> import minijax as mj
      >>> device_get(mj.numpy.arange(2))
      array([0, 1], dtype=int32)
    """
    leaves, treedef = tree.flatten(x)
    with guards.explicit_get():
        for leaf in leaves:
            if type(leaf) is ArrayImpl:
                leaf.copy_to_host_async()
        return tree.unflatten(treedef, [_to_host(leaf) for leaf in leaves])


def _to_host(x: Any) -> Any:
    if type(x) is ArrayImpl:
        return x._value
    if isinstance(x, Tracer | Array) or not hasattr(x, "__array__"):
        return x
    return x.__array__()


def device_count(backend: str | Client | None = None) -> int:
    """Return the number of devices of all processes.

    Args:
      backend: a platform such as 'cpu', or a client; None: the default one.

    Returns:
      An int, at least 1.

    Raises:
      RuntimeError: there is no such platform.

    Example:
      >>> device_count('cpu') >= 1
      True
    """
    return len(client.devices(backend))


def local_device_count(backend: str | Client | None = None) -> int:
    """Return the number of devices of this process.

    Args:
      backend: a platform such as 'cpu', or a client; None: the default one.

    Returns:
      An int, at most `device_count()`.

    Raises:
      RuntimeError: there is no such platform.

    Example:
      >>> local_device_count() <= device_count()
      True
    """
    return len(client.local_devices(backend=backend))


def default_backend() -> str:
    """Return the default platform.

    Returns:
      'cpu', 'gpu' or 'tpu'.

    Example:
      >>> default_backend() in ('cpu', 'gpu', 'tpu')
      True
    """
    name = client.platform_of(client.backend())
    return "gpu" if name == "cuda" else name


def process_index(backend: str | Client | None = None) -> int:
    """Return the index of this process.

    Args:
      backend: a platform such as 'cpu', or a client; None: the default one.

    Returns:
      An int below `process_count()`; 0 where there is one process.

    Raises:
      RuntimeError: there is no such platform.

    Example:
      >>> process_index() < process_count()
      True
    """
    return int(client.backend(backend).process_index())


def process_count(backend: str | Client | None = None) -> int:
    """Return the number of processes that share the platform.

    Args:
      backend: a platform such as 'cpu', or a client; None: the default one.

    Returns:
      An int, at least 1.

    Raises:
      RuntimeError: there is no such platform.

    Example:
      >>> process_count() >= 1
      True
    """
    return client.process_count(backend)


def process_indices(backend: str | Client | None = None) -> list[int]:
    """Return the indices of all processes.

    Args:
      backend: a platform such as 'cpu', or a client; None: the default one.

    Returns:
      A list of ints, from 0 on.

    Raises:
      RuntimeError: there is no such platform.

    Example:
      >>> process_indices()[0]
      0
    """
    return list(range(process_count(backend)))


host_id = renamed(process_index, "host_id", __name__)
host_count = renamed(process_count, "host_count", __name__)
host_ids = renamed(process_indices, "host_ids", __name__)


def live_arrays(platform: str | None = None) -> list[Array]:
    """Return all arrays that exist on a platform.

    Args:
      platform: a platform such as 'cpu'; None: the default one.

    Returns:
      A list of the arrays; for key arrays, of their underlying integers.

    Raises:
      RuntimeError: there is no such platform.

    Example:
      >>> import minijax as mj
      >>> x = mj.numpy.ones(3)
      >>> len(live_arrays()) >= 1
      True
    """
    return [x for x in client.backend(platform).live_arrays() if x.aval is not None]


def print_environment_info(return_string: bool = False) -> str | None:
    """Print what a bug report should contain: versions and devices.

    Args:
      return_string: return the text instead of printing it.

    Returns:
      None, or the text: lines of `name: value`.

    Example:
      >>> 'jaxlib' in print_environment_info(return_string=True)
      True
    """
    import platform
    import sys

    import jaxlib

    text = "\n".join(
        [
            f"jaxlib: {jaxlib.__version__}",
            f"numpy:  {np.__version__}",
            f"python: {sys.version}",
            f"devices: {client.devices()}",
            f"platform: {platform.uname()}",
        ]
    )
    if return_string:
        return text
    print(text)
    return None
