"""`with_sharding_constraint`: the sharding of a value inside a program.

The elements do not change; the compiler moves the shards.  Outside of programs the value
moves immediately.  Along `Explicit` axes, where types contain the sharding, the constraint
is an assertion; reshard.py changes types.  Next: device_put.py.
"""

from __future__ import annotations

from typing import Any

from ..base import errors, tree
from ..ir import core
from ..ir.core import Primitive
from ..ir.facts import FORWARDS, Facts, KeyUse
from ..passes.ad_util import Zero, instantiate
from ..passes.batch import lane_to_front
from ..runtime.running import device_put, dispatch
from ..runtime.running.device_assignment import (
    committed_devices,
    describe_argument,
    describe_devices,
    incompatible_devices_error,
)
from ..runtime.running.device_put import multi_device_sharding
from ..runtime.sharding import mesh as meshes
from ..runtime.sharding.layouts import Format, Layout
from ..runtime.sharding.mesh import Mesh
from ..runtime.sharding.partition_spec import UNCONSTRAINED, PartitionSpec, axes_of
from ..runtime.sharding.shardings import UNSPECIFIED, NamedSharding, Sharding
from ..types.type_sharding import spec_of
from .layout import with_layout_constraint
from .sharding_specs import first_operand_specs

__all__ = ("sharding_constraint_p", "with_sharding_constraint")

sharding_constraint_p = Primitive("sharding_constraint")
sharding_constraint_p.facts = Facts(
    elementwise=True,
    makes_no_nans=True,
    keeps_nans=True,
    uses_keys=FORWARDS,
    lowers_key_arrays=True,
    pretty=lambda eqn, printer: [
        (k, {"context_mesh": "Mesh()", "unconstrained_dims": "frozenset({})"}[k])
        if k in ("context_mesh", "unconstrained_dims") and not getattr(v, "axis_names", v)
        else (k, v)
        for k, v in printer.shown(eqn, {})
    ],
)
sharding_constraint_p.abstract = lambda x, **_: x
sharding_constraint_p.jvp = lambda primals, tangents, **params: (
    sharding_constraint_p.bind(*primals, **params),
    tangents[0]
    if type(tangents[0]) is Zero
    else sharding_constraint_p.bind(tangents[0], **params),
)
sharding_constraint_p.transpose = lambda ct, x, **params: [
    sharding_constraint_p.bind(ct, **params)
]


sharding_constraint_p.def_sharding(specs=first_operand_specs)


def _check_sharding_matches(spec: Any, sharding: NamedSharding, ndim: int) -> None:
    """Raise AssertionError unless `spec` is the sharding's spec along `Explicit` axes."""
    expected = sharding.to_explicit(ndim)
    if spec != ((None,) * ndim if expected is None else tuple(expected.spec)):
        raise AssertionError(
            "`with_sharding_constraint` acts as an assert when all axes of mesh are of"
            f" type `Explicit`. The array sharding: {PartitionSpec(*spec)} did not"
            f" match the sharding provided: {sharding.spec}. Please use"
            " `jax.sharding.reshard` to shard your input to the sharding you want."
        )


def _constraint_batch(
    axis: Any, args: Any, dims: Any, *, sharding: Any, unconstrained_dims: Any, **params: Any
) -> Any:
    (d,) = dims
    if not isinstance(sharding, NamedSharding):
        return sharding_constraint_p.bind(
            *args, sharding=sharding, unconstrained_dims=unconstrained_dims, **params
        ), d
    free = frozenset(i + (i >= d) for i in unconstrained_dims)
    spec = list(sharding.spec)
    lane = axis.spmd_name
    conflicts = {a for entry in spec for a in axes_of(entry)}.intersection(axes_of(lane))
    if conflicts:
        raise errors.value_error(
            f"vmap spmd_axis_name {lane} cannot appear in with_sharding_constraint spec,"
            f" but got spec {sharding.spec}",
            why="The mapped axis is sharded over that mesh axis.",
        )
    spec += [None] * (d - len(spec))
    if lane is None and sharding.mesh.auto_axes:
        lane, free = UNCONSTRAINED, free | {d}
    spec.insert(d, lane)
    out = sharding_constraint_p.bind(
        *args,
        sharding=sharding.with_spec(PartitionSpec(*spec)),
        unconstrained_dims=free,
        **params,
    )
    return out, d


