r"""`jet`: Taylor-mode differentiation to any order.

Inside, a value is a truncated power series :math:`\sum_k a_k t^k`, and a rule computes the
series of the result from the series of the operands:

- linear operations apply term by term, bilinear ones are Cauchy products;
- where :math:`y' = g\,x'`, comparing coefficients gives
  :math:`k y_k = \sum_{j=1}^{k} j\,x_j\,g_{k-j}`, with g a series of x or of y;
- for any other operation, `jet` applies the jvp rule repeatedly, which costs
  :math:`2^K` for order K but is always correct.

Source: Griewank and Walther, Evaluating Derivatives (2008), chapter 13.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..base import tree
from ..base.util import split_list
from ..control.arguments import as_value
from ..control.calls.remat import name_p
from ..control.flat import FlatFun
from ..ir import core
from ..ir.core import STATE, Primitive, Trace, Tracer
from ..ir.jaxpr import ClosedJaxpr, eval_jaxpr, permute_jaxpr
from ..ir.regions import Loop, Region
from ..passes.ad_util import core_ops, instantiate
from ..passes.jvp import jvp_flat
from ..passes.loop_rules import carry_fixed_point
from ..passes.region_rules import transform_consistently
from ..passes.stage import abstract, remembered, stage_closed
from ..prims import lax as ops
from ..prims.elementwise import const
from ..prims.fft import fft_p
from ..prims.math.algebraic import add_any_p
from ..prims.math.elementary import logistic_slope_p, tanh_slope_p
from ..prims.reduce.window_reductions import reduce_window_sum_p
from ..prims.shape.diagonals import diagonal_p, matrix_of_diagonal_p
from ..types import dtypes
from ..types.avals import shaped

if TYPE_CHECKING:
    from ..types.aliases import Params, PyTree, Results, Value

# The primal, then the coefficients; only the primal if the value is constant.
Series = list[Any]
Rule = Callable[..., Any]

# (series of the operands, order, params) -> series of the result(s).  A primitive without a
# rule gets its series from derivatives of its jvp.
taylor_rules: dict[Primitive, Rule] = {}


# ------------------------------------------------------------------------------- trace


class JetTracer(Tracer):
    """A truncated power series."""

    __slots__ = ("series",)

    def __init__(self, trace: Trace, primal: Value, terms: Sequence[Value]) -> None:
        self._trace = trace
        self.aval = core.aval_of(primal)
        self.series = [primal, *terms]

    @property
    def primal(self) -> Value:
        """The term of order 0."""
        return self.series[0]

    @property
    def terms(self) -> Series:
        """The coefficients of order 1, 2 ..."""
        return self.series[1:]

    def concrete(self) -> Value | None:
        p = self.series[0]
        return p.concrete() if isinstance(p, Tracer) else p

    def origin(self) -> str | None:
        p = self.series[0]
        return p.origin() if isinstance(p, Tracer) else None


class JetTrace(Trace):
    """Pushes power series forward, up to `order`."""

    __slots__ = ("order", "tag")
    transform = "jet"

    def __init__(self, tag: object, parent_trace: Trace, order: int) -> None:
        self.tag = tag  # an identifier of the creator's
        self.parent = parent_trace
        self.alive = True
        self.order = order

    def process(self, prim: Primitive, args: tuple[Value, ...], params: Params) -> Results:
        series_in = [self.unwrap(x) for x in args]
        # Swapped by hand, as in every trace: a context manager costs more than most rules.
        STATE.trace = self.parent
        try:
            if all(len(s) == 1 for s in series_in):
                return self.parent.process(prim, args, params)
            outs = self.apply(prim, series_in, params)
        finally:
            STATE.trace = self
        wrapped = [self.wrap(s) for s in outs]
        return wrapped if prim.multiple_results else wrapped[0]

    def apply(self, prim: Primitive, series_in: list[Series], params: Params) -> list[Series]:
        """Return the series of an operation's results."""
        region = prim.regions
        if isinstance(region, Loop):
            return by_loop(prim, region, series_in, self.order, params)
        if region is not None:
            if region.opaque:  # a call with its own derivative rule, which must be used
                return by_jvp(prim, series_in, self.order, params)
            return by_call(prim, region, series_in, self.order, params)
        avals = abstract(prim, [core.aval_of(s[0]) for s in series_in], params)
        avals = avals if prim.multiple_results else [avals]
        has_terms = [dtypes.is_inexact(getattr(a, "dtype", dtypes.float0)) for a in avals]
        if not any(has_terms):
            out = prim.bind(*(s[0] for s in series_in), **params)
            return [[x] for x in (out if prim.multiple_results else [out])]
        rule = taylor_rules.get(prim)
        if rule is None:
            return by_jvp(prim, series_in, self.order, params)
        out = rule(series_in, self.order, params)
        return out if prim.multiple_results else [out]

    def wrap(self, series: Series) -> Value:
        """Return a series as a tracer, or its primal if it is constant."""
        return series[0] if len(series) == 1 else JetTracer(self, series[0], series[1:])

    def unwrap(self, x: Value) -> Series:
        """Return the series of a value."""
        return x.series if type(x) is JetTracer and x._trace is self else [x]


