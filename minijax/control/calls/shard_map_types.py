"""The boundary of `shard_map`: specs, and the types of values outside and inside.

    shard_aval      from the type of a global value to that of its shards: axes that become
                    manual leave its explicit sharding, and are manual axes of the type
    unshard_aval    from the type of a result's shards to that of the global value
    SpecChecks      whether specs fit the mesh, the arguments and the results

Next: ../../api/shard_map.py, the function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...base import errors, tree, util
from ...base.source import function_text, name_of
from ...base.util import pick
from ...ir import core
from ...ir.jaxpr import ClosedJaxpr, Equation, Var
from ...ir.sharding_rules import manual_axes, result_type
from ...passes.stage import remembered
from ...prims.collectives.pcast import casts_to
from ...runtime.sharding.mesh import with_manual_axes
from ...runtime.sharding.partition_spec import Infer, PartitionSpec, axes_of, check_spec
from ...runtime.sharding.shardings import NamedSharding
from ...types.avals import AbstractRef
from ...types.type_sharding import spec_of
from ..refs.discharge import discharge_jaxpr

if TYPE_CHECKING:
    from ...types.aliases import Aval

# -------------------------------------------------------------------- specs, axes in scope


class Stacked:
    """The spec of values of any rank that vary over `axes`: stacked along a new axis.

    after: the spec entries of the axes before the new one, which are lanes of `vmap`.
    """

    __slots__ = ("after", "axes")

    def __init__(self, axes: tuple[Any, ...], after: tuple[Any, ...] = ()) -> None:
        self.axes = axes
        self.after = after

    def __repr__(self) -> str:
        return f"Stacked({self.axes}{f', {self.after}' if self.after else ''})"

    def __eq__(self, other: object) -> bool:
        own = self.axes, self.after
        return isinstance(other, Stacked) and (other.axes, other.after) == own

    def __hash__(self) -> int:
        return hash((Stacked, self.axes, self.after))


def shifted(spec: Any, lanes: Any = None) -> Any:
    """Return the spec of batched values, whose lanes are sharded over `lanes` or local."""
    if isinstance(spec, Stacked):
        return Stacked(spec.axes, (lanes, *spec.after))
    return spec.update(partitions=(lanes, *spec))


def residual_spec(params: dict[str, Any], aval: Aval) -> Any:
    """Return the spec of a value inside that is neither an operand nor a result."""
    lanes = core.axes_of_lanes()  # the axes over which `vmap` will shard the values
    axes = [n for n, _ in named(params["mesh"], params["newly_manual_axes"]) if n not in lanes]
    if params["check_vma"]:
        axes = [n for n in axes if n in aval.type_sharding.manual.varying]
    return Stacked(tuple(axes)) if axes else PartitionSpec()


def cotangent_spec(spec: Any) -> Any:
    """Return the spec of cotangents: unreduced and reduced axes change places."""
    if isinstance(spec, Stacked) or not (spec.unreduced or spec.reduced):
        return spec
    return spec.update(unreduced=spec.reduced, reduced=spec.unreduced)


def scope(mesh: Any, manual: frozenset[Any], typed: bool) -> tuple[tuple[Any, int], ...]:
    """Return the axes in scope inside; if `typed`, types record which of them vary."""
    axes = named(mesh, manual)
    return (*core.STATE.axes, *(_typed(axes) if typed else axes))


@util.cached(1024)  # identical objects make the lookup of types faster
def _typed(axes: tuple[tuple[Any, int], ...]) -> tuple[tuple[Any, int], ...]:
    return tuple(map(core.TypedAxis, axes))


def named(mesh: Any, manual: frozenset[Any]) -> tuple[tuple[Any, int], ...]:
    """Return names and sizes of the manual axes, in the mesh's order."""
    return tuple((n, k) for n, k in mesh.shape_tuple if n in manual)


def placed(spec: Any) -> PartitionSpec:
    """Return the spec of a global value."""
    if isinstance(spec, Stacked):
        return PartitionSpec(*spec.after, spec.axes)
    return spec  # type: ignore[no-any-return]


def unnamed(spec: Any, params: dict[str, Any]) -> list[tuple[Any, int]]:
    """Return the manual axes, with their sizes, along which a value is replicated.

    Axes of lanes are excluded: each device has its own lanes.
    """
    used = {a for entry in placed(spec) for a in axes_of(entry)}
    used |= core.axes_of_lanes()
    axes = named(params["mesh"], params["newly_manual_axes"])
    return [(n, k) for n, k in axes if n not in used]


def num_shards_per_axis(spec: PartitionSpec, mesh: Any, ndim: int) -> list[int]:
    """Return the number of shards along each axis of a value."""
    counts = [math.prod(mesh.shape[a] for a in axes_of(entry)) for entry in spec]
    return counts + [1] * (ndim - len(counts))


# ------------------------------------------------------------------------------- types


