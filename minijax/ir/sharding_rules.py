"""Types of results: those of `Primitive.abstract`, sharded by `Primitive.sharding`.

Most operands are unsharded, and so are their results; `result_type` tests this first.
Otherwise the `ShardingRule` of the primitive (core.py) determines each part of the results'
`type_sharding` (types/type_sharding.py).

    explicit    its `specs` return the spec of each result from those of the operands
    manual      results vary along all axes that an operand varies along.  The operands of an
                operation must vary along the same axes; if they do not, `pcast` makes the
                others vary first: it costs nothing, and its transpose is the sum that
                derivatives need.  Operations that change the axes have `manual`
    both        unreduced and reduced axes follow from `linear_in`, in the same way for
                `Explicit` and for manual axes

This package names no operation.  Next: passes/stage.py.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base import errors
from ..base.errors import ShardingTypeError, error, value_error
from ..types.avals import DEVICE, ShapedArray
from ..types.dtypes import short_name
from ..types.type_sharding import (
    NO_MANUAL_AXES,
    UNSHARDED,
    ManualAxes,
    Spec,
    axes_in,
    sharded_axis_text,
    spec_of,
)
from . import core
from .jaxpr import sub_jaxprs

if TYPE_CHECKING:
    from ..runtime.sharding.mesh import AbstractMesh, Mesh
    from ..runtime.sharding.shardings import NamedSharding
    from ..types.aliases import Aval, AxisName, Params

NONE: frozenset[Any] = frozenset()


class Differing:
    """Returned in place of a result's type if operands must first vary along equal axes."""

    __slots__ = ()


DIFFERING = Differing()


class Specs(list[Spec]):
    """The specs of operands, over one mesh."""

    __slots__ = ("mesh",)

    def __init__(self, avals: Sequence[Aval], mesh: Mesh | AbstractMesh | None) -> None:
        super().__init__(map(spec_of, avals))
        self.mesh = mesh


def result_type(prim: core.Primitive, avals: Sequence[Aval], params: dict[str, Any]) -> Any:
    """Return the type(s) of a primitive's result(s), in the memory of its operands.

    Returns `DIFFERING` if the operands must first be made to vary along the same manual
    axes.
    """
    rule = prim.sharding
    if rule is core.REPLICATED or not rule.shards_results(params):
        for a in avals:
            if a.type_sharding is not UNSHARDED:
                break
        else:
            return _unsharded_type(prim, avals, params)
    manual = manual_axes_of_results(prim, avals, params)
    if isinstance(manual, Differing):
        return manual
    if manual is None:
        return _type_with_specs(prim, avals, params)
    bare = [with_manual_axes(a, NO_MANUAL_AXES) for a in avals]
    out = _type_with_specs(prim, bare, params)
    if prim.multiple_results:
        return [with_manual_axes(a, manual) for a in out]
    return with_manual_axes(out, manual)


# -------------------------------------------------------------------------- manual axes


def manual_axes_of_results(
    prim: core.Primitive, avals: Sequence[Aval], params: Params
) -> ManualAxes | Differing | None:
    """Return the manual axes of the results; None: `abstract` returns types with theirs."""
    rule = prim.sharding.manual
    arrays = [a for a in avals if isinstance(a, ShapedArray)]
    each = [a.type_sharding.manual for a in arrays]
    if callable(rule):
        axes_out: ManualAxes = rule(each, params)
        return axes_out
    if rule == "abstract" or prim.regions is not None or not any(map(any, each)):
        return None
    first = each[0]
    if all(axes is first or axes == first for axes in each) and not first.unreduced:
        return first
    names = union(each)
    if any(len(axes.varying) < len(names) for axes in each):
        return DIFFERING
    operands = [ReductionAxes(frozenset(u), frozenset(r), frozenset(v)) for v, u, r in each]
    return manual_axes(names, *reduction_axes_of_results(prim, arrays, operands))


