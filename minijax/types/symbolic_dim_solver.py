"""Unknown sizes, from the sizes of arguments: which axis tells which unknown.

An axis whose size is `k * unknown + rest`, where the rest is known by then, tells the
unknown.  What other axes are is checked.  Next: avals.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..base import errors
from .symbolic_dims import Size, SymbolicDim, dimension_variables, divided

__all__ = ("Solution", "Step", "solution", "solved")


class Step(NamedTuple):
    """An unknown: (the size of an argument's axis - rest) / factor."""

    name: str
    factor: int
    rest: Size
    argument: int
    axis: int
    size: SymbolicDim


class Solution(NamedTuple):
    """How all unknowns are found, in order, and which axes tell no more."""

    steps: list[Step]
    checks: list[tuple[SymbolicDim, int, int]]
    scope: Any
    text: str  # what is told of the arguments


def _linear(size: SymbolicDim, known: set[str]) -> tuple[str, int, Size] | None:
    """(unknown, factor, rest) of `factor * unknown + rest`; None if it is none."""
    left = [name for name in dimension_variables([size]) if name not in known]
    if len(left) != 1:
        return None
    one = (((left[0],), 1),)
    factor = size.terms.get(one)
    if factor is None:
        return None
    rest = size - factor * SymbolicDim({one: 1}, size.scope)
    return None if left[0] in dimension_variables([rest]) else (left[0], factor, rest)


def common_scope(sizes: Iterable[Any], name: str) -> Any:
    """The scope of all symbolic dimensions among the sizes of arguments, if any."""
    dims = [d for d in sizes if isinstance(d, SymbolicDim)]
    scopes = {id(d.scope): d.scope for d in dims}
    if len(scopes) > 1:
        raise errors.value_error(
            f"Invalid mixing of symbolic scopes when exporting {name}.",
            which=", ".join(map(str, dims)),
            why="unknowns of one name are different ones in different scopes.",
            tries=["symbolic_shape(..., scope=scope), with one SymbolicScope for all"],
        )
    return next(iter(scopes.values()), None)


def solution(shapes: Sequence[Sequence[Size]], names: Sequence[str]) -> Solution:
    """How the unknowns in the shapes of arguments are found; ValueError if they are not."""
    told = [
        f"{name}.shape = ({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
        for name, shape in zip(names, shapes, strict=True)
        if dimension_variables(shape)
    ]
    text = f"Using the following polymorphic shapes specifications: {','.join(told)}."
    waiting = [
        (d, i, axis)
        for i, shape in enumerate(shapes)
        for axis, d in enumerate(shape)
        if isinstance(d, SymbolicDim)
    ]
    scope = common_scope([d for d, _, _ in waiting], "a function")
    found = Solution([], [], scope, text)
    known: set[str] = set()
    while waiting:
        later = []
        for d, i, axis in waiting:
            if known.issuperset(dimension_variables([d])):
                found.checks.append((d, i, axis))
            elif (linear := _linear(d, known)) is not None:
                known.add(linear[0])
                found.steps.append(Step(*linear, i, axis, d))
            else:
                later.append((d, i, axis))
        if len(later) == len(waiting):
            left = sorted({n for d, _, _ in later for n in dimension_variables([d])} - known)
            rows = "; ".join(
                f"'{d}' for dimension size {names[i]}.shape[{axis}]" for d, i, axis in later
            )
            raise errors.value_error(
                "Cannot solve for values of dimension variables"
                f" {{{', '.join(map(repr, left))}}}. We can only solve linear uni-variate"
                f" constraints. {text} Unprocessed specifications: {rows}.",
                tries=["an argument with an axis of each unknown alone"],
            )
        waiting = later
    return found


def solved(
    found: Solution, shapes: Sequence[Sequence[Size]], names: Sequence[str]
) -> dict[str, Size]:
    """The unknowns, of arguments of these shapes; ValueError where they do not fit."""
    known: dict[str, Size] = {}
    where: list[str] = []

    def problem(what: str) -> ValueError:
        return errors.value_error(
            f"Input shapes do not match {what} {found.text} Obtained dimension"
            f" variables: {', '.join(where)}. Please see"
            " https://docs.jax.dev/en/latest/export/shape_poly.html"
            "#shape-assertion-errors for more details."
        )

    general = "the polymorphic shapes specification. "
    for step in found.steps:
        size = shapes[step.argument][step.axis]
        rest = step.rest
        if isinstance(rest, SymbolicDim):
            rest = rest.evaluated(known)
        value, left = divided(size - rest, step.factor)
        if not (isinstance(left, int) and left == 0):
            raise problem(
                f"{general}Division had remainder {left} when computing the value of"
                f" '{step.name}'."
            )
        known[step.name] = value
        where.append(
            f"'{step.name}' = {value} from specification '{step.size}' for dimension"
            f" {names[step.argument]}.shape[{step.axis}] (= {size})"
        )
        if not value >= 1:
            raise problem(f"{general}Expected value >= 1 for dimension variable '{step.name}'.")
    for d, i, axis in found.checks:
        size, want = shapes[i][axis], d.evaluated(known)
        if size != want:
            raise problem(
                f"{general}Found inconsistency between dimension size"
                f" {names[i]}.shape[{axis}] (= {size}) and the specification '{d}'"
                f" (= {want})."
            )
    for least, said in found.scope.constraints if found.scope is not None else ():
        if set(dimension_variables([least])) <= set(known):
            value = least.evaluated(known)
            if not value >= 0:
                raise problem(
                    f"the symbolic shape constraint {said}. Expected '{least}' to be"
                    f" greater or equal to 0, but found {value}. "
                )
    return known
