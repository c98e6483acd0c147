r"""`jet`: Taylor-mode differentiation, to any order at once.

Inside, a value is a truncated power series :math:`\sum_k a_k t^k`, and a rule turns the
series of operands into that of the result:

- linear operations apply term by term, bilinear ones are Cauchy products;
- where :math:`y' = g\,x'`, comparing coefficients gives
  :math:`k y_k = \sum_{j=1}^{k} j\,x_j\,g_{k-j}`, with g a series of x or of y;
- any other operation is differentiated again and again by its jvp rule, which costs
  :math:`2^K` for order K but is always right.

Source: Griewank and Walther, Evaluating Derivatives (2008), chapter 13.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ..base import tree
from ..control.arguments import as_value
from ..control.calls import jit_p
from ..control.remat import remat_p
from ..core import core
from ..core.core import STATE, Primitive, Trace, Tracer
from ..core.jaxpr import ClosedJaxpr, eval_jaxpr
from ..interpreters.algebra import instantiate, lib
from ..interpreters.jvp import jvp_flat
from ..interpreters.stage import abstract
from ..ops import arithmetic as ops
from ..ops import gamma, logic
from ..ops.define import const
from ..types import dtypes
from ..types.avals import shaped

Series = list[
    Any
]  # the primal, then the coefficients; the primal alone if it is constant
Rule = Callable[..., Any]
rules: dict[
    str, Rule
] = {}  # primitive's name -> rule(series of operands, order, params)


# ------------------------------------------------------------------------------- trace


class JetTracer(Tracer):
    """A truncated power series."""

    __slots__ = ("series",)

    def __init__(self, trace: Trace, series: Series) -> None:
        self._trace = trace
        self.aval = core.aval_of(series[0])
        self.series = series

    def concrete(self) -> Any:
        p = self.series[0]
        return p.concrete() if isinstance(p, Tracer) else p

    def origin(self) -> str | None:
        p = self.series[0]
        return p.origin() if isinstance(p, Tracer) else None


class JetTrace(Trace):
    """Pushes power series forward, up to `order`."""

    __slots__ = ("order",)
    transform = "jet"

    def __init__(self, parent: Trace, order: int) -> None:
        self.parent = parent
        self.alive = True
        self.order = order

    def process(self, prim: Primitive, args: tuple[Any, ...], params: Any) -> Any:
        if prim in _inlined:
            closed = params["jaxpr"]
            if isinstance(closed, ClosedJaxpr):
                return eval_jaxpr(closed.jaxpr, closed.consts, *args)
            return eval_jaxpr(closed, (), *args)
        many = [self.unwrap(x) for x in args]
        STATE.trace = self.parent
        try:
            if all(len(s) == 1 for s in many):
                return self.parent.process(prim, args, params)
            outs = self.apply(prim, many, params)
        finally:
            STATE.trace = self
        wrapped = [self.wrap(s) for s in outs]
        return wrapped if prim.multiple_results else wrapped[0]

    def apply(self, prim: Primitive, many: list[Series], params: Any) -> list[Series]:
        """The series of the results."""
        if prim.stage is not None:  # a call, whose own rule for derivatives counts
            return by_jvp(prim, many, self.order, params)
        avals = abstract(prim, [core.aval_of(s[0]) for s in many], params)
        avals = avals if prim.multiple_results else [avals]
        moving = [dtypes.is_inexact(getattr(a, "dtype", dtypes.float0)) for a in avals]
        if not any(moving):
            out = prim.bind(*(s[0] for s in many), **params)
            return [[x] for x in (out if prim.multiple_results else [out])]
        rule = rules.get(prim.name)
        if rule is None:
            return by_jvp(prim, many, self.order, params)
        out = rule(many, self.order, params)
        return out if prim.multiple_results else [out]

    def wrap(self, series: Series) -> Any:
        return series[0] if len(series) == 1 else JetTracer(self, series)

    def unwrap(self, x: Any) -> Series:
        return x.series if type(x) is JetTracer and x._trace is self else [x]


_inlined = frozenset((jit_p, remat_p))


def push(fun: Callable[..., Any], order: int, many: Sequence[Series]) -> list[Series]:
    """The series of a flat function's results, of those of its arguments."""
    if not order:
        return [[x] for x in fun(*(s[0] for s in many))]
    trace = JetTrace(STATE.trace, order)
    outs = core.under(trace, fun, *map(trace.wrap, many))
    return [trace.unwrap(x) for x in outs]


