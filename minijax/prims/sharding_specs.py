"""Rules that primitives share, for the specs of results along `Explicit` axes.

A rule is the part `specs` of a `ShardingRule` (ir/core.py).  It takes the specs of the
operands, the types of operands and results, and the params, and returns a spec for each
result.  It raises where a result's sharding is ambiguous or needs communication between
devices; the user then adds `reshard` or `out_sharding=`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base import errors
from ..base.errors import ShardingTypeError
from ..ir import core
from ..runtime.sharding import mesh as meshes
from ..runtime.sharding.mesh import AxisType
from ..runtime.sharding.partition_spec import PartitionSpec, axes_of
from ..runtime.sharding.shardings import NamedSharding
from ..types.type_sharding import Spec, sharded_axis_text

__all__ = (
    "elementwise_specs",
    "equal_specs",
    "replicated_axes_specs",
    "canonicalize_out_sharding",
    "check_replicated",
    "first_operand_specs",
    "sharding_for_aval",
    "add_lane_to_sharding",
    "ambiguous_sharding_error",
    "slice_specs",
    "matrices",
    "batched_specs",
    "unresolved",
    "is_empty_sharding",
)

SpecsRule = Callable[..., list[Any]]


def ambiguous_sharding_error(
    what: str, avals: Sequence[Any] = (), **fields: Any
) -> ShardingTypeError:
    """Return the error for operands that leave the result's sharding ambiguous."""
    fields.setdefault("which", ", ".join(a.str_short(True) for a in avals) or None)
    fields.setdefault("tries", ["jax.sharding.reshard(x, sharding) of an operand"])
    return errors.error(ShardingTypeError, what, **fields)


def elementwise_specs(name: str) -> SpecsRule:
    """Return the rule that merges the specs of operands of the result's rank."""

    def rule(specs: Sequence[Spec], avals: Any, outs: Any, params: Any) -> list[Any]:
        n = len(outs[0].shape)
        matching_specs = [s for s in specs if len(s) == n]
        out_spec: list[Any] = [None] * n
        for spec in matching_specs:
            for i, entry in enumerate(spec):
                if entry is not None and out_spec[i] not in (None, entry):
                    listed = ", ".join(map(str, matching_specs))
                    raise ambiguous_sharding_error(
                        f"{name} got incompatible shardings for broadcasting: {listed}."
                    )
                out_spec[i] = entry if entry is not None else out_spec[i]
        return [tuple(out_spec) for _ in outs]

    return rule


def equal_specs(what: str, k: int = 0) -> SpecsRule:
    """Return the rule of operands that, from number `k` on, must have the result's spec.

    Scalars and replicated operands are exempt: sharding them moves no data.
    """

    def rule(specs: Sequence[Spec], avals: Any, outs: Any, params: Any) -> list[Any]:
        n = len(outs[0].shape)
        matching_specs = [s for s in specs[k:] if len(s) == n]
        sharded_specs = [s for s in matching_specs if any(s)]
        if any(s != sharded_specs[0] for s in sharded_specs):
            raise ambiguous_sharding_error(
                f"{what}, got {[PartitionSpec(*s) for s in matching_specs]}."
            )
        return [
            sharded_specs[0]
            if sharded_specs
            else elementwise_specs(what)(specs, avals, outs, params)[0]
        ] * len(outs)

    return rule


def first_operand_specs(specs: Sequence[Spec], avals: Any, outs: Any, params: Any) -> list[Any]:
    """Give the first operand's spec to results whose shape begins as its shape does."""
    out_specs: list[Any] = []
    for a in outs:
        n = len(a.shape)
        spec = (*specs[0], *[None] * n)[:n]
        same = a.shape[: len(specs[0])] == avals[0].shape[:n]
        out_specs.append(spec if same else None)
    return out_specs


def matrices(specs: Sequence[Spec], avals: Any, outs: Any, params: Any) -> list[Any]:
    """Give the batch axes of results the operands' spec; matrix axes must be replicated."""
    return batched_specs(*(2 for _ in specs))(specs, avals, outs, params)


def batched_specs(*ranks: int) -> SpecsRule:
    """Return the rule `matrices` for operands with `ranks` axes after batch axes."""

    def rule(specs: Sequence[Spec], avals: Any, outs: Any, params: Any) -> list[Any]:
        batch_spec: list[Any] = [None] * (len(specs[0]) - ranks[0])
        for spec, aval, rank in zip(specs, avals, ranks, strict=True):
            batch_ndim = len(spec) - rank
            if batch_ndim < 0:
                continue
            what = "matrices must be unsharded." if rank > 1 else "vectors must be unsharded."
            check_replicated(spec, [aval], range(batch_ndim, len(spec)), what)
            if batch_ndim == len(batch_spec):
                previous = batch_spec
                batch_spec = [a or b for a, b in zip(spec[:batch_ndim], previous, strict=True)]
        return [(*batch_spec, *[None] * (len(a.shape) - len(batch_spec))) for a in outs]

    return rule


def slice_specs(specs: Sequence[Spec], avals: Any, outs: Any, params: Any) -> list[Any]:
    """Give a slice the first operand's spec; raise where a sharded axis becomes size 1."""
    for spec, a in zip(specs, avals, strict=False):
        for n, m, entry in zip(a.shape, outs[0].shape, spec, strict=False):
            if entry is not None and n != m and m == 1:
                raise unresolved(
                    "gather", ".at[...].get(out_sharding=)", "indexing", avals, specs
                )
        break
    return [specs[0]]


