"""`with_sharding_constraint`: how a value inside a program is to lie on devices.

The value is the same; the compiler moves its parts.  Outside of programs it is moved at
once.  Next: transfer.py.
"""

from __future__ import annotations

from typing import Any

from ..base import errors, tree
from ..ir import core
from ..ir.core import EVAL, STATE, Primitive
from ..passes.algebra import Zero
from ..runtime import dispatch, placing
from ..runtime import mesh as meshes
from ..runtime.mesh import Mesh
from ..runtime.partition_spec import UNCONSTRAINED, PartitionSpec
from ..runtime.sharding import (
    GSPMDSharding,
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
)
from ..runtime.spread import lies

__all__ = ("sharding_constraint_p", "with_sharding_constraint")

sharding_constraint_p = Primitive("sharding_constraint")
sharding_constraint_p.takes_keys = True
sharding_constraint_p.makes_nans = False
sharding_constraint_p.abstract = lambda x, **_: x
sharding_constraint_p.pretty = lambda eqn, printer: [
    (k, {"context_mesh": "Mesh()", "unconstrained_dims": "frozenset({})"}[k])
    if k in ("context_mesh", "unconstrained_dims") and not getattr(v, "axis_names", v)
    else (k, v)
    for k, v in printer.shown(eqn, {})
]
sharding_constraint_p.jvp = lambda primals, tangents, **params: (
    sharding_constraint_p.bind(*primals, **params),
    tangents[0]
    if type(tangents[0]) is Zero
    else sharding_constraint_p.bind(tangents[0], **params),
)
sharding_constraint_p.transpose = lambda ct, x, **params: [
    sharding_constraint_p.bind(ct, **params)
]


def _constraint_batch(
    axis: Any, args: Any, dims: Any, *, sharding: Any, unconstrained_dims: Any,
    **params: Any,
) -> Any:  # fmt: skip
    (d,) = dims
    free = frozenset(i + (i >= d) for i in unconstrained_dims)
    spec = list(sharding.spec)
    lane = axis.spmd_name
    if len(spec) >= d or lane is not None:
        spec += [None] * (d - len(spec))
        spec.insert(d, lane)
    if lane is None:
        free |= {d}
    out = sharding_constraint_p.bind(
        *args, sharding=sharding.with_spec(PartitionSpec(*spec)),
        unconstrained_dims=free, **params,
    )  # fmt: skip
    return out, d


sharding_constraint_p.batch = _constraint_batch


def lower_constraint(
    ctx: Any, x: Any, aval: Any, sharding: Any, free: frozenset[int] = frozenset()
) -> Any:
    """Emit that a value of type `aval` lies as a sharding says."""
    if ctx.module.spread is None:
        return x  # one device: there is no other way to lie
    attr = ctx.sharding(sharding, aval, free)
    types = [ctx.type(aval)]
    return ctx.create("sdy.sharding_constraint", types, [x], sharding=attr).result


sharding_constraint_p.lower = lambda ctx, x, *, sharding, unconstrained_dims, **_: (
    lower_constraint(ctx, x, ctx.avals_out[0], sharding, unconstrained_dims)
)


def _constraint_impl(x: Any, *, sharding: Any, unconstrained_dims: Any, **params: Any):
    if not unconstrained_dims:
        return placing.put_one(x, sharding)
    if lies(x) is None:
        plain = [None if s is UNCONSTRAINED else s for s in sharding.spec]
        x = placing.put_one(x, sharding.with_spec(plain))
    params = {
        "sharding": sharding, "unconstrained_dims": unconstrained_dims, **params
    }  # fmt: skip
    return dispatch.run(sharding_constraint_p, (x,), params)


sharding_constraint_p.impl = _constraint_impl


def concrete(sharding: Any, what: str, entered: bool = False) -> Any:
    """A sharding of the user's with its mesh: a spec alone is one over the current mesh.

    entered: the mesh of a block `with mesh:` will do.

    Raises:
      RuntimeError: there is no current mesh.
    """
    if isinstance(sharding, PartitionSpec):
        mesh = meshes.entered_mesh() if entered else meshes.current_mesh()
        if not isinstance(mesh, Mesh):
            raise errors.error(
                RuntimeError,
                f"{what} requires a non-empty mesh in context if you are passing"
                " `PartitionSpec`s to shardings. You can define a context mesh via"
                " `jax.set_mesh(mesh)`. Alternatively, provide `Sharding`s to shardings"
                " and then the mesh context manager is not required.",
            )
        return NamedSharding(mesh, sharding)
    if sharding is None or isinstance(sharding, Sharding):
        return sharding
    if hasattr(sharding, "platform"):
        return SingleDeviceSharding(sharding)
    raise errors.type_error(
        f"{what}: {sharding!r} of type {type(sharding)} is no sharding.",
        tries=["jax.sharding.NamedSharding(mesh, PartitionSpec(...))"],
    )


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """Say how a value is to lie on devices; the compiler sees to it.

    Args:
      x: a pytree of arrays.
      shardings: a sharding, a `PartitionSpec` over the current mesh, or a pytree prefix
        of them; None leaves a part as it is.

    Returns:
      `x`, of the same types; outside of programs moved at once.

    Raises:
      ValueError: the axes of an array cannot be cut so.
      RuntimeError: a `PartitionSpec`, and no mesh is current.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mesh = mj.make_mesh((1,), ('x',))
      >>> where = mj.NamedSharding(mesh, mj.P('x'))
      >>> mj.jit(lambda x: mj.lax.with_sharding_constraint(x * 2, where))(jnp.ones(2))
      Array([2., 2.], dtype=float32)
    """
    leaves, treedef = tree.flatten(x)
    wanted = spread_over("with_sharding_constraint shardings", treedef, shardings)
    out = []
    for leaf, given in zip(leaves, wanted, strict=True):
        sharding = concrete(given, "with_sharding_constraint", entered=True)
        out.append(leaf if sharding is None else constrain(leaf, sharding))
    return tree.unflatten(treedef, out)


def spread_over(what: str, treedef: Any, given: Any) -> list[Any]:
    """A pytree prefix of shardings, a leaf each."""
    if given is None or isinstance(given, (PartitionSpec, Sharding)):
        return [given] * treedef.num_leaves
    return tree.flatten_axes(what, treedef, given)


def constrain(x: Any, sharding: Any) -> Any:
    """One value, laid out as `sharding` says."""
    aval = core.aval_of(x)
    if isinstance(sharding, GSPMDSharding) or not isinstance(sharding, NamedSharding):
        return x if STATE.trace is not EVAL else placing.put_one(x, sharding)
    try:
        sharding.check_compatible_aval(aval.shape)
    except ValueError as e:
        raise type(e)(
            "One of with_sharding_constraint arguments is incompatible with its sharding"
            f" annotation {sharding}: {e}"
        ) from None
    free = frozenset(i for i, s in enumerate(sharding.spec) if s is UNCONSTRAINED)
    return sharding_constraint_p.bind(
        x, sharding=sharding, layout=None, context_mesh=meshes.get_abstract_mesh(),
        unconstrained_dims=free,
    )  # fmt: skip
