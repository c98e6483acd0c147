"""Programs evaluated one operation at a time, with or without noise, for `verify`.

`Walk` runs a jaxpr equation by equation, each compiled separately; calls, branches and
loops are entered.  With noise, each operation's result is changed at random by its possible
rounding error (Monte Carlo arithmetic).  The differences between several such runs estimate
how much rounding can explain.  `beyond_rounding` compares two values by that estimate.

Next: verifier.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..base.util import split_list
from ..ir.core import STATE
from ..ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Literal
from ..ir.regions import Loop
from ..surface import jnp
from ..types import dtypes
from ..types.avals import ShapedArray
from .verify_numpy import eps_of, growth, tiny_of, wide

MOST = 20_000  # operations of a run, above which a loop runs as one operation


def comparable(aval: Any) -> bool:
    """Whether values of this type are numeric arrays."""
    return type(aval) is ShapedArray and not dtypes.is_extended(aval.dtype)


class NestedProgram:
    """A program that an equation runs: its operands, and the step of a loop."""

    __slots__ = ("args", "closed", "label")

    def __init__(
        self, closed: ClosedJaxpr, args: Sequence[Any], label: tuple[str, int] | None
    ) -> None:
        self.closed = closed
        self.args = args
        self.label = label


class Walk:
    """A run of a program, one operation at a time.

    seed: of the noise; None for no noise.
    look: called after each operation with its equation, operands and results.
    """

    def __init__(
        self,
        seed: int | None = None,
        look: Callable[[Equation, Sequence[Any], Sequence[Any]], None] | None = None,
    ) -> None:
        self.random = None if seed is None else np.random.default_rng(seed)
        self.look = look
        self.operations = 0
        self.not_inspected: list[Equation] = []  # loops that ran as one operation

    def run(
        self,
        jaxpr: Jaxpr,
        consts: Sequence[Any],
        args: Sequence[Any],
        seen: dict[Any, Any] | None = None,
    ) -> list[Any]:
        """Return the results of a program; `seen` receives the values of its variables."""
        env: dict[Any, Any] = {} if seen is None else seen
        env.update(zip(jaxpr.constvars, consts, strict=True))
        env.update(zip(jaxpr.invars, args, strict=True))
        names, source = STATE.names, STATE.source
        try:
            for eqn in jaxpr.eqns:
                STATE.source = eqn.source or source
                values = [a.val if type(a) is Literal else env[a] for a in eqn.ins]
                env.update(zip(eqn.outs, self.equation(eqn, values), strict=True))
        finally:
            STATE.names, STATE.source = names, source
        return [a.val if type(a) is Literal else env[a] for a in jaxpr.outvars]

    def equation(self, eqn: Equation, args: Sequence[Any]) -> Sequence[Any]:
        """Return the results of an equation, entered if it has inner programs."""
        regions, params = eqn.primitive.regions, eqn.params
        if isinstance(regions, Loop):
            return self.loop(eqn, args)
        if regions is not None and not regions.result_param:
            with regions.scope(params):
                (inside,) = self.insides(eqn, args)
                body = inside.closed
                return self.run(body.jaxpr, body.consts, inside.args)
        return self.operation(eqn, args)

    def operation(self, eqn: Equation, args: Sequence[Any]) -> Sequence[Any]:
        self.operations += 1
        out = eqn.primitive.bind(*args, **eqn.params)
        outs = list(out) if eqn.primitive.multiple_results else [out]
        if self.look is not None:
            self.look(eqn, args, outs)
        return outs if self.random is None else self.noisy(eqn, args, outs)

    # -------------------------------------------------------------- programs inside
    def insides(self, eqn: Equation, args: Sequence[Any]) -> Iterator[NestedProgram]:
        """Yield the programs that an equation runs, in order; none if it runs as one."""
        regions, params = eqn.primitive.regions, eqn.params
        if isinstance(regions, Loop):
            yield from self.steps(eqn, args, lambda outs: None)
        elif regions is not None and not regions.result_param:
            bodies, at = regions.bodies(params), 0
            if regions.index:
                at = min(max(int(np.asarray(args[0])), 0), len(bodies) - 1)
            yield NestedProgram(bodies[at], args[regions.index :], None)

    def loop(self, eqn: Equation, args: Sequence[Any]) -> Sequence[Any]:
        loop, params = eqn.primitive.regions, eqn.params
        length = 1 if loop.length is None else params[loop.length]
        size = sum(len(b.jaxpr.eqns) for b in loop.bodies(params))
        if loop.length is not None and self.operations + length * size > MOST:
            self.not_inspected.append(eqn)
            return self.operation(eqn, args)
        results: list[Any] = []
        for _ in self.steps(eqn, args, lambda outs: results.__setitem__(slice(None), outs)):
            pass
        return results

    def steps(
        self, eqn: Equation, args: Sequence[Any], done: Callable[[list[Any]], None]
    ) -> Iterator[NestedProgram]:
        """Yield each step of a loop before it runs; pass the results to `done`."""
        loop, params = eqn.primitive.regions, eqn.params
        *cond, body = loop.bodies(params)
        cond_consts, consts, carry, xs = loop.groups(params, args)
        name, n, carry = eqn.primitive.name, len(carry), list(carry)
        count = 0
        while cond:
            (on,) = self.run(cond[0].jaxpr, cond[0].consts, [*cond_consts, *carry])
            if (
                np.ndim(on) or self.operations > MOST
            ):  # one predicate per lane, or too many operations
                self.not_inspected.append(eqn)
                done(list(self.operation(eqn, [*cond_consts, *consts, *carry])))
                return
            if not bool(on):
                done(carry)
                return
            operands = [*consts, *carry]
            yield NestedProgram(body, operands, (f"iteration of {name}", count))
            carry = self.run(body.jaxpr, body.consts, operands)
            count += 1
        length = params[loop.length]
        back = params.get("reverse", False)
        ys: list[list[Any]] = [[] for _ in eqn.outs[n:]]
        for i in reversed(range(length)) if back else range(length):
            operands = [*consts, *carry, *(x[i] for x in xs)]
            yield NestedProgram(body, operands, (f"row of {name}", i))
            outs = self.run(body.jaxpr, body.consts, operands)
            carry, more = split_list(outs, [n])
            for y, value in zip(ys, more, strict=True):
                y.append(value)
        if not length:
            done(list(self.operation(eqn, args)))
            return
        done([*carry, *(jnp.stack(y[::-1] if back else y) for y in ys)])

    # ------------------------------------------------------------------------ noise
    def noisy(self, eqn: Equation, args: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        """Perturb results by their rounding; sums and products of integers are exact."""
        if not any(_inexact(v.aval) for v in eqn.outs):
            return outs
        if eqn.primitive.facts.data_movement and not _narrows(eqn):
            return outs
        floats = [x for x, a in zip(args, eqn.ins, strict=True) if _inexact(a.aval)]
        divides = eqn.primitive.facts.divisor is not None
        values = [np.asarray(x) for x in floats]
        exact = [np.asarray(not divides)]
        for x in values:
            integral = (np.rint(x.astype(np.complex128)) == x) & (
                np.abs(x) * eps_of(x.dtype) < 1
            )
            exact.append(integral if eqn.primitive.facts.elementwise else integral.all())
        noisy_results = []
        for v, x in zip(eqn.outs, outs, strict=True):
            if not _inexact(v.aval):
                noisy_results.append(x)
                continue
            terms = 1.0
            if not eqn.primitive.facts.elementwise:
                size: float = max([1, *(y.size for y in values)])
                flops = eqn.primitive.facts.flops
                if flops is not None:
                    ins, results = [a.aval for a in eqn.ins], [o.aval for o in eqn.outs]
                    size = max(size, float(flops(ins, results, eqn.params)))
                terms = growth(max(1.0, size / max(1, v.aval.size)))
            noisy_results.append(self.perturbed(np.asarray(x), terms, exact))
        return noisy_results

    def perturbed(self, x: Any, ulps: float, exact: Sequence[Any]) -> Any:
        """Perturb each element up or down by `ulps` units of its precision."""
        assert self.random is not None
        if not x.size:
            return x
        keep = np.asarray(True)
        for e in exact:
            keep = keep & np.broadcast_to(e, x.shape)
        wide_x = wide(x)
        keep = keep & (np.rint(wide_x) == wide_x)
        step = ulps * eps_of(x.dtype)
        sign = self.random.integers(0, 2, x.shape) * 2.0 - 1
        with np.errstate(all="ignore"):
            if np.iscomplexobj(wide_x):
                other = self.random.integers(0, 2, x.shape) * 2.0 - 1
                new = wide_x.real * (1 + step * sign) + 1j * wide_x.imag * (1 + step * other)
            else:
                new = wide_x * (1 + step * sign)
            return np.where(np.isfinite(wide_x) & ~keep, new, wide_x).astype(x.dtype)


def _inexact(aval: Any) -> bool:
    return comparable(aval) and dtypes.is_inexact(aval.dtype)


def _narrows(eqn: Equation) -> bool:
    """Whether results have lower precision than an operand."""
    least = (
        min(eps_of(a.aval.dtype) for a in eqn.ins if _inexact(a.aval))
        if any(_inexact(a.aval) for a in eqn.ins)
        else 1.0
    )
    return any(eps_of(v.aval.dtype) > least for v in eqn.outs if _inexact(v.aval))


# ------------------------------------------------------------------------- comparison


def beyond_rounding(a: Any, b: Any, samples: Sequence[Any]) -> tuple[Any, Any]:
    """Return where `a` differs from `b` by more than rounding, and the allowed difference.

    samples: values of `b` from runs with noise.
    """
    x, y = np.asarray(a), np.asarray(b)
    if not dtypes.is_inexact(y.dtype):
        varies = np.zeros(y.shape, bool)
        for s in samples:
            varies |= np.asarray(s) != y
        bad = (x != y) & ~varies
        if bad.sum() <= varies.sum():  # decisions that rounding may flip
            bad = np.zeros_like(bad)
        return bad, np.where(varies, np.inf, 0.0)
    p, q = wide(x), wide(y)
    with np.errstate(all="ignore"):
        size, max_gap = np.abs(q).astype(np.float64), np.zeros(q.shape)
        for s in samples:
            gap = np.abs(wide(s) - q).astype(np.float64)
            same = (wide(s) == q) | (np.isnan(wide(s)) & np.isnan(q))
            gap = np.where(np.isnan(gap), np.inf, gap)
            max_gap = np.maximum(max_gap, np.where(same, 0.0, gap))
        typical = _typical_gap(max_gap, size)
        # A few samples underestimate the spread, hence the factor 4; subnormals are flushed.
        allowed = 4 * np.maximum(max_gap, typical) + 2 * eps_of(y.dtype) * size
        allowed = allowed + 4 * tiny_of(y.dtype)
        off = np.abs(p - q).astype(np.float64)
        same = (p == q) | (np.isnan(p) & np.isnan(q))
        off = np.where(same, 0.0, np.where(np.isnan(off), np.inf, off))
        bad = off > allowed
    if bad.any():  # results of decisions: noisy runs change at least as many elements
        least = float(np.median(off[bad]))
        if (max_gap >= least / 4).sum() >= 2 * bad.sum():
            bad = np.zeros_like(bad)
    return bad, allowed


def _typical_gap(gaps: Any, size: Any) -> Any:
    """Return the typical difference of elements: few runs with noise miss some elements."""
    if not gaps.size:
        return gaps
    finite_gaps = np.where(np.isfinite(gaps), gaps, 0.0)
    at = min(finite_gaps.size - 1, math.ceil(0.99 * finite_gaps.size))
    absolute = np.partition(finite_gaps.ravel(), at)[at]
    ratio = np.where(size > 0, finite_gaps / np.where(size > 0, size, 1), 0.0)
    relative = np.partition(ratio.ravel(), at)[at]
    return np.minimum(absolute, relative * size)