def push(fun: Callable[..., Any], order: int, series_in: Sequence[Series]) -> list[Series]:
    """Return the series of a flat function's results, given its arguments' series."""
    if not order:
        return [[x] for x in fun(*(s[0] for s in series_in))]
    trace = JetTrace(None, STATE.trace, order)
    outs = core.under(trace, fun, *map(trace.wrap, series_in))
    return [trace.unwrap(x) for x in outs]


def by_jvp(prim: Primitive, series_in: Sequence[Series], order: int, params) -> list[Series]:
    """Compute derivatives one after the other: each is the jvp of all before."""
    varies = [len(s) > 1 for s in series_in]
    fixed = [s[0] for s in series_in]

    def value(*xs: Any) -> list[Any]:
        it = iter(xs)
        args = [next(it) if m else x for m, x in zip(varies, fixed, strict=True)]
        out = prim.bind(*args, **params)
        return out if prim.multiple_results else [out]

    # The k-th derivatives of the path through the arguments.
    path = [
        [scaled(s[k], math.factorial(k)) for s, m in zip(series_in, varies, strict=True) if m]
        for k in range(order + 1)
    ]
    n = len(path[0])

    def derivatives(k: int, *xs: Any) -> list[Any]:
        """Return all derivatives up to the k-th, of arguments grouped by order."""
        if k == 0:
            return value(*xs)
        outs, ts = jvp_flat(functools.partial(derivatives, k - 1), xs[:-n], xs[n:])
        width = len(outs) // k
        return [*outs, *map(instantiate, ts[-width:])]

    outs = derivatives(order, *(x for level in path for x in level))
    width = len(outs) // (order + 1)
    out: list[Series] = []
    for i in range(width):
        terms = outs[i::width]
        if dtypes.is_inexact(core.aval_of(terms[0]).dtype):
            out.append([divided(t, math.factorial(k)) for k, t in enumerate(terms)])
        else:
            out.append(terms[:1])
    return out


# --------------------------------------------------- operations that contain programs


def padded_series(s: Series, order: int, varies: bool) -> Series:
    """Return the series padded with zeros to all its terms, if it varies."""
    zeros = [core_ops.zeros(core.aval_of(s[0]))] * (order + 1 - len(s)) if varies else []
    return [*s, *zeros]


def split_series(terms: Sequence[Value], order: int, varies: Sequence[bool]) -> list[Series]:
    """Split a flat list of terms into series."""
    *series_in, _ = split_list(terms, [order + 1 if m else 1 for m in varies])
    return series_in


def jet_jaxpr(
    closed: ClosedJaxpr, order: int, varies: Sequence[bool], force: Sequence[bool] | bool
) -> tuple[ClosedJaxpr, list[bool]]:
    """Return the jaxpr on series, with all terms flattened, and which results vary."""
    force = force if isinstance(force, bool) else tuple(force)
    return _jet_jaxpr(closed, order, tuple(varies), force)