def ordered(names: Iterable[AxisName]) -> tuple[AxisName, ...]:
    """Return names of manual axes in the order of the axes in scope."""
    names = set(names)
    in_scope = [n for n, _ in core.STATE.axes if n in names]
    return (*in_scope, *sorted(names.difference(in_scope), key=str))


def manual_axes(
    varying: Collection[AxisName] = (),
    unreduced: Collection[AxisName] = (),
    reduced: Collection[AxisName] = (),
) -> ManualAxes:
    """Return the manual axes of a type, in the order of the axes in scope."""
    if not (varying or unreduced or reduced):
        return NO_MANUAL_AXES
    return ManualAxes(ordered(varying), ordered(unreduced), ordered(reduced))


def with_manual_axes(aval: Aval, manual: ManualAxes) -> Aval:
    """Return `aval` with these manual axes."""
    if not isinstance(aval, ShapedArray) or aval.type_sharding.manual == manual:
        return aval
    return aval.update(manual=manual)


def joined(aval: Aval, *others: Aval) -> Aval:
    """Return `aval`, varying along all axes along which it or one of `others` varies."""
    own = aval.type_sharding.manual
    names = union([own, *[a.type_sharding.manual for a in others]])
    if names.issubset(own.varying):
        return aval
    return aval.update(manual=manual_axes(names, own.unreduced, own.reduced))


def missing(manual: ManualAxes, axes: Iterable[AxisName]) -> tuple[AxisName, ...]:
    """Return those of `axes` along which values of a type with these axes do not vary."""
    left = set(axes).difference(manual.varying)
    return ordered(left) if len(left) > 1 else tuple(left)


def union(each: Iterable[ManualAxes]) -> set[AxisName]:
    """Return the axes along which at least one varies."""
    return {n for axes in each for n in axes.varying}


# ---------------------------------------------------------------- specs of Explicit axes


def _type_with_specs(prim: core.Primitive, avals: Sequence[Any], params: dict[str, Any]) -> Any:
    """Return the types of the results, sharded along `Explicit` axes."""
    rule = prim.sharding
    requested = None if rule.request is None else params[rule.request]
    sharded = any(a.type_sharding.explicit is not None for a in avals)
    if requested is None and not (sharded and (rule.specs or not any(sub_jaxprs(params)))):
        return _unsharded_type(prim, avals, params)
    bare = [a if a.type_sharding.explicit is None else a.update(explicit=None) for a in avals]
    out = prim.abstract(*bare, **params)
    mesh = common_mesh(prim.name, avals)
    terms = NONE, NONE
    if any(has_reduction_axes(a.type_sharding.explicit) for a in avals):
        terms = reduction_axes_of_results(prim, avals, list(map(reduction_axes_of, avals)))
    if requested is not None:
        requested = requested.for_rank(len(out.shape))
        requested.check_compatible_aval(out.shape)
        explicit = requested.to_explicit(len(out.shape))
        if rule.check_request is not None:
            rule.check_request(explicit, list(map(spec_of, avals)), avals, params)
        return out.update(explicit=explicit)
    if rule.specs is None and not any(terms):
        return out
    outs = out if prim.multiple_results else [out]
    out_specs = [None] * len(outs)
    if rule.specs is not None:
        out_specs = rule.specs(Specs(avals, mesh), bare, outs, params)
    shardings = [a.type_sharding.explicit for a in avals]
    like = next(s for s in shardings if s is not None and s.mesh is mesh)
    outs = [
        _with_spec(prim.name, a, like, s, avals, terms)
        for a, s in zip(outs, out_specs, strict=True)
    ]
    return outs if prim.multiple_results else outs[0]


def common_mesh(name: str, avals: Sequence[Aval]) -> Mesh | AbstractMesh | None:
    """Return the mesh of the sharded operands; raise if they are over different meshes."""
    mesh = None
    for a in avals:
        if a.type_sharding.explicit is None:
            continue
        if mesh is None:
            mesh = a.type_sharding.explicit.mesh
        elif a.type_sharding.explicit.mesh != mesh:
            raise value_error(
                f"Mesh for all inputs should be equal. Got one mesh: {mesh} and another"
                f" mesh: {a.type_sharding.explicit.mesh}",
                where=name,
                which=", ".join(x.str_short(True) for x in avals),
                tries=["jax.sharding.reshard(x, sharding)"],
            )
    return mesh


