"""`nans`: the first equation that makes a NaN or an infinity, found in compiled programs.

A call runs the function once, compiled, with probes where a bad number could get lost.  If
they report nothing, the call is done.  Otherwise the same interpreter, also compiled,
checks every value and names the first site; another run computes the statistics of its
operands.

The interpreter is nan_interpreter.py, and nan_probes.py chooses the values to check.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..api.aot import jit
from ..api.eval_shape import make_jaxpr
from ..base import config, errors, tree
from ..base.source import wraps
from ..control.arguments import NO_STATICS, check_callable, resolve_statics
from ..control.calls.jit import jitted_of
from ..ir import hooks
from ..ir.jaxpr import ClosedJaxpr
from ..passes.dce import dce_jaxpr
from .nan_interpreter import Coarse, Every, NonfiniteInterpreter, One, Record
from .nan_probes import NOTHING, STATS
from .programs import Report, without_statics
from .source_lines import (
    NOWHERE,
    SourceLine,
    is_backward,
    report_lines,
    source_line_of,
)

KINDS = ("nan", "inf")


@dataclasses.dataclass(frozen=True)
class Operand:
    """Statistics of one operand: counts of bad elements; min, max and mean of the others.

    first: the index of its first bad element, None if it has none.

    >>> from minijax import tools
    >>> import minijax.numpy as jnp
    >>> report = tools.nans(jnp.log)(jnp.array([1.0, 0.0]))
    >>> print(report.first.operands[0])
    f32[2]: min 0, max 1, mean 0.5
    """

    type: str
    nans: int
    infs: int
    first: tuple[int, ...] | None
    min: float
    max: float
    mean: float

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        held = f"min {self.min:.6g}, max {self.max:.6g}, mean {self.mean:.6g}"
        if self.nans or self.infs:
            held += f"; {self.nans} NaN, {self.infs} inf, the first at {self.first}"
        return f"{self.type}: {held}"


@dataclasses.dataclass(frozen=True)
class Finding:
    """An equation that made a bad number.

    primitive: the operation's name; "argument" if an argument was already bad.
    made: "NaN" or "infinity".
    direction: "forward" or "backward".
    iterations: for each loop around it, innermost last, a pair like ("row of scan", 3).

    >>> from minijax import tools
    >>> import minijax.numpy as jnp
    >>> found = tools.nans(jnp.log)(jnp.array([1.0, 0.0])).first
    >>> found.primitive, found.made, found.direction
    ('log', 'infinity', 'forward')
    """

    primitive: str
    made: str
    direction: str
    scope: str
    place: SourceLine
    iterations: tuple[tuple[str, int], ...]
    operands: tuple[Operand, ...]
    results: tuple[str, ...]
    argument: str = ""

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        if self.argument:
            what = f"The argument {self.argument} holds {_WITH_ARTICLE[self.made]}."
            lines = report_lines(what, "", None, self.iterations)
        else:
            what = f"{self.primitive} makes {_WITH_ARTICLE[self.made]}, {self.direction}"
            lines = report_lines(what, self.scope, self.place, self.iterations)
        for i, x in enumerate(self.operands):
            lines.append(f"  operand {i}: {x}" if not self.argument else f"  {x}")
        return "\n".join(lines)


_WITH_ARTICLE = {"NaN": "a NaN", "infinity": "an infinity"}


@dataclasses.dataclass(frozen=True)
class NanReport(Report):
    """The result of a run: true if a bad number was found.

    first: the first equation that made a bad number; None.
    result: what the function returned.

    >>> from minijax import tools
    >>> import minijax.numpy as jnp
    >>> report = tools.nans(jnp.log)(jnp.array([1.0, 2.0]))
    >>> bool(report), report.first, report.result
    (False, None, Array([0.       , 0.6931472], dtype=float32))
    """

    first: Finding | None
    result: Any = dataclasses.field(repr=False)

    def __bool__(self) -> bool:
        return self.first is not None

    def to_dict(self) -> dict[str, Any]:
        return {"first": None if self.first is None else self.first.to_dict()}

    def __str__(self) -> str:
        return "No NaN and no infinity." if self.first is None else str(self.first)


def nans(
    f: Callable[..., Any],
    kinds: Sequence[str] = KINDS,
    static_argnums: int | Sequence[int] = (),
) -> Callable[..., NanReport]:
    """Return a function that runs `f` and names the equation that produced the first NaN.

    The whole program is checked: the backward pass of a `grad` inside, each iteration of
    loops, branches, and functions that are jitted, mapped or run on several devices.  An
    equation is reported only if its operands do not explain its bad result.  Infinities
    that are constants of the program, such as masks, are not reported.

    Args:
      f: a function of arrays that returns a pytree of arrays, with any transformations.
      kinds: what is bad: "nan", "inf", or both.
      static_argnums: positions of arguments that are compile-time constants.

    Returns:
      A function with `f`'s arguments that returns a `NanReport`: `report.first` is a
      `Finding` (primitive, source line, iterations, statistics of the operands) or None;
      `report.result` is what `f` returned.  The report is true if something was found.

    Raises:
      ValueError: `kinds` contains anything else.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> def f(x):
      ...     y = jnp.log(x)
      ...     return jnp.sqrt(y).sum()
      >>> report = nans(f)(jnp.asarray([2., 0.5]))
      >>> report.first.primitive, report.first.made, report.first.operands[0].min
      ('sqrt', 'NaN', -0.6931471824645996)

    A clean call costs one compiled run, with probes where a bad number could get lost.  If
    one was found, the program runs twice more, compiled: to name the equation, and to read
    its operands; effects then happen again.  Under `vmap`, values of lanes that have left a
    branch or loop are checked as well.
    """
    check_callable(f)
    if not kinds or set(kinds) - set(KINDS):
        raise errors.value_error(
            f"nans: kinds must be of {KINDS}, got {kinds!r}.", tries=['kinds=("nan",)']
        )
    statics = resolve_statics(f, static_argnums, None, "static")
    if statics == NO_STATICS and (jitted := jitted_of(f)) is not None:
        statics = jitted.statics

    def staged(*args: Any, **kwargs: Any) -> Any:
        rest, xs, more, _ = without_statics(f, args, kwargs, statics)
        closed, shapes = make_jaxpr(rest, return_shape=True)(*xs, **more)
        jaxpr, _ = dce_jaxpr(closed.jaxpr, [True] * len(closed.out_avals), keep_in=True)
        return ClosedJaxpr(jaxpr, closed.consts), shapes, tree.leaves((xs, more))

    def watched(*args: Any, **kwargs: Any) -> Any:
        closed, shapes, leaves = staged(*args, **kwargs)
        # Marks change values, and effects (callbacks) must see the program's own ones.
        finder = Coarse(kinds, marks=not closed.effects)
        outs, record = finder.run(closed.jaxpr, closed.consts, leaves, top=True)
        return tree.unflatten(tree.structure(shapes), outs), record.first

    nums, names = statics
    run = jit(watched, static_argnums=nums, static_argnames=names)

    @wraps(f, name="nans({fun})")
    def nans_f(*args: Any, **kwargs: Any) -> NanReport:
        result, first = run(*args, **kwargs)
        if int(first) == NOTHING:
            return NanReport(None, result)
        closed, _, leaves = staged(*args, **kwargs)
        finding, outs = _find(closed, leaves, kinds)
        return NanReport(finding, tree.unflatten(tree.structure(result), outs))

    return nans_f


@hooks.first_nan.fill
def first_nan(
    closed: ClosedJaxpr, args: Sequence[Any], kinds: Sequence[str]
) -> tuple[str, str] | None:
    """Describe the first NaN for `debug_nans`: operation and step; source line."""
    if closed.effects:  # a second run would repeat them
        return None
    # The search itself computes NaNs: it must not start another search.
    with config.debug_nans(False), config.debug_infs(False):
        finding, _ = _find(closed, args, kinds)
    if finding is None or finding.argument:
        return None
    steps = [what.replace(" of ", f" {n} of ", 1) for what, n in finding.iterations]
    which = ", ".join([f"{finding.primitive} makes {_WITH_ARTICLE[finding.made]}", *steps])
    text = f": {finding.place.text}" if finding.place.text else ""
    return which, f"{finding.place}{text}"


def _find(
    closed: Any, leaves: Sequence[Any], kinds: Sequence[str]
) -> tuple[Finding | None, list[Any]]:
    """Return the first bad equation, and the program's results."""
    every = Every(kinds)
    outs, (code, at, _) = _run(every, closed, leaves)
    if code == NOTHING:  # this run found none, unlike the first
        return None, outs
    number, inf = divmod(int(code), 2)
    stats = _run(One(kinds, number), closed, leaves)[1].stats
    site, kind = every.sites[number], "infinity" if inf else "NaN"
    iterations = tuple(
        (f"{every.around[i].what} of {every.around[i].eqn.primitive}", int(at[i]))
        for i in site.loops
    )
    operands = tuple(
        _operand(a.aval, row) for a, row in zip(site.atoms, np.asarray(stats), strict=True)
    )
    if site.eqn is None:
        names = closed.jaxpr.arg_names
        i = site.argument - len(closed.jaxpr.constvars)
        name = names[i] if 0 <= i < len(names) else f"number {i}" if i >= 0 else "(constant)"
        return Finding(
            "argument", kind, "forward", "", NOWHERE, iterations, operands, (), name
        ), outs
    eqn = site.eqn.replace(names=site.names)
    finding = Finding(
        eqn.primitive.name,
        kind,
        "backward" if is_backward(eqn) else "forward",
        eqn.names,
        source_line_of(eqn),
        iterations,
        operands,
        tuple(v.aval.str_short(True) for v in eqn.outs),
    )
    return finding, outs


def _run(
    finder: NonfiniteInterpreter, closed: Any, leaves: Sequence[Any]
) -> tuple[list[Any], Record]:
    """Run a program compiled; return its results and the record."""
    return jit(lambda *xs: finder.run(closed.jaxpr, closed.consts, xs, top=True))(*leaves)


def _operand(aval: Any, row: Any) -> Operand:
    values = dict(zip(STATS, (float(x) for x in row), strict=True))
    first = None
    if values["first"] >= 0 and aval.shape:
        first = tuple(int(i) for i in np.unravel_index(int(values["first"]), aval.shape))
    elif values["first"] >= 0:
        first = ()
    return Operand(
        aval.str_short(True),
        int(values["nans"]),
        int(values["infs"]),
        first,
        values["min"],
        values["max"],
        values["mean"],
    )