@remembered
def _jet_jaxpr(
    closed: ClosedJaxpr, order: int, varies: tuple[bool, ...], force: bool | tuple[bool, ...]
) -> tuple[ClosedJaxpr, list[bool]]:
    inexact = [dtypes.is_inexact(a.dtype) for a in closed.out_avals]
    flags: list[bool] = []

    def fun(*terms: Any) -> list[Any]:
        program = functools.partial(eval_jaxpr, closed.jaxpr, closed.consts)
        outs = push(program, order, split_series(terms, order, varies))
        must = [force] * len(outs) if isinstance(force, bool) else force
        flags[:] = [
            (len(s) > 1 or f) and i for s, f, i in zip(outs, must, inexact, strict=True)
        ]
        pairs = zip(outs, flags, strict=True)
        return [x for s, m in pairs for x in (padded_series(s, order, m) if m else s[:1])]

    avals = [
        a
        for a, m in zip(closed.in_avals, varies, strict=True)
        for a in [a] * (order + 1 if m else 1)
    ]
    return stage_closed(fun, avals, name=closed.jaxpr.name, text="jet"), flags


def by_call(
    prim: Primitive, region: Region, series_in: list[Series], order: int, params: Params
) -> list[Series]:
    """Call the program on series, or the conditional over several programs."""
    k = region.index
    varies = [len(s) > 1 for s in series_in[k:]]
    with region.scope(params):
        bodies, flags = transform_consistently(
            region.bodies(params), lambda b, force: jet_jaxpr(b, order, varies, force)
        )
    ins = [i for i, s in enumerate(series_in[k:]) for _ in s]
    outs = [i for i, m in enumerate(flags) for _ in range(order + 1 if m else 1)]
    first, new = region.rebuild(params, bodies, ins, outs)
    # The index of a conditional is an integer, so it has no terms.
    index = [s[0] for s in series_in[:k]]
    out = prim.bind(*index, *first, *(x for s in series_in[k:] for x in s), **new)
    return split_series(out, order, flags)


def by_loop(
    prim: Primitive, loop: Loop, series_in: list[Series], order: int, params: Params
) -> list[Series]:
    """Run the loop with series as carry."""
    *cond, body = loop.bodies(params)
    cond_consts, consts, first, xs = loop.groups(params, series_in)
    flags = [[len(s) > 1 for s in group] for group in (consts, first, xs)]
    pushed, carry_varies, out_varies = carry_fixed_point(
        body, flags, lambda b, ins, force: jet_jaxpr(b, order, ins, force)
    )
    first = [padded_series(s, order, m) for s, m in zip(first, carry_varies, strict=True)]
    groups = [
        [s[0] for s in cond_consts],
        *([x for s in group for x in s] for group in (consts, first, xs)),
    ]
    # The condition reads only primals; map its operands past the other terms.
    carry_range = range(len(cond_consts), len(cond_consts) + len(first))
    terms = [
        t
        for at, m in zip(carry_range, carry_varies, strict=True)
        for t in (at, *([core.aval_of(series_in[at][0])] * (order if m else 0)))
    ]
    cond = [permute_jaxpr(t, [*range(len(cond_consts)), *terms]) for t in cond]
    operands = [x for group in groups for x in group]
    new = loop.rebuild(params, [*cond, pushed], groups)
    return split_series(prim.bind(*operands, **new), order, out_varies)


# --------------------------------------------------------------- arithmetic of series


def scaled(x: Value, k: int) -> Value:
    return x if k == 1 else ops.mul(x, const(x, k))


def divided(x: Value, k: int) -> Value:
    return x if k == 1 else ops.div(x, const(x, k))


def total(terms: Sequence[Value]) -> Value:
    return functools.reduce(ops.add, terms)


def cauchy(a: Series, b: Series, k: int, product: Rule = ops.mul) -> Value:
    r"""Return :math:`\sum_j a_j b_{k-j}`, over the terms that exist."""
    return total(
        [product(a[j], b[k - j]) for j in range(k + 1) if j < len(a) and k - j < len(b)]
    )