def _with_spec(
    name: str,
    aval: Any,
    like: Any,
    spec: Spec | None,
    operands: Sequence[Any],
    terms: tuple[frozenset[Any], frozenset[Any]],
) -> Any:
    """Return `aval` with its axes sharded as in `spec`, over the mesh of `like`.

    Raises:
      ShardingTypeError: a mesh axis shards two axes, or an axis into unequal shards.
    """
    spec = spec or (None,) * len(aval.shape)
    if not any(spec) and not any(terms):
        return aval
    sizes = like.mesh.shape
    seen: set[Any] = set()
    for n, entry in zip(aval.shape, spec, strict=True):
        axes = axes_in(entry)
        num_shards = math.prod(sizes[a] for a in axes)
        if n % num_shards:
            raise error(
                ShardingTypeError,
                f"{name}: an axis of size {n} cannot be sharded over {entry!r} into"
                f" {num_shards} equal shards.",
                which=f"a result of shape {aval.shape} with spec {spec}",
                tries=["jax.sharding.reshard(x, sharding) first"],
            )
        if not seen.isdisjoint(axes):
            raise error(
                ShardingTypeError,
                f"{name} operation with inputs:"
                f" {', '.join(a.str_short(True) for a in operands)} produces an illegally"
                f" sharded result: {short_name(aval.dtype)}"
                f"[{','.join(map(sharded_axis_text, aval.shape, spec))}]",
                why="a mesh axis can shard only one axis of an array.",
                tries=["jax.sharding.reshard(x, sharding) of an operand first"],
            )
        seen.update(axes)
    unreduced, reduced = terms
    return aval.update(explicit=like.with_spec(spec).with_sums(unreduced, reduced - seen))


# ---------------------------------------------------------- unreduced and reduced axes


class ReductionAxes(NamedTuple):
    """The mesh axes along which an operand is unreduced, reduced, and sharded."""

    unreduced: frozenset[Any] = NONE
    reduced: frozenset[Any] = NONE
    sharded: frozenset[Any] = NONE


def has_reduction_axes(sharding: NamedSharding | None) -> bool:
    """Whether values with this sharding, or their cotangents, are unreduced."""
    return sharding is not None and bool(sharding.spec.unreduced or sharding.spec.reduced)


def reduction_axes_of(aval: Aval) -> ReductionAxes:
    """Return the `Explicit` axes along which a type is unreduced, reduced or sharded."""
    if aval.type_sharding.explicit is None:
        return ReductionAxes()
    spec = aval.type_sharding.explicit.spec
    sharded = frozenset(a for entry in spec for a in axes_in(entry))
    return ReductionAxes(spec.unreduced, spec.reduced, sharded)


def reduction_axes_of_results(
    prim: core.Primitive, avals: Sequence[Aval], operand_axes: Sequence[ReductionAxes]
) -> tuple[frozenset[Any], frozenset[Any]]:
    """Return the axes along which the results are unreduced, and those they are reduced on.

    Replicated scalars may be combined with reduced values: to sum their cotangents over
    devices takes only one number.
    """
    if prim.sharding.linear_in == "any":
        return NONE, NONE
    unreduced = _unreduced(prim, avals, operand_axes)
    reduced = set()
    for axis in NONE.union(*[s.reduced for s in operand_axes]) - unreduced:
        reduced_in = [axis in s.reduced for s in operand_axes]
        for a, s, yes in zip(avals, operand_axes, reduced_in, strict=True):
            if not yes and axis not in s.sharded and a.shape:
                raise _reduction_mismatch(
                    "Inputs cannot be replicated on the same axes that another input is"
                    f" reduced on. Got input type: {a.str_short(False)} and reduced spec:"
                    f" frozenset({{{axis!r}}})",
                    avals,
                )
        if all(y or not a.shape for y, a in zip(reduced_in, avals, strict=True)):
            reduced.add(axis)
    return unreduced, frozenset(reduced)


