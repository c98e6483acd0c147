"""`diff`: the first operation where two programs differ, found by running both.

Both functions are traced, their calls inlined, and their equations matched by primitive and
result shapes, as the longest common subsequence.  Both programs are then evaluated at the
same arguments, and the results of matched equations are compared.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ..api.aot import jit
from ..base import errors, tree
from ..base.source import name_of
from ..base.tracebacks import is_refusal
from ..control.calls.remat_regions import inline_calls
from ..ir import core
from ..ir.jaxpr import Equation, Jaxpr, Literal
from ..types import dtypes
from ..types.avals import ShapedArray
from .programs import Report, program_of
from .source_lines import NOWHERE, SourceLine, source_line_of


@dataclasses.dataclass
class Mismatch:
    """A pair of values that differ.

    what: "the operation" for matched equations, or "a result".
    first, second: their source lines.
    error: the greatest absolute difference of elements; relative: divided by the greatest
      element of the first value.
    at: the index of that element; values: both values there.

    >>> from minijax import tools
    >>> import minijax.numpy as jnp
    >>> first = tools.diff(lambda x: x * 2.0, lambda x: x * 2.5, jnp.ones(2)).first
    >>> first.what, first.primitive, first.error, first.at, first.values
    ('the operation', 'mul', 0.5, (0,), (2.0, 2.5))
    """

    what: str
    primitive: str
    first: SourceLine
    second: SourceLine
    error: float
    relative: float
    at: tuple[int, ...]
    values: tuple[Any, Any]

    def __str__(self) -> str:
        name = f" {self.primitive}" if self.primitive else ""
        lines = [
            f"{self.what}{name} differs by {self.error:.3g} ({self.relative:.2g} relative)"
            f" at {list(self.at)}: {self.values[0]} and {self.values[1]}"
        ]
        for which, place in (("first", self.first), ("second", self.second)):
            if place.file:
                lines.append(f"  {which}: {place}: {place.text}")
        return "\n".join(lines)


@dataclasses.dataclass
class DiffReport(Report):
    """Where two programs differ; false if they agree.

    first: the first matched equation, or result, that differs beyond the tolerance; None.
    matched, left, right: how many equations match, or are only in the first or the second.
    unmatched: the other equations: "-" for the first program and "+" for the second.

    >>> from minijax import tools
    >>> import minijax.numpy as jnp
    >>> report = tools.diff(lambda x: x * 2.0, lambda x: x * 2.0 + 1.0, jnp.ones(2))
    >>> bool(report), report.matched, report.left, report.right
    (True, 1, 0, 1)
    """

    first: Mismatch | None
    partings: list[Mismatch]
    matched: int
    left: int
    right: int
    unmatched: list[tuple[str, str, SourceLine]]

    def __bool__(self) -> bool:
        return self.first is not None

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        head = (
            f"{self.matched} operations match, {self.left} are only in the first and"
            f" {self.right} only in the second"
        )
        summary = "They agree." if self.first is None else f"First: {self.first}"
        more = [
            f"  {sign} {name}  {place.short}  {place.text}"
            for sign, name, place in self.unmatched[:20]
        ]
        return "\n".join([head, summary, *more])


def diff(
    f: Callable[..., Any],
    g: Callable[..., Any],
    *args: Any,
    rtol: float | None = None,
    atol: float = 0.0,
    **kwargs: Any,
) -> DiffReport:
    """Run two functions side by side, and name the first operation where they disagree.

    Args:
      f, g: functions of the same arguments.  `g` may use another library: if it cannot be
        traced, it is called with NumPy arrays, and only its results are compared.
      args, kwargs: their arguments: arrays or numbers, in pytrees.
      rtol: the allowed difference of an element, relative to the greatest of its array;
        None: the square root of the machine epsilon of its dtype.
      atol: the allowed absolute difference.

    Returns:
      A `DiffReport`: `first` is the first matched operation or result that differs.

    Raises:
      ValueError: the results differ in structure.

    Example:
      >>> import minijax.numpy as jnp
      >>> f = lambda x: jnp.sin(x * 2.0).sum()
      >>> g = lambda x: jnp.sin(x * 2.5).sum()
      >>> report = diff(f, g, jnp.ones(3))
      >>> report.first.primitive, report.matched
      ('mul', 3)
    """
    close = _Comparison(rtol, atol)
    first_program = program_of(f, args, kwargs)
    leaves = first_program.leaves
    outs, evaluated = _evaluate(
        inline_calls(first_program.jaxpr), first_program.closed.consts, leaves
    )
    try:
        second_program = program_of(g, args, kwargs)
    except Exception as error:
        if not is_refusal(error):  # as a function of another library does
            raise
        return _compare_results_only(g, args, kwargs, outs, first_program.shapes, close)
    other_outs, other_evaluated = _evaluate(
        inline_calls(second_program.jaxpr), second_program.closed.consts, leaves
    )
    if tree.structure(first_program.shapes) != tree.structure(second_program.shapes):
        raise errors.value_error(
            f"diff: the results of {name_of(f)} and {name_of(g)} differ in structure.",
            which=f"{tree.structure(first_program.shapes)} and"
            f" {tree.structure(second_program.shapes)}",
            tries=["pass functions that return the same pytree"],
        )
    partings: list[Mismatch] = []
    unmatched: list[tuple[str, str, SourceLine]] = []
    matched = 0
    kinds, other_kinds = ([_kind(e) for e, _ in s] for s in (evaluated, other_evaluated))
    for tag, i, i_end, j, j_end in matches(kinds, other_kinds):
        if tag != "equal":
            for sign, part in (("-", evaluated[i:i_end]), ("+", other_evaluated[j:j_end])):
                unmatched += [(sign, e.primitive.name, source_line_of(e)) for e, _ in part]
            continue
        for (e1, v1), (e2, v2) in zip(
            evaluated[i:i_end], other_evaluated[j:j_end], strict=True
        ):
            matched += 1
            for a, b in zip(v1, v2, strict=True):
                mismatch = close.mismatch("the operation", e1, e2, a, b)
                if mismatch is not None:
                    partings.append(mismatch)
    for a, b in zip(outs, other_outs, strict=True):
        mismatch = close.mismatch("a result", None, None, a, b)
        if mismatch is not None:
            partings.append(mismatch)
    left = sum(sign == "-" for sign, _, _ in unmatched)
    return DiffReport(
        partings[0] if partings else None,
        partings,
        matched,
        left,
        len(unmatched) - left,
        unmatched,
    )


def _evaluate(
    jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any]
) -> tuple[list[Any], list[tuple[Equation, list[Any]]]]:
    """Evaluate a program; return its results and those of each equation."""
    eqns = list(jaxpr.eqns)

    def run(consts: Any, *xs: Any) -> Any:
        env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
        env.update(zip(jaxpr.invars, xs, strict=True))
        value = lambda a: a.val if type(a) is Literal else env[a]
        eqn_results = []
        for eqn in eqns:
            out = eqn.primitive.bind(*map(value, eqn.ins), **eqn.params)
            outs = out if eqn.primitive.multiple_results else [out]
            env.update(zip(eqn.outs, outs, strict=True))
            eqn_results.append([x for x in outs if _is_array(x)])
        return [value(a) for a in jaxpr.outvars], eqn_results

    outs, eqn_results = jit(run)(list(consts), *args)
    return outs, list(zip(eqns, eqn_results, strict=True))


def _is_array(x: Any) -> bool:
    aval = core.aval_of(x)
    return type(aval) is ShapedArray and not dtypes.is_extended(aval.dtype)


def matches(
    kinds: Sequence[Any], others: Sequence[Any]
) -> Iterator[tuple[str, int, int, int, int]]:
    """Match two lists as `difflib` does, with a fast path for equal starts and ends."""
    least = min(len(kinds), len(others))
    pairs = list(zip(kinds, others, strict=False))
    head = next((i for i, (a, b) in enumerate(pairs) if a != b), least)
    pairs = list(zip(kinds[head:][::-1], others[head:][::-1], strict=False))
    tail = next((i for i, (a, b) in enumerate(pairs) if a != b), least - head)
    yield "equal", 0, head, 0, head
    n, m = len(kinds), len(others)
    middle = kinds[head : n - tail], others[head : m - tail]
    for tag, *at in difflib.SequenceMatcher(None, *middle, False).get_opcodes():
        i, i_end, j, j_end = (x + head for x in at)
        yield tag, i, i_end, j, j_end
    yield "equal", n - tail, n, m - tail, m


def _kind(eqn: Equation) -> tuple[Any, ...]:
    """Return the key by which equations match: primitive and result shapes."""
    shapes = tuple(getattr(v.aval, "shape", None) for v in eqn.outs)
    return eqn.primitive.name, shapes


@dataclasses.dataclass
class _Comparison:
    rtol: float | None
    atol: float

    def mismatch(
        self, what: str, e1: Equation | None, e2: Equation | None, a: Any, b: Any
    ) -> Mismatch | None:
        x, y = np.asarray(a), np.asarray(b)
        if x.shape != y.shape:
            if e1 is not None:
                return None
            return self.build_mismatch(what, e1, e2, np.inf, 0.0, (), (x.shape, y.shape))
        if not x.size:
            return None
        wide = np.complex128 if np.iscomplexobj(x) or np.iscomplexobj(y) else np.float64
        p, q = x.astype(wide), y.astype(wide)
        with np.errstate(all="ignore"):
            off = np.abs(p - q)
        same = (p == q) | (np.isnan(p) & np.isnan(q))
        off = np.where(same, 0.0, np.where(np.isnan(off), np.inf, off))
        size = float(np.abs(p[np.isfinite(p)]).max(initial=0.0))
        rtol = self.rtol
        if rtol is None:
            kinds = [d for d in (x.dtype, y.dtype) if dtypes.is_inexact(d)]
            rtol = max((float(ml_dtypes.finfo(d).eps) ** 0.5 for d in kinds), default=0.0)
        error = float(off.max())
        if error <= self.atol + rtol * size:
            return None
        at = tuple(int(i) for i in np.unravel_index(int(off.argmax()), x.shape))
        return self.build_mismatch(what, e1, e2, error, size, at, (x[at].item(), y[at].item()))

    def build_mismatch(
        self, what: str, e1: Any, e2: Any, error: float, size: float, at: Any, values: Any
    ) -> Mismatch:
        return Mismatch(
            what,
            "" if e1 is None else e1.primitive.name,
            NOWHERE if e1 is None else source_line_of(e1),
            NOWHERE if e2 is None else source_line_of(e2),
            error,
            error / size if size else np.inf,
            at,
            values,
        )


def _compare_results_only(
    g: Any, args: Any, kwargs: Any, outs: Sequence[Any], shapes: Any, close: _Comparison
) -> DiffReport:
    """Compare only the results, with a function that cannot be traced."""
    numpy_args = tree.map(np.asarray, (args, kwargs))
    theirs = tree.leaves(g(*numpy_args[0], **numpy_args[1]))
    if len(theirs) != len(outs):
        raise errors.value_error(
            f"diff: {len(outs)} results, but {len(theirs)} of {name_of(g)}.",
            tries=["pass functions that return the same pytree"],
        )
    mismatches = [
        close.mismatch("a result", None, None, a, b) for a, b in zip(outs, theirs, strict=True)
    ]
    partings = [p for p in mismatches if p is not None]
    return DiffReport(partings[0] if partings else None, partings, 0, 0, 0, [])
