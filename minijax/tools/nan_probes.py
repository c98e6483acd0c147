"""The checks of values: whether they are bad, where that could get lost, statistics.

Checking a value prevents the compiler from fusing it, so few values are checked.  These are
values that an operation loses by making bad numbers good (`exp`, `max`, a comparison), if
no other operation passes them on, and if finite operands do not imply that they are finite.
Where an elementwise operation loses a bad number, a NaN is put into its result instead.
That needs no pass over memory; the results are then wrong, but known to be bad.  Along a
chain of such operations the pending conditions are collected and put in once.  They are
computed by `is_finite`: products with 0 cost half, but XLA simplifies (x * 2) * 0 to x * 0.
`plan_probes` makes these decisions.  Next: nan_interpreter.py, which runs programs so.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np

from ..base import util
from ..control.branches.cond_functions import platform_dependent
from ..ir import core
from ..ir.jaxpr import Equation, Jaxpr, Literal, closed_jaxprs
from ..ir.regions import Loop
from ..prims import lax
from ..surface import jnp
from ..types import dtypes
from ..types.avals import ShapedArray

NOTHING = np.int32(2**31 - 1)
STATS = ("nans", "infs", "first", "min", "max", "mean")


def is_float(aval: Any) -> bool:
    """Whether values of this type can be bad."""
    if type(aval) is not ShapedArray or 0 in aval.shape:
        return False
    return dtypes.is_inexact(aval.dtype)


def nonfinite_level(x: Any, quick: bool = False) -> Any:
    """Return an int8: 2 if a value has a NaN, 1 if it has an infinity, otherwise 0.

    quick: 2 in both cases, which is cheaper.
    """
    if not isinstance(x, core.Tracer) and np.ndim(x) == 0 and not hasattr(x, "devices"):
        value = complex(x)
        return np.int8(2 if np.isnan(value) else 1 if np.isinf(value) else 0)
    if dtypes.is_complex(core.aval_of(x).dtype):
        return lax.max(nonfinite_level(lax.real(x), quick), nonfinite_level(lax.imag(x), quick))
    if quick:
        return lax.select(all_finite(x), np.int8(0), np.int8(2))
    # Not by a maximum of the values: collectives over several devices lose NaNs in maxima.
    axes, finite = tuple(range(core.aval_of(x).ndim)), lax.is_finite(x)
    level = jnp.where(finite, np.int8(0), jnp.where(lax.ne(x, x), np.int8(2), np.int8(1)))
    return lax.reduce_max(level, axes)


def all_finite(x: Any) -> Any:
    """Whether a real value is finite everywhere.

    On a CPU this is a product with zeros, the fastest form that XLA has there: a reduction
    to a scalar takes several passes.
    """
    aval = core.aval_of(x)
    width = _width(aval.shape) if aval.type_sharding.explicit is None else None
    if width is None or aval.dtype.itemsize < 4:
        return _finite(x)

    def product(x: Any) -> Any:
        matrix = x if x.shape[-1] == width else lax.reshape(x, (x.size // width, width))
        # Without the barrier XLA would simplify the product with a constant 0.
        zeros = lax.optimization_barrier(lax.full((width,), 0, aval.dtype))
        return _finite(lax.dot_general(matrix, zeros, (([matrix.ndim - 1], [0]), ([], []))))

    return platform_dependent(x, cpu=product, default=_finite)


def _finite(x: Any) -> Any:
    return lax.reduce_and(lax.is_finite(x), tuple(range(core.aval_of(x).ndim)))


def _width(shape: Sequence[int]) -> int | None:
    """Return a row length for all elements as a matrix; None if that does not pay."""
    size = math.prod(shape)
    if size < 1 << 14:
        return None
    if shape[-1] >= 64:
        return shape[-1] if len(shape) > 1 else _divisor(size)
    return _divisor(size)


@util.cached(1024)
def _divisor(size: int) -> int | None:
    return next((c for c in range(4096, 63, -1) if size % c == 0), None)


def has_nonfinite_constants(jaxpr: Jaxpr, consts: Sequence[Any] = ()) -> bool:
    """Whether a program, or one inside it, has bad numbers as constants."""
    return (
        any(
            nonfinite_level(a.val) > 0
            for eqn in jaxpr.eqns
            for a in eqn.ins
            if type(a) is Literal and is_float(a.aval)
        )
        or any(is_float(core.aval_of(c)) and known_bad(c) for c in consts)
        or any(
            has_nonfinite_constants(p.jaxpr, p.consts)
            for e in jaxpr.eqns
            for p in closed_jaxprs(e.params)
        )
    )


def known_bad(x: Any) -> bool:
    """Whether a constant has a bad number."""
    if isinstance(x, core.Tracer):
        return False
    try:
        x = np.asarray(x)
    except (RuntimeError, TypeError):  # sharded over several processes
        return False
    return not np.isfinite(x.astype(np.complex128)).all()


def is_float_atom(a: Any) -> bool:
    return is_float(a.aval)


# ------------------------------------------------------------ where bad numbers get lost


def may_hide_nonfinite(eqn: Equation) -> bool:
    """Whether an equation's results may be good although an operand is bad."""
    prim = eqn.primitive
    if prim.regions is not None:
        return isinstance(prim.regions, Loop)
    float_results = [v for v in eqn.outs if is_float(v.aval)]
    kinds = {
        dtypes.is_complex(v.aval.dtype) for v in (*float_results, *eqn.ins) if is_float_atom(v)
    }
    return not prim.facts.keeps_nans or not float_results or len(kinds) > 1


