"""The cost of a function on each device, and between devices, without running it.

Fused code spends its time on matrix products: `flops` and `hbm_bytes` count only these.
The `unfused_` numbers count all operations separately (analysis/cost_model.py).  Collectives
use links between devices: the bytes and steps along each mesh axis are those of ring
algorithms (Chan, Heimlich, Purkayastha & van de Geijn, Collective communication: theory,
practice, and experience, 2007).

Next: costs.py, the same line by line.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ..analysis.cost_model import inner_programs, nbytes, own_flops
from ..api.eval_shape import eval_shape, make_jaxpr
from ..api.shard_map import shard_map
from ..api.vjp import vjp as vjp_of
from ..base import tree
from ..control.calls.shard_map import shard_map_p
from ..ir.core import Primitive
from ..ir.jaxpr import Equation, Jaxpr, Literal, last_uses
from ..prims.collectives import all_gather, permute, psum
from ..prims.conv.general import conv_general_dilated_p
from ..prims.dot.dot import dot_general_p

__all__ = (
    "RooflineResult",
    "RooflineRuleContext",
    "RooflineShape",
    "register_roofline",
    "register_standard_roofline",
    "roofline",
    "roofline_and_grad",
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RooflineShape:
    """The shape and dtype of arrays, and their size.

    >>> import minijax as mj
    >>> RooflineShape.from_aval(mj.core.ShapedArray((2, 3), 'float32')).bytes
    24
    """

    shape: tuple[int, ...]
    dtype: Any

    @classmethod
    def from_aval(cls, aval: Any) -> RooflineShape:
        """Return the shape of an abstract value."""
        return cls(shape=tuple(aval.shape), dtype=aval.dtype)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """The size in bytes."""
        return int(self.size * self.dtype.itemsize)

    @classmethod
    def total_bytes(cls, avals: Sequence[Any]) -> int:
        """Return the bytes of several abstract values."""
        return sum(cls.from_aval(a).bytes for a in avals)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RooflineRuleContext:
    """The operation that a rule is called for."""

    name_stack: Any
    primitive: Any
    avals_in: Sequence[Any]
    avals_out: Sequence[Any]
    jaxpr_eqn_ctx: Any
    mesh: Any
    pin_lhs_in_vmem: bool
    pin_rhs_in_vmem: bool


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RooflineResult:
    """The cost on each device.

    flops, hbm_bytes: of matrix products; unfused_flops, unfused_hbm_bytes: of all
      operations, each counted separately.
    ici_bytes, ici_latency: by mesh axis, the bytes that a device sends, and the steps.
    peak_hbm_bytes: the most bytes that are live at any time.
    """

    flops: int = 0
    unfused_flops: int = 0
    ici_bytes: dict[str, int] = dataclasses.field(default_factory=dict)
    ici_latency: dict[str, int] = dataclasses.field(default_factory=dict)
    hbm_bytes: int = 0
    peak_hbm_bytes: int = 0
    unfused_hbm_bytes: int = 0

    @classmethod
    def zeros(cls) -> RooflineResult:
        """Return a cost of zero."""
        return cls()

    def __add__(self, other: RooflineResult) -> RooflineResult:
        return RooflineResult(
            flops=self.flops + other.flops,
            unfused_flops=self.unfused_flops + other.unfused_flops,
            ici_bytes=_add_by_axis(self.ici_bytes, other.ici_bytes),
            ici_latency=_add_by_axis(self.ici_latency, other.ici_latency),
            hbm_bytes=self.hbm_bytes + other.hbm_bytes,
            peak_hbm_bytes=max(self.peak_hbm_bytes, other.peak_hbm_bytes),
            unfused_hbm_bytes=self.unfused_hbm_bytes + other.unfused_hbm_bytes,
        )

    def _times(self, n: int) -> RooflineResult:
        return RooflineResult(
            flops=self.flops * n,
            unfused_flops=self.unfused_flops * n,
            ici_bytes={a: b * n for a, b in self.ici_bytes.items()},
            ici_latency={a: b * n for a, b in self.ici_latency.items()},
            hbm_bytes=self.hbm_bytes * n,
            peak_hbm_bytes=self.peak_hbm_bytes,
            unfused_hbm_bytes=self.unfused_hbm_bytes * n,
        )


def _add_by_axis(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
    return {axis: a.get(axis, 0) + b.get(axis, 0) for axis in {**a, **b}}


# ------------------------------------------------------------------------------ rules

Rule = Callable[..., RooflineResult]
_rules: dict[Primitive, Rule] = {}


def register_roofline(prim: Primitive) -> Callable[[Rule], Rule]:
    """Register a rule for the cost of an operation.

    Args:
      prim: its primitive.

    Returns:
      A decorator of a rule.  `rule(ctx, *args, **params)` is called with a
      `RooflineRuleContext`, a `RooflineShape` for each operand, and params; it returns a
      `RooflineResult`.

    Example:
      >>> from minijax.extend.core import Primitive
      >>> mine = Primitive("mine")
      >>> @register_roofline(mine)
      ... def rule(ctx, x):
      ...     return RooflineResult(flops=3 * x.size)
    """

    def register(rule: Rule) -> Rule:
        _rules[prim] = rule
        return rule

    return register


def register_standard_roofline(prim: Primitive) -> None:
    """Use the standard cost model for an operation, instead of any registered rule.

    Args:
      prim: its primitive.

    Returns:
      None.

    Example:
      >>> from minijax.extend.core import Primitive
      >>> register_standard_roofline(Primitive("mine"))
    """
    _rules.pop(prim, None)


def _standard(eqn: Equation, ctx: RooflineRuleContext) -> RooflineResult:
    flops = int(own_flops(eqn))
    size = sum(nbytes(a.aval) for a in (*eqn.ins, *eqn.outs))
    moves_only = not flops
    if eqn.primitive not in (dot_general_p, conv_general_dilated_p):
        return RooflineResult(unfused_flops=flops, unfused_hbm_bytes=0 if moves_only else size)
    pinned = ctx.pin_lhs_in_vmem, ctx.pin_rhs_in_vmem
    operands = zip(eqn.ins, pinned, strict=False)
    read = sum(nbytes(x.aval) for x, is_pinned in operands if not is_pinned)
    if not any(pinned):
        read += nbytes(eqn.outs[0].aval)
    return RooflineResult(
        flops=flops, unfused_flops=flops, hbm_bytes=read, unfused_hbm_bytes=read
    )


def _by_axis(axes: Any, mesh: Any, of: Callable[[int], tuple[float, int]]) -> RooflineResult:
    """Cost along axes; `of(n)` returns bytes and steps along an axis of n devices."""
    names = axes if isinstance(axes, (tuple, list)) else (axes,)
    sizes = dict(mesh.shape) if mesh is not None else {}
    by_axis = {a: of(sizes.get(a, 1)) for a in names if isinstance(a, str)}
    return RooflineResult(
        ici_bytes={a: int(b) for a, (b, _) in by_axis.items()},
        ici_latency={a: steps for a, (_, steps) in by_axis.items()},
    )


def _reduced(ctx: Any, *xs: Any, axes: Any, **_: Any) -> RooflineResult:
    size = sum(x.bytes for x in xs)
    return _by_axis(axes, ctx.mesh, lambda n: (2 * size * (n - 1) / n, 2 * n))


def _gathered(ctx: Any, *xs: Any, axis_name: Any, **_: Any) -> RooflineResult:
    size = sum(x.bytes for x in xs)

    def along(n: int) -> tuple[float, int]:
        nonlocal size
        sent, size = size * (n - 1), size * n
        return sent, n

    return _by_axis(axis_name, ctx.mesh, along)


def _scattered(ctx: Any, *xs: Any, axis_name: Any, **_: Any) -> RooflineResult:
    size = float(sum(x.bytes for x in xs))

    def along(n: int) -> tuple[float, int]:
        nonlocal size
        sent, size = size * (n - 1) / n, size / n
        return sent, n

    return _by_axis(axis_name, ctx.mesh, along)


def _exchanged(ctx: Any, *xs: Any, axis_name: Any, **_: Any) -> RooflineResult:
    size = sum(x.bytes for x in xs)
    return _by_axis(axis_name, ctx.mesh, lambda n: (size * n / 4, max(n // 2, 1)))


def _permuted(ctx: Any, *xs: Any, axis_name: Any, perm: Any, **_: Any) -> RooflineResult:
    size = sum(x.bytes for x in xs)

    def along(n: int) -> tuple[float, int]:
        ways = [min((b - a) % n, (a - b) % n) for a, b in perm]
        farthest = max(ways, default=0)
        return size * farthest, farthest

    return _by_axis(axis_name, ctx.mesh, along)


_links: dict[Primitive, Rule] = {
    psum.psum_p: _reduced,
    psum.psum_invariant_p: _reduced,
    psum.pmax_p: _reduced,
    psum.pmin_p: _reduced,
    all_gather.all_gather_p: _gathered,
    all_gather.all_gather_invariant_p: _gathered,
    all_gather.reduce_scatter_p: _scattered,
    all_gather.all_to_all_p: _exchanged,
    permute.ppermute_p: _permuted,
}
_rules.update(_links)


# ----------------------------------------------------------------------------- programs


class _CostWalk:
    """A walk over a program, on one device of a mesh."""

    def __init__(self, mesh: Any, pins: tuple[bool, bool]) -> None:
        self.mesh, self.pins = mesh, pins

    def program(self, jaxpr: Jaxpr) -> RooflineResult:
        """Return the cost of all equations, and the most bytes live between two of them."""
        total = RooflineResult()
        ends = last_uses(jaxpr)
        alive = sum(nbytes(v.aval) for v in [*jaxpr.constvars, *jaxpr.invars])
        peak = alive
        for i, eqn in enumerate(jaxpr.eqns):
            cost = self.equation(eqn)
            inside = cost.peak_hbm_bytes
            held = sum(nbytes(a.aval) for a in set(eqn.ins) if type(a) is not Literal)
            peak = max(peak, alive - held + inside)
            alive += sum(nbytes(v.aval) for v in eqn.outs)
            alive -= sum(nbytes(v.aval) for v in ends.get(i, ()))
            peak = max(peak, alive)
            total += cost
        return dataclasses.replace(total, peak_hbm_bytes=peak)

    def equation(self, eqn: Equation) -> RooflineResult:
        prim = eqn.primitive
        ins = [a.aval for a in eqn.ins]
        ctx = RooflineRuleContext(
            name_stack=eqn.names,
            primitive=prim,
            avals_in=ins,
            avals_out=[v.aval for v in eqn.outs],
            jaxpr_eqn_ctx=eqn.ctx,
            mesh=self.mesh,
            pin_lhs_in_vmem=self.pins[0],
            pin_rhs_in_vmem=self.pins[1],
        )
        rule = _rules.get(prim)
        if rule is not None:
            shapes = [RooflineShape.from_aval(a) for a in ins]
            return rule(ctx, *shapes, **eqn.params)
        if prim is shard_map_p:
            inner = _CostWalk(eqn.params["mesh"], self.pins)
            return inner.program(eqn.params["jaxpr"].jaxpr)
        inside = inner_programs(eqn)
        if not inside:
            return _standard(eqn, ctx)
        costs = [self.program(p.closed.jaxpr)._times(p.trip_count) for p in inside]
        if inside[0].choice:
            return max(costs, key=lambda r: (r.unfused_flops, r.unfused_hbm_bytes))
        return functools.reduce(RooflineResult.__add__, costs)


def roofline(
    f: Callable[..., Any],
    mesh: Any = None,
    in_specs: Any = None,
    out_specs: Any = None,
    *,
    pin_lhs_in_vmem: bool = False,
    pin_rhs_in_vmem: bool = False,
    vjp: bool = False,
    print_jaxpr: bool = False,
) -> Callable[..., tuple[Any, RooflineResult]]:
    """Return a function that estimates the cost of calls of `f` on each device.

    Args:
      f: a function of arrays; it is not run.
      mesh, in_specs, out_specs: of `shard_map(f)`, where each device computes one shard;
        None: one device computes everything.
      pin_lhs_in_vmem, pin_rhs_in_vmem: left or right factors of products need not be read.
      vjp: estimate only the backward pass.
      print_jaxpr: print the program.

    Returns:
      A function of arrays or types that returns the types of the results of `f` and a
      `RooflineResult`.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> x = mj.ShapeDtypeStruct((8, 16), 'float32')
      >>> out, cost = roofline(lambda x: jnp.sin(x @ x.T))(x)
      >>> out.shape, cost.flops, cost.unfused_flops, cost.hbm_bytes
      ((8, 8), 2048, 2112, 1280)
    """
    sharded_f = (
        f if mesh is None else shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs)
    )
    pins = (pin_lhs_in_vmem, pin_rhs_in_vmem)

    def cost_of(*args: Any) -> tuple[Any, RooflineResult]:
        shapes = eval_shape(sharded_f, *args)
        if vjp:
            _, pull = eval_shape(lambda *xs: vjp_of(sharded_f, *xs), *args)
            leaves, treedef = tree.flatten(pull)
            run = lambda residuals, ct: tree.unflatten(treedef, residuals)(ct)
            closed = make_jaxpr(run)(leaves, shapes)
        else:
            closed = make_jaxpr(sharded_f)(*args)
        if print_jaxpr:
            print(closed)
        walk = _CostWalk(mesh, pins)
        if mesh is None:
            return shapes, walk.program(closed.jaxpr)
        # Only equations count: each device has shards, not the full arrays outside of them.
        costs = map(walk.equation, closed.jaxpr.eqns)
        return shapes, sum(costs, RooflineResult())

    return cost_of


def roofline_and_grad(
    f: Callable[..., Any],
    mesh: Any,
    in_specs: Any,
    out_specs: Any,
    *,
    pin_lhs_in_vmem: bool = False,
    pin_rhs_in_vmem: bool = False,
    print_jaxpr: bool = False,
) -> Callable[..., tuple[Any, RooflineResult, RooflineResult]]:
    """Return a function that estimates the costs of `f` and its backward pass.

    Args:
      f, mesh, in_specs, out_specs, pin_lhs_in_vmem, pin_rhs_in_vmem, print_jaxpr: as in
        `roofline`.

    Returns:
      A function of arrays or types that returns the types of the results of `f`, and a
      `RooflineResult` for each pass.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> mesh = mj.make_mesh((1,), ('x',), (mj.sharding.AxisType.Auto,))
      >>> spec = mj.sharding.PartitionSpec('x')
      >>> x = mj.ShapeDtypeStruct((8, 16), 'float32')
      >>> _, forward, backward = roofline_and_grad(jnp.sin, mesh, spec, spec)(x)
      >>> forward.unfused_flops, backward.unfused_flops
      (128, 128)
    """
    of = functools.partial(
        roofline,
        f,
        mesh,
        in_specs,
        out_specs,
        pin_lhs_in_vmem=pin_lhs_in_vmem,
        pin_rhs_in_vmem=pin_rhs_in_vmem,
        print_jaxpr=print_jaxpr,
    )

    def cost_of(*args: Any) -> tuple[Any, RooflineResult, RooflineResult]:
        out, forward = of()(*args)
        _, back = of(vjp=True)(*args)
        return out, forward, back

    return cost_of
