"""Values of symbolic dimensions from the shapes of arguments.

An axis of size `k * name + rest`, where `rest` is known by then, determines the dimension
`name`.  The sizes of all other axes are checked.  Next: runtime/lowering/symbolic_sizes.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base import errors
from ..types.sizes import Size
from .dims import SymbolicDim, dimension_variables, divided

if TYPE_CHECKING:
    from .parser import SymbolicScope

__all__ = ("Solution", "SolvedDimension", "solution", "solved")


class SolvedDimension(NamedTuple):
    """One symbolic dimension: (the size of an argument's axis - rest) / factor."""

    name: str
    factor: int
    rest: Size
    argument: int
    axis: int
    size: SymbolicDim


class Solution(NamedTuple):
    """How all symbolic dimensions are computed, in order, and which axes to check."""

    steps: list[SolvedDimension]
    checks: list[tuple[SymbolicDim, int, int]]
    scope: SymbolicScope | None
    text: str  # the specifications of the arguments, for messages


def _linear(size: SymbolicDim, determined: set[str]) -> tuple[str, int, Size] | None:
    """Split into (name, factor, rest) of `factor * name + rest`; None if impossible."""
    names = [name for name in dimension_variables([size]) if name not in determined]
    if len(names) != 1:
        return None
    one = (((names[0],), 1),)
    factor = size.terms.get(one)
    if factor is None:
        return None
    rest = size - factor * SymbolicDim({one: 1}, size.scope)
    return None if names[0] in dimension_variables([rest]) else (names[0], factor, rest)


def common_scope(sizes: Iterable[Any], name: str) -> SymbolicScope | None:
    """Return the scope of all symbolic dimensions among the sizes of arguments, if any."""
    dims = [d for d in sizes if isinstance(d, SymbolicDim)]
    scopes = {id(d.scope): d.scope for d in dims}
    if len(scopes) > 1:
        raise errors.value_error(
            f"Invalid mixing of symbolic scopes when exporting {name}.",
            which=", ".join(map(str, dims)),
            why="a name denotes different dimensions in different scopes.",
            tries=["symbolic_shape(..., scope=scope), with one SymbolicScope for all"],
        )
    return next(iter(scopes.values()), None)


def solution(shapes: Sequence[Sequence[Size]], names: Sequence[str]) -> Solution:
    """Plan how to compute the symbolic dimensions in shapes, or raise ValueError."""
    specifications = [
        f"{name}.shape = ({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
        for name, shape in zip(names, shapes, strict=True)
        if dimension_variables(shape)
    ]
    text = f"Using the following polymorphic shapes specifications: {','.join(specifications)}."
    remaining = [
        (d, i, axis)
        for i, shape in enumerate(shapes)
        for axis, d in enumerate(shape)
        if isinstance(d, SymbolicDim)
    ]
    scope = common_scope([d for d, _, _ in remaining], "a function")
    plan = Solution([], [], scope, text)
    determined: set[str] = set()
    while remaining:
        later = []
        for d, i, axis in remaining:
            if determined.issuperset(dimension_variables([d])):
                plan.checks.append((d, i, axis))
            elif (linear := _linear(d, determined)) is not None:
                determined.add(linear[0])
                plan.steps.append(SolvedDimension(*linear, i, axis, d))
            else:
                later.append((d, i, axis))
        if len(later) == len(remaining):
            unsolved_names = sorted(
                {n for d, _, _ in later for n in dimension_variables([d])} - determined
            )
            unsolved = "; ".join(
                f"'{d}' for dimension size {names[i]}.shape[{axis}]" for d, i, axis in later
            )
            raise errors.value_error(
                "Cannot solve for values of dimension variables"
                f" {{{', '.join(map(repr, unsolved_names))}}}. We can only solve linear uni-variate"
                f" constraints. {text} Unprocessed specifications: {unsolved}.",
                tries=["add an argument with an axis of size 'name' for each of them"],
            )
        remaining = later
    return plan


def solved(
    plan: Solution, shapes: Sequence[Sequence[Size]], names: Sequence[str]
) -> dict[str, Size]:
    """Compute the symbolic dimensions from shapes; ValueError if these do not match."""
    values: dict[str, Size] = {}
    origins: list[str] = []

    def problem(what: str) -> ValueError:
        return errors.value_error(
            f"Input shapes do not match {what} {plan.text} Obtained dimension"
            f" variables: {', '.join(origins)}. Please see"
            " https://docs.jax.dev/en/latest/export/shape_poly.html"
            "#shape-assertion-errors for more details."
        )

    general = "the polymorphic shapes specification. "
    for step in plan.steps:
        size = shapes[step.argument][step.axis]
        rest = step.rest
        if isinstance(rest, SymbolicDim):
            rest = rest.evaluated(values)
        value, remainder = divided(size - rest, step.factor)
        if not (isinstance(remainder, int) and remainder == 0):
            raise problem(
                f"{general}Division had remainder {remainder} when computing the value of"
                f" '{step.name}'."
            )
        values[step.name] = value
        origins.append(
            f"'{step.name}' = {value} from specification '{step.size}' for dimension"
            f" {names[step.argument]}.shape[{step.axis}] (= {size})"
        )
        if not value >= 1:
            raise problem(f"{general}Expected value >= 1 for dimension variable '{step.name}'.")
    for d, i, axis in plan.checks:
        size, expected = shapes[i][axis], d.evaluated(values)
        if size != expected:
            raise problem(
                f"{general}Found inconsistency between dimension size"
                f" {names[i]}.shape[{axis}] (= {size}) and the specification '{d}'"
                f" (= {expected})."
            )
    for least, constraint in plan.scope.constraints if plan.scope is not None else ():
        if set(dimension_variables([least])) <= set(values):
            value = least.evaluated(values)
            if not value >= 0:
                raise problem(
                    f"the symbolic shape constraint {constraint}. Expected '{least}' to be"
                    f" greater or equal to 0, but found {value}. "
                )
    return values