sharding_constraint_p.batch = _constraint_batch


def lower_constraint(
    ctx: Any, x: Any, aval: Any, sharding: Any, free: frozenset[int] = frozenset()
) -> Any:
    """Emit a sharding constraint for a value of type `aval`."""
    if ctx.placement is None or not isinstance(sharding, NamedSharding):
        return x  # one device: nothing to shard
    mixed = bool(sharding.mesh.auto_axes and sharding.mesh.explicit_axes)
    if mixed and aval.type_sharding.explicit is not None:
        # The type determines the sharding along `Explicit` axes.
        full_spec = (*sharding.spec, *[None] * (len(aval.shape) - len(sharding.spec)))
        spec = [
            w if w is UNCONSTRAINED else (*axes_of(s), *axes_of(w))
            for s, w in zip(aval.type_sharding.explicit.spec, full_spec, strict=True)
        ]
        sharding = sharding.with_spec(PartitionSpec(*spec))
    attr = ctx.sharding(sharding, aval, free)
    types = [ctx.type(aval)]
    return ctx.create("sdy.sharding_constraint", types, [x], sharding=attr).result


sharding_constraint_p.lower = lambda ctx, x, *, sharding, unconstrained_dims, **_: (
    lower_constraint(ctx, x, ctx.avals_out[0], sharding, unconstrained_dims)
)


def _constraint_impl(x: Any, *, sharding: Any, unconstrained_dims: Any, **params: Any):
    devices = committed_devices(x)
    target_devices = (
        sharding.devices or devices
    )  # an abstract mesh has no devices: use those of `x`
    if devices is not None and len(devices) > 1 and devices != target_devices:
        argument = describe_argument(0, x, "with_sharding_constraint", ["x"])
        raise incompatible_devices_error(argument, describe_devices(sharding.devices))
    if not unconstrained_dims:
        return device_put.put_value(x, sharding)
    # A program runs on its arguments' devices: first put `x` on those of the mesh.  Then the
    # compiler chooses the sharding of unconstrained axes.
    if multi_device_sharding(x) is None:
        constrained = [None if s is UNCONSTRAINED else s for s in sharding.spec]
        x = device_put.put_value(x, sharding.with_spec(constrained))
    params = {"sharding": sharding, "unconstrained_dims": unconstrained_dims, **params}
    return dispatch.run(sharding_constraint_p, (x,), params)


sharding_constraint_p.impl = _constraint_impl


