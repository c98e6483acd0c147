"""Conversions between each process's local array and one global array.

`host_local_array_to_global_array` assembles the global array, and its inverse returns the
local one.  No data moves between processes.  With one process, both change only the
placement.  Next: sharding_constraint.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import errors
from ..ir.core import Primitive
from ..ir.facts import Facts
from ..runtime.arrays.array import ARRAYS, base_array
from ..runtime.arrays.shards import shard_buffers
from ..runtime.running import device_put
from ..runtime.sharding.mesh import Mesh
from ..runtime.sharding.partition_spec import PartitionSpec
from ..runtime.sharding.shardings import NamedSharding
from ..types import dtypes
from ..types.avals import ShapedArray, shaped
from .elementwise import linear_jvp

host_local_array_to_global_array_p = Primitive("host_local_array_to_global_array")
global_array_to_host_local_array_p = Primitive("global_array_to_host_local_array")


def _local_and_global_shardings(mesh: Mesh, pspec: Any) -> tuple[NamedSharding, NamedSharding]:
    """Return a spec's sharding over this process's part of a mesh, and over all of it."""
    if pspec is None:
        raise errors.value_error(
            "`None` is not a valid input to the pspecs argument. Please use"
            " jax.sharding.PartitionSpec() if you wanted to replicate your input."
        )
    local = mesh.local_mesh
    if len(local.flat) != len(mesh.local_devices) or not local.flat:
        raise errors.value_error(
            "The devices of a process must form a subcube of the mesh.",
            which=str(mesh),
            tries=["jax.make_mesh(...)", "jax.make_array_from_callback(...)"],
        )
    return NamedSharding(local, pspec), NamedSharding(mesh, pspec)


def _regrouped_aval(
    aval: Any, src_sharding: NamedSharding, dst_sharding: NamedSharding
) -> ShapedArray:
    """Return the type whose shards under `dst_sharding` are `aval`'s under `src_sharding`."""
    shard_shape, num_shards = (
        src_sharding.shard_shape(aval.shape),
        dst_sharding.num_shards(len(aval.shape)),
    )
    return shaped(
        tuple(n * k for n, k in zip(shard_shape, num_shards, strict=True)),
        aval.dtype,
        aval.weak_type,
    )


def ltg_abstract_eval(arr: Any, *, global_mesh: Mesh, pspec: Any) -> ShapedArray:
    """Return the type of the global array if each process has a local one like `arr`.

    Args:
      arr: the type of a local array.
      global_mesh: a mesh of the devices of all processes.
      pspec: a `PartitionSpec` over it.

    Returns:
      The type of the global array.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mesh = mj.make_mesh((1,), ('x',))
      >>> ltg_abstract_eval(mj.typeof(jnp.ones(2)), global_mesh=mesh, pspec=mj.P('x')).shape
      (2,)
    """
    return _regrouped_aval(arr, *_local_and_global_shardings(global_mesh, pspec))


def gtl_abstract_eval(arr: Any, *, global_mesh: Mesh, pspec: Any) -> ShapedArray:
    """Return the type of a process's local part of a global array like `arr`.

    Args:
      arr: the type of the global array.
      global_mesh: a mesh of the devices of all processes.
      pspec: a `PartitionSpec` over it.

    Returns:
      The type of the local array.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mesh = mj.make_mesh((1,), ('x',))
      >>> gtl_abstract_eval(mj.typeof(jnp.ones(2)), global_mesh=mesh, pspec=mj.P('x')).shape
      (2,)
    """
    local, global_sharding = _local_and_global_shardings(global_mesh, pspec)
    return _regrouped_aval(arr, global_sharding, local)


def host_local_array_to_global_array_impl(arr: Any, *, global_mesh: Mesh, pspec: Any) -> Any:
    """Return the global array whose local part is `arr`.

    Args:
      arr: an array of this process, or a NumPy array.
      global_mesh: a mesh of the devices of all processes.
      pspec: a `PartitionSpec` over it.

    Returns:
      A global array.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mesh = mj.make_mesh((1,), ('x',))
      >>> host_local_array_to_global_array_impl(
      ...     jnp.ones(2), global_mesh=mesh, pspec=mj.P('x'))
      Array([1., 1.], dtype=float32)
    """
    return _regroup(arr, *_local_and_global_shardings(global_mesh, pspec), done=False)