def integrate(
    start: Value, x: Series, slope: Callable[[Series, int], Any], join: Rule = ops.mul
) -> Series:
    """Return the series y with y' = g x', where `slope(y, k)` is the k-th term of g."""
    y, g = [start], []
    for k in range(1, len(x)):
        g.append(slope(y, k - 1))
        y.append(divided(total([scaled(join(x[j], g[k - j]), j) for j in range(1, k + 1)]), k))
    return y


def product(x: Value, y: Value) -> Value:
    """Return x y; 0 where x is 0, even if y is infinite at a singular point."""
    is_zero = ops.eq(x, const(x, 0))
    return ops.select_n(is_zero, ops.mul(x, y), core_ops.zeros(core.aval_of(x)))


def quotient(a: Series, b: Series, order: int, div: Callable[..., Any] = ops.div) -> Series:
    if len(b) == 1:
        return [div(x, b[0]) for x in a]
    out: Series = []
    for k in range(order + 1):
        products = [product(b[k - j], out[j]) for j in range(k) if k - j < len(b)]
        if not products:
            out.append(div(a[0], b[0]))
        elif k < len(a):
            out.append(div(ops.sub(a[k], total(products)), b[0]))
        else:
            out.append(ops.neg(div(total(products), b[0])))
    return out


def root(start: Value, x: Series, power: Value, slope: Value) -> Series:
    """Return x to a constant power r: x y' = r y x', where y' is slope x'."""
    y = [start]
    for k in range(1, len(x)):
        if k == 1:
            y.append(product(x[1], slope))
            continue
        terms = []
        for j in range(1, k + 1):
            weight = ops.sub(ops.mul(power, const(power, j)), const(power, k - j))
            terms.append(ops.mul(weight, product(x[j], y[k - j])))
        y.append(ops.div(divided(total(terms), k), x[0]))
    return y


# ------------------------------------------------------------------------------- rules


def rule(*prims: Primitive) -> Callable[[Rule], Rule]:
    """Register a rule for primitives; it receives the primitive first."""

    def register(fun: Rule) -> Rule:
        for prim in prims:
            taylor_rules[prim] = functools.partial(fun, prim)
        return fun

    return register


def linear_rule(
    prim: Primitive,
    series_in: list[Series],
    order: int,
    params: Params,
    linear_in: tuple[int, ...] | None = None,
) -> list[Value]:
    """Apply an operation that is linear in the operands `linear_in` jointly (None: all)."""

    def term(k: int) -> Any:
        args = []
        for i, s in enumerate(series_in):
            if k and (linear_in is None or i in linear_in):
                args.append(s[k] if k < len(s) else core_ops.zeros(core.aval_of(s[0])))
            else:
                args.append(s[0])
        return prim.bind(*args, **params)

    terms = [term(k) for k in range(order + 1)]
    return [list(s) for s in zip(*terms, strict=True)] if prim.multiple_results else terms


rule(
    ops.add_p,
    ops.sub_p,
    ops.neg_p,
    add_any_p,
    ops.real_p,
    ops.imag_p,
    ops.complex_p,
    ops.conj_p,
    ops.copy_p,
    ops.convert_element_type_p,
    ops.broadcast_in_dim_p,
    ops.reshape_p,
    ops.transpose_p,
    ops.squeeze_p,
    ops.rev_p,
    ops.slice_p,
    diagonal_p,
    matrix_of_diagonal_p,
    ops.concatenate_p,
    ops.split_p,
    ops.stack_p,
    ops.unstack_p,
    ops.tile_p,
    ops.pad_p,
    ops.reduce_sum_p,
    ops.cumsum_p,
    name_p,
    reduce_window_sum_p,
    fft_p,
    ops.optimization_barrier_p,
    ops.reduce_precision_p,
)(linear_rule)
rule(ops.dynamic_slice_p, ops.gather_p)(functools.partial(linear_rule, linear_in=(0,)))
rule(ops.dynamic_update_slice_p)(functools.partial(linear_rule, linear_in=(0, 1)))
rule(ops.scatter_add_p, ops.scatter_p)(functools.partial(linear_rule, linear_in=(0, 2)))


