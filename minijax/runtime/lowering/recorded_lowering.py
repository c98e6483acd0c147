"""Recipes: recorded operations of a lowering rule, emitted again without the rule.

The operations that most rules emit depend only on the types and params of their equation.
Such a rule runs normally for the first such equation. For the second it runs once more in a
separate block, whose operations become a `RecordedLowering`. It is cached in the MLIR
context under (rule, params, types). From then on, an equal equation replays the recipe with
its own operands at its own location. If a rule reads anything else, such as the module, the
recording raises `NotReplayable`, and the rule runs for each of its equations.

This module treats operations as plain MLIR.  Next: context.py, which has the rules.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxlib.mlir import ir

from ...types import dtypes
from .mlir_context import context

if TYPE_CHECKING:
    from ...types.aliases import Aval, MlirValue, Param, Params
    from .context import Lowering, RecordingContext

create = ir.Operation.create

MAX_RECIPES = 2048  # recipes per context: a few megabytes
MAX_STEPS = 32  # operations: longer recipes save little time and take more memory


class NotReplayable(Exception):
    """Raised if a rule reads something that is not in the key of its recipe."""


def is_value_param(value: Param) -> bool:
    """Whether equal values of a param are interchangeable: ints, names, types, enums.

    Floats are not: 0.0 equals -0.0. Neither are functions and jaxprs.
    """
    if isinstance(value, tuple):
        return all(map(is_value_param, value))
    kinds = (int, str, type, np.dtype, enum.Enum, dtypes.ExtendedDType)
    return value is None or isinstance(value, kinds)


class RecordedOperation(NamedTuple):
    """One operation of a recipe."""

    name: str
    types: list[ir.Type]
    operands: Callable[[Any], Any]  # selects them from the list of all values so far
    attributes: dict[str, ir.Attribute]
    repeated: Aval | None  # the type of a broadcast scalar, emitted once per block
    pattern: ir.Operation | None  # for an operation with regions: the operation to clone


class RecordedLowering:
    """The operations of an equation, as functions of its operands.

    Values are numbered: the equation's operands, then the steps' results.
    """

    __slots__ = ("home", "levels", "results", "single", "steps")

    def __init__(
        self,
        steps: Sequence[RecordedOperation],
        results: Callable[[Any], Any],
        home: ir.Module,
        levels: int,
        is_single: bool,
    ) -> None:
        self.steps = steps
        self.results = results
        self.home = home  # the module that owns the patterns, kept alive
        self.levels = levels  # of nested regions
        # Most recipes are a single operation on all operands in order.
        step = steps[0] if is_single else None
        self.single = (step.name, step.types, step.attributes) if step else None

    def replay(self, ctx: Lowering, values: list[MlirValue]) -> Any:
        """Emit the operations on these operands; return the result's value, or a list."""
        if self.levels:
            ctx.depth.reach(self.levels)
        for name, types, operands, attributes, repeated, pattern in self.steps:
            taken = operands(values)
            if repeated is not None:
                values.append(ctx.repeat(taken[0], repeated))
                continue
            if pattern is not None:
                op = self._copy(ctx, pattern, taken)
            else:
                op = create(name, types, taken, attributes, None, 0, ctx.loc)
            if len(types) == 1:
                values.append(op.result)
            else:
                values += op.results
        return self.results(values)

    def _copy(self, ctx: Any, pattern: Any, values: Sequence[Any]) -> Any:
        """Emit a copy of an operation with regions, on other operands, at the location of
        `ctx`."""
        key = id(pattern), ctx.loc
        cached = ctx.copied.get(key)
        if cached is None:
            op = pattern.clone()
            _set_location(op, ctx.loc)
            ctx.copied[key] = op, self  # keeps the pattern alive: its id is a key
        else:
            op = cached[0].clone()
        operands = op.operands
        for i, x in enumerate(values):
            operands[i] = x
        return op


def record_lowering(
    rule: Callable[..., Any],
    ctx: RecordingContext,
    types: Sequence[ir.Type],
    params: Params,
    several: bool,
) -> RecordedLowering | None:
    """Return the recipe of an equation with operands of these MLIR types, or None.

    ctx: the rule's context. It raises `NotReplayable` if the rule reads too much, and has
    the emitted operations with their attributes (`emitted`), the broadcasts (`repeated`)
    and the depth of regions (`depth`).
    """
    unknown = context.unknown
    home = ir.Module.create(unknown)
    with ir.InsertionPoint(home.body):
        # A scratch container for the block; it is never compiled.
        holder = create("builtin.module", regions=1, loc=unknown)
    block = holder.regions[0].blocks.append(*types, arg_locs=[unknown] * len(types))
    try:
        with ir.InsertionPoint(block):
            results_of_rule = rule(ctx, *block.arguments, **params)
    except NotReplayable:
        return None
    ops = [op.operation for op in block.operations]
    if len(ops) > MAX_STEPS:
        return None
    numbers = {x: i for i, x in enumerate(block.arguments)}
    for op in ops:
        for x in op.results:
            numbers[x] = len(numbers)
    repeated = {y: aval for (_, aval), (y, _) in ctx.repeated.items()}
    try:
        steps = [_step(op, ctx.emitted[op], numbers, repeated) for op in ops]
        results = [numbers[x] for x in (results_of_rule if several else [results_of_rule])]
    except KeyError:  # an operation or a value from outside the block
        return None
    n = len(types)
    is_single = (
        results == [n]
        and not several
        and len(steps) == 1
        and [numbers[x] for x in ops[0].operands] == list(range(n))
        and steps[0].repeated is None
        and steps[0].pattern is None
    )
    select = _selector(results) if several else itemgetter(*results)
    return RecordedLowering(steps, select, home, ctx.depth.deepest, is_single)


def _step(
    op: ir.Operation,
    attributes: dict[str, Any],
    numbers: dict[Any, int],
    repeated: dict[Any, Any],
) -> RecordedOperation:
    operands = _selector([numbers[x] for x in op.operands])
    types = [x.type for x in op.results]
    repeated_type = repeated.get(op.results[0]) if types else None
    regions = len(op.regions) > 0
    if any(x in numbers for inner in _nested_operations(op) for x in inner.operands):
        raise KeyError("a region that uses outer values")
    return RecordedOperation(
        op.name, types, operands, attributes, repeated_type, op if regions else None
    )


def _selector(numbers: Sequence[int]) -> Callable[[Any], Any]:
    """Return a function that selects the values with these numbers from a list."""
    if len(numbers) > 1:
        return itemgetter(*numbers)
    start = numbers[0] if numbers else 0
    return itemgetter(slice(start, start + len(numbers)))


def _nested_operations(op: Any) -> Iterator[Any]:
    """Return the operations in an operation's regions, at all depths."""
    for region in op.regions:
        for block in region:
            for inner in block:
                yield inner.operation
                yield from _nested_operations(inner.operation)


def _set_location(op: Any, loc: Any) -> None:
    """Set the location of an operation and of everything in its regions."""
    op.location = loc
    for region in op.regions:
        for block in region:
            for x in block.arguments:
                x.set_location(loc)
            for inner in block:
                _set_location(inner.operation, loc)
