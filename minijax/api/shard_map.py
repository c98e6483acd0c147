"""`shard_map` and `smap`: functions of the shards that devices hold.

The primitive is in ../control/calls/shard_map.py, specs and types at its boundary in
../control/calls/shard_map_types.py.  Next: pmap.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..base import errors, tree
from ..base.source import wraps
from ..control.arguments import NO_STATICS, check_callable
from ..control.calls.jitted import JitOptions, Jitted
from ..control.calls.shard_map import shard_map_p
from ..control.calls.shard_map_types import SpecChecks, scope, shard_aval, vary_as
from ..ir import core
from ..ir.core import STATE
from ..runtime.sharding import mesh as meshes
from ..runtime.sharding.mesh import AbstractMesh, Mesh
from ..runtime.sharding.partition_spec import Infer, PartitionSpec

if TYPE_CHECKING:
    from ..types.aliases import AxisName, PyTree

__all__ = ("shard_map", "shard_map_by_position", "smap")


def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: PyTree,
    in_specs: PyTree = Infer,
    mesh: Mesh | AbstractMesh | None = None,
    axis_names: Iterable[AxisName] = frozenset(),
    check_vma: bool = True,
) -> Callable[..., Any]:
    """Run a function on every device of a mesh, each on its shard of the arguments.

    Args:
      f: a function of arrays.  Inside, the names of the mesh's axes are in scope for
        collectives.  Without `f`, the result is a decorator.
      out_specs: a `PartitionSpec`, or a pytree prefix of the result: how the devices'
        results are assembled; they must be equal along axes that a spec does not name.
      in_specs: `PartitionSpec`s, a pytree prefix of the tuple of arguments: how the arguments
        are sharded.  None: the argument is replicated.
      mesh: the `Mesh` (or an `AbstractMesh`); None: the current one.
      axis_names: the axes over which `f` sees shards; empty: all.
      check_vma: whether types include the axes along which values vary.  Results must then
        be equal along axes that their specs do not name.  Derivatives depend on the types.

    Returns:
      A function of global arrays, with the structure of `f`.

    Raises:
      ValueError: specs do not fit the mesh, the arguments or the result; or a result may
        vary along an axis that its spec does not name.
      TypeError: specs are not pytrees of `PartitionSpec`s.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mesh = mj.make_mesh((1,), ('i',))
      >>> f = lambda x: mj.lax.psum(x.sum(), 'i')
      >>> x = mj.device_put(jnp.ones(8), mj.NamedSharding(mesh, mj.P('i')))
      >>> mj.shard_map(f, mesh=mesh, in_specs=mj.P('i'), out_specs=mj.P())(x)
      Array(8., dtype=float32)
    """
    if f is None:
        return lambda f: shard_map(
            f,
            out_specs=out_specs,
            in_specs=in_specs,
            mesh=mesh,
            axis_names=axis_names,
            check_vma=check_vma,
        )
    check_callable(f)
    if mesh is not None and not isinstance(mesh, (Mesh, AbstractMesh)):
        raise TypeError(
            "shard_map requires a `jax.sharding.Mesh` or a `jax.sharding.AbstractMesh`"
            f" instance for its second argument, but got {mesh} of type {type(mesh)}."
        )
    for what, specs in (("in_specs", in_specs), ("out_specs", out_specs)):
        if specs is not Infer:
            _check_types(what, specs)
    jitted_by_mesh: dict[Any, Jitted] = {}  # traces depend on the mesh and its manual axes

    @wraps(f)
    def mapped(*args: Any) -> Any:
        current_mesh = _mesh_of(mesh)
        axes_in_scope = frozenset(n for n, _ in STATE.axes)
        manual = frozenset(axis_names) or frozenset(current_mesh.axis_names) - axes_in_scope
        spec_checks = SpecChecks(f, current_mesh, manual)
        jitted = jitted_by_mesh.get((current_mesh, manual))
        if jitted is None:
            jitted = Jitted(f, NO_STATICS, options=JitOptions(transform="shard_map"))
            jitted_by_mesh[current_mesh, manual] = jitted
        call = jitted.split(args, {})
        avals = [jitted.aval_of(x, i, call) for i, x in enumerate(call.leaves)]
        jitted.check_references(call, avals)
        ins = spec_checks.in_specs(in_specs, call, avals, jitted.names(call))

        def trace() -> Any:
            shard_avals = tuple(
                shard_aval(a, s, current_mesh, manual, check_vma)
                for a, s in zip(avals, ins, strict=True)
            )
            traced = jitted.trace_avals(call, shard_avals)
            outs = spec_checks.out_specs(out_specs, traced, check_vma)
            if check_vma:
                spec_checks.check_written(traced, ins)
            closed = vary_as(traced.jaxpr, outs) if check_vma else traced.jaxpr
            return traced, closed, outs

        axes = scope(current_mesh, manual, check_vma)
        with meshes.mesh_made_current(
            meshes.with_manual_axes(current_mesh.abstract_mesh, manual)
        ):
            traced, closed, outs = core.within_axes(axes, trace)
        params = {
            "jaxpr": closed,
            "mesh": current_mesh,
            "newly_manual_axes": manual,
            "in_specs": (*[PartitionSpec()] * len(traced.hoisted), *ins),
            "out_specs": outs,
            "check_vma": check_vma,
        }
        out = shard_map_p.bind(*traced.hoisted, *call.leaves, **params)
        return tree.unflatten(traced.out_tree, out)

    return mapped


def smap(
    f: Callable[..., Any] | None = None,
    /,
    *,
    in_axes: PyTree = Infer,
    out_axes: PyTree,
    axis_name: AxisName,
) -> Callable[..., Any]:
    """Apply `shard_map` over one axis of the current mesh, with array axes as numbers.

    Args:
      f: a function of arrays; without it, the result is a decorator.
      in_axes: the sharded axis of each argument (None: the argument is replicated); an int,
        None, or a pytree prefix of the tuple of arguments.
      out_axes: the axes along which results are concatenated, in the same forms.
      axis_name: the name of the mesh's axis.

    Returns:
      A function of global arrays.

    Raises:
      TypeError: axes are neither ints nor None, or `axis_name` is not a name.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> with mj.set_mesh(mj.make_mesh((1,), ('i',), (mj.sharding.AxisType.Auto,))):
      ...     mj.smap(lambda x: 2 * x, in_axes=0, out_axes=0, axis_name='i')(jnp.ones(2))
      Array([2., 2.], dtype=float32)
    """
    if f is None:
        return lambda f: smap(f, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)
    if isinstance(axis_name, (list, tuple)):
        raise TypeError(
            f"smap axis_name should be a `str` or a `Hashable`, but got {axis_name}"
        )

    def spec(what: str) -> Callable[[Any], PartitionSpec]:
        def of(d: Any) -> PartitionSpec:
            if d is None:
                return PartitionSpec()
            if not hasattr(d, "__index__") or isinstance(d, bool):
                raise TypeError(
                    f"smap {what} must be an int, None, or a tuple of entries"
                    f" corresponding to the positional arguments, but got {d!r}."
                )
            return PartitionSpec(*[None] * int(d), axis_name)

        return of

    is_none = lambda d: d is None
    ins = in_axes
    if in_axes is not Infer:
        ins = tree.map(spec("in_axes"), in_axes, is_leaf=is_none)
    outs = tree.map(spec("out_axes"), out_axes, is_leaf=is_none)
    return shard_map(f, in_specs=ins, out_specs=outs, axis_names=frozenset({axis_name}))


def shard_map_by_position(
    f: Callable[..., Any],
    mesh: Mesh | AbstractMesh,
    in_specs: PyTree,
    out_specs: PyTree,
    check_rep: bool = True,
) -> Callable[..., Any]:
    """`shard_map` with the signature of older versions: all arguments by position.

    Args:
      f, mesh, in_specs, out_specs: as for `shard_map`.
      check_rep: the same as `check_vma`.

    Returns:
      A function of global arrays.

    Raises:
      ValueError, TypeError: as `shard_map`.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mesh, P = mj.make_mesh((1,), ('i',), (mj.sharding.AxisType.Auto,)), mj.P
      >>> from minijax.experimental.shard_map import shard_map
      >>> shard_map(lambda x: 2 * x, mesh, P('i'), P('i'))(jnp.ones(2))
      Array([2., 2.], dtype=float32)
    """
    return shard_map(  # type: ignore[no-any-return]
        f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_rep
    )


def _mesh_of(mesh: Any) -> Any:
    context_mesh = meshes.entered_mesh()
    if mesh is None or _is_inside(context_mesh, mesh):
        mesh = context_mesh
    if mesh is None or mesh.empty:
        raise errors.value_error(
            "The context mesh cannot be empty. Use `jax.set_mesh(mesh)` to enter into a"
            " mesh context",
            where="shard_map",
            tries=["shard_map(f, mesh=mesh, ...)"],
        )
    return mesh


def _is_inside(context_mesh: Any, mesh: Any) -> bool:
    """Whether a mesh equals the current one except that the latter has manual axes."""
    return (
        context_mesh is not None
        and context_mesh.manual_axes
        and context_mesh.shape_tuple == mesh.shape_tuple
    )


def _is_spec(x: Any) -> bool:
    return x is None or isinstance(x, PartitionSpec)


def _check_types(what: str, specs: Any) -> None:
    for path, x in tree.leaves_with_path(specs, is_leaf=_is_spec):
        if not _is_spec(x):
            raise TypeError(
                errors.message(
                    f"shard_map {what} argument must be a pytree of"
                    " `jax.sharding.PartitionSpec` instances, but:\n\n "
                    f" {what}{tree.keystr(path)} is {x} of type {type(x).__name__}",
                    tries=["jax.P('x')"],
                )
            )