def concrete(sharding: Any, what: str, which: str = "shardings", entered: bool = False) -> Any:
    """Return a user's sharding with its mesh; a spec alone uses the current mesh.

    what, which: names of the public function and of its argument, for errors.
    entered: whether the mesh of a block `with mesh:` counts as current.

    Raises:
      RuntimeError: there is no current mesh.
      TypeError: it is not a sharding.
      ValueError: its mesh has no axes, or no devices where they are needed.
    """
    if isinstance(sharding, PartitionSpec):
        mesh = meshes.mesh_of_specs(entered)
        if mesh is None:
            raise errors.error(
                RuntimeError,
                f"{what} requires a non-empty mesh in context if you are passing"
                f" `PartitionSpec`s to {which}. You can define a context mesh via"
                f" `jax.set_mesh(mesh)`. Alternatively, provide `Sharding`s to {which}"
                " and then the mesh context manager is not required.",
            )
        return NamedSharding(mesh, sharding)
    if isinstance(sharding, NamedSharding) and not sharding.devices:
        if sharding.mesh.empty:
            raise errors.value_error(
                f"One of {which} leaf specifications got an empty NamedSharding:"
                f" {sharding} which is not allowed.",
                where=what,
                tries=["omit the empty sharding", "a sharding over a Mesh"],
            )
        mesh = meshes.mesh_of_specs()
        if isinstance(mesh, Mesh) and mesh.abstract_mesh.shape == sharding.mesh.shape:
            return NamedSharding(mesh, sharding.spec, memory_kind=sharding.memory_kind)
        if what == "jit" and mesh is None:
            raise errors.value_error(
                f"{which} over a `jax.sharding.AbstractMesh` have no devices: {sharding}",
                tries=["jax.set_mesh(mesh)", "a sharding over a Mesh"],
            )
    if sharding is None or isinstance(sharding, Sharding):
        return sharding
    if sharding is UNSPECIFIED:
        return None
    raise errors.type_error(
        f"{which} leaf specifications are expected to be PartitionSpec instances or None,"
        f" but got {sharding}",
        where=what,
        tries=["a jax.sharding.Sharding, such as NamedSharding or SingleDeviceSharding"],
    )


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """Constrain the sharding of a value; the compiler moves its shards.

    Args:
      x: a pytree of arrays.
      shardings: a sharding, a `PartitionSpec` over the current mesh, a `Format`, or a
        pytree prefix of them.

    Returns:
      `x`, of the same types.  Outside of programs the arrays move immediately.

    Raises:
      ValueError: an array cannot be sharded so, or a sharding is None.
      RuntimeError: a `PartitionSpec` is passed, and no mesh is current.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mesh = mj.make_mesh((1,), ('x',), (mj.sharding.AxisType.Auto,))
      >>> where = mj.NamedSharding(mesh, mj.P('x'))
      >>> mj.jit(lambda x: mj.lax.with_sharding_constraint(x * 2, where))(jnp.ones(2))
      Array([2., 2.], dtype=float32)
    """
    what = "with_sharding_constraint"
    leaves, treedef = tree.flatten(x)
    requested = broadcast_sharding_prefix(f"{what} shardings", treedef, shardings)
    out = []
    for leaf, sharding_arg in zip(leaves, requested, strict=True):
        layout = None
        if isinstance(sharding_arg, Format):
            layout, sharding_arg = sharding_arg.layout, sharding_arg.sharding
        sharding = concrete(sharding_arg, what, entered=True)
        if sharding is None:
            raise errors.value_error(
                f"One of {what} arguments got sharding None which is not allowed. Please"
                " only pass `jax.sharding.Sharding` instances.",
                tries=["constrain only the other leaves"],
            )
        constrained = constrain(leaf, sharding)
        has_layout = isinstance(layout, Layout)  # otherwise the device's default layout
        out.append(with_layout_constraint(constrained, layout) if has_layout else constrained)
    return tree.unflatten(treedef, out)


def broadcast_sharding_prefix(what: str, treedef: Any, prefix: Any) -> list[Any]:
    """Return the shardings of a pytree prefix, one per leaf."""
    if prefix in (None, UNSPECIFIED) or isinstance(prefix, (PartitionSpec, Sharding, Format)):
        return [prefix] * treedef.num_leaves
    return tree.flatten_axes(what, treedef, prefix)


def check_not_manual(sharding: Any) -> None:
    """Raise ValueError if a spec names axes that are manual in the current mesh."""
    manual = meshes.get_abstract_mesh().manual_axes
    spec = sharding.spec if manual and isinstance(sharding, NamedSharding) else ()
    if any(a in manual for entry in spec for a in axes_of(entry)):
        why = "Along manual axes each device has its own value."
        raise _not_auto(sharding, why, "a spec without these axes")


def _not_auto(sharding: NamedSharding, why: str, *tries: str) -> Exception:
    return errors.value_error(
        "The spec of NamedSharding passed to with_sharding_constraint can only refer to"
        f" Auto axes of the mesh. Got spec={sharding.spec} and mesh={sharding.mesh}",
        why=why,
        tries=tries,
    )


def constrain_evenly(x: Any, sharding: Any, what: str) -> Any:
    """Constrain an argument or result of a program, called `what` in errors.

    Arrays consist of equal shards, so their axes must divide evenly.  Only inside programs the
    compiler pads.
    """
    sharding.check_compatible_aval(core.aval_of(x).shape, what)
    return constrain(x, sharding)