@rule(ops.select_n_p)
def select_rule(prim: Primitive, series_in: list[Series], order: int, params: Params) -> Series:
    which, *cases = series_in
    shape = core.aval_of(cases[0][0])
    return [
        prim.bind(which[0], *(c[k] if k < len(c) else core_ops.zeros(shape) for c in cases))
        for k in range(order + 1)
    ]


@rule(ops.mul_p, ops.dot_general_p, ops.conv_general_dilated_p)
def bilinear_rule(prim: Primitive, series_in: list[Series], order: int, params) -> Series:
    a, b = series_in
    product = functools.partial(prim.bind, **params)
    return [cauchy(a, b, k, product) for k in range(order + 1)]


@rule(ops.div_p)
def div_rule(prim: Primitive, series_in: list[Series], order: int, params: Params) -> Series:
    a, b = series_in
    return quotient(a, b, order, functools.partial(prim.bind, **params))


@rule(ops.square_p)
def square_rule(prim: Primitive, series_in: list[Series], order: int, params: Params) -> Series:
    (x,) = series_in
    return [cauchy(x, x, k) for k in range(order + 1)]


@rule(ops.integer_pow_p)
def integer_pow_rule(prim: Primitive, series_in: list[Series], order: int, params) -> Series:
    (x,), n = series_in, params["y"]
    start = x[0]
    if n < 0:  # invert before taking powers: at 0 each power diverges faster than the last
        x = quotient([const(x[0], 1)], x, order)
    out: Series | None = None
    left = abs(n)
    while left:
        if left & 1:
            out = x if out is None else [cauchy(out, x, k) for k in range(order + 1)]
        left >>= 1
        if left:
            x = [cauchy(x, x, k) for k in range(order + 1)]
    if out is None:
        return [prim.bind(x[0], **params)]
    return [prim.bind(start, **params), *out[1:]]


@rule(ops.sqrt_p, ops.rsqrt_p, ops.cbrt_p)
def root_rule(prim: Primitive, series_in: list[Series], order: int, params: Params) -> Series:
    (x,) = series_in
    power = {ops.sqrt_p: 0.5, ops.rsqrt_p: -0.5, ops.cbrt_p: 1 / 3}[prim]
    start = prim.bind(x[0], **params)
    # Compute the slope from the root itself, so that it is correct at 0 as well.
    denominator = {ops.sqrt_p: start, ops.rsqrt_p: x[0], ops.cbrt_p: ops.square(start)}[prim]
    numerator = start if prim is ops.rsqrt_p else const(start, 1)
    slope = ops.mul(const(start, power), ops.div(numerator, denominator))
    return root(start, x, const(x[0], power), slope)


@rule(ops.pow_p)
def pow_rule(prim: Primitive, series_in: list[Series], order: int, params: Params) -> Series:
    x, p = series_in
    start = prim.bind(x[0], p[0], **params)
    if len(p) == 1:
        return _constant_power(prim, start, x, p[0], order, params)

    def exponent(x: Any, p: Any) -> list[Any]:
        return [ops.mul(p, ops.log(x))]

    return integrate(start, push(exponent, order, [x, p])[0], lambda y, k: y[k])


def _constant_power(
    prim: Primitive, start: Any, x: Series, p: Any, order: int, params: Any
) -> Series:
    is_scalar = core.is_concrete(p) and not core.aval_of(p).shape
    if is_scalar and float(p).is_integer() and 0 <= p <= 64:
        return integer_pow_rule(ops.integer_pow_p, [x], order, {"y": int(p)})
    aval = core.aval_of(start)
    convert = ops.convert_element_type_p
    power = convert.bind(p, new_dtype=aval.dtype, weak_type=False, sharding=None)
    power = core_ops.broadcast_to(power, aval.shape)
    x = [core_ops.broadcast_to(v, aval.shape) for v in x]
    flags = lambda value: ops.eq(power, const(power, value))
    zero = core_ops.zeros(aval)
    slope = ops.mul(power, prim.bind(x[0], ops.sub(power, const(power, 1)), **params))
    slope = ops.select_n(flags(0), slope, zero)
    y = root(start, x, power, slope)
    # At 0 the recurrence divides by x: use products for integer powers, and otherwise the
    # single term that dominates there.
    is_zero = ops.eq(x[0], const(x[0], 0))
    factor, leading_power = const(power, 1), core_ops.broadcast_to(const(start, 1), aval.shape)
    at_zero = []
    for k in range(order + 1):
        left = ops.sub(power, const(power, k))
        term = ops.mul(factor, prim.bind(x[0], left, **params))
        at_zero.append(product(leading_power, term))
        factor = divided(ops.mul(factor, left), k + 1)
        leading_power = ops.mul(leading_power, x[1])
    for n in range(0 if is_scalar else order + 1):
        integer_terms = integer_pow_rule(ops.integer_pow_p, [x], order, {"y": n})
        terms = integer_terms + [zero] * (order + 1 - len(integer_terms))
        at_zero = [
            ops.select_n(flags(n), a, core_ops.broadcast_to(b, aval.shape))
            for a, b in zip(at_zero, terms, strict=True)
        ]
    return [
        y[0],
        *(ops.select_n(is_zero, a, b) for a, b in zip(y[1:], at_zero[1:], strict=True)),
    ]