def has_inner_constants(eqn: Equation) -> bool:
    """Whether the inner programs of an equation have bad numbers as constants."""
    regions = eqn.primitive.regions
    if regions is None:
        return False
    return any(has_nonfinite_constants(b.jaxpr, b.consts) for b in regions.bodies(eqn.params))


def maybe_bad_variables(jaxpr: Jaxpr, bad_inputs: Iterable[Any]) -> set[Any]:
    """Return the variables that constants may have made bad, if `bad_inputs` may be bad."""
    maybe_bad = set(bad_inputs)

    def bad(a: Any) -> bool:
        if type(a) is Literal:
            return is_float(a.aval) and bool(nonfinite_level(a.val) > 0)
        return a in maybe_bad

    for eqn in jaxpr.eqns:
        if any(map(bad, eqn.ins)) or has_inner_constants(eqn):
            maybe_bad.update(filter(is_float_atom, eqn.outs))
    return maybe_bad


@dataclasses.dataclass(frozen=True)
class ProbePlan:
    """How the values of a program are checked.

    look: variables to check.
    marks: for equations, by number, the operands that a NaN in the result marks.
    own: such operands that may be bad themselves, not only through pending conditions.
    takers: for variables, the equation that takes over their pending conditions.
    """

    look: set[Any]
    marks: dict[int, list[Any]]
    own: set[Any]
    takers: dict[Any, int]


def plan_probes(jaxpr: Jaxpr, skip: set[Any], top: bool, mark: bool) -> ProbePlan:
    """Plan which variables to check, and which ones a NaN in an equation's result marks.

    This goes backwards: a variable is decided at its definition, after all its readers.  It
    needs no check if a reader keeps NaNs, since that reader's result is covered; or if it
    is finite whenever the operands are, and these are covered.

    skip: variables that are covered in another way.
    top: whether to check results; otherwise the caller does.
    mark: whether NaNs may mark other values.
    """
    results = {v for v in jaxpr.outvars if type(v) is not Literal and is_float_atom(v)}
    to_check, safe = (results, skip) if top else (set[Any](), skip | results)
    to_check, safe = set(to_check), set(safe)
    plan = ProbePlan(set(), {}, set(), {})
    marking_eqn: dict[Any, int] = {}
    used = set(results)  # by equations that are not elementwise
    read = set(results)
    with_pending: set[Any] = set()

    def decide(v: Any, finite: bool = False, marked: bool = False) -> None:
        if v in safe or v not in to_check:
            return
        if v in marking_eqn:
            plan.marks.setdefault(marking_eqn[v], []).append(v)
            if not finite:
                plan.own.add(v)
            elif marked:
                with_pending.add(v)
        elif not finite or marked:
            plan.look.add(v)

    for i, eqn in reversed([*enumerate(jaxpr.eqns)]):
        lost, called = may_hide_nonfinite(eqn), eqn.primitive.regions is not None
        free = not any(v in skip for v in eqn.outs)
        takes = {a for a in eqn.ins if mark and free and can_mark(eqn, a)}
        finite = lost and free and _keeps_finite(eqn)
        if called:  # the callee does not check its results
            to_check.update(v for v in eqn.outs if is_float_atom(v) and v not in read)
        for v in eqn.outs:
            decide(v, finite, bool(takes))
        for a in filter(is_float_atom, eqn.ins):
            if type(a) is Literal:
                continue
            read.add(a)
            if not eqn.primitive.facts.elementwise or eqn.outs[0].aval.shape != a.aval.shape:
                used.add(a)
            if not (lost or called) and free:
                safe.add(a)
            elif lost or not called:  # a call checks its operands
                to_check.add(a)
                if a in takes:
                    marking_eqn[a] = i
    for v in (*jaxpr.invars, *jaxpr.constvars):
        decide(v)
    read_unmarked = used | plan.look | skip
    marked = {a for operands in plan.marks.values() for a in operands}
    for i, eqn in enumerate(jaxpr.eqns if mark else ()):
        if eqn.primitive.facts.elementwise and eqn.outs[0] not in skip:
            for a in eqn.ins:
                if not can_mark(eqn, a) or a in read_unmarked:
                    continue
                if a in plan.marks.get(i, ()) if may_hide_nonfinite(eqn) else a not in marked:
                    plan.takers.setdefault(a, i)
    plan.own.update(with_pending - plan.takers.keys())  # their conditions were put in
    return plan


