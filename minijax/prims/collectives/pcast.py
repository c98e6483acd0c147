"""Casts and sums between the kinds of types along manual axes of `shard_map`.

    invarying  pvary ->               varying     equal everywhere -> may differ
    varying    psum_invariant ->      invarying   the sum over the axis
    varying    vary_unreduced_cast -> unreduced   each device's value is a term of a sum
    unreduced  unreduced_psum ->      invarying   that sum
    invarying  preduced ->            reduced     equal everywhere; cotangents unreduced
    reduced    reduced_vary_cast ->   varying

Casts do not compute.  Each is the transpose of another cast or of a sum.  So derivatives
with respect to an invarying value are summed over the devices that used it.

Next: psum.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...base import config, errors, tree, util
from ...base.errors import ShardingTypeError
from ...ir import core
from ...ir.core import Primitive
from ...ir.facts import Facts
from ...ir.sharding_rules import manual_axes, missing, ordered, union
from ...passes.ad_util import core_ops
from ...types.avals import shaped
from ...types.type_sharding import ManualAxes
from ..elementwise import linear_jvp
from ..math.algebraic import add_p
from ..reduce.over_axes import emit_monoid
from . import named_axes
from .named_axes import axis_tuple

__all__ = ("pcast",)

KINDS = ("varying", "unreduced", "reduced")

# ------------------------------------------------------------------------- primitives


@util.cached(4096, lambda: core.STATE.axes)  # which determine the order of names
def moved(manual: ManualAxes, axes: Sequence[Any], old: str, new: str) -> ManualAxes:
    """Return manual axes with `axes` moved from `old` to `new` ('': invarying)."""
    axis_sets = {k: set(n) for k, n in manual._asdict().items()}
    if old:
        axis_sets[old].difference_update(axes)
    if new:
        axis_sets[new].update(axes)
    return manual_axes(**axis_sets)


def _cast(name: str, old: str, new: str) -> Primitive:
    """Declare a primitive that casts its operand along its axes from `old` to `new`."""
    prim = Primitive(name)
    prim.facts = Facts(makes_no_nans=True, lowers_key_arrays=True)
    prim.abstract = lambda x, *, axes: x
    prim.def_sharding(manual=lambda kinds, params: moved(kinds[0], params["axes"], old, new))
    prim.named_axes = named_axes.uses("axes")
    linear_jvp(prim)
    prim.batch = lambda axis, args, dims, *, axes: (prim.bind(*args, axes=axes), dims[0])
    prim.lower = lambda ctx, x, *, axes: x
    prim.impl = lambda x, *, axes: x
    return prim


def all_reduce(ctx: Any, x: Any, names: Sequence[Any], groups: Any, combine: Primitive) -> Any:
    """Emit the reduction of a value over named axes."""
    (out,) = ctx.avals_out
    attrs = named_axes.groups_attributes(ctx, names, groups)
    op = ctx.region_op("stablehlo.all_reduce", [ctx.type(out)], [x], **attrs)
    emit_monoid(ctx, op.regions[0], combine, shaped((), out.dtype))
    return op.result


def _sum(name: str, old: str) -> Primitive:
    """Declare a primitive that sums over its axes, along which its operand is `old`."""
    prim = _cast(name, old, "")
    prim.facts = Facts()
    prim.impl = None
    prim.lower = lambda ctx, x, *, axes: all_reduce(ctx, x, axes, None, add_p)
    return prim


pvary_p = _cast("pvary", "", "varying")
preduced_p = _cast("preduced", "", "reduced")
vary_unreduced_cast_p = _cast("vary_unreduced_cast_p", "varying", "unreduced")
reduced_vary_cast_p = _cast("reduced_vary_cast_p", "reduced", "varying")
psum_invariant_p = _sum("psum_invariant", "varying")
unreduced_psum_p = _sum("unreduced_psum", "unreduced")

for _one, _other in (
    (pvary_p, psum_invariant_p),
    (preduced_p, unreduced_psum_p),
    (vary_unreduced_cast_p, reduced_vary_cast_p),
):
    _one.transpose = lambda ct, x, *, axes, back=_other: [back.bind(ct, axes=axes)]
    _other.transpose = lambda ct, x, *, axes, back=_one: [back.bind(ct, axes=axes)]

# ---------------------------------------------------------------------------- functions


def typed(axes: Sequence[Any]) -> tuple[Any, ...]:
    """Return those axes along which types record whether values vary."""
    typed_axes = core.typed_axes()
    return tuple([a for a in axes if a in typed_axes]) if typed_axes else ()


def _state(manual: ManualAxes, axis: Any) -> str:
    for name, axes in zip(KINDS, manual, strict=True):
        if axis in axes:
            return name
    return "invarying"


def state_of(x: Any, axes: Sequence[Any], what: str) -> str:
    """Return the kind of `x` along some typed axes.

    Raises:
      ValueError: it has different kinds along these axes.
    """
    aval = core.aval_of(x)
    states = {_state(aval.type_sharding.manual, a) for a in axes}
    if len(states) > 1:
        raise errors.value_error(
            f"{what} can only accept axis_name which corresponds to one of varying,"
            " unreduced, reduced or invarying state of the input. Got input type:"
            f" {aval.str_short(False)}, axes: {tuple(axes)} and input state: {states}",
            why="The operation depends on the kind.",
            tries=["lax.pcast(x, axis, to='varying')", "one call for each kind of axis"],
        )
    return states.pop()


def _vary(x: Any, axes: tuple[Any, ...]) -> Any:
    """Cast `x` to varying along axes along which it is invarying."""
    aval = core.aval_of(x)
    for name, names in zip(KINDS[1:], aval.type_sharding.manual[1:], strict=True):
        if names and not set(axes).isdisjoint(names):
            raise errors.value_error(
                f"pvary cannot accept args which are {name}. Got {aval.str_short(True)} and"
                f" axes={set(axes)}",
                tries=["lax.psum(x, axis)"]
                if name == "unreduced"
                else ["lax.pcast(x, axis, to='varying')"],
            )
    return pvary_p.bind(x, axes=axes)


def pcast_to_varying(x: Any, axes: Sequence[Any]) -> Any:
    """Cast `x` to varying along those axes along which types record variation."""
    typed_names = typed(axes)
    if not typed_names:
        return x
    aval = core.aval_of(x)
    lacking = missing(aval.type_sharding.manual, typed_names)
    if not lacking:
        return x
    if not config.AUTO_PCAST.value:
        raise _auto_pcast_error(
            "The axis names of a collective must be present in"
            f" `jax.typeof(inp).mat.varying`. Got axes={tuple(axes)} and"
            f" jax.typeof(inp).mat.varying={aval.manual_axis_type.varying}",
            [aval],
        )
    return _vary(x, lacking)


def _auto_pcast_error(what: str, avals: Sequence[Any]) -> Exception:
    """Return the error for an implicit cast that `jax_auto_pcast` forbids."""
    return errors.value_error(
        what,
        which=", ".join(a.str_short(True) for a in avals),
        why="jax_auto_pcast is off.",
        tries=["lax.pcast(x, axis, to='varying')"],
    )


def casts_to(
    current: ManualAxes, vary: Sequence[Any], unreduced: Any, reduced: Any
) -> tuple[tuple[Primitive, tuple[Any, ...]], ...]:
    """Return the casts, with their axes, to a type with these kinds of axes."""
    steps = (
        (pvary_p, missing(current, vary)),
        (vary_unreduced_cast_p, set(unreduced).intersection(current.varying)),
        (preduced_p, set(reduced).difference(*current)),
    )
    return tuple([(prim, ordered(axes)) for prim, axes in steps if axes])


def vary_as(x: Any, target: ManualAxes) -> Any:
    """Make `x` vary along exactly the axes of a type.

    Along other axes it is summed: there `x` is the cotangent of an invarying value, and each
    device has a term of it.
    """
    current = core.aval_of(x).type_sharding.manual
    target_names = {n for names in target for n in names}
    if extra := tuple(n for n in current.varying if n not in target_names):
        x = psum_invariant_p.bind(x, axes=extra)
    lacking = missing(current, target.varying)
    return _vary(x, lacking) if lacking else x


def _vary_together(
    prim: Primitive, args: Sequence[Any], avals: Sequence[Any]
) -> tuple[Any, ...]:
    """Cast the operands of an operation so that they vary along the same axes."""
    if not config.AUTO_PCAST.value:
        raise _auto_pcast_error(
            f"Primitive {prim} requires varying manual axes to match, but got"
            f" {[a.mat.varying for a in avals]}.",
            avals,
        )
    names = union([a.type_sharding.manual for a in avals])
    reduced = {n for a in avals for n in a.type_sharding.manual.reduced}
    out = []
    for x, a in zip(args, avals, strict=True):
        manual = a.type_sharding.manual
        vary_names = names
        if reduced:
            for axis in reduced.difference(names, manual.reduced) if a.shape else ():
                raise _mismatch(
                    "Inputs cannot be replicated on the same axes that another input is"
                    f" reduced on. Got input type: {a.str_short(False)} and reduced spec:"
                    f" frozenset({{{axis!r}}})",
                    avals,
                    tries=[f"lax.pcast(x, {axis!r}, to='reduced')"],
                )
            if back := ordered(names.intersection(manual.reduced)):
                x = reduced_vary_cast_p.bind(x, axes=back)
                vary_names = names.difference(back)
        lacking = missing(manual, vary_names)
        out.append(_vary(x, lacking) if lacking else x)
    # Without a cast, only unreduced axes can differ, which no cast can make equal.
    if all(x is y for x, y in zip(args, out, strict=True)):
        raise _mismatch(
            "Inputs of an operation are unreduced along different axes.",
            avals,
            why="Only terms of the same sums can be combined.",
            tries=["lax.psum(x, axis)"],
        )
    return tuple(out)


def _mismatch(what: str, avals: Sequence[Any], **fields: Any) -> ShardingTypeError:
    """Return the error for operands with incompatible manual axes."""
    which = ", ".join(a.str_short(True) for a in avals)
    raised: ShardingTypeError = errors.error(ShardingTypeError, what, which=which, **fields)
    return raised


core_ops.match_varying_axes = _vary_together

_CASTS: dict[tuple[str, str], Callable[..., Any]] = {
    ("invarying", "varying"): lambda x, *, axes: _vary(x, axes),
    ("invarying", "reduced"): preduced_p.bind,
    ("varying", "unreduced"): vary_unreduced_cast_p.bind,
    ("reduced", "varying"): reduced_vary_cast_p.bind,
}


def pcast(x: Any, axis_name: Any, *, to: str) -> Any:
    """Change the kind of values along manual axes of `shard_map`, without computing.

    Args:
      x: a pytree of arrays.
      axis_name: the name of a manual axis, or several.
      to: 'varying', from invarying or reduced values; 'unreduced', from varying values,
        which become the terms of a sum; 'reduced', from invarying values, whose cotangents
        become unreduced.

    Returns:
      `x` with new types.  Where types do not record variation along the axis (under `vmap`,
      `pmap`, and with `check_vma=False`), `x` is unchanged.

    Raises:
      NameError: a name is not in scope.
      ValueError: `to` is invalid, or `x` cannot be cast to it.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mesh = mj.make_mesh((1,), ('i',))
      >>> f = lambda x: mj.lax.psum(pcast(x, 'i', to='varying'), 'i')
      >>> mj.shard_map(f, mesh=mesh, in_specs=mj.P(), out_specs=mj.P())(jnp.ones(2))
      Array([1., 1.], dtype=float32)
    """
    if to not in KINDS:
        raise errors.value_error(
            "Got unexpected `to` value. Allowed `to` values are: {'unreduced', 'varying',"
            f" 'reduced'}}. Got {to!r}.",
            tries=["lax.psum(x, axis), which makes values the same everywhere"],
        )
    axes = axis_tuple(axis_name)
    core.axis_size(axes)
    typed_names = typed(axes)
    return tree.map(lambda leaf: _pcast(leaf, typed_names, to), x) if typed_names else x


def _pcast(x: Any, axes: tuple[Any, ...], to: str) -> Any:
    state = state_of(x, axes, "jax.lax.pcast")
    cast = _CASTS.get((state, to))
    if cast is None:
        raise errors.value_error(
            f"Unsupported pcast from={state}, to={to!r}",
            which=f"{core.aval_of(x).str_short(True)}, along {', '.join(map(str, axes))}",
            tries=[f"to={t!r}" for s, t in _CASTS if s == state],
        )
    return cast(x, axes=axes)