def of_itself(prim: Primitive, slope: Callable[[Series, int], Any]) -> None:
    """Register y = f(x) with y' = g(y) x': `slope(y, k)` is the k-th term of g(y)."""

    @rule(prim)
    def series(prim: Primitive, series_in: list[Series], order: int, params: Any) -> Series:
        (x,) = series_in
        return integrate(prim.bind(x[0], **params), x, slope)


def _one_plus(y: Series, k: int, sign: int) -> Any:
    square = scaled(cauchy(y, y, k), sign)
    return square if k else ops.add(square, const(square, 1))


of_itself(ops.exp_p, lambda y, k: y[k])
of_itself(ops.exp2_p, lambda y, k: ops.mul(y[k], const(y[k], math.log(2))))
of_itself(ops.tan_p, lambda y, k: _one_plus(y, k, 1))


@rule(ops.expm1_p)
def expm1_rule(prim: Primitive, series_in: list[Series], order: int, params: Params) -> Series:
    (x,) = series_in
    terms = integrate(ops.exp(x[0]), x, lambda y, k: y[k])
    return [prim.bind(x[0], **params), *terms[1:]]


def saturated(
    prim: Primitive,
    slope: Primitive,
    curvature: Callable[[Any, Series, int], Any],
    of_complex: Callable[[Any], Any],
) -> None:
    """Register y = f(x) with y' = g x' and g' = c g x'; `bend(x, y, k)` is a term of c.

    g is not computed from y: the difference would cancel where y is near 1.
    """

    @rule(prim)
    def series(prim: Primitive, series_in: list[Series], order: int, params: Any) -> Series:
        (x,) = series_in
        real = dtypes.is_float(core.aval_of(x[0]).dtype)
        y, c = [prim.bind(x[0], **params)], []
        g = [slope.bind(x[0]) if real else of_complex(y[0])]
        sums: Series = []
        for k in range(1, order + 1):
            c.append(curvature(x[0], y, k - 1))
            sums.append(cauchy(c, g, k - 1))
            sums_by_factor = [
                total([scaled(ops.mul(x[j], w[k - j]), j) for j in range(1, k + 1)])
                for w in (g, sums)
            ]
            y.append(divided(sums_by_factor[0], k))
            g.append(divided(sums_by_factor[1], k))
        return y


def _tanh_curvature(x: Any, y: Series, k: int) -> Any:
    return scaled(y[k], -2)


def _logistic_curvature(x: Any, y: Series, k: int) -> Any:
    """1 - 2 y"""
    return scaled(y[k], -2) if k else ops.tanh(ops.mul(x, const(x, -0.5)))


saturated(ops.tanh_p, tanh_slope_p, _tanh_curvature, lambda y: _one_minus_square(y))
saturated(
    ops.logistic_p,
    logistic_slope_p,
    _logistic_curvature,
    lambda y: ops.mul(y, ops.sub(const(y, 1), y)),
)