def constrain(x: Any, sharding: Any) -> Any:
    """Constrain one value to `sharding`."""
    aval = core.aval_of(x)
    check_not_manual(sharding)
    sharding.check_rank(aval.shape, "with_sharding_constraint arguments")
    spec = sharding.spec if isinstance(sharding, NamedSharding) else ()
    around = meshes.get_abstract_mesh()
    named = isinstance(sharding, NamedSharding)
    if named and around.axis_names and around.are_all_axes_explicit:
        _check_sharding_matches(spec_of(aval), sharding, len(aval.shape))
    elif spec and sharding.to_explicit(aval.ndim):
        why = "Along `Explicit` axes, types contain the sharding."
        raise _not_auto(sharding, why, "jax.sharding.reshard(x, sharding)")
    free = frozenset(i for i, s in enumerate(spec) if s is UNCONSTRAINED)
    return sharding_constraint_p.bind(
        x,
        sharding=sharding,
        layout=None,
        context_mesh=meshes.get_abstract_mesh(),
        unconstrained_dims=free,
    )


# ------------------------------------------------------------------------- shard_alike

shard_alike_p = Primitive("shard_alike", multiple_results=True)
shard_alike_p.facts = Facts(
    data_movement="nothing",
    uses_keys=KeyUse(forwards={0: 0, 1: 1}),
    lowers_key_arrays=True,
)
shard_alike_p.abstract = lambda x, y: [x, y]
shard_alike_p.impl = lambda x, y: [x, y]


def _group_jvp(primals: Any, tangents: Any) -> Any:
    dense_tangents = map(instantiate, tangents)
    return shard_alike_p.bind(*primals), shard_alike_p.bind(*dense_tangents)


def _group_transpose(cts: Any, *args: Any) -> Any:
    return shard_alike_p.bind(*map(instantiate, cts))


def _group_batch(axis: Any, args: Any, dims: Any) -> Any:
    lanes = (lane_to_front(x, axis, d) for x, d in zip(args, dims, strict=True))
    return shard_alike_p.bind(*lanes), [0, 0]


def _group_lower(ctx: Any, x: Any, y: Any) -> Any:
    if ctx.placement is not None:
        # Shardy's groups have numbers, which must be unique in a module.
        group = ctx.i64(ctx.module.groups)
        ctx.module.groups += 1
        for value in (x, y):
            ctx.create("sdy.sharding_group", [], [value], group_id=group)
    return [x, y]


shard_alike_p.jvp = _group_jvp
shard_alike_p.transpose = _group_transpose
shard_alike_p.batch = _group_batch
shard_alike_p.lower = _group_lower


def shard_alike(x: Any, y: Any) -> Any:
    """Require two arrays to have the same sharding and let the compiler choose it.

    Args:
      x, y: pytrees of arrays, of the same structure and shapes.

    Returns:
      (x, y).

    Raises:
      ValueError: structures or shapes differ.

    Example:
      >>> import minijax.numpy as jnp
      >>> shard_alike(jnp.zeros(2), jnp.ones(2))[1]
      Array([1., 1.], dtype=float32)
    """
    xs, x_tree = tree.flatten(x)
    ys, y_tree = tree.flatten(y)
    if x_tree != y_tree:
        raise errors.value_error(
            f"Trees should be equal. Got x_tree: {x_tree}, y_tree: {y_tree}"
        )
    pairs = []
    for a, b in zip(xs, ys, strict=True):
        shapes = core.aval_of(a).shape, core.aval_of(b).shape
        if shapes[0] != shapes[1]:
            raise errors.value_error(
                "The leaves shapes of `x` and `y` should match. Got `x` leaf shape:"
                f" {shapes[0]} and `y` leaf shape: {shapes[1]}."
            )
        pairs.append(shard_alike_p.bind(a, b))
    return tuple(tree.unflatten(x_tree, [p[i] for p in pairs]) for i in (0, 1))