def _unreduced(
    prim: core.Primitive, avals: Sequence[Any], operand_axes: Sequence[ReductionAxes]
) -> frozenset[Any]:
    terms = [s.unreduced for s in operand_axes]
    if not any(terms):
        return NONE
    names = ("lhs", "rhs")
    texts = [f"{n}={a.str_short(False)}" for n, a in zip(names, avals, strict=False)]
    if prim.sharding.linear_in == "product" and len(terms) == 2:
        left, right = terms
        if left and right:
            raise _reduction_mismatch(
                f"lhs and rhs to `{prim}` cannot be unreduced since {prim} is bilinear. Got"
                f" lhs={left}, rhs={right}",
                avals,
            )
        one, other = ("LHS", "RHS") if left else ("RHS", "LHS")
        if not (left or right) <= operand_axes[1 if left else 0].reduced:
            raise _reduction_mismatch(
                f"{other} should be reduced along the same axes {one} is unreduced on. Got"
                f" {' and '.join(texts)}",
                avals,
            )
        return left or right
    if prim.sharding.linear_in == "together":
        for name, axes in zip(names, terms, strict=False):
            if axes and any(other != axes for other in terms):
                rest = "rhs" if name == "lhs" else "lhs"
                raise _reduction_mismatch(
                    f"{name} is unreduced while {rest} is not. `{prim}` operation does not"
                    " allow this because there will be implicit communication. Please"
                    f" reduce {name} via `reshard` before calling `{prim}`.",
                    avals,
                )
        return terms[0]
    if prim.sharding.linear_in == "first" and not any(terms[1:]):
        return terms[0]
    raise error(
        NotImplementedError,
        f"unreduced rule for {prim} is not implemented.",
        which=", ".join(a.str_short(True) for a in avals),
        why="it is not linear, so it does not map the terms of a sum to terms of a sum.",
        tries=["jax.sharding.reshard(x, sharding) first", "lax.psum(x, axis)"],
    )


def _reduction_mismatch(what: str, avals: Sequence[Any]) -> ShardingTypeError:
    raised: ShardingTypeError = error(
        ShardingTypeError,
        what,
        which=", ".join(a.str_short(True) for a in avals),
        why="this operation would need communication between devices to reduce its operands"
        " first.",
        tries=["jax.sharding.reshard(x, sharding) of an operand", "lax.pcast"],
    )
    return raised


# ------------------------------------------------------------------------ memory spaces


def _unsharded_type(prim: core.Primitive, avals: Sequence[Any], params: dict[str, Any]) -> Any:
    """Return the types of the results by `abstract`, in the operands' memory space."""
    out = prim.abstract(*avals, **params)
    for a in avals:
        if a.memory_space is not DEVICE:
            return _in_operand_memory(prim, avals, params, out)
    return out


def _in_operand_memory(
    prim: core.Primitive, avals: Sequence[Any], params: dict[str, Any], out: Any
) -> Any:
    """Return result types in the operands' memory space; raise if operands differ in it."""
    if prim.facts.sets_memory_space or any(sub_jaxprs(params)):
        return out
    spaces = {a.memory_space for a in avals if getattr(a, "shape", ())}
    if len(spaces) > 1:
        one = next(a for a in avals if a.memory_space is DEVICE and a.shape)
        other = next(a for a in avals if a.memory_space is not DEVICE)
        raise ValueError(
            errors.message(
                f"memory_space of all inputs passed to `{prim}` must be the same. Got"
                f" {other.str_short(False)} and {one.str_short(False)}.",
                where=core.stack_text(),
                why="an operation reads one memory: the host's or the device's.",
                tries=["device_put(x, minijax.memory.Space.Device) first"],
            )
        )
    if not spaces or spaces == {DEVICE}:
        return out
    (space,) = spaces

    def with_space(aval: Any) -> Any:
        return aval.update(memory_space=space)

    return list(map(with_space, out)) if prim.multiple_results else with_space(out)