def by_jvp(prim: Primitive, many: Sequence[Series], order: int, params) -> list[Series]:
    """Derivatives one after the other: each is the jvp of all before."""
    moving = [len(s) > 1 for s in many]
    fixed = [s[0] for s in many]

    def value(*xs: Any) -> list[Any]:
        it = iter(xs)
        args = [next(it) if m else x for m, x in zip(moving, fixed, strict=True)]
        out = prim.bind(*args, **params)
        return out if prim.multiple_results else [out]

    # The k-th derivatives of the path through the arguments.
    path = [
        [times(s[k], math.factorial(k)) for s, m in zip(many, moving, strict=True) if m]
        for k in range(order + 1)
    ]
    n = len(path[0])

    def derivatives(k: int, *xs: Any) -> list[Any]:
        """All derivatives up to the k-th, of arguments grouped by order."""
        if k == 0:
            return value(*xs)
        outs, ts = jvp_flat(functools.partial(derivatives, k - 1), xs[:-n], xs[n:])
        width = len(outs) // k
        return [*outs, *map(instantiate, ts[-width:])]

    found = derivatives(order, *(x for level in path for x in level))
    width = len(found) // (order + 1)
    out: list[Series] = []
    for i in range(width):
        terms = found[i::width]
        if dtypes.is_inexact(core.aval_of(terms[0]).dtype):
            out.append([over(t, math.factorial(k)) for k, t in enumerate(terms)])
        else:
            out.append(terms[:1])
    return out


# --------------------------------------------------------------- arithmetic of series


def times(x: Any, k: int) -> Any:
    return x if k == 1 else ops.mul(x, const(x, k))


def over(x: Any, k: int) -> Any:
    return x if k == 1 else ops.div(x, const(x, k))


def total(terms: Sequence[Any]) -> Any:
    return functools.reduce(ops.add, terms)


def cauchy(a: Series, b: Series, k: int, product: Rule = ops.mul) -> Any:
    r""":math:`\sum_j a_j b_{k-j}`, over the terms that there are."""
    return total([
        product(a[j], b[k - j]) for j in range(k + 1) if j < len(a) and k - j < len(b)
    ])  # fmt: skip


def integrate(start: Any, x: Series, slope: Callable[[Series, int], Any]) -> Series:
    """The series y with y' = g x', where `slope(y, k)` is the k-th term of g."""
    y, g = [start], []
    for k in range(1, len(x)):
        g.append(slope(y, k - 1))
        y.append(
            over(total([times(ops.mul(x[j], g[k - j]), j) for j in range(1, k + 1)]), k)
        )
    return y


def quotient(a: Series, b: Series, order: int) -> Series:
    if len(b) == 1:
        return [ops.div(x, b[0]) for x in a]
    out: Series = []
    for k in range(order + 1):
        known = [ops.mul(out[j], b[k - j]) for j in range(k)]
        if not known:
            out.append(ops.div(a[0], b[0]))
        elif k < len(a):
            out.append(ops.div(ops.sub(a[k], total(known)), b[0]))
        else:
            out.append(ops.neg(ops.div(total(known), b[0])))
    return out


def root(start: Any, x: Series, power: Any) -> Series:
    """x to a constant power r: x y' = r y x'."""
    y = [start]
    for k in range(1, len(x)):
        terms = []
        for j in range(1, k + 1):
            weight = ops.sub(ops.mul(power, const(power, j)), const(power, k - j))
            terms.append(ops.mul(weight, ops.mul(x[j], y[k - j])))
        y.append(ops.div(over(total(terms), k), x[0]))
    return y


