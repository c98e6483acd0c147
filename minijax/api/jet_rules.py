r"""User-defined rules of `jet`: the table `jet_rules`, and helpers to write rules.

A user's rule takes the primals of an operation's operands and, for each operand, its terms
of order 1 to K, the coefficients of powers.  It returns those of the result:
`rule(primals_in, series_in, **params) -> (primal_out, series_out)`.  The series of a
constant result is `zero_series`.  The built-in rules (jet.py) have another calling
convention; `jet_rules` presents both as one table.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

from ..base import tree
from ..ir import core
from ..ir.core import STATE, Primitive
from ..passes.ad_util import core_ops
from ..prims import lax as ops
from .jet import JetTrace, integrate, jet, taylor_rules

if TYPE_CHECKING:
    from ..base.tree import PyTreeDef
    from ..types.aliases import Param, Value

__all__ = (
    "ZeroSeries",
    "ZeroTerm",
    "call_param_updaters",
    "def_comp",
    "def_deriv",
    "deflinear",
    "defzero",
    "deriv_prop",
    "fact",
    "jet2",
    "jet_fun",
    "jet_rules",
    "jet_subtrace",
    "linear_prop",
    "traceable",
    "zero_prop",
    "zero_series",
    "zero_term",
)

Rule = Callable[..., Any]
jet2 = functools.partial(jet, factorial_scaled=False)


class ZeroTerm:
    """A term that is known to be zero: a tree without leaves."""


class ZeroSeries:
    """The terms of a constant: a tree without leaves."""


zero_term, zero_series = ZeroTerm(), ZeroSeries()
tree.register_pytree_node(ZeroTerm, lambda _: ((), None), lambda *_: zero_term)
tree.register_pytree_node(ZeroSeries, lambda _: ((), None), lambda *_: zero_series)


def _varies(terms: Any) -> bool:
    return not isinstance(terms, ZeroSeries) and len(terms) > 0


def _terms(primal: Any, terms: Any) -> list[Any]:
    """Return the terms, with symbolic zeros instantiated."""
    zeros = lambda: core_ops.zeros(core.aval_of(primal))
    return [zeros() if isinstance(t, ZeroTerm) else t for t in terms]


class _UserRule:
    """A user's rule in the form of a built-in rule."""

    def __init__(self, prim: Primitive, rule: Rule) -> None:
        self.prim, self.rule = prim, rule

    def __call__(self, operands: Sequence[Any], order: int, params: Any) -> Any:
        primals = [s[0] for s in operands]
        series = [
            list(s[1:]) + [core_ops.zeros(core.aval_of(s[0]))] * (order + 1 - len(s))
            for s in operands
        ]
        out, terms = self.rule(primals, series, **params)
        if not self.prim.multiple_results:
            return [out, *_terms(out, terms)] if _varies(terms) else [out]
        if isinstance(terms, ZeroSeries):
            return [[x] for x in out]
        return [
            [x, *_terms(x, t)] if _varies(t) else [x] for x, t in zip(out, terms, strict=True)
        ]


def _rule_of(prim: Primitive) -> Rule:
    """Return the rule of a primitive in the form of users' rules."""
    taylor = taylor_rules[prim]
    if isinstance(taylor, _UserRule):
        return taylor.rule

    def rule(primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any) -> Any:
        pairs = zip(primals_in, series_in, strict=True)
        operands = [[x, *_terms(x, t)] if _varies(t) else [x] for x, t in pairs]
        order = max((len(s) - 1 for s in operands), default=0)
        out = taylor(operands, order, params)
        if not prim.multiple_results:
            return out[0], list(out[1:]) or zero_series
        return [s[0] for s in out], [list(s[1:]) or zero_series for s in out]

    return rule


class _JetRules(MutableMapping[Primitive, Rule]):
    """A mapping from primitives to their `jet` rules; assignments take effect immediately."""

    def __getitem__(self, prim: Primitive) -> Rule:
        return _rule_of(prim)

    def __setitem__(self, prim: Primitive, rule: Rule) -> None:
        taylor_rules[prim] = _UserRule(prim, rule)

    def __delitem__(self, prim: Primitive) -> None:
        del taylor_rules[prim]

    def __iter__(self) -> Iterator[Primitive]:
        return iter(list(taylor_rules))

    def __len__(self) -> int:
        return len(taylor_rules)


