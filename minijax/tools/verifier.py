"""`verify`: the same call compiled, eager, at optimisation level 0, and by NumPy.

The compiled program is compared with the same operations run one at a time, each compiled
separately, and these with NumPy where NumPy has them.  A difference counts if it is greater
than the differences between runs with random rounding errors (verify_walk.py).  Where a
compiled result differs, programs that compute earlier values find the first that differs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..api.aot import jit
from ..base import errors, tree
from ..base.source import name_of, wraps
from ..control.arguments import check_callable
from ..control.calls.jit import jitted_of
from ..control.calls.remat_regions import inline_calls
from ..ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Literal, Var, eval_jaxpr
from ..passes.dce import dce_jaxpr
from ..runtime.running.dispatch import drives_devices
from .programs import Report, program_of
from .source_lines import NOWHERE, SourceLine, report_lines, source_line_of
from .verify_numpy import greatest_of, reference
from .verify_walk import Walk, beyond_rounding, comparable

SAMPLES = 6  # runs with noise
UNOPTIMIZED = {"xla_backend_optimization_level": 0}


@dataclasses.dataclass(frozen=True)
class Difference:
    """An operation whose result differs beyond its expected rounding.

    between: which computations differ: "compiled", "level 0", "eager", "numpy".
    primitive, place: the operation; iterations: of each loop around it, innermost last.
    count, size: the number of elements that differ, and of all elements.
    at: the index of the greatest difference; values: both values there.
    error, allowed: the difference there, and what rounding explains.

    >>> from minijax import tools
    >>> import minijax.numpy as jnp
    >>> tools.verify(jnp.sin)(1.0).first is None
    True
    """

    between: tuple[str, str]
    primitive: str
    place: SourceLine
    scope: str
    type: str
    iterations: tuple[tuple[str, int], ...]
    count: int
    size: int
    at: tuple[int, ...]
    values: tuple[Any, Any]
    error: float
    allowed: float

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        one, two = self.between
        what = f"{self.primitive}: {one} and {two} differ"
        lines = report_lines(what, self.scope, self.place, self.iterations)
        lines.append(f"  {self.count} of {self.size} elements of {self.type}")
        width = max(len(one), len(two))
        for name, value in zip(self.between, self.values, strict=True):
            lines.append(f"  {name:{width}} {list(self.at)}: {value}")
        lines.append(f"  error {self.error:.3g}, expected at most {self.allowed:.3g}")
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class VerifyReport(Report):
    """Whether the computations of one call agree: true if two of them do not.

    first: the first operation that differs, a `Difference`; None if all agree.
    differences: at most one for each pair of computations.
    operations: how many were run one at a time; by_numpy: how many of them NumPy repeated.
    not_inspected: operations that were not inspected: long loops, programs over several devices.
    results: what each computation returned.

    >>> from minijax import tools
    >>> import minijax.numpy as jnp
    >>> report = tools.verify(lambda x: jnp.sin(x) + 1)(jnp.ones(3))
    >>> bool(report), report.operations, report.by_numpy
    (False, 2, 2)
    >>> print(report)
    compiled, level 0, eager and numpy agree: 2 operations, 2 of them repeated by NumPy.
    """

    first: Difference | None
    differences: tuple[Difference, ...]
    operations: int
    by_numpy: int
    not_inspected: tuple[str, ...]
    results: dict[str, Any] = dataclasses.field(repr=False)

    def __bool__(self) -> bool:
        return self.first is not None

    def to_dict(self) -> dict[str, Any]:
        return {
            "first": None if self.first is None else self.first.to_dict(),
            "differences": [d.to_dict() for d in self.differences],
            "operations": self.operations,
            "by_numpy": self.by_numpy,
            "not_inspected": list(self.not_inspected),
            "computations": list(self.results),
        }

    def _further_text(self, other: Difference) -> str:
        """Return the text of a further difference."""
        first, one, two = self.first, *other.between
        same = ("primitive", "place", "iterations")
        if all(getattr(first, k) == getattr(other, k) for k in same):
            return f"{one} and {two} differ there as well."
        return str(other)

    def __str__(self) -> str:
        names = [*self.results, *(["numpy"] if self.by_numpy else [])]
        computations = f"{', '.join(names[:-1])} and {names[-1]}"
        counted = f"{self.operations} operations, {self.by_numpy} of them repeated by NumPy."
        if self.first is None:
            lines = [f"{computations} agree: {counted}"]
        else:
            rest = [d for d in self.differences if d is not self.first]
            lines = [str(self.first), *map(self._further_text, rest), counted]
        if self.not_inspected:
            lines.append(f"not inspected: {', '.join(self.not_inspected)}")
        return "\n".join(lines)


def verify(f: Callable[..., Any]) -> Callable[..., VerifyReport]:
    """Return a function that computes `f` in several ways and names where they differ.

    The call is computed in four ways: compiled, as by `jit(f)`; at XLA's optimisation level
    0; eagerly, each operation compiled separately; and each operation by NumPy where NumPy
    has it.  They may differ by rounding.  The allowance is measured: the program also runs
    eagerly with random rounding errors in each operation.

    Args:
      f: a function of arrays that returns a pytree of arrays, with any transformations
        inside; if it is jitted, its compiler options are used.

    Returns:
      A function with `f`'s arguments that returns a `VerifyReport`: `report.first` is a
      `Difference` (primitive, line, iterations, values, error) or None.  The report is true
      if something differs.

    Raises:
      ValueError: `f` drives devices itself (`pmap`).

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> report = verify(mj.grad(lambda x: jnp.sin(x).sum()))(jnp.ones(3))
      >>> bool(report), list(report.results)
      (False, ['compiled', 'level 0', 'eager'])

    Effects happen once for each computation.  Values of up to 20,000 operations are
    checked; longer loops run as one operation.
    """
    check_callable(f)

    @wraps(f, name="verify({fun})")
    def verify_f(*args: Any, **kwargs: Any) -> VerifyReport:
        program = program_of(f, args, kwargs)
        if drives_devices(program.jaxpr):
            raise errors.value_error(
                f"verify: {name_of(f)} drives devices itself.",
                why="there is no single compiled program to compare with.",
                tries=["shard_map in place of pmap", "verify the mapped function"],
            )
        jitted = jitted_of(f)
        options = {} if jitted is None else dict(jitted.options.compiler)
        jaxpr, consts = program.jaxpr, program.closed.consts
        return _Verifier(jaxpr, consts, program.leaves, options).report(
            tree.structure(program.shapes)
        )

    return verify_f


class _Verifier:
    """The computations of one call."""

    def __init__(
        self, jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any], options: dict[str, Any]
    ) -> None:
        self.jaxpr = inline_calls(jaxpr)
        self.consts = consts
        self.args = args
        self.options = options
        self.by_numpy = 0
        self.wrong: Difference | None = None  # the first difference from NumPy

    def report(self, structure: Any) -> VerifyReport:
        walk = Walk(look=self.against_numpy)
        eager = walk.run(self.jaxpr, self.consts, self.args)
        noisy = [
            Walk(seed).run(self.jaxpr, self.consts, self.args)
            for seed in range(SAMPLES if eager else 0)
        ]
        results, differences = {}, []
        for name, extra in (("compiled", {}), ("level 0", UNOPTIMIZED)):
            search = _Search(name, {**self.options, **extra})
            outs = search.computed(self.jaxpr, self.consts, self.args)
            if outs is None:
                continue
            results[name] = outs
            pairs = zip(self.jaxpr.outvars, outs, eager, *noisy, strict=True)
            bad = [
                a
                for a, x, y, *more in pairs
                if comparable(a.aval) and beyond_rounding(x, y, more)[0].any()
            ]
            if bad:
                differences.append(search.located(self.jaxpr, self.consts, self.args, bad, ()))
        results["eager"] = eager
        if self.wrong is not None:
            differences.insert(0, self.wrong)
        trees = {k: tree.unflatten(structure, v) for k, v in results.items()}
        return VerifyReport(
            differences[0] if differences else None,
            tuple(differences),
            walk.operations,
            self.by_numpy,
            tuple(
                f"{e.primitive.name} at {source_line_of(e).short}" for e in walk.not_inspected
            ),
            trees,
        )

    def against_numpy(self, eqn: Equation, args: Sequence[Any], outs: Sequence[Any]) -> None:
        """Compare an operation's results with NumPy's."""
        if self.wrong is not None or not all(comparable(a.aval) for a in eqn.ins):
            return
        numpy_result = reference(eqn, args)
        if numpy_result is None:
            return
        self.by_numpy += 1
        value, miss = numpy_result
        got = np.asarray(outs[0])
        off, allowed = _difference_from_numpy(got, value, miss)
        if (off > allowed).any():
            self.wrong = _difference(("eager", "numpy"), eqn, (), got, value, off, allowed)


def _difference_from_numpy(got: Any, value: Any, miss: Any) -> tuple[Any, Any]:
    """Return the differences of a result from NumPy's, and what is allowed."""
    x = got if got.dtype.kind in "biu" else got.astype(value.dtype)
    with np.errstate(all="ignore"):
        if got.dtype.kind in "biu":
            return (x != value).astype(float), np.zeros(np.shape(x))
        # Rounded to the result's dtype, so that values beyond its range become infinite.
        value = value.astype(got.dtype).astype(value.dtype)
        off = np.abs(x - value).astype(np.float64)
        same = (x == value) | (np.isnan(x) & np.isnan(value))
        edge = np.isinf(x) != np.isinf(value)  # one overflowed, the other nearly
        largest = np.maximum(
            np.where(np.isinf(x), 0, np.abs(x)), np.where(np.isinf(value), 0, np.abs(value))
        )
        near = edge & ~np.isnan(x) & ~np.isnan(value)
        near &= largest > 0.99 * greatest_of(got.dtype)
        off = np.where(same | near, 0.0, np.where(np.isnan(off), np.inf, off))
    return off, np.broadcast_to(miss, off.shape)


