"""How results are cut along `Explicit` axes of a mesh: the rules that primitives share.

A rule takes the specs of operands (see ir/explicit_sharding.py), their types, those of the results,
and the params; it gives a spec for each result.  What would move data between devices, or
could be done in two ways, is an error: the program says `reshard`, or `out_sharding=`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base import errors
from ..base.errors import ShardingTypeError
from ..ir import core
from ..ir.explicit_sharding import Spec
from ..runtime.sharding import mesh as meshes
from ..runtime.sharding.mesh import AxisType
from ..runtime.sharding.partition_spec import PartitionSpec, axes_of
from ..runtime.sharding.shardings import NamedSharding
from ..types.avals import sharded_axis_text

__all__ = (
    "elementwise_sharding_rule",
    "equal_sharding_rule",
    "replicated_axes_rule",
    "canonicalize_out_sharding",
    "check_replicated",
    "first_operand_sharding_rule",
    "sharding_for_aval",
    "add_lane_to_sharding",
    "ambiguous_sharding_error",
    "slice_sharding_rule",
    "matrices",
    "batched_sharding_rule",
    "unresolved",
    "is_empty_sharding",
)

Lie = Callable[..., list[Any]]


def ambiguous_sharding_error(
    what: str, avals: Sequence[Any] = (), **parts: Any
) -> ShardingTypeError:
    """The error for operands whose result could not lie in one way alone."""
    parts.setdefault("which", ", ".join(a.str_short(True) for a in avals) or None)
    parts.setdefault("tries", ["jax.sharding.reshard(x, sharding) of an operand"])
    return errors.error(ShardingTypeError, what, **parts)


def elementwise_sharding_rule(name: str) -> Lie:
    """Results lie as operands of their rank do, which must not contradict each other."""

    def lie(specs: Sequence[Spec], avals: Any, outs: Any, params: Any) -> list[Any]:
        n = len(outs[0].shape)
        mine = [s for s in specs if len(s) == n]
        found: list[Any] = [None] * n
        for spec in mine:
            for i, entry in enumerate(spec):
                if entry is not None and found[i] not in (None, entry):
                    found_so = ", ".join(map(str, mine))
                    raise ambiguous_sharding_error(
                        f"{name} got incompatible shardings for broadcasting: {found_so}."
                    )
                found[i] = entry if entry is not None else found[i]
        return [tuple(found) for _ in outs]

    return lie


def equal_sharding_rule(what: str, k: int = 0) -> Lie:
    """Operands from number `k` on lie equally, and so does the result.

    Scalars aside, and what is whole everywhere, which may be cut at no cost.
    """

    def lie(specs: Sequence[Spec], avals: Any, outs: Any, params: Any) -> list[Any]:
        n = len(outs[0].shape)
        mine = [s for s in specs[k:] if len(s) == n]
        cut = [s for s in mine if any(s)]
        if any(s != cut[0] for s in cut):
            raise ambiguous_sharding_error(f"{what}, got {[PartitionSpec(*s) for s in mine]}.")
        return [
            cut[0] if cut else elementwise_sharding_rule(what)(specs, avals, outs, params)[0]
        ] * len(outs)

    return lie


def first_operand_sharding_rule(
    specs: Sequence[Spec], avals: Any, outs: Any, params: Any
) -> list[Any]:
    """Results whose shape begins as that of the first operand lie as it does."""
    found: list[Any] = []
    for a in outs:
        n = len(a.shape)
        spec = (*specs[0], *[None] * n)[:n]
        same = a.shape[: len(specs[0])] == avals[0].shape[:n]
        found.append(spec if same else None)
    return found


def matrices(specs: Sequence[Spec], avals: Any, outs: Any, params: Any) -> list[Any]:
    """Results of stacks of matrices are stacks that lie as those do; matrices are whole."""
    return batched_sharding_rule(*(2 for _ in specs))(specs, avals, outs, params)


def batched_sharding_rule(*ranks: int) -> Lie:
    """As `matrices`, of operands whose last so many axes are theirs."""

    def lie(specs: Sequence[Spec], avals: Any, outs: Any, params: Any) -> list[Any]:
        found: list[Any] = [None] * (len(specs[0]) - ranks[0])
        for spec, aval, rank in zip(specs, avals, ranks, strict=True):
            lead = len(spec) - rank
            if lead < 0:
                continue
            what = "matrices must be unsharded." if rank > 1 else "vectors must be unsharded."
            check_replicated(spec, [aval], range(lead, len(spec)), what)
            if lead == len(found):
                known = found
                found = [a or b for a, b in zip(spec[:lead], known, strict=True)]
        return [(*found, *[None] * (len(a.shape) - len(found))) for a in outs]

    return lie


def slice_sharding_rule(specs: Sequence[Spec], avals: Any, outs: Any, params: Any) -> list[Any]:
    """A box out of the first operand lies as that does; axes stay even where it is cut."""
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
    """The error for a gather or scatter of which it is not clear how its result lies."""
    types = list(map(sharded_aval_text, avals, specs))
    return ambiguous_sharding_error(
        f"Use `{method}` to provide output PartitionSpec for the {name} {doing} as out"
        " sharding could not be resolved unambiguously (or would require collectives on"
        f" inputs). Got operand={types[0]}, indices={', '.join(types[1:])}",
        tries=[f"x{method}", "jax.sharding.reshard(x, sharding) first"],
    )


def replicated_axes_rule(axes: Callable[[Any, Any], Sequence[int]], why: str) -> Lie:
    """Results lie as the first operand, which is whole along `axes(avals, params)`."""

    def lie(specs: Sequence[Spec], avals: Any, outs: Any, params: Any) -> list[Any]:
        check_replicated(specs[0], avals, axes(avals, params), why)
        return [specs[0] for _ in outs]

    return lie


def sharded_aval_text(aval: Any, spec: Spec) -> str:
    """A type as it is printed, cut as a spec says."""
    return f"{aval.dtype.name}[{','.join(map(sharded_axis_text, aval.shape, spec))}]"


def check_replicated(spec: Spec, avals: Sequence[Any], axes: Sequence[int], what: str) -> None:
    """Raise unless the first operand is cut along none of the axes."""
    axes = [i for i in axes if spec[i] is not None]
    if axes:
        raise ambiguous_sharding_error(
            f"{what} Got input type={sharded_aval_text(avals[0], spec)} and axis={axes[0]}"
        )


def add_lane_to_sharding(axis: Any, sharding: Any, at: int) -> Any:
    """A sharding that is asked for of one lane, as one of all lanes."""
    if sharding is None:
        return None
    spec = list(sharding.spec)
    spec += [None] * (at - len(spec))
    spec.insert(at, None if axis.lane_sharding is None else axis.lane_sharding.spec[0])
    return sharding.with_spec(sharding.spec.update(partitions=tuple(spec)))


def sharding_for_aval(aval: Any, *others: Any) -> Any:
    """What to ask for so that a result has the type `aval`, made of these operands."""
    if aval.explicit_sharding is not None:
        return aval.explicit_sharding
    for x in others:
        lies = core.aval_of(x).explicit_sharding
        if lies is not None:
            return lies.with_spec([None] * len(aval.shape))
    return None


def is_empty_sharding(sharding: Any) -> bool:
    """Whether it is what types that say nothing of lying have for a sharding."""
    return isinstance(sharding, NamedSharding) and sharding.mesh.empty


def canonicalize_out_sharding(name: str, sharding: Any, *operands: Any) -> Any:
    """What a user's `out_sharding` asks for: a sharding over an abstract mesh, or None.

    Raises:
      TypeError: it is neither a `NamedSharding` nor a `PartitionSpec`.
      ValueError: it names axes that are not `Explicit`, or there is no mesh.
    """
    if sharding is None:
        return None
    if isinstance(sharding, PartitionSpec):
        mesh = meshes.get_abstract_mesh()
        if mesh.empty:
            known = (core.aval_of(x).explicit_sharding for x in operands)
            lies = next((s for s in known if s is not None), None)
            if lies is None:
                raise errors.value_error(
                    "Using PartitionSpec when you are not under a mesh context is not"
                    " allowed. Please pass a NamedSharding instance or enter into a mesh"
                    f" context via `jax.set_mesh`. Got {sharding}",
                    where=name,
                )
            mesh = lies.mesh
        found = NamedSharding(mesh, sharding)
    elif is_empty_sharding(sharding):
        return None
    elif isinstance(sharding, NamedSharding):
        mesh = sharding.mesh.abstract_mesh
        found = sharding if mesh is sharding.mesh else NamedSharding(mesh, sharding.spec)
    else:
        raise errors.type_error(
            f"`out_sharding` argument of {name} only supports instances of"
            f" `NamedSharding` or `PartitionSpec`. Got {sharding} of type:"
            f" {type(sharding)}"
        )
    kinds = dict(zip(mesh.axis_names, mesh.axis_types, strict=True))
    named = [a for entry in found.spec for a in axes_of(entry)]
    for axis in (*named, *found.spec.unreduced, *found.spec.reduced):
        if kinds[axis] is not AxisType.Explicit:
            raise errors.value_error(
                f"PartitionSpec passed to {name} cannot contain axis names that are of"
                f" type Auto or Manual. Got PartitionSpec: {found.spec} with axis name:"
                f" {axis} of type: {kinds[axis]}",
                why="along other axes, the compiler decides how values lie.",
                tries=["lax.with_sharding_constraint(result, sharding)"],
            )
    return found
