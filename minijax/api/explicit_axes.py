"""Meshes with `Explicit` axes, whose sharding is part of the types of values.

`reshard` moves values and changes their types; `auto_axes` leaves the shardings inside a
function to the compiler; `explicit_axes` makes them part of the types there.  Next:
shard_map.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..base import config, errors, tree
from ..control.arguments import check_callable
from ..ir import core
from ..prims.reshard import apply_out_sharding, mesh_cast, reshard_p
from ..prims.sharding_constraint import broadcast_sharding_prefix, constrain
from ..prims.sharding_specs import canonicalize_out_sharding, is_empty_sharding
from ..runtime.sharding import mesh as meshes
from ..runtime.sharding.mesh import AxisType
from ..runtime.sharding.partition_spec import PartitionSpec
from ..runtime.sharding.shardings import NamedSharding
from ..types.type_sharding import spec_of

if TYPE_CHECKING:
    from ..types.aliases import PyTree

__all__ = ("auto_axes", "explicit_axes", "reshard")

_ABSENT: Any = object()  # default of a keyword that a call leaves out


def reshard(xs: PyTree, out_shardings: PyTree) -> PyTree:
    """Reshard values over a mesh with `Explicit` axes; their types change with them.

    Args:
      xs: a pytree of arrays.
      out_shardings: a `NamedSharding`, or a `PartitionSpec` over the current mesh; or a
        pytree prefix of them.

    Returns:
      The same values, with the shardings `out_shardings`.

    Raises:
      ValueError: a spec names axes that are not `Explicit`, or shards an axis unevenly.
      TypeError: `out_shardings` holds something else.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mesh = mj.make_mesh((1,), ('x',))
      >>> with mj.set_mesh(mesh):
      ...     mj.typeof(reshard(jnp.arange(4), mj.P('x')))
      ShapedArray(int32[4@x])
    """
    leaves, treedef = tree.flatten(xs)
    requested = broadcast_sharding_prefix("reshard out_shardings", treedef, out_shardings)
    return tree.unflatten(treedef, list(map(_resharded, leaves, requested)))


def _resharded(x: Any, requested: Any) -> Any:
    return apply_out_sharding("reshard", x, _checked_sharding(requested))


def _checked_sharding(requested: Any) -> Any:
    """Return a sharding, or raise if it is None or has no mesh."""
    if requested is None or is_empty_sharding(requested):
        raise errors.value_error(
            "Reshard should only be used with out_shardings which are non-None and have"
            f" a non-empty mesh. Got sharding {requested}.",
            tries=["PartitionSpec(): replicated on each device"],
        )
    return requested


def auto_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: str | tuple[str, ...] | None = None,
    out_sharding: PyTree = None,
) -> Callable[..., Any]:
    """Return a function inside which some `Explicit` axes of the mesh are `Auto`.

    Args:
      f: the function; None: return a decorator.
      axes: which axes; None: all that are `Explicit`.
      out_sharding: the shardings of the results: a spec or sharding, or a pytree prefix of
        them.  It may be passed to each call instead; None if there are no results.  If all
        axes of the mesh are `Auto`, it is a constraint.

    Returns:
      A function like `f` with one more keyword, `out_sharding`.

    Raises:
      TypeError: `out_sharding` is passed neither here nor to the call.
      ValueError: there is no mesh, an axis is not `Explicit`, or a result's sharding is
        None.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> with mj.set_mesh(mj.make_mesh((1,), ('x',))):
      ...     x = mj.sharding.reshard(jnp.arange(4), mj.P('x'))
      ...     auto_axes(jnp.sort, out_sharding=mj.P('x'))(x)
      Array([0, 1, 2, 3], dtype=int32)
    """
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)  # type: ignore[return-value]
    check_callable(f)
    default = out_sharding

    @functools.wraps(f)
    def call(*args: Any, out_sharding: Any = _ABSENT, **kwargs: Any) -> Any:
        requested = _user_sharding(out_sharding, default, "auto_axes", "out_sharding")
        leaves, treedef = tree.flatten((args, kwargs))
        outer = _mesh_of(leaves, "auto_axes")
        inner = _with_types(outer, axes, AxisType.Auto, AxisType.Explicit, "auto_axes")
        ins = [_cast(x, inner) for x in leaves]
        with _current(inner):
            args, kwargs = tree.unflatten(treedef, ins)
            out = f(*args, **kwargs)
        outs, out_tree = tree.flatten(out)
        shardings = broadcast_sharding_prefix("auto_axes out_sharding", out_tree, requested)
        with _current(outer):
            sharded = _with_shardings("auto_axes", outs, shardings, outer)
        return tree.unflatten(out_tree, sharded)

    return call


def explicit_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: str | tuple[str, ...] | None = None,
    in_sharding: PyTree = None,
) -> Callable[..., Any]:
    """Return a function inside which some `Auto` axes of the mesh are `Explicit`.

    Args:
      f: the function; None: return a decorator.
      axes: which axes; None: all that are `Auto`.
      in_sharding: the shardings of the arguments: a spec or sharding, or a pytree prefix of
        them for the tuple of arguments.  It may be passed to each call instead; None if
        there are no arguments.

    Returns:
      A function like `f` with one more keyword, `in_sharding`.

    Raises:
      TypeError: `in_sharding` is passed neither here nor to the call.
      ValueError: there is no mesh, an axis is not `Auto`, or an argument's sharding is
        None.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mesh = mj.make_mesh((1,), ('x',), (mj.sharding.AxisType.Auto,))
      >>> with mj.set_mesh(mesh):
      ...     f = explicit_axes(lambda x: x * 2, in_sharding=mj.P('x'))
      ...     mj.jit(f)(jnp.arange(4))
      Array([0, 2, 4, 6], dtype=int32)
    """
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)  # type: ignore[return-value]
    check_callable(f)
    default = in_sharding

    @functools.wraps(f)
    def call(*args: Any, in_sharding: Any = _ABSENT, **kwargs: Any) -> Any:
        requested = _user_sharding(in_sharding, default, "explicit_axes", "in_sharding")
        leaves, treedef = tree.flatten(args)
        outer = _mesh_of(leaves, "explicit_axes")
        inner = _with_types(outer, axes, AxisType.Explicit, AxisType.Auto, "explicit_axes")
        shardings = broadcast_sharding_prefix("explicit_axes in_sharding", treedef, requested)
        with _current(inner):
            ins = _with_shardings("explicit_axes", leaves, shardings, inner)
            out = f(*tree.unflatten(treedef, ins), **kwargs)
        return tree.map(lambda x: _cast(x, outer), out)

    return call


def _user_sharding(call_value: Any, default: Any, what: str, name: str) -> Any:
    """Return the sharding passed to a call, or otherwise to its decorator."""
    if call_value is not _ABSENT:
        return call_value
    if default is None:
        raise errors.type_error(
            f"Missing required keyword argument: '{name}'",
            where=what,
            tries=[f"{what}(f, {name}=P(...))"],
        )
    return default


def _with_shardings(what: str, xs: Sequence[Any], shardings: Any, mesh: Any) -> list[Any]:
    """Reshard values over a mesh; constrain them if all axes are `Auto`."""
    pairs = zip(xs, shardings, strict=True)
    if mesh.are_all_axes_auto:
        named = [
            NamedSharding(mesh, s) if isinstance(s, PartitionSpec) else s
            for s in map(_checked_sharding, shardings)
        ]
        return list(map(constrain, xs, named))
    return [
        reshard_p.bind(
            _cast(x, mesh),
            dst_sharding=canonicalize_out_sharding(what, _checked_sharding(s), x),
        )
        for x, s in pairs
    ]


def _mesh_of(leaves: Sequence[Any], what: str) -> Any:
    """Return the current mesh, or otherwise the mesh of the first sharded value."""
    mesh = meshes.current_mesh()
    if mesh is not None:
        return mesh
    for x in leaves:
        sharding = getattr(x, "sharding", None)
        if isinstance(sharding, NamedSharding) and not sharding.mesh.empty:
            return sharding.mesh
        explicit_sharding = core.aval_of(x).type_sharding.explicit if core.is_value(x) else None
        if explicit_sharding is not None:
            return explicit_sharding.mesh
    raise errors.value_error(
        f"{what}: there is no mesh whose axes could change their types.",
        why="no mesh is set, and no argument is sharded over a mesh.",
        tries=["jax.set_mesh(mesh)"],
    )


def _with_types(mesh: Any, axes: Any, new_type: AxisType, old_type: AxisType, what: str) -> Any:
    """Return the mesh with some axes changed from `old_type` to `new_type`."""
    kinds = dict(zip(mesh.axis_names, mesh.axis_types, strict=True))
    chosen = [a for a, t in kinds.items() if t is old_type] if axes is None else axes
    names: Iterable[Any] = (chosen,) if isinstance(chosen, str) else chosen
    for name in names:
        if kinds.get(name) is not old_type:
            raise errors.value_error(
                f"{what}: the axis {name!r} of the mesh is not of type {old_type}.",
                which=f"{mesh}",
            )
        kinds[name] = new_type
    return mesh.update(axis_types=tuple(kinds.values()))


class _current:
    """Make a mesh current for a block, also while functions are traced."""

    __slots__ = ("before", "mesh", "recast")

    def __init__(self, mesh: Any) -> None:
        self.mesh = mesh

    def __enter__(self) -> None:
        # Arrays stay sharded over the original mesh, which the flag makes acceptable inside.
        self.recast = config.RECAST_MESH.swap(True)
        self.before = config.MESH.swap(self.mesh)

    def __exit__(self, *_: object) -> None:
        config.MESH.swap_back(self.before)
        config.RECAST_MESH.swap_back(self.recast)


def _cast(x: Any, mesh: Any) -> Any:
    """Recast a value's type to the `Explicit` axes of this mesh."""
    aval = core.aval_of(x) if core.is_value(x) else None
    if (
        aval is None
        or aval.type_sharding.explicit is None
        or aval.type_sharding.explicit.mesh == mesh.abstract_mesh
    ):
        return x
    sharding = NamedSharding(mesh.abstract_mesh, PartitionSpec(*spec_of(aval)))
    return mesh_cast(x, sharding.to_explicit(len(aval.shape)) or sharding)