# ------------------------------------------------------------------------------- rules


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for primitives of these names."""

    def register(fun: Rule) -> Rule:
        for name in names:
            rules[name] = functools.partial(fun, core.registry[name])
        return fun

    return register


# Linear operations: the operands in which they are, all together (None: in all).
_linear: dict[str, tuple[int, ...] | None] = {
    **dict.fromkeys((
        "add", "sub", "neg", "add_any", "real", "imag", "complex", "conj", "copy",
        "convert_element_type", "broadcast_in_dim", "reshape", "transpose", "squeeze",
        "rev", "slice", "concatenate", "split", "stack", "unstack", "tile", "pad",
        "reduce_sum", "cumsum", "name", "reduce_window_sum", "fft",
        "optimization_barrier", "reduce_precision",
    )),
    "dynamic_slice": (0,), "gather": (0,), "dynamic_update_slice": (0, 1),
    "scatter-add": (0, 2), "scatter": (0, 2),
}  # fmt: skip


def linear_rule(
    prim: Primitive, places: tuple[int, ...] | None, many: list[Series], order: int,
    params: Any,
) -> Any:  # fmt: skip
    def term(k: int) -> Any:
        args = []
        for i, s in enumerate(many):
            if k and (places is None or i in places):
                args.append(s[k] if k < len(s) else lib.zeros(core.aval_of(s[0])))
            else:
                args.append(s[0])
        return prim.bind(*args, **params)

    terms = [term(k) for k in range(order + 1)]
    return (
        [list(s) for s in zip(*terms, strict=True)] if prim.multiple_results else terms
    )


for _name, _places in _linear.items():
    if _name in core.registry:
        rules[_name] = functools.partial(linear_rule, core.registry[_name], _places)


@rule("select_n")
def select_rule(prim: Primitive, many: list[Series], order: int, params: Any) -> Series:
    which, *cases = many
    shape = core.aval_of(cases[0][0])
    return [
        prim.bind(which[0], *(c[k] if k < len(c) else lib.zeros(shape) for c in cases))
        for k in range(order + 1)
    ]


@rule("mul", "dot_general", "conv_general_dilated")
def bilinear_rule(prim: Primitive, many: list[Series], order: int, params) -> Series:
    a, b = many
    product = functools.partial(prim.bind, **params)
    return [cauchy(a, b, k, product) for k in range(order + 1)]


@rule("div")
def div_rule(prim: Primitive, many: list[Series], order: int, params: Any) -> Series:
    a, b = many
    return quotient(a, b, order)


@rule("square")
def square_rule(prim: Primitive, many: list[Series], order: int, params: Any) -> Series:
    (x,) = many
    return [cauchy(x, x, k) for k in range(order + 1)]


@rule("integer_pow")
def integer_pow_rule(prim: Primitive, many: list[Series], order: int, params) -> Series:
    (x,), n = many, params["y"]
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
    return out if n > 0 else quotient([const(out[0], 1)], out, order)


@rule("sqrt", "rsqrt", "cbrt")
def root_rule(prim: Primitive, many: list[Series], order: int, params: Any) -> Series:
    (x,) = many
    power = {"sqrt": 0.5, "rsqrt": -0.5, "cbrt": 1 / 3}[prim.name]
    return root(prim.bind(x[0], **params), x, const(x[0], power))


@rule("pow")
def pow_rule(prim: Primitive, many: list[Series], order: int, params: Any) -> Series:
    x, p = many
    start = prim.bind(x[0], p[0], **params)
    if len(p) == 1:
        dtype = core.aval_of(x[0]).dtype
        convert = core.registry["convert_element_type"]
        power = convert.bind(p[0], new_dtype=dtype, weak_type=False, sharding=None)
        return root(start, x, power)

    def exponent(x: Any, p: Any) -> list[Any]:
        return [ops.mul(p, ops.log(x))]

    return integrate(start, push(exponent, order, [x, p])[0], lambda y, k: y[k])


def of_itself(name: str, slope: Callable[[Series, int], Any]) -> None:
    """y = f(x) with y' = g(y) x': `slope(y, k)` is the k-th term of g(y)."""

    @rule(name)
    def series(prim: Primitive, many: list[Series], order: int, params: Any) -> Series:
        (x,) = many
        return integrate(prim.bind(x[0], **params), x, slope)


def _one_plus(y: Series, k: int, sign: int) -> Any:
    square = times(cauchy(y, y, k), sign)
    return square if k else ops.add(square, const(square, 1))


of_itself("exp", lambda y, k: y[k])
of_itself("exp2", lambda y, k: ops.mul(y[k], const(y[k], math.log(2))))
of_itself("expm1", lambda y, k: y[k] if k else ops.add(y[0], const(y[0], 1)))
of_itself("tan", lambda y, k: _one_plus(y, k, 1))
of_itself("tanh", lambda y, k: _one_plus(y, k, -1))
of_itself("logistic", lambda y, k: ops.sub(y[k], cauchy(y, y, k)))


def by_derivative(name: str, derivative: Callable[[Any], Any]) -> None:
    """y = f(x) with y' = g(x) x', where g is itself pushed one order less."""

    @rule(name)
    def series(prim: Primitive, many: list[Series], order: int, params: Any) -> Series:
        (x,) = many
        (g,) = push(lambda v: [derivative(v)], order - 1, [x[:order]])
        return integrate(
            prim.bind(x[0], **params), x,
            lambda _, k: g[k] if k < len(g) else lib.zeros(core.aval_of(g[0])),
        )  # fmt: skip


def _gauss(x: Any, scale: float) -> Any:
    return ops.mul(const(x, scale), ops.exp(ops.neg(ops.square(x))))


def _one_minus_square(x: Any) -> Any:
    return ops.sub(const(x, 1), ops.square(x))


def _square_plus(x: Any, value: float) -> Any:
    return ops.add(ops.square(x), const(x, value))


by_derivative("log", lambda x: ops.div(const(x, 1), x))
by_derivative("log1p", lambda x: ops.div(const(x, 1), ops.add(x, const(x, 1))))
by_derivative("asin", lambda x: ops.rsqrt(_one_minus_square(x)))
by_derivative("acos", lambda x: ops.neg(ops.rsqrt(_one_minus_square(x))))
by_derivative("atan", lambda x: ops.div(const(x, 1), _square_plus(x, 1)))
by_derivative("asinh", lambda x: ops.rsqrt(_square_plus(x, 1)))
by_derivative("acosh", lambda x: ops.rsqrt(_square_plus(x, -1)))
by_derivative("atanh", lambda x: ops.div(const(x, 1), _one_minus_square(x)))
by_derivative("erf", lambda x: _gauss(x, 2 / math.sqrt(math.pi)))
by_derivative("erfc", lambda x: _gauss(x, -2 / math.sqrt(math.pi)))
by_derivative("lgamma", gamma.digamma)


def pair(name: str, other: Primitive, sign: int) -> None:
    """y = f(x) and z = g(x) with y' = z x' and z' = sign y x' (or both turned around)."""

    @rule(name)
    def series(prim: Primitive, many: list[Series], order: int, params: Any) -> Series:
        (x,) = many
        y, z = [prim.bind(x[0], **params)], [other.bind(x[0], **params)]
        turn = (1, sign) if name in ("sin", "sinh") else (sign, 1)
        for k in range(1, order + 1):
            steps = [
                over(
                    total([times(ops.mul(x[j], w[k - j]), j) for j in range(1, k + 1)]),
                    k,
                )
                for w in (z, y)
            ]
            y.append(times(steps[0], turn[0]))
            z.append(times(steps[1], turn[1]))
        return y


pair("sin", ops.cos_p, -1)
pair("cos", ops.sin_p, -1)
pair("sinh", ops.cosh_p, 1)
pair("cosh", ops.sinh_p, 1)


@rule("abs")
def abs_rule(prim: Primitive, many: list[Series], order: int, params: Any) -> Series:
    (x,) = many
    if dtypes.is_complex(core.aval_of(x[0]).dtype):
        return by_jvp(prim, many, order, params)[0]
    sign = ops.sign(x[0])
    return [prim.bind(x[0]), *(ops.mul(sign, t) for t in x[1:])]


@rule("max", "min")
def extremum_rule(prim: Primitive, many: list[Series], order: int, params) -> Series:
    """The terms of the operand that is chosen; of both, halved, where they are equal."""
    a, b = many
    compare = logic.gt if prim.name == "max" else logic.lt
    out = [prim.bind(a[0], b[0])]
    aval = core.aval_of(out[0])
    full = [lib.broadcast_to(s[0], aval.shape) for s in (a, b)]
    half = lib.broadcast_to(const(out[0], 0.5), aval.shape)
    for k in range(1, order + 1):
        x, y = (
            lib.broadcast_to(s[k], aval.shape) if k < len(s) else lib.zeros(aval)
            for s in (a, b)
        )
        tie = ops.mul(half, ops.add(x, y))
        least = logic.select_n(logic.eq(*full), y, tie)
        out.append(logic.select_n(compare(*full), least, x))
    return out


# --------------------------------------------------------------------------------- jet


def jet(
    fun: Callable[..., Any], primals: Sequence[Any], series: Sequence[Any],
    factorial_scaled: bool = True,
) -> tuple[Any, Any]:  # fmt: skip
    r"""The Taylor series of :math:`t \mapsto f(x(t))`, of that of :math:`x(t)`.

    Args:
      fun: a function of arrays.
      primals: its arguments, the terms of order 0: floating point or complex.
      series: for each argument its terms of order 1, 2 .. K.
      factorial_scaled: whether terms are derivatives (the default), or coefficients,
        which are derivatives over factorials.

    Returns:
      (results, terms), where each result's terms are a list of K arrays.

    Raises:
      ValueError: arguments have different numbers of terms, or are no arrays.
      TypeError: an argument is of an integer dtype.

    Example:
      >>> import minijax.numpy as jnp
      >>> value, derivatives = jet(jnp.square, (3.0,), ((1.0, 0.0),))
      >>> value
      Array(9., dtype=float32, weak_type=True)
      >>> derivatives
      [Array(6., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True)]

    Differs from JAX: every operation with a jvp rule will do; unknown keywords raise.
    """
    orders = {len(terms) for terms in series}
    if len(primals) != len(series) or len(orders) > 1:
        raise ValueError("jet terms have inconsistent lengths for different arguments")
    order = orders.pop() if orders else 0
    scales = [math.factorial(k) if factorial_scaled else 1 for k in range(order + 1)]
    many = []
    for i, (x, terms) in enumerate(zip(primals, series, strict=True)):
        if not core.is_value(x):
            raise ValueError(f"primal value at position {i} is not an array")
        aval = core.aval_of(x)
        if not dtypes.is_inexact(aval.dtype):
            raise TypeError(
                f"jet: primal value at position {i} has dtype {aval.dtype.name}, which is"
                " not differentiable.\nTry: x.astype(float)."
            )
        found = [_term(t, i, aval) for t in terms]
        many.append([
            as_value(x), *(over(t, s) for t, s in zip(found, scales[1:], strict=True))
        ])  # fmt: skip
    trees: list[Any] = []

    def flat(*xs: Any) -> list[Any]:
        outs, out_tree = tree.flatten(fun(*xs))
        trees.append(out_tree)
        return outs

    outs = push(flat, order, many)
    terms_out = []
    for s in outs:
        aval = core.aval_of(s[0])
        if not dtypes.is_inexact(aval.dtype):
            aval = shaped(aval.shape, dtypes.scalar_dtype(float))
        rest = s[1:] or [lib.zeros(aval)] * order
        terms_out.append([
            as_value(times(t, k)) for t, k in zip(rest, scales[1:], strict=True)
        ])  # fmt: skip
    return (
        tree.unflatten(trees[0], [as_value(s[0]) for s in outs]),
        tree.unflatten(trees[0], terms_out),
    )


def _term(t: Any, i: int, aval: Any) -> Any:
    """A user's term, of its argument's shape and dtype."""
    if not core.is_value(t):
        raise ValueError(
            f"a term of the argument at position {i} is not an array: {t!r}"
        )
    have = core.aval_of(t)
    if have.shape not in ((), aval.shape):
        raise ValueError(
            f"a term of the argument at position {i} has shape {have.shape}, the argument"
            f" has {aval.shape}."
        )
    convert = core.registry["convert_element_type"]
    if have.dtype != aval.dtype:
        t = convert.bind(t, new_dtype=aval.dtype, weak_type=False, sharding=None)
    return (
        lib.broadcast_to(as_value(t), aval.shape)
        if have.shape != aval.shape
        else as_value(t)
    )
