"""Values that each process has, as parts of one that lies on the devices of all.

`host_local_array_to_global_array` puts the parts together, and its inverse takes them
apart; nothing goes from one process to another.  Where there is one process, both are
the identity, but for where values lie.  Next: sharding.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import errors
from ..ir.core import Primitive
from ..runtime.arrays import device_put
from ..runtime.arrays.array import ARRAYS, base_array
from ..runtime.arrays.shards import shard_buffers
from ..runtime.sharding import partitioned_placement
from ..runtime.sharding.mesh import Mesh
from ..runtime.sharding.partition_spec import PartitionSpec
from ..runtime.sharding.shardings import NamedSharding
from ..types import dtypes
from ..types.avals import ShapedArray, shaped
from .elementwise import linear_jvp

host_local_array_to_global_array_p = Primitive("host_local_array_to_global_array")
global_array_to_host_local_array_p = Primitive("global_array_to_host_local_array")


def _parts(mesh: Mesh, pspec: Any) -> tuple[NamedSharding, NamedSharding]:
    """How a value lies on this process's part of a mesh, and on all of it."""
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


def _other(aval: Any, mine: NamedSharding, other: NamedSharding) -> ShapedArray:
    """The type of a value whose parts lie as those of one of type `aval`."""
    part, cuts = mine.shard_shape(aval.shape), other.num_shards(len(aval.shape))
    return shaped(
        tuple(n * k for n, k in zip(part, cuts, strict=True)), aval.dtype, aval.weak_type
    )


def ltg_abstract_eval(arr: Any, *, global_mesh: Mesh, pspec: Any) -> ShapedArray:
    """The type of the whole of which each process has a part like `arr`.

    Args:
      arr: the type of a part.
      global_mesh: a mesh of the devices of all processes.
      pspec: a `PartitionSpec` over it.

    Returns:
      The type of the whole.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mesh = mj.make_mesh((1,), ('x',))
      >>> ltg_abstract_eval(mj.typeof(jnp.ones(2)), global_mesh=mesh, pspec=mj.P('x')).shape
      (2,)
    """
    return _other(arr, *_parts(global_mesh, pspec))


def gtl_abstract_eval(arr: Any, *, global_mesh: Mesh, pspec: Any) -> ShapedArray:
    """The type of a process's part of a whole like `arr`.

    Args:
      arr: the type of the whole.
      global_mesh: a mesh of the devices of all processes.
      pspec: a `PartitionSpec` over it.

    Returns:
      The type of the part.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mesh = mj.make_mesh((1,), ('x',))
      >>> gtl_abstract_eval(mj.typeof(jnp.ones(2)), global_mesh=mesh, pspec=mj.P('x')).shape
      (2,)
    """
    local, whole = _parts(global_mesh, pspec)
    return _other(arr, whole, local)


def host_local_array_to_global_array_impl(arr: Any, *, global_mesh: Mesh, pspec: Any) -> Any:
    """The whole of which `arr` is this process's part.

    Args:
      arr: an array of this process's, or of NumPy's.
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
    return _regroup(arr, *_parts(global_mesh, pspec), done=False)


def global_array_to_host_local_array_impl(arr: Any, *, global_mesh: Mesh, pspec: Any) -> Any:
    """This process's part of `arr`.

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
    local, whole = _parts(global_mesh, pspec)
    return _regroup(arr, whole, local, done=True)


def _regroup(x: Any, mine: NamedSharding, other: NamedSharding, done: bool) -> Any:
    """The parts of a value that lies as `mine` as those of one that lies as `other`.

    done: whether what this process has all of is left as it is, or what it has not.
    """
    if type(x) not in ARRAYS:
        x = np.asarray(x)
        if x.dtype == dtypes.float0:
            x = np.zeros(x.shape, np.bool_)
    elif bool(x.is_fully_addressable) is done:
        return x
    there = device_put.put_value(x, mine)
    aval = _other(there.aval, mine, other)
    parts = shard_buffers(base_array(there))
    return partitioned_placement.assemble(aval, other, parts)


def ltg_batcher(
    insert_axis: bool, axis_data: Any, vals_in: Any, dims_in: Any, global_mesh: Mesh, pspec: Any
) -> Any:
    """Lanes of parts: those of the whole, which lie as the vmap's `spmd_axis_name` says.

    Args:
      insert_axis: not looked at.
      axis_data: the mapped axis: what has a `spmd_name`.
      vals_in: the one operand.
      dims_in: where its lanes are.
      global_mesh: a mesh of the devices of all processes.
      pspec: a `PartitionSpec` over it.

    Returns:
      The result, and where its lanes are.

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
            "A part of a value becomes the whole outside of programs, and not in jit.",
            why="a program of several processes knows whole values alone.",
            tries=["call it before jit, and hand the result in"],
        )
    return x


def _define(prim: Primitive, back: Primitive, abstract: Any, impl: Any) -> None:
    """The rules of one of the two, whose transpose is the other."""
    prim.lowers_key_arrays = True
    prim.makes_nans = False
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
