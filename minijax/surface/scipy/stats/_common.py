"""Distributions as records, from which functions, signatures and docstrings are built.

A record gives formulas for the standard variable, and names the functions of the
distribution with the value of each at one point.  The rest is common to all distributions
and is built here: `loc`, `scale`, the ends of the support, functions derived from others
(`pdf` from `logpdf`, `logsf` from `sf` ...), one compiled call per function, and its
documentation.

Next: location_scale.py.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from ....api.autodiff import jvp
from ....base import errors, util
from ....control.calls.jit import composite
from ....control.rules.custom_jvp import SymbolicZero, custom_jvp
from ....ir.core import aval_of
from ....prims import lax
from ...numpy._common import (
    ArrayLike,
    as_array,
    choose,
    convert,
    is_complex,
    promote_args_inexact,
)

__all__ = (
    "ArrayLike",
    "Distribution",
    "INF",
    "NAN",
    "aval_of",
    "as_array",
    "choose",
    "composite",
    "distribution",
    "exp_of_sum",
    "lax",
    "log1p_square",
    "math",
    "np",
    "promote_args_inexact",
    "sloped",
    "within_one",
)

INF, NAN = math.inf, math.nan
Formula = Callable[..., Any]

# The summary of each function, by its name; {} is the name of the distribution.
SUMMARIES = {
    "logpdf": "Return the logarithm of the density of the {}",
    "pdf": "Return the density of the {}",
    "logpmf": "Return the logarithm of the probability of a value of the {}",
    "pmf": "Return the probability of a value of the {}",
    "cdf": "Return the distribution function of the {}",
    "logcdf": "Return the logarithm of the distribution function of the {}",
    "sf": "Return the survival function of the {}",
    "logsf": "Return the logarithm of the survival function of the {}",
    "ppf": "Return the quantiles of the {}: inverse of its distribution function",
    "isf": "Return the inverse of the survival function of the {}",
    "entropy": "Return the entropy of the {}, in nats",
}
# The function that another is computed from, if it has no formula of its own.
DERIVED = {
    "pdf": ("logpdf", lax.exp),
    "pmf": ("logpmf", lax.exp),
    "cdf": ("logcdf", lax.exp),
    "sf": ("logsf", lax.exp),
    "logcdf": ("cdf", lax.log),
    "logsf": ("sf", lax.log),
}
# Values below and above the support.
ENDS = {
    "logpdf": (-INF, -INF),
    "pdf": (0.0, 0.0),
    "logpmf": (-INF, -INF),
    "pmf": (0.0, 0.0),
    "cdf": (0.0, 1.0),
    "logcdf": (-INF, 0.0),
    "sf": (1.0, 0.0),
    "logsf": (0.0, -INF),
}
DENSITIES = ("logpdf", "pdf", "logpmf", "pmf")
QUANTILES = ("ppf", "isf")
COMMON = {
    "loc": "the location: it is added to the scaled standard variable.",
    "scale": "the scale: a factor of the standard variable.",
    "x": "the point.",
    "k": "the point.",
    "q": "a probability.",
    "p": "a probability.",
}


class Distribution(SimpleNamespace):
    """A distribution: a namespace of its functions."""

    def __repr__(self) -> str:
        return f"<distribution: {', '.join(vars(self))}>"


def log1p_square(u: Any) -> Any:
    """Return the logarithm of 1 + u^2, without overflow of the square for real u."""
    if is_complex(u):
        return lax.log1p(u * u)
    large = lax.abs(u) > 1
    w = choose(large, u, 1.0)
    r = choose(large, 1 / w, u)
    return lax.log1p(r * r) + 2 * lax.log(lax.abs(w))


def exp_of_sum(*terms: Any) -> Any:
    """Return the exponential of a sum, corrected by the rounding error of the sum.

    A rounded exponent of -80 would lose two digits of the result.
    """
    return _exp_of_sum(*terms)


@custom_jvp
def _exp_of_sum(*terms: Any) -> Any:
    total, rest = terms[0], None
    for term in terms[1:]:
        previous, total = total, total + term
        added = total - previous
        rounding_error = (previous - (total - added)) + (term - added)
        rest = rounding_error if rest is None else rest + rounding_error
    out = lax.exp(total)
    # The rounding error of an infinite sum is nan: ignore it.
    return out if rest is None else out * choose(lax.abs(rest) < 1, rest + 1, 1.0)


def _exp_of_sum_jvp(primals: Any, tangents: Any) -> Any:
    """Differentiate by the result alone, so that it is the only residual."""
    out = _exp_of_sum(*primals)
    nonzero_tangents = [t for t in tangents if not isinstance(t, SymbolicZero)]
    return out, out * functools.reduce(operator.add, nonzero_tangents)


_exp_of_sum.defjvp(_exp_of_sum_jvp, symbolic_zeros=True)


def sloped(fun: Formula, slope: Formula) -> Formula:
    """Return `fun` with the slope `slope(result, *arguments)` by its first argument.

    A distribution function gets its density as slope, where its expression would cancel.
    Slopes by the other arguments come from the expression, computed only when needed.
    """
    out = custom_jvp(fun)

    def rule(primals: Any, tangents: Any) -> Any:
        value, (z, *params), (t, *rest) = out(*primals), primals, tangents
        terms = []
        if not isinstance(t, SymbolicZero):
            terms.append(t * slope(value, *primals))
        if not all(isinstance(r, SymbolicZero) for r in rest):
            zero = lambda r: lax.full(r.shape, 0, r.dtype)
            rest = [zero(r) if isinstance(r, SymbolicZero) else r for r in rest]
            terms.append(jvp(lambda *params: fun(z, *params), params, rest)[1])
        return value, functools.reduce(operator.add, terms)

    out.defjvp(rule, symbolic_zeros=True)
    return out


def within_one(q: Any, quantile: Any) -> Any:
    """Return a quantile, or nan if `q` is not a probability."""
    return choose((q < 0) | (q > 1), NAN, quantile)


# ----------------------------------------------------------------------------- formulas


def _formula(name: str, formulas: Mapping[str, Formula]) -> Formula:
    """Return the formula of a function, given or derived from another."""
    if name in formulas:
        return formulas[name]
    source, change = DERIVED[name]
    origin = formulas[source]
    return lambda *args: change(origin(*args))


def _joined(masked_values: list[tuple[Any, float]]) -> tuple[Any, Any]:
    """Return whether any mask is true, and the value of the last true mask."""
    mask_any: Any = None
    other: Any = None
    for mask, value in masked_values:
        other = value if mask_any is None else choose(mask, value, other)
        mask_any = mask if mask_any is None else mask_any | mask
    return mask_any, other


def _function(
    dist: str,
    name: str,
    formulas: Mapping[str, Formula],
    *,
    count: int,
    scaled: bool,
    support: tuple[float | None, float | None],
    inside: float,
    outside: Formula | None,
    valid: Formula | None,
    even: bool,
    strong: bool,
    analytic: bool,
    terms: Formula | None,
) -> Formula:
    """Return the computation of a function on its unconverted operands."""
    density = name in DENSITIES
    low, high = support

    def compute(*args: Any) -> Any:
        args = tuple(promote_args_inexact(f"{dist}.{name}", *args))
        dtype = aval_of(args[0]).dtype
        if is_complex(args[0]) and not analytic:
            raise errors.type_error(
                f"{dist}.{name} does not accept dtype {dtype}. Accepted dtypes are"
                " subtypes of integer, floating, bool.",
                why="this function compares numbers, and complex numbers have no order.",
            )
        out = value(*args)
        return convert(out, dtype) if strong and aval_of(out).shape else out

    def value(*args: Any) -> Any:
        if name == "entropy":
            out = formulas[name](*args[:count])
            return choose(args[-1] == args[-1], out, NAN)  # broadcast with `loc`
        x, shape, rest = args[0], args[1 : 1 + count], args[1 + count :]
        loc: Any = rest[0] if rest else None
        scale: Any = rest[1] if scaled else None
        if name in QUANTILES:
            out = _formula(name, formulas)(x, *shape)
            out = out if scale is None else out * scale
            return proper(out if loc is None else out + loc, shape, scale)
        z = x if loc is None else x - loc
        z = z if scale is None else z / scale
        masked_values = []  # (mask, value of the function there)
        if name in ENDS:
            below, above = ENDS[name]
            if low is not None:
                masked_values.append((x < (loc + scale if low else loc), below))
            if high is not None:
                masked_values.append((x > loc + scale, above))
            if outside is not None and density:
                masked_values.append((outside(z, *shape), below))
        mask_any, other = _joined(masked_values)
        if masked_values:
            z = choose(mask_any, inside, z)  # keeps the slopes of masked elements finite
        if density and scale is not None:
            size = lax.abs(scale) if even else scale
            real = not is_complex(z)
            if name == "pdf" and "pdf" in formulas and real:
                out = choose(size < 0, NAN, formulas["pdf"](z, *shape) / size)
            elif name == "pdf" and terms is not None:
                out = exp_of_sum(*terms(z, *shape), -lax.log(size))
            else:
                out = formulas["logpdf"](z, *shape) - lax.log(size)
                out = lax.exp(out) if name == "pdf" else out
        else:
            out = _formula(name, formulas)(z, *shape)
        return proper(choose(mask_any, other, out) if masked_values else out, shape, scale)

    def proper(out: Any, shape: tuple[Any, ...], scale: Any) -> Any:
        """Return `out`, or nan where the parameters are invalid.

        It adds nan, because derivatives of a choice would store its mask.
        """
        if not even and scale is not None and not is_complex(scale):
            out = out + choose(scale > 0, 0.0, NAN)
        return out if valid is None else out + choose(valid(*shape), 0.0, NAN)

    return compute


# ------------------------------------------------------------------------ documentation


def _document(
    dist: str,
    name: str,
    noun_phrase: str,
    formula: str,
    signature: list[str],
    shape_docs: Mapping[str, str],
    call: str,
    printed: str,
) -> str:
    """Return the docstring of a function in the common form."""
    scaled, located = "scale" in signature, "loc" in signature
    shift_note = "\n\n`x` is shifted by `loc` and divided by `scale` first." if scaled else ""
    if located and not scaled:
        shift_note = "\n\n`loc` is subtracted from `k` first."
    if name in QUANTILES or name == "entropy":
        shift_note = ""
    args = "\n".join(f"  {a}: {shape_docs.get(a) or COMMON[a]}" for a in signature)
    ends = {
        "logpdf": "; -inf out of the support",
        "logpmf": "; -inf out of the support",
        "pdf": "; 0 out of the support",
        "pmf": "; 0 out of the support",
        "ppf": "; nan where `q` is not a probability",
        "isf": "; nan where `q` is not a probability",
    }
    digits = len(printed.partition(".")[2])
    return (
        f"{SUMMARIES[name].format(noun_phrase)}.{shift_note}\n\n.. math:: {formula}\n\n"
        f"Args: arrays or numbers; integers become floats.\n{args}\n\n"
        "Returns:\n  An array of their joint shape and float dtype"
        f"{ends.get(name, '')}.\n\n"
        f"Example:\n  >>> from minijax.scipy.stats import {dist}\n"
        f'  >>> print(f"{{{dist}.{name}({call}):.{digits}f}}")\n  {printed}\n'
    )


def distribution(
    dist: str,
    noun_phrase: str,
    formula: str,
    shows: str,
    at: str,
    *,
    home: str,
    first: str = "x",
    shape: Mapping[str, str] | None = None,
    located: bool = True,
    scaled: bool = True,
    probability: str = "q",
    fixed: tuple[str, ...] = (),
    even: bool = False,
    strong: str = "",
    analytic: str = "",
    support: tuple[float | None, float | None] = (None, None),
    inside: float = 1.0,
    outside: Formula | None = None,
    valid: Formula | None = None,
    terms: Formula | None = None,
    **formulas: Formula,
) -> Distribution:
    """Return the distribution of a record.

    Args:
      dist: its name.
      noun_phrase: the name of the distribution in a sentence.
      formula: its density, or probabilities, in standard form.
      shows: "logpdf=-1.04 pdf=0.35 ...": the functions, and their values at `at`.
      at: arguments of a call; for quantiles, the first one is 0.25.
      home: the module.
      first: the name of the variable.
      shape: descriptions of its parameters, without `loc` and `scale`.
      located, scaled: whether it has `loc` and `scale`.
      fixed: functions that have neither.
      probability: the name of the argument of quantiles.
      support: the lower end (0 or 1 in standard form) and the upper end (1), or None.
      inside: a point in the support.
      outside: predicate of the standard variable and parameters: true where the density
        is 0.
      valid: predicate of the parameters.  Where it is false, and where the scale is not
        positive, all functions are nan.
      even: the sign of the scale has no effect, and the scale may be 0.
      strong: functions whose results never have weak type.
      analytic: functions that accept complex numbers.
      terms: the terms of the sum `logpdf`, the first one large; `pdf` is computed from
        them.
      **formulas: formulas of functions of the standard variable and parameters.
    """
    shape = shape or {}
    out = Distribution()
    for name, printed in (entry.split("=") for entry in shows.split()):
        leading = [] if name == "entropy" else [probability if name in QUANTILES else first]
        loc_and_scale = [] if name in fixed else ["loc"] * located + ["scale"] * scaled
        names = [*leading, *shape, *loc_and_scale]
        compute = _function(
            dist,
            name,
            formulas,
            count=len(shape),
            scaled=scaled,
            support=support,
            inside=inside,
            outside=outside,
            valid=valid,
            even=even,
            strong=name in strong.split(),
            analytic=name in analytic.split(),
            terms=terms,
        )
        call = at
        if name == "entropy":
            call = at.partition(", ")[2]
        elif name in QUANTILES:
            call = ", ".join(["0.25", *at.split(", ")[1:]])
        fun = with_signature(compute, names)
        fun.__name__, fun.__qualname__ = name, f"{dist}.{name}"
        fun.__module__ = home
        fun.__doc__ = _document(dist, name, noun_phrase, formula, names, shape, call, printed)
        setattr(out, name, composite(fun, floats=True))
    return out


@util.cached(1024)
def _forwarder(names: tuple[str, ...]) -> Any:
    """Return a function that wraps a callable in a lambda with these parameters."""
    defaults = {"loc": "=0", "scale": "=1"}
    parameters = ", ".join(n + defaults.get(n, "") for n in names)
    # `eval` creates a real signature for keywords and `inspect`; one per list of names.
    return eval(f"lambda call: lambda {parameters}: call({', '.join(names)})")


def with_signature(compute: Formula, names: list[str]) -> Any:
    """Return `compute` with these parameter names; `loc` and `scale` default to 0 and 1."""
    return _forwarder(tuple(names))(compute)