jet_rules = _JetRules()
# JAX needs functions here that update the params of primitives with inner programs.  Here
# `Primitive.regions` (ir/regions.py) describes these params, so that no entry is needed.
call_param_updaters: dict[Primitive, Rule] = {}


# -------------------------------------------------------------------------- kinds of rules


def zero_prop(
    prim: Primitive, primals_in: Sequence[Any], series_in: Sequence[Any], **params: Param
) -> tuple[Any, ZeroSeries]:
    """Return the rule of an operation whose result is constant: its derivatives are zero.

    Args:
      prim: the primitive.
      primals_in: its operands.
      series_in: their terms, which are ignored.
      params: its params.

    Returns:
      The result, and `zero_series`.

    Example:
      >>> from minijax import lax
      >>> zero_prop(lax.floor_p, [1.5], [[1.0]])[0]
      Array(1., dtype=float32, weak_type=True)
    """
    return prim.bind(*primals_in, **params), zero_series


def defzero(prim: Primitive) -> None:
    """Make `zero_prop` the rule of a primitive.

    Args:
      prim: the primitive.

    Returns:
      None.

    Example:
      >>> defzero(core.Primitive("counted"))
    """
    jet_rules[prim] = functools.partial(zero_prop, prim)


def linear_prop(
    prim: Primitive, primals_in: Sequence[Any], series_in: Sequence[Any], **params: Param
) -> tuple[Any, Any]:
    """Return the rule of an operation that is linear in all operands jointly.

    Args:
      prim: the primitive.
      primals_in: its operands.
      series_in: the terms of each operand.
      params: its params.

    Returns:
      (result, terms).

    Example:
      >>> from minijax import lax
      >>> linear_prop(lax.neg_p, [1.5], [[1.0, 2.0]])[1]
      [Array(-1., dtype=float32, weak_type=True), Array(-2., dtype=float32, weak_type=True)]
    """
    out = prim.bind(*primals_in, **params)
    terms = [prim.bind(*row, **params) for row in zip(*series_in, strict=True)]
    if prim.multiple_results:
        return out, [list(s) for s in zip(*terms, strict=True)]
    return out, terms


def deflinear(prim: Primitive) -> None:
    """Make `linear_prop` the rule of a primitive.

    Args:
      prim: the primitive.

    Returns:
      None.

    Example:
      >>> deflinear(core.Primitive("doubled"))
    """
    jet_rules[prim] = functools.partial(linear_prop, prim)


def deriv_prop(
    prim: Primitive,
    deriv: Rule,
    primals_in: Sequence[Any],
    series_in: Sequence[Any],
    **params: Param,
) -> tuple[Any, Any]:
    r"""Return the rule of a function of one operand with a given derivative.

    With :math:`y' = g(x)\, x'`, :math:`k y_k = \sum_{j=1}^{k} j\, x_j\, g_{k-j}`.

    Args:
      prim: the primitive.
      deriv: its derivative, g, a function.
      primals_in: a list of its operand.
      series_in: a list of the operand's terms.
      params: the params of the operation.

    Returns:
      (result, terms).

    Example:
      >>> from minijax import lax
      >>> deriv_prop(lax.sin_p, lax.cos, [0.0], [[1.0, 0.0]], accuracy=None)[1]
      [Array(1., dtype=float32, weak_type=True), Array(0., dtype=float32, weak_type=True)]

    Source: Griewank and Walther, Evaluating Derivatives (2008), chapter 13.
    """
    (x,), (terms,) = primals_in, series_in
    out = prim.bind(x, **params)
    first, rest = jet2(deriv, (x,), (list(terms)[:-1],))
    slope = [first, *rest]
    return out, integrate(out, [x, *terms], lambda _, k: slope[k])[1:]


def def_deriv(prim: Primitive, deriv: Rule) -> None:
    """Make `deriv_prop` with this derivative the rule of a primitive.

    Args:
      prim: the primitive.
      deriv: its derivative, a function.

    Returns:
      None.

    Example:
      >>> from minijax import lax
      >>> def_deriv(core.Primitive("sine"), lax.cos)
    """
    jet_rules[prim] = functools.partial(deriv_prop, prim, deriv)