def known_good(jaxpr: Jaxpr) -> set[Any]:
    """Return the variables that are finite for all arguments."""
    good: set[Any] = set()
    for eqn in jaxpr.eqns:
        if _keeps_finite(eqn) and all(
            nonfinite_level(a.val) == 0 if type(a) is Literal else a in good
            for a in filter(is_float_atom, eqn.ins)
        ):
            good.update(eqn.outs)
    return good


def _keeps_finite(eqn: Equation) -> bool:
    """Whether an equation's results are finite whenever its operands are."""
    return eqn.primitive.facts.keeps_finite and not any(
        dtypes.is_inexact(a.aval.dtype)
        and not (is_float_atom(a) and dtypes.is_float(a.aval.dtype))
        for a in (*eqn.ins, *eqn.outs)
        if type(a.aval) is ShapedArray
    )


def can_mark(eqn: Equation, a: Any) -> bool:
    """Whether a NaN in the result may mark a bad operand."""
    if type(a) is Literal or not eqn.primitive.facts.elementwise or len(eqn.outs) > 1:
        return False
    (out,) = eqn.outs
    return out.aval.shape == a.aval.shape and all(
        is_float(v.aval) and dtypes.is_float(v.aval.dtype) and v.aval.dtype.itemsize > 1
        for v in (out, a)
    )


def mark_with_nans(out: Any, good: Sequence[Any]) -> Any:
    """Return a value with NaNs where any of `good` is false."""
    nan = lax.full(core.aval_of(out).shape, np.nan, core.aval_of(out).dtype)
    return lax.select(functools.reduce(lax.bitwise_and, good), out, nan)


class Probes:
    """The checks of one program: how bad values are, and which sites are responsible.

    slots: for values, their index in `found`.
    exact: for which values to distinguish NaNs from infinities.
    good: values that are known to be finite.
    """

    def __init__(
        self,
        env: dict[Any, Any],
        exact: Callable[[Any], bool] = lambda a: True,
        good: Collection[Any] = (),
    ) -> None:
        self.env = env
        self.exact = exact
        self.good = good
        self.slots: dict[Any, int] = {}
        self.levels: list[Any] = []
        self.checks: list[tuple[int, int, tuple[int, ...]]] = []

    def value(self, a: Any) -> Any:
        return a.val if type(a) is Literal else self.env[a]

    def slot(self, a: Any) -> int:
        """Return the slot that holds how bad a value is."""
        key = id(a) if type(a) is Literal else a
        if key not in self.slots:
            self.slots[key] = len(self.levels)
            bad = type(a) is Literal or a not in self.good
            level = nonfinite_level(self.value(a), not self.exact(a)) if bad else np.int8(0)
            self.levels.append(level)
        return self.slots[key]

    def check(self, number: int, now: int, before: Iterable[int]) -> None:
        """Report a site if slot `now` is bad and no slot in `before` explains it."""
        self.checks.append((number, now, tuple(before)))

    def first(self, kinds: frozenset[str]) -> Any:
        """Return the first responsible site, times two, plus one if it made an infinity.

        All sites are evaluated in one operation.
        """
        if not self.checks:
            return NOTHING
        ones = [lax.reshape(jnp.asarray(x), (1,)) for x in self.levels]
        level = jnp.concatenate([*ones, np.zeros(1, np.int8)])
        width = max(1, *(len(before) for _, _, before in self.checks))
        clean = len(self.levels)
        at = np.array(
            [[now, *before, *[clean] * (width - len(before))] for _, now, before in self.checks]
        )
        levels = level[at]
        now, before = levels[:, 0], levels[:, 1:].max(1)
        responsible: Any = np.zeros(len(at), bool)
        if "nan" in kinds:
            responsible = responsible | ((now == 2) & (before < 2))
        if "inf" in kinds:
            responsible = responsible | ((now == 1) & (before == 0))
        numbers = np.array([2 * number for number, _, _ in self.checks], np.int32)
        return jnp.where(responsible, numbers + (now == 1), NOTHING).min()


# ------------------------------------------------------------------- statistics


def statistics(x: Any) -> Any:
    """Return the `STATS` of a value, as float32."""
    x = jnp.asarray(x)
    if not x.size or dtypes.is_extended(x.dtype):
        return np.zeros(len(STATS), np.float32)
    if dtypes.is_complex(x.dtype):
        x = jnp.abs(x)
    if not dtypes.is_float(x.dtype):
        x = x.astype(np.float32)
    good, n = jnp.isfinite(x), jnp.isfinite(x).sum()
    at, number = jnp.where(n < x.size, np.int32(2**31 - 1), -1), np.int32(0)
    for axis, size in enumerate(x.shape):  # keep the shape: the value may be sharded
        number = number * size + lax.broadcasted_iota(np.int32, x.shape, axis)
    at = jnp.minimum(at, jnp.where(good, at, number).min())
    row = [
        jnp.isnan(x).sum(),
        jnp.isinf(x).sum(),
        at,
        jnp.where(good, x, np.inf).min(),
        jnp.where(good, x, -np.inf).max(),
        jnp.where(good, x, 0).sum() / jnp.maximum(n, 1),
    ]
    return jnp.stack([r.astype(np.float32) for r in row])