def by_derivative(prim: Primitive, derivative: Callable[[Any], Any]) -> None:
    """Register y = f(x) with y' = g(x) x', where g is pushed to one order less."""

    @rule(prim)
    def series(prim: Primitive, series_in: list[Series], order: int, params: Params) -> Series:
        (x,) = series_in
        (g,) = push(lambda v: [derivative(v)], order - 1, [x[:order]])
        return integrate(
            prim.bind(x[0], **params),
            x,
            lambda _, k: g[k] if k < len(g) else core_ops.zeros(core.aval_of(g[0])),
            product,
        )


def _gauss(x: Any, scale: float) -> Any:
    return ops.mul(const(x, scale), ops.exp(ops.neg(ops.square(x))))


def _one_minus_square(x: Any) -> Any:
    return ops.sub(const(x, 1), ops.square(x))


def _square_plus(x: Any, value: float) -> Any:
    return ops.add(ops.square(x), const(x, value))


by_derivative(ops.log_p, lambda x: ops.div(const(x, 1), x))
by_derivative(ops.log1p_p, lambda x: ops.div(const(x, 1), ops.add(x, const(x, 1))))
by_derivative(ops.asin_p, lambda x: ops.rsqrt(_one_minus_square(x)))
by_derivative(ops.acos_p, lambda x: ops.neg(ops.rsqrt(_one_minus_square(x))))
by_derivative(ops.atan_p, lambda x: ops.div(const(x, 1), _square_plus(x, 1)))
by_derivative(ops.asinh_p, lambda x: ops.rsqrt(_square_plus(x, 1)))
by_derivative(ops.acosh_p, lambda x: ops.rsqrt(_square_plus(x, -1)))
by_derivative(ops.atanh_p, lambda x: ops.div(const(x, 1), _one_minus_square(x)))
by_derivative(ops.erf_p, lambda x: _gauss(x, 2 / math.sqrt(math.pi)))
by_derivative(ops.erfc_p, lambda x: _gauss(x, -2 / math.sqrt(math.pi)))
by_derivative(ops.lgamma_p, ops.digamma)


def pair(prim: Primitive, other: Primitive, sign: int) -> None:
    """Register y = f(x) and z = g(x) with y' = z x' and z' = sign y x' (or vice versa)."""

    @rule(prim)
    def series(prim: Primitive, series_in: list[Series], order: int, params: Any) -> Series:
        (x,) = series_in
        y, z = [prim.bind(x[0], **params)], [other.bind(x[0], **params)]
        signs = (1, sign) if prim in (ops.sin_p, ops.sinh_p) else (sign, 1)
        for k in range(1, order + 1):
            steps = [
                divided(total([scaled(ops.mul(x[j], w[k - j]), j) for j in range(1, k + 1)]), k)
                for w in (z, y)
            ]
            y.append(scaled(steps[0], signs[0]))
            z.append(scaled(steps[1], signs[1]))
        return y


pair(ops.sin_p, ops.cos_p, -1)
pair(ops.cos_p, ops.sin_p, -1)
pair(ops.sinh_p, ops.cosh_p, 1)
pair(ops.cosh_p, ops.sinh_p, 1)


@rule(ops.abs_p)
def abs_rule(prim: Primitive, series_in: list[Series], order: int, params: Params) -> Series:
    (x,) = series_in
    if dtypes.is_complex(core.aval_of(x[0]).dtype):
        return by_jvp(prim, series_in, order, params)[0]
    one = core_ops.broadcast_to(const(x[0], 1), core.aval_of(x[0]).shape)
    sign = ops.select_n(ops.ge(x[0], const(x[0], 0)), ops.neg(one), one)
    return [prim.bind(x[0]), *(ops.mul(sign, t) for t in x[1:])]


@rule(ops.max_p, ops.min_p)
def extremum_rule(prim: Primitive, series_in: list[Series], order: int, params) -> Series:
    """Return the terms of the chosen operand; of ties, the mean of both operands' terms."""
    a, b = series_in
    compare = ops.gt if prim is ops.max_p else ops.lt
    out = [prim.bind(a[0], b[0])]
    aval = core.aval_of(out[0])
    operands = [core_ops.broadcast_to(s[0], aval.shape) for s in (a, b)]
    half = core_ops.broadcast_to(const(out[0], 0.5), aval.shape)
    for k in range(1, order + 1):
        x, y = (
            core_ops.broadcast_to(s[k], aval.shape) if k < len(s) else core_ops.zeros(aval)
            for s in (a, b)
        )
        tie = ops.mul(half, ops.add(x, y))
        otherwise = ops.select_n(ops.eq(*operands), y, tie)
        out.append(ops.select_n(compare(*operands), otherwise, x))
    return out