def unshard_aval(aval: Aval, spec: Any, params: dict[str, Any]) -> Any:
    """Return the type of a global value from the type of its shards."""
    shape = list(aval.shape)
    if isinstance(spec, Stacked):
        shape.insert(len(spec.after), 1)
    spec, mesh = placed(spec), params["mesh"]
    num_shards = num_shards_per_axis(spec, mesh, len(shape))
    inner: list[Any] = list(spec_of(aval))
    if len(inner) < len(shape):
        inner = [None] * len(shape)
    entries = [
        (*axes_of(spec[i] if i < len(spec) else None), *axes_of(entry))
        for i, entry in enumerate(inner)
    ]
    spec = spec.update(partitions=tuple(entries))
    explicit = NamedSharding(mesh.abstract_mesh, spec).to_explicit(len(shape))
    sizes = tuple(n * k for n, k in zip(shape, num_shards, strict=True))
    outer = aval.type_sharding.manual.without(params["newly_manual_axes"])
    return aval.update(shape=sizes, explicit=explicit, manual=outer)


def shard_aval(
    aval: Aval, spec: PartitionSpec, mesh: Any, manual: frozenset[Any], typed: bool = False
) -> Any:
    """Return the type of the shards of a global value, whose axes are divisible.

    typed: whether the type records over which axes the shards vary.
    """
    if type(aval) is AbstractRef:
        return AbstractRef(shard_aval(aval.inner_aval, spec, mesh, manual, typed))
    num_shards = num_shards_per_axis(spec, mesh, len(aval.shape))
    sizes = tuple(n // k for n, k in zip(aval.shape, num_shards, strict=True))
    explicit, inner = aval.type_sharding.explicit, aval.type_sharding.manual
    if explicit is not None:
        rest = _restricted(explicit.spec, lambda a: a not in manual)
        is_sharded = any(rest) or rest.unreduced or rest.reduced
        inner_mesh = with_manual_axes(explicit.mesh, manual)
        explicit = explicit.update(mesh=inner_mesh, spec=rest) if is_sharded else None
    if typed:
        used = [a for entry in spec for a in axes_of(entry)]
        kinds = zip(inner, (used, spec.unreduced, spec.reduced), strict=True)
        inner = manual_axes(*[(*outer, *new) for outer, new in kinds])
    return aval.update(shape=sizes, explicit=explicit, manual=inner)


def _restricted(spec: PartitionSpec, keep: Callable[[Any], bool]) -> PartitionSpec:
    """Return the spec with only the mesh axes for which `keep` is true."""
    entries = [tuple(filter(keep, axes_of(entry))) for entry in spec]
    sums = {k: frozenset(filter(keep, getattr(spec, k))) for k in ("unreduced", "reduced")}
    return PartitionSpec(*entries, **sums)


def vary_as(closed: ClosedJaxpr, specs: Sequence[Any]) -> ClosedJaxpr:
    """Return the program with its results varying over all axes that their specs name.

    Over the `unreduced` axes of a spec they are unreduced; over the `reduced` ones their
    cotangents are.
    """
    casts = [
        casts_to(
            a.type_sharding.manual,
            [n for e in spec for n in axes_of(e)],
            spec.unreduced,
            spec.reduced,
        )
        for a, spec in zip(closed.out_avals, specs, strict=True)
    ]
    return _with_casts(closed, casts) if any(casts) else closed


@remembered
def _with_casts(closed: ClosedJaxpr, casts: Sequence[Any]) -> ClosedJaxpr:
    """Return the program with its results cast, each by a series of (primitive, axes)."""
    eqns, outs = list(closed.jaxpr.eqns), list(closed.jaxpr.outvars)
    for i, steps in enumerate(casts):
        for prim, axes in steps:
            params, aval = {"axes": axes}, outs[i].aval
            var = Var(result_type(prim, [aval], params))
            eqns.append(Equation(prim, (outs[i],), (var,), params, None, ""))
            outs[i] = var
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns, outvars=outs), closed.consts)


# ------------------------------------------------------------------------ checks of specs


def _reduction_axes(spec: PartitionSpec) -> tuple[frozenset[Any], frozenset[Any]]:
    return spec.unreduced, spec.reduced


def _entries(spec: PartitionSpec, aval: Aval) -> list[Any]:
    """Return for each axis of an array the mesh axes that shard it."""
    entries = list(map(axes_of, spec))
    return entries + [()] * (len(aval.shape) - len(entries))


class SpecChecks:
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
        if manual_already := [n for n, _ in core.STATE.axes if n in manual]:
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

    def mismatch(self, spec: Any, aval: Aval, which: str, why: str) -> Exception:
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

    def inferred(self, aval: Aval) -> PartitionSpec:
        """Return the spec of a value of this type along the manual axes."""
        if type(aval) is AbstractRef:
            aval = aval.inner_aval
        explicit = aval.type_sharding.explicit
        spec = PartitionSpec(*spec_of(aval)) if explicit is None else explicit.spec
        return _restricted(spec, self.manual.__contains__)

    def too_long(self, what: str, kind: str, spec: Any, which: str, aval: Aval) -> Exception:
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

    def check_equal(self, spec: PartitionSpec, aval: Aval) -> None:
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