def unresolved(
    name: str, method: str, doing: str, avals: Sequence[Any], specs: Sequence[Any]
) -> Exception:
    """Return the error for a gather or scatter whose result's sharding is ambiguous."""
    types = list(map(sharded_aval_text, avals, specs))
    return ambiguous_sharding_error(
        f"Use `{method}` to provide output PartitionSpec for the {name} {doing} as out"
        " sharding could not be resolved unambiguously (or would require collectives on"
        f" inputs). Got operand={types[0]}, indices={', '.join(types[1:])}",
        tries=[f"x{method}", "jax.sharding.reshard(x, sharding) first"],
    )


def replicated_axes_specs(axes: Callable[[Any, Any], Sequence[int]], why: str) -> SpecsRule:
    """Return the rule that keeps the first operand's spec, unsharded along some axes.

    axes(avals, params) returns these axes; `why` begins the error where one is sharded.
    """

    def rule(specs: Sequence[Spec], avals: Any, outs: Any, params: Any) -> list[Any]:
        check_replicated(specs[0], avals, axes(avals, params), why)
        return [specs[0] for _ in outs]

    return rule


def sharded_aval_text(aval: Any, spec: Spec) -> str:
    """Return the text of a type with the spec of each axis."""
    return f"{aval.dtype.name}[{','.join(map(sharded_axis_text, aval.shape, spec))}]"


def check_replicated(spec: Spec, avals: Sequence[Any], axes: Sequence[int], what: str) -> None:
    """Raise ShardingTypeError if the first operand is sharded along one of the axes."""
    axes = [i for i in axes if spec[i] is not None]
    if axes:
        raise ambiguous_sharding_error(
            f"{what} Got input type={sharded_aval_text(avals[0], spec)} and axis={axes[0]}"
        )


def add_lane_to_sharding(axis: Any, sharding: Any, at: int) -> Any:
    """Return the sharding of all lanes, given the requested sharding of one lane."""
    if sharding is None:
        return None
    spec = list(sharding.spec)
    spec += [None] * (at - len(spec))
    spec.insert(at, None if axis.lane_sharding is None else axis.lane_sharding.spec[0])
    return sharding.with_spec(sharding.spec.update(partitions=tuple(spec)))


def sharding_for_aval(aval: Any, *others: Any) -> Any:
    """Return the `out_sharding` that gives a result the sharding of `aval`.

    If `aval` has none but an operand has, the result is replicated over that mesh.
    """
    if aval.type_sharding.explicit is not None:
        return aval.type_sharding.explicit
    for x in others:
        operand_sharding = core.aval_of(x).type_sharding.explicit
        if operand_sharding is not None:
            return operand_sharding.with_spec([None] * len(aval.shape))
    return None


def is_empty_sharding(sharding: Any) -> bool:
    """Whether this is the empty sharding of types without an explicit sharding."""
    return isinstance(sharding, NamedSharding) and sharding.mesh.empty


def canonicalize_out_sharding(name: str, sharding: Any, *operands: Any) -> Any:
    """Return a user's `out_sharding` as a sharding over an abstract mesh, or None.

    Raises:
      TypeError: it is neither a `NamedSharding` nor a `PartitionSpec`.
      ValueError: it names axes that are not `Explicit`, or there is no mesh.
    """
    if sharding is None:
        return None
    if isinstance(sharding, PartitionSpec):
        mesh: Any = meshes.get_abstract_mesh()
        if mesh.empty:
            operand_shardings = (core.aval_of(x).type_sharding.explicit for x in operands)
            operand_sharding = next((s for s in operand_shardings if s is not None), None)
            if operand_sharding is None:
                raise errors.value_error(
                    "Using PartitionSpec when you are not under a mesh context is not"
                    " allowed. Please pass a NamedSharding instance or enter into a mesh"
                    f" context via `jax.set_mesh`. Got {sharding}",
                    where=name,
                )
            mesh = operand_sharding.mesh
        result = NamedSharding(mesh, sharding)
    elif is_empty_sharding(sharding):
        return None
    elif isinstance(sharding, NamedSharding):
        mesh = sharding.mesh.abstract_mesh
        result = sharding if mesh is sharding.mesh else NamedSharding(mesh, sharding.spec)
    else:
        raise errors.type_error(
            f"`out_sharding` argument of {name} only supports instances of"
            f" `NamedSharding` or `PartitionSpec`. Got {sharding} of type:"
            f" {type(sharding)}"
        )
    kinds = dict(zip(mesh.axis_names, mesh.axis_types, strict=True))
    named = [a for entry in result.spec for a in axes_of(entry)]
    for axis in (*named, *result.spec.unreduced, *result.spec.reduced):
        if kinds[axis] is not AxisType.Explicit:
            raise errors.value_error(
                f"PartitionSpec passed to {name} cannot contain axis names that are of"
                f" type Auto or Manual. Got PartitionSpec: {result.spec} with axis name:"
                f" {axis} of type: {kinds[axis]}",
                why="Along other axes, the compiler chooses the sharding.",
                tries=["lax.with_sharding_constraint(result, sharding)"],
            )
    return result
