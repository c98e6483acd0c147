"""`shard_map` and `smap`: functions of the shards that devices hold.

The primitive is in ../control/calls/shard_map.py.  Next: pmap.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..base import errors, tree
from ..base.source import function_text, name_of, wraps
from ..base.util import pick
from ..control.arguments import NO_STATICS, check_callable
from ..control.calls.jitted import Jitted
from ..control.calls.shard_map import (
    num_shards_per_axis,
    scope,
    shard_aval,
    shard_map_p,
    vary_as,
)
from ..control.refs.discharge import discharge_jaxpr
from ..ir import core
from ..ir.core import STATE
from ..runtime.sharding import mesh as meshes
from ..runtime.sharding.mesh import AbstractMesh, Mesh
from ..runtime.sharding.partition_spec import Infer, PartitionSpec, axes_of, check_spec
from ..types.avals import AbstractRef
from ..types.type_sharding import spec_of

if TYPE_CHECKING:
    from ..types.aliases import Aval, AxisName, PyTree

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
        spec_checks = _SpecChecks(f, current_mesh, manual)
        jitted = jitted_by_mesh.get((current_mesh, manual))
        if jitted is None:
            jitted = Jitted(f, NO_STATICS, NO_STATICS, transform="shard_map")
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
      out_axes: the axis along which results are concatenated; likewise for the result.
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


def _reduction_axes(spec: PartitionSpec) -> tuple[frozenset[Any], frozenset[Any]]:
    return spec.unreduced, spec.reduced


def _entries(spec: PartitionSpec, aval: Aval) -> list[Any]:
    """Return for each axis of an array the mesh axes that shard it."""
    entries = list(map(axes_of, spec))
    return entries + [()] * (len(aval.shape) - len(entries))


class _SpecChecks:
    """Checks of the specs of a mapped function, and their messages."""

    __slots__ = ("fun", "manual", "mesh")

    def __init__(self, fun: Any, mesh: Any, manual: frozenset[Any]) -> None:
        self.fun = fun
        self.mesh = mesh
        self.manual = manual
        if not manual <= {*mesh.axis_names}:
            raise self.error(
                f"jax.shard_map requires axis_names={manual} to be a subset of"
                f" mesh.axis_names={frozenset(mesh.axis_names)}"
            )
        if manual_already := [n for n, _ in STATE.axes if n in manual]:
            raise self.error(
                f"shard_map: the axes {manual_already} are already manual or mapped.",
                tries=["axis_names={...}, with other axes of the mesh"],
            )

    def error(self, what: str, **parts: Any) -> Exception:
        return errors.value_error(what, where=function_text(self.fun), **parts)

    @property
    def named(self) -> str:
        return f"shard_map applied to the function '{name_of(self.fun)}'"

    def check(self, what: str, spec: PartitionSpec) -> None:
        """Raise unless a spec names only manual axes, each once."""
        for entry in spec:
            for axis in axes_of(entry):
                if axis not in self.manual:
                    raise self.error(
                        f"shard_map {what} argument must refer to an axis marked as manual"
                        f" ({self.manual}), but:\n\n  {what} refers to {axis!r}"
                    )
        for kind in ("unreduced", "reduced"):
            if getattr(spec, kind) and not self.mesh.are_all_axes_explicit:
                raise self.error(
                    f"{kind} in {what} {spec} can only be used when the mesh passed to"
                    " shard_map contains axis names all of type `Explicit`. Got mesh"
                    f" {self.mesh}",
                    why="only types over Explicit axes record unreduced and reduced axes.",
                )
        check_spec(spec, self.mesh.axis_names)

    def in_specs(
        self, specs: Any, call: Any, avals: Sequence[Any], names: Any
    ) -> list[PartitionSpec]:
        """Return a spec for each argument, checked to fit it."""
        if specs is Infer and not self.mesh.auto_axes:
            return [self.inferred(a) for a in avals]
        if specs is Infer:
            raise errors.type_error(
                "shard_map in_specs argument must be a pytree of"
                " `jax.sharding.PartitionSpec` instances, but it was `None` when"
                f" axis_names={self.manual} are of type {self.mesh.axis_types}.",
                where=function_text(self.fun),
                why="in_specs can be inferred from the arguments' types only if all axes of"
                " the mesh are of type Explicit.",
                tries=["in_specs=P('x')"],
            )
        args, _ = call.in_tree.children()
        specs = tuple(specs) if isinstance(specs, list) else specs
        leaf_specs = tree.flatten_axes("shard_map in_specs", args, specs)
        all_manual = self.manual == {*self.mesh.axis_names}
        typed = all_manual and self.mesh.are_all_axes_explicit
        out = []
        for i, (spec, aval) in enumerate(zip(leaf_specs, avals, strict=True)):
            spec = PartitionSpec() if spec is None else spec
            self.check("in_specs", spec)
            if len(spec) > len(aval.shape):
                raise self.too_long("in_specs", "input", spec, names[i], aval)
            wrong = [
                f"axis {j} (of size {n}) to the mesh axes {spec[j]!r} (of size {k})"
                for j, (n, k) in enumerate(
                    zip(
                        aval.shape,
                        num_shards_per_axis(spec, self.mesh, len(aval.shape)),
                        strict=True,
                    )
                )
                if n % k
            ]
            if wrong:
                raise self.error(
                    f"{self.named} was given argument arrays with axis sizes that are not"
                    " evenly divisible by the corresponding mesh axis sizes:\n\nThe mesh"
                    f" given has shape {self.mesh.axis_sizes} with corresponding axis names"
                    f" {self.mesh.axis_names}; {spec} maps {', '.join(wrong)}.",
                    which=f"{names[i]}: {aval.str_short(False)}",
                    tries=["pad the axis", "another mesh, or another axis of the array"],
                )
            inferred = self.inferred(aval)
            if _reduction_axes(spec) != _reduction_axes(inferred):
                raise self.mismatch(
                    spec,
                    aval,
                    names[i],
                    "the argument is unreduced along"
                    f" {set(inferred.unreduced)}, and reduced along {set(inferred.reduced)}.",
                )
            if typed and _entries(spec, aval) != _entries(inferred, aval):
                raise self.mismatch(
                    spec,
                    aval,
                    names[i],
                    "along axes of type Explicit only an explicit reshard moves arrays.",
                )
            out.append(spec)
        return out

    def mismatch(self, spec: Any, aval: Any, which: str, why: str) -> Exception:
        """Return the error for an argument whose sharding differs from `in_specs`."""
        rest = [None] * (len(aval.shape) - len(spec))
        padded_spec = PartitionSpec(
            *spec, *rest, unreduced=spec.unreduced, reduced=spec.reduced
        )
        return self.error(
            f"in_specs passed to shard_map: {padded_spec} does not match the specs of the"
            f" input: {self.inferred(aval)} for arg: {aval.str_short(False)}.",
            which=which,
            why=why,
            tries=["jax.sharding.reshard(x, sharding)", "leave out in_specs"],
        )

    def inferred(self, aval: Any) -> PartitionSpec:
        """Return the spec of a value of this type along the manual axes."""
        if type(aval) is AbstractRef:
            aval = aval.inner_aval
        entries = [
            tuple(a for a in axes_of(entry) if a in self.manual) for entry in spec_of(aval)
        ]
        spec = (
            PartitionSpec()
            if aval.type_sharding.explicit is None
            else aval.type_sharding.explicit.spec
        )
        sums = {"unreduced": spec.unreduced, "reduced": spec.reduced}
        return PartitionSpec(*entries, **{k: n & self.manual for k, n in sums.items()})

    def too_long(self, what: str, kind: str, spec: Any, which: str, aval: Any) -> Exception:
        tries = ["a shorter spec"]
        if not aval.shape:
            tries = ["P(), for a scalar that is equal on all devices", "x[None], and P('x')"]
        return self.error(
            f"{self.named} was given an {what} entry which is too long to be compatible"
            f" with the corresponding {kind} value from the function:\n\n{what} is {spec}"
            f" which has length {len(spec)}, but {which} has shape"
            f" {aval.str_short(False)}, which has rank {len(aval.shape)} (and"
            f" {len(aval.shape)} < {len(spec)})",
            tries=tries,
        )

    def out_specs(self, specs: Any, traced: Any, check: bool) -> Any:
        """Return a spec for each result, checked to fit it."""
        leaf_specs = tree.flatten_axes("shard_map out_specs", traced.out_tree, specs)
        outs = tuple(PartitionSpec() if s is None else s for s in leaf_specs)
        for i, (spec, aval) in enumerate(zip(outs, traced.jaxpr.out_avals, strict=True)):
            self.check("out_specs", spec)
            if len(spec) > len(aval.shape):
                which = f"{name_of(self.fun)}(*args), result number {i},"
                raise self.too_long("out_specs", "output", spec, which, aval)
            if check and any(aval.type_sharding.manual):
                self.check_equal(spec, aval)
        return outs

    def check_written(self, traced: Any, specs: Sequence[PartitionSpec]) -> None:
        """Raise if a reference gets a value that varies along further axes."""
        closed = traced.jaxpr
        needs_discharge = [type(a) is AbstractRef for a in closed.in_avals]
        if any(needs_discharge):
            discharged, written = discharge_jaxpr(closed, needs_discharge)
            all_specs = [*[PartitionSpec()] * len(traced.hoisted), *specs]
            written_avals = discharged.out_avals[len(closed.out_avals) :]
            for spec, aval in zip(pick(all_specs, written), written_avals, strict=True):
                if any(aval.type_sharding.manual):
                    self.check_equal(spec, aval)

    def check_equal(self, spec: PartitionSpec, aval: Any) -> None:
        """Raise if a result may vary along an axis that its spec does not name."""
        named = {a for entry in spec for a in axes_of(entry)}
        unnamed = [
            a for a in aval.type_sharding.manual.varying if a in self.manual and a not in named
        ]
        sums = zip(aval.type_sharding.manual[1:], _reduction_axes(spec), strict=True)
        unnamed += [a for k, s in sums for a in k if a in self.manual and a not in s]
        unnamed = [
            a
            for a in unnamed
            if a not in spec.unreduced or a not in aval.type_sharding.manual.varying
        ]
        if not unnamed:
            return
        axes = ",".join(map(str, unnamed))
        if self.manual.issubset(n for kind in aval.type_sharding.manual for n in kind):
            across = f"axis {unnamed[0]!r}" if len(unnamed) == 1 else f"axes {tuple(unnamed)}"
            why = (
                f"is replicated across mesh {across}, but could not infer replication"
                " over any axes"
            )
        else:
            why = (
                f"is only varying across mesh axes {{{','.join(sorted(map(str, named)))}}}"
                f" and not {{{axes}}}, but it was inferred to be possibly varying over"
                f" {{{axes}}}"
            )
        raise self.error(
            f"{self.named} was given out_specs which require replication which can't be"
            " statically inferred given the mesh:\n\nThe mesh given has shape"
            f" {self.mesh.axis_sizes} with corresponding axis names"
            f" {self.mesh.axis_names}.\n\nout_specs is {spec} which implies that the"
            f" corresponding output value {why}",
            which=f"a result of type {aval.str_short(False)}",
            tries=[
                f"a spec that names {unnamed[0]!r}",
                f"lax.psum(x, {unnamed[0]!r})",
                "check_vma=False, if the results are equal",
            ],
        )