def _difference(
    between: tuple[str, str],
    eqn: Equation | None,
    iterations: Any,
    one: Any,
    two: Any,
    off: Any,
    allowed: Any,
) -> Difference:
    """Return the report on two values."""
    one, two = np.asarray(one), np.asarray(two)
    with np.errstate(all="ignore"):
        excess = np.where(off > allowed, off - np.where(np.isinf(allowed), 0, allowed), -1)
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(excess)), np.shape(off)))
    name = "the result" if eqn is None else eqn.primitive.name
    shape = ",".join(map(str, one.shape))
    return Difference(
        between,
        name,
        NOWHERE if eqn is None else source_line_of(eqn),
        "" if eqn is None else eqn.names,
        f"{one.dtype}[{shape}]",
        tuple(iterations),
        int((off > allowed).sum()),
        int(np.size(off)),
        at,
        (one[at].item(), _item(two[at])),
        float(off[at]),
        float(allowed[at]),
    )


def _item(x: Any) -> Any:
    """Convert a number of any width to a Python number."""
    kinds: dict[str, Any] = {"c": complex, "f": float}
    return kinds.get(x.dtype.kind, lambda x: x.item())(x)


class _Search:
    """A search for the first value that a way of compiling changes from the eager one."""

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.name = name
        self.options = options

    def computed(
        self, jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any]
    ) -> list[Any] | None:
        """Return the results of a compiled program; None if the options are unknown."""

        def run(consts: Any, *xs: Any) -> list[Any]:
            return eval_jaxpr(jaxpr, consts, *xs)

        try:
            outs: list[Any] = jit(run, compiler_options=self.options)(list(consts), *args)
        except RuntimeError:
            if self.name == "compiled":
                raise
            return None  # another compiler, without this level
        return outs

    def located(
        self,
        jaxpr: Jaxpr,
        consts: Sequence[Any],
        args: Sequence[Any],
        bad: Sequence[Any],
        iterations: tuple[tuple[str, int], ...],
    ) -> Difference:
        """Return the first operation of a program whose value differs."""
        values: dict[Any, Any] = {}
        Walk().run(jaxpr, consts, args, values)
        noisy: list[dict[Any, Any]] = [{} for _ in range(SAMPLES)]
        for seed, seen in enumerate(noisy):
            Walk(seed).run(jaxpr, consts, args, seen)
        defining_eqn = {v: eqn for eqn in jaxpr.eqns for v in eqn.outs}
        cache: dict[Any, Any] = {}

        def differs(v: Any) -> bool:
            """Whether the program that computes only this value gets it wrong."""
            if type(v) is not Var or v not in defining_eqn or not comparable(v.aval):
                return False
            if v not in cache:
                one, _ = dce_jaxpr(jaxpr.replace(outvars=[v]), [True], keep_in=True)
                outs = self.computed(one, consts, args)
                assert outs is not None
                mask, allowed = beyond_rounding(outs[0], values[v], [s[v] for s in noisy])
                cache[v] = (outs[0], mask, allowed) if mask.any() else None
            return cache[v] is not None

        v = next((v for v in bad if differs(v)), None)
        if v is None:  # only together with the other results
            outs = self.computed(jaxpr, consts, args)
            assert outs is not None
            i = jaxpr.outvars.index(bad[0])
            v = bad[0]
            y, more = values[v], [s[v] for s in noisy]
            cache[v] = (outs[i], *beyond_rounding(outs[i], y, more))
        else:
            v = self.first(v, defining_eqn, differs)
        eqn = defining_eqn.get(v)
        if eqn is not None:
            deeper = self.inside(eqn, values, iterations)
            if deeper is not None:
                return deeper
        x, mask, allowed = cache[v]
        off = np.where(mask, _gap(x, values[v]), 0.0)
        return _difference(
            (self.name, "eager"),
            eqn,
            iterations,
            x,
            values[v],
            off,
            np.where(mask, allowed, np.inf),
        )

    def first(self, v: Any, defining_eqn: dict[Any, Equation], differs: Any) -> Any:
        """Find a value that differs although its operands do not, by bisection."""
        while True:
            before = [*_ancestors(v, defining_eqn), v]
            low, high = -1, len(before) - 1
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if differs(before[middle]) else (middle, high)
            v = before[high]
            worse = next((a for a in defining_eqn[v].ins if differs(a)), None)
            if worse is None:
                return v
            v = worse

    def inside(
        self, eqn: Equation, values: dict[Any, Any], iterations: Any
    ) -> Difference | None:
        """Return the first operation that differs in an equation's programs, if any."""
        args = [a.val if type(a) is Literal else values[a] for a in eqn.ins]
        if eqn.primitive.regions is None:
            return None
        for inside in Walk().insides(eqn, args):
            wrong = self.program(inside.closed, inside.args)
            if wrong is not None:
                more = () if inside.label is None else (inside.label,)
                jaxpr, bad = wrong
                return self.located(
                    jaxpr, inside.closed.consts, inside.args, bad, (*iterations, *more)
                )
        return None

    def program(
        self, closed: ClosedJaxpr, args: Sequence[Any]
    ) -> tuple[Jaxpr, list[Any]] | None:
        """Return a program and its results that differ; None if all agree."""
        jaxpr = inline_calls(closed.jaxpr)
        outs = self.computed(jaxpr, closed.consts, args)
        assert outs is not None
        eager = Walk().run(jaxpr, closed.consts, args)
        numbers = [i for i, a in enumerate(jaxpr.outvars) if comparable(a.aval)]
        if all(_close(outs[i], eager[i]) for i in numbers):
            return None
        noisy = [Walk(seed).run(jaxpr, closed.consts, args) for seed in range(SAMPLES)]
        bad = [
            jaxpr.outvars[i]
            for i in numbers
            if beyond_rounding(outs[i], eager[i], [s[i] for s in noisy])[0].any()
        ]
        return (jaxpr, bad) if bad else None


def _close(x: Any, y: Any) -> bool:
    return not beyond_rounding(x, y, ())[0].any()


def _gap(x: Any, y: Any) -> Any:
    x, y = np.asarray(x), np.asarray(y)
    kind = np.complex128 if np.iscomplexobj(x) else np.float64
    with np.errstate(all="ignore"):
        gap = np.abs(x.astype(kind) - y.astype(kind))
    return np.where(np.isnan(gap), np.inf, gap)


def _ancestors(v: Any, defining_eqn: dict[Any, Equation]) -> Iterator[Any]:
    """Yield the variables that a value is computed from, in program order."""
    needed, stack = {v}, [v]
    while stack:
        eqn = defining_eqn.get(stack.pop())
        for a in () if eqn is None else eqn.ins:
            if type(a) is Var and a in defining_eqn and a not in needed:
                needed.add(a)
                stack.append(a)
    needed.discard(v)
    yield from (a for a in defining_eqn if a in needed)