def def_comp(prim: Primitive, comp: Rule, **kwargs: Param) -> None:
    """Define the rule of a primitive by a composition of other functions.

    Args:
      prim: the primitive.
      comp: a function that computes the same from the primitive's operands and params.
      kwargs: more arguments of `comp`.

    Returns:
      None.

    Example:
      >>> from minijax import lax
      >>> def_comp(core.Primitive("cube"), lax.integer_pow, y=3)
    """

    def rule(primals: Sequence[Any], series: Sequence[Any], **params: Any) -> Any:
        fun = functools.partial(comp, **kwargs, **params)
        return jet2(fun, tuple(primals), tuple(series))

    jet_rules[prim] = rule


def fact(n: Value) -> Value:
    r"""Return the factorial of n, as a float.

    Args:
      n: an integer, or an array.

    Returns:
      A float array; :math:`\Gamma(n + 1)`, rounded for arrays.

    Example:
      >>> fact(4)
      Array(24., dtype=float32, weak_type=True)
    """
    if isinstance(n, int):
        return ops.mul(1.0, float(math.factorial(n)))
    return ops.exp(ops.lgamma(ops.add(n, 1.0)))


# ------------------------------------------------------------------------------ functions


class _Wrapped:
    """A function that is also available as `call_wrapped`."""

    def __init__(self, fun: Rule) -> None:
        self.call_wrapped = fun
        functools.update_wrapper(self, fun)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call_wrapped(*args, **kwargs)


def jet_subtrace(fun: Rule) -> Rule:
    """Turn a function of leaves into a function of their series.

    Args:
      fun: a function of arrays that returns a list of arrays.

    Returns:
      A function (tag, order, primals, series) -> (primals, series); constant results have
      `zero_series`.

    Example:
      >>> from minijax import lax
      >>> jet_subtrace(lambda x: [lax.neg(x)])(None, 1, [2.0], [[3.0]])[1]
      [[Array(-3., dtype=float32, weak_type=True)]]
    """

    def traced(
        tag: Any, order: int, primals: Sequence[Any], series: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        trace = JetTrace(tag, STATE.trace, order)
        pairs = zip(primals, series, strict=True)
        ins = [trace.wrap([x, *_terms(x, t)] if _varies(t) else [x]) for x, t in pairs]
        outs = [trace.unwrap(x) for x in core.under(trace, fun, *ins)]
        return [s[0] for s in outs], [list(s[1:]) or zero_series for s in outs]

    return _Wrapped(traced)


def jet_fun(fun: Rule, order: int) -> Rule:
    """Fix the order of a function from `jet_subtrace`, and make all its terms arrays.

    Args:
      fun: what `jet_subtrace` returns.
      order: the largest order of terms.

    Returns:
      A function (primals, series) -> (primals, series).

    Example:
      >>> from minijax import lax
      >>> f = jet_fun(jet_subtrace(lambda x: [lax.neg(x), lax.is_finite(x)]), 1)
      >>> len(f([2.0], [[3.0]])[1][1])
      1
    """

    def pushed(primals: Sequence[Any], series: Sequence[Any]) -> Any:
        outs, terms = fun(object(), order, primals, series)
        zeros = lambda x: [core_ops.zeros(core.aval_of(x))] * order
        pairs = zip(outs, terms, strict=True)
        return outs, [zeros(x) if isinstance(t, ZeroSeries) else t for x, t in pairs]

    return _Wrapped(pushed)


def traceable(fun: Rule, in_tree_def: PyTreeDef) -> tuple[Rule, Callable[[], Any]]:
    """Turn a function of primals and series into a function of their leaves.

    Args:
      fun: a function (primals, series) -> (primals, series).
      in_tree_def: the tree of (primals, series).

    Returns:
      The function of leaves, which returns leaves; and a function that returns the tree
      of its results after a call.

    Example:
      >>> flat, out_tree = traceable(lambda p, s: (p, s), tree.structure(([1.], [[2.]])))
      >>> flat(1., 2.), out_tree()
      ([1.0, 2.0], PyTreeDef(([*], [[*]])))
    """
    out_trees: list[Any] = []

    def flat(*leaves: Any) -> list[Any]:
        out, out_tree = tree.flatten(tuple(fun(*tree.unflatten(in_tree_def, leaves))))
        out_trees[:] = [out_tree]
        return out

    return _Wrapped(flat), lambda: out_trees[0]