# --------------------------------------------------------------------------------- jet


def jet(
    fun: Callable[..., Any],
    primals: Sequence[PyTree],
    series: Sequence[PyTree],
    factorial_scaled: bool = True,
    **unknown: object,
) -> tuple[PyTree, PyTree]:
    r"""Return the Taylor series of :math:`t \mapsto f(x(t))`, given the series of :math:`x(t)`.

    Args:
      fun: a function of arrays.
      primals: its arguments, the terms of order 0: floating point or complex.
      series: for each argument its terms of order 1, 2 .. K.
      factorial_scaled: whether terms are derivatives (the default) or coefficients, which
        are derivatives divided by factorials.
      unknown: other keywords, which are ignored with a warning.

    Returns:
      (results, terms), where each result's terms are a list of K arrays.

    Raises:
      ValueError: arguments have different numbers of terms, or are not arrays.
      TypeError: an argument has an integer dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> value, derivatives = jet(jnp.square, (3.0,), ((1.0, 0.0),))
      >>> value
      Array(9., dtype=float32, weak_type=True)
      >>> derivatives
      [Array(6., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True)]

    Differs from JAX: supports every operation with a jvp rule; JAX does not warn of unknown
    keywords.
    """
    if unknown:
        warnings.warn(f"jet: unknown keywords {sorted(unknown)} are ignored.", stacklevel=2)
    orders = {len(terms) for terms in series}
    if len(primals) != len(series) or len(orders) > 1:
        raise ValueError("jet terms have inconsistent lengths for different arguments")
    order = orders.pop() if orders else 0
    scales = [math.factorial(k) if factorial_scaled else 1 for k in range(order + 1)]
    series_in = []
    for i, (x, terms) in enumerate(zip(primals, series, strict=True)):
        if not core.is_value(x):
            raise ValueError(f"primal value at position {i} is not an array")
        aval = core.aval_of(x)
        if not dtypes.is_inexact(aval.dtype):
            raise TypeError(
                f"jet: primal value at position {i} has dtype {aval.dtype.name}, which is"
                " not differentiable.\nTry: x.astype(float)."
            )
        terms_in = [_term(t, i, aval) for t in terms]
        series_in.append(
            [as_value(x), *(divided(t, s) for t, s in zip(terms_in, scales[1:], strict=True))]
        )
    flat = FlatFun(fun, tree.structure(tuple(primals)), "jet")
    outs = push(flat, order, series_in)
    terms_out = []
    for s in outs:
        aval = core.aval_of(s[0])
        if not dtypes.is_inexact(aval.dtype):
            aval = shaped(aval.shape, dtypes.scalar_dtype(float))
        rest = s[1:] or [core_ops.zeros(aval)] * order
        terms_out.append(
            [as_value(scaled(t, k)) for t, k in zip(rest, scales[1:], strict=True)]
        )
    return (flat.result([as_value(s[0]) for s in outs]), flat.result(terms_out))


def _term(t: Any, i: int, aval: Any) -> Any:
    """Return a user's term, with its argument's shape and dtype."""
    if not core.is_value(t):
        raise ValueError(f"a term of the argument at position {i} is not an array: {t!r}")
    term_aval = core.aval_of(t)
    if term_aval.shape not in ((), aval.shape):
        raise ValueError(
            f"a term of the argument at position {i} has shape {term_aval.shape}, the argument"
            f" has {aval.shape}."
        )
    convert = ops.convert_element_type_p
    if term_aval.dtype != aval.dtype:
        t = convert.bind(t, new_dtype=aval.dtype, weak_type=False, sharding=None)
    return (
        core_ops.broadcast_to(as_value(t), aval.shape)
        if term_aval.shape != aval.shape
        else as_value(t)
    )