def global_array_to_host_local_array_impl(arr: Any, *, global_mesh: Mesh, pspec: Any) -> Any:
    """Return this process's part of `arr`.

    Args:
      arr: a global array.
      global_mesh: a mesh of the devices of all processes.
      pspec: a `PartitionSpec` over it.

    Returns:
      An array on this process's devices.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mesh = mj.make_mesh((1,), ('x',))
      >>> global_array_to_host_local_array_impl(
      ...     jnp.ones(2), global_mesh=mesh, pspec=mj.P('x'))
      Array([1., 1.], dtype=float32)
    """
    local, global_sharding = _local_and_global_shardings(global_mesh, pspec)
    return _regroup(arr, global_sharding, local, done=True)


def _regroup(
    x: Any, src_sharding: NamedSharding, dst_sharding: NamedSharding, done: bool
) -> Any:
    """Reinterpret the shards of `x` under `src_sharding` as shards under `dst_sharding`.

    done: `x` is returned unchanged if its `is_fully_addressable` has this value, because it
    is on the target side already.
    """
    if type(x) not in ARRAYS:
        x = np.asarray(x)
        if x.dtype == dtypes.float0:  # devices have no such dtype
            x = np.zeros(x.shape, np.bool_)
    elif bool(x.is_fully_addressable) is done:
        return x
    placed = device_put.put_value(x, src_sharding)
    aval = _regrouped_aval(placed.aval, src_sharding, dst_sharding)
    buffers = shard_buffers(base_array(placed))
    return device_put.assemble(aval, dst_sharding, buffers)


def ltg_batcher(
    insert_axis: bool, axis_data: Any, vals_in: Any, dims_in: Any, global_mesh: Mesh, pspec: Any
) -> Any:
    """Batch the conversion: the lane axis is sharded over the vmap's `spmd_axis_name`.

    Args:
      insert_axis: ignored.
      axis_data: the mapped axis, with an attribute `spmd_name`.
      vals_in: the operand, in a sequence.
      dims_in: its lane axis, in a sequence.
      global_mesh: a mesh of the devices of all processes.
      pspec: a `PartitionSpec` over it.

    Returns:
      The result and its lane axis.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mesh = mj.make_mesh((1,), ('x',))
      >>> f = lambda x: host_local_array_to_global_array_p.bind(
      ...     x, global_mesh=mesh, pspec=mj.P('x'))
      >>> mj.vmap(f)(jnp.ones((2, 1))).shape
      (2, 1)
    """
    return _batch(
        host_local_array_to_global_array_p,
        axis_data,
        vals_in,
        dims_in,
        global_mesh=global_mesh,
        pspec=pspec,
    )


def _batch(prim: Primitive, axis: Any, args: Any, dims: Any, **params: Any) -> Any:
    (d,) = dims
    spec = list(params["pspec"])
    spec += [None] * (d - len(spec))
    spec.insert(d, axis.spmd_name)
    return prim.bind(*args, **{**params, "pspec": PartitionSpec(*spec)}), d


def _lower(ctx: Any, x: Any, *, global_mesh: Mesh, pspec: Any) -> Any:
    if ctx.avals_in[0].shape != ctx.avals_out[0].shape:
        raise errors.value_error(
            "Local and global arrays can be converted only outside of jit.",
            why="A program of several processes contains only global values.",
            tries=["call it before jit, and pass the result to the jitted function"],
        )
    return x


def _define(prim: Primitive, back: Primitive, abstract: Any, impl: Any) -> None:
    """Set the rules of one of the two primitives, whose transpose is `back`."""
    prim.facts = Facts(makes_no_nans=True, lowers_key_arrays=True)
    prim.abstract = abstract
    linear_jvp(prim)
    prim.transpose = lambda ct, x, **params: [back.bind(ct, **params)]
    prim.batch = lambda axis, args, dims, **params: _batch(prim, axis, args, dims, **params)
    prim.lower = _lower
    prim.impl = impl


_define(
    host_local_array_to_global_array_p,
    global_array_to_host_local_array_p,
    ltg_abstract_eval,
    host_local_array_to_global_array_impl,
)
_define(
    global_array_to_host_local_array_p,
    host_local_array_to_global_array_p,
    gtl_abstract_eval,
    global_array_to_host_local_array_impl,
)
