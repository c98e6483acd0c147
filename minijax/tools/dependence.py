"""An interpreter of index sets: which elements of results depend on which inputs.

A value is one set per element; all its sets are one sorted array of numbers
`element * n + input`.  Facts of a primitive describe what it does to them:
`elementwise`, `data_movement` (the primitive is then applied to the elements' numbers)
and `axes_of`.  For other primitives every result depends on every operand.  Inner programs
are interpreted; a loop runs its known number of steps, or until its sets stop growing.  A
value that depends on no input is computed where possible, since indices and predicates are
read from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base import errors
from ..base.util import split_list
from ..ir import core
from ..ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Literal, closed_jaxprs
from ..ir.regions import Loop
from ..passes.ad_util import UndefinedPrimal
from ..types import dtypes

MOST = 50_000_000
STEPS = 1000  # of a loop with a known predicate; after that its carry is unknown


class Sets:
    """The index sets of a value's elements; `pairs` is sorted, without duplicates."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: Any) -> None:
        self.pairs = pairs


NOTHING = Sets(np.zeros(0, np.int64))


class Unknown:
    """A value that depends on no input and was not computed."""

    __slots__ = ()


UNKNOWN = Unknown()


class Interpreter:
    """Interpreter of programs on sets of up to `n` inputs."""

    def __init__(self, n: int) -> None:
        self.n = n

    # ------------------------------------------------------------------------- sets
    def identity(self) -> Sets:
        """Return sets in which element i depends on input i."""
        return Sets(np.arange(self.n, dtype=np.int64) * (self.n + 1))

    def union(self, many: Sequence[Sets]) -> Sets:
        some = [s for s in many if s.pairs.size]
        if len(some) < 2:
            return some[0] if some else NOTHING
        return self.of(np.concatenate([s.pairs for s in some]))

    def of(self, pairs: Any) -> Sets:
        # Checked before `unique`, whose sorted copy would need as much memory again.
        if pairs.size > 4 * MOST:
            raise self.too_many()
        unique = np.unique(pairs)
        if unique.size > MOST:
            raise self.too_many()
        return Sets(unique)

    def too_many(self) -> Exception:
        return errors.value_error(
            f"sparsity: more than {MOST} elements depend on inputs.",
            why="the Jacobian is dense, or an operation inside does not describe its structure.",
            tries=["jacfwd, jacrev or hessian"],
        )

    def all_inputs(self, many: Sequence[Sets]) -> Any:
        if not many:
            return np.zeros(0, np.int64)
        return np.unique(np.concatenate([s.pairs % self.n for s in many]))

    def dense(self, many: Sequence[Sets], size: int) -> Sets:
        """Let every element depend on all inputs that any element depends on."""
        inputs = self.all_inputs(many)
        if inputs.size * size > MOST:
            raise self.too_many()
        offsets = np.arange(size, dtype=np.int64)[:, None] * self.n
        return Sets((offsets + inputs).ravel())

    def gathered(self, sets: Sets, sources: Any) -> Sets:
        """Gather the sets of the source elements (-1: no source, an empty set)."""
        if not sets.pairs.size:
            return NOTHING
        elements = sets.pairs // self.n
        sources = np.asarray(sources, np.int64).ravel()
        start, end = np.searchsorted(elements, sources), np.searchsorted(elements, sources + 1)
        count = np.where(sources < 0, 0, end - start)
        if count.sum() > MOST:
            raise self.too_many()
        to = np.repeat(np.arange(sources.size), count)
        first = np.repeat(np.cumsum(count) - count, count)
        at = np.arange(count.sum()) - first + np.repeat(start, count)
        return Sets(to * self.n + sets.pairs[at] % self.n)

    # --------------------------------------------------------------------- programs
    def run(self, jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
        """Return the results of a program: `Sets`, known values, or `UNKNOWN`."""
        env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
        env.update(zip(jaxpr.invars, args, strict=True))

        def value(a: Any) -> Any:
            return a.val if type(a) is Literal else env[a]

        for eqn in jaxpr.eqns:
            outs = self.equation(eqn, [value(a) for a in eqn.ins])
            env.update(zip(eqn.outs, outs, strict=True))
        return [value(a) for a in jaxpr.outvars]

    def closed(self, body: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
        return self.run(body.jaxpr, body.consts, args)

    def equation(self, eqn: Equation, args: Sequence[Any]) -> Sequence[Any]:
        params, regions, facts = eqn.params, eqn.primitive.regions, eqn.primitive.facts
        if isinstance(regions, Loop):
            return self.loop(eqn, args)
        if regions is not None and not regions.result_param:
            with regions.scope(params):
                return self.choice(eqn, args)
        if facts.data_movement == "nothing":
            return args
        sets = [x for x in args if type(x) is Sets]
        if not any(s.pairs.size for s in sets):
            return self.constant(eqn, args)
        if facts.as_program is not None:
            return self.closed(*facts.as_program(args, params))
        outs = [v.aval for v in eqn.outs]
        differentiable = [dtypes.is_inexact(getattr(a, "dtype", np.dtype(bool))) for a in outs]
        if not any(differentiable):
            return [UNKNOWN] * len(outs)
        rule = None
        if facts.elementwise:
            rule = self.elementwise(eqn, args)
        elif facts.data_movement:
            rule = self.moved(eqn, args)
        if rule is None and facts.axes_of is not None:
            rule = self.along_axes(eqn, args)
        if rule is None:
            rule = [self.dense(sets, a.size) for a in outs]
        return [r if m else UNKNOWN for r, m in zip(rule, differentiable, strict=True)]

    def constant(self, eqn: Equation, args: Sequence[Any]) -> Sequence[Any]:
        """Evaluate an equation that no input reaches, if that is cheap."""
        small = all(getattr(v.aval, "size", MOST) <= 10_000_000 for v in eqn.outs)
        computable = not any(type(x) in (Unknown, Sets) for x in args)
        # Only exact results are needed: indices and predicates are read from them.
        exact = not any(
            dtypes.is_inexact(getattr(v.aval, "dtype", np.dtype(bool))) for v in eqn.outs
        )
        if not (small and computable and exact) or eqn.effects or closed_jaxprs(eqn.params):
            return [UNKNOWN] * len(eqn.outs)
        out = eqn.primitive.bind(*args, **eqn.params)
        return out if eqn.primitive.multiple_results else [out]

    # -------------------------------------------------------------------- primitives
    def elementwise(self, eqn: Equation, args: Sequence[Any]) -> Any:
        results = []
        for v in eqn.outs:
            operand_sets = []
            for x, a in zip(args, eqn.ins, strict=True):
                if type(x) is not Sets:
                    continue
                if a.aval.shape == v.aval.shape:
                    operand_sets.append(x)
                else:
                    numbers = np.arange(a.aval.size).reshape(a.aval.shape)
                    operand_sets.append(
                        self.gathered(x, np.broadcast_to(numbers, v.aval.shape))
                    )
            results.append(self.union(operand_sets))
        return results

    def moved(self, eqn: Equation, args: Sequence[Any]) -> Any:
        """Apply the primitive to the numbers of the elements."""
        dtype = eqn.outs[0].aval.dtype
        data = [getattr(a.aval, "dtype", None) == dtype for a in eqn.ins]
        if any(not d and type(x) is Unknown for d, x in zip(data, args, strict=True)):
            return None
        if eqn.primitive.facts.data_movement == "back":
            return self.moved_back(eqn, args)
        operand_sets: list[list[Sets]] = [[] for _ in eqn.outs]
        for k, x in enumerate(args):
            if not data[k] or type(x) is not Sets:
                continue
            # Numbers start from 1, so that 0 marks elements from no operand, such as padding.
            numbers = [
                _numbers(a.aval, 0 if i == k else None) if data[i] else args[i]
                for i, a in enumerate(eqn.ins)
            ]
            out = eqn.primitive.bind(*numbers, **eqn.params)
            outs = out if eqn.primitive.multiple_results else [out]
            size = eqn.ins[k].aval.size
            for i, o in enumerate(outs):
                sources = np.asarray(o).astype(np.int64) - 1
                sources = np.where((sources < 0) | (sources >= size), -1, sources)
                operand_sets[i].append(self.gathered(x, sources))
        return [self.union(sets) for sets in operand_sets]

    def moved_back(self, eqn: Equation, args: Sequence[Any]) -> Any:
        """Add elements at the positions from which the transpose takes them."""
        (out,) = eqn.outs
        positions = _numbers(out.aval, 0)
        data = [a.aval.dtype == out.aval.dtype for a in eqn.ins]
        operands = [
            UndefinedPrimal(core.aval_of(_numbers(a.aval, 0))) if d else x
            for a, d, x in zip(eqn.ins, data, args, strict=True)
        ]
        back = eqn.primitive.transpose(positions, *operands, **eqn.params)
        operand_sets = []
        for x, b in zip(args, back, strict=True):
            if type(x) is not Sets or b is None or not x.pairs.size:
                continue
            to = np.asarray(b).astype(np.int64).ravel() - 1
            elements, inputs = x.pairs // self.n, x.pairs % self.n
            at = to[elements]
            operand_sets.append(self.of((at * self.n + inputs)[at >= 0]))
        return [self.union(operand_sets)]

    def along_axes(self, eqn: Equation, args: Sequence[Any]) -> Any:
        rule = eqn.primitive.facts.axes_of
        assert rule is not None
        ins, outs = [a.aval for a in eqn.ins], [v.aval for v in eqn.outs]
        maps = rule(ins, outs, eqn.params)
        (out,) = outs
        return [
            self.union(
                [
                    self.mapped_along_axes(x.pairs, a.shape, out.shape, axes)
                    for x, a, axes in zip(args, ins, maps, strict=True)
                    if type(x) is Sets
                ]
            )
        ]

    def mapped_along_axes(
        self, pairs: Any, shape: Sequence[int], out: Sequence[int], axes: Sequence[Any]
    ) -> Sets:
        """Map sets: each result axis is an operand axis, reaches along one, or mixes."""
        if not pairs.size:
            return NOTHING
        reaches = [a if isinstance(a, tuple) else (a, _reach_itself) for a in axes]
        used = [a for a, _ in reaches if a is not None]
        inputs = pairs % self.n
        coordinates: Any = np.unravel_index(pairs // self.n, shape or (1,))
        # Elements that differ only along axes that mix are merged.
        merged = np.ravel_multi_index(
            [*(coordinates[a] for a in used), inputs], [*(shape[a] for a in used), self.n]
        )
        *coordinates, inputs = np.unravel_index(
            np.unique(merged), [*(shape[a] for a in used), self.n]
        )
        coordinate_indices = iter(range(len(used)))
        to = np.zeros(inputs.size, np.int64)
        for (a, reach), step, size in zip(reaches, _strides(out), out, strict=True):
            if a is None:
                which = np.repeat(np.arange(inputs.size), size)
                at = np.tile(np.arange(size), inputs.size)
            else:
                which, at = reach(coordinates[next(coordinate_indices)])
            if which.size > MOST:
                raise self.too_many()
            to, inputs = to[which] + at * step, inputs[which]
            coordinates = [w[which] for w in coordinates]
        return self.of(to * self.n + inputs)

    # ------------------------------------------------------- primitives with programs
    def choice(self, eqn: Equation, args: Sequence[Any]) -> Sequence[Any]:
        region, params = eqn.primitive.regions, eqn.params
        bodies, rest = region.bodies(params), args[region.index :]
        if any(type(x) is Sets and x.pairs.size for x in args[: region.index]):
            sets = [x for x in args if type(x) is Sets]
            return [self.dense(sets, v.aval.size) for v in eqn.outs]
        results = [self.closed(b, rest) for b in bodies]
        return [self.joined(column, len(bodies)) for column in zip(*results, strict=True)]

    def joined(self, many: Sequence[Any], n: int) -> Any:
        """Return the sets of a value that may be any of these."""
        if n == 1:
            return many[0]
        sets = [x for x in many if type(x) is Sets]
        return self.union(sets) if sets else UNKNOWN

    def loop(self, eqn: Equation, args: Sequence[Any]) -> list[Any]:
        loop, params = eqn.primitive.regions, eqn.params
        *cond, body = loop.bodies(params)
        _, consts, carry, xs = loop.groups(params, args)
        carry, n = list(carry), len(carry)
        if cond:
            cond_consts = loop.groups(params, args)[0]
            for _ in range(STEPS):
                (on,) = self.closed(cond[0], [*cond_consts, *carry])
                if type(on) in (Unknown, Sets) or np.ndim(on):
                    break
                if not on:
                    return carry
                carry = self.closed(body, [*consts, *carry])
            while True:  # until the sets stop growing
                outs = self.closed(body, [*consts, *carry])
                new = [self.joined(pair, 2) for pair in zip(carry, outs, strict=True)]
                same = [
                    type(a) is type(b)
                    and (type(a) is not Sets or np.array_equal(a.pairs, b.pairs))
                    for a, b in zip(carry, new, strict=True)
                ]
                carry = new
                if all(same):
                    return carry
        assert loop.length is not None
        length, reverse = params[loop.length], params.get("reverse", False)
        row_avals = body.in_avals[-len(xs) :] if xs else []
        ys: list[list[Any]] = [[] for _ in eqn.outs[n:]]
        for i in reversed(range(length)) if reverse else range(length):
            slices = [self.row(x, a, i) for x, a in zip(xs, row_avals, strict=True)]
            outs = self.closed(body, [*consts, *carry, *slices])
            carry, more = split_list(outs, [n])
            for y, v in zip(ys, more, strict=True):
                y.append(v)
        if reverse:
            ys = [y[::-1] for y in ys]
        avals = body.out_avals[n:]
        return [*carry, *(self.stacked(y, a) for y, a in zip(ys, avals, strict=True))]

    def row(self, x: Any, aval: Any, i: int) -> Any:
        if type(x) is Sets:
            start, size = i * aval.size, aval.size
            low, high = np.searchsorted(x.pairs, [start * self.n, (start + size) * self.n])
            return Sets(x.pairs[low:high] - start * self.n)
        return x if type(x) is Unknown else x[i]

    def stacked(self, ys: Sequence[Any], aval: Any) -> Any:
        if not any(type(y) is Sets for y in ys):
            return UNKNOWN
        return Sets(
            np.concatenate(
                [y.pairs + i * aval.size * self.n for i, y in enumerate(ys) if type(y) is Sets]
            )
        )


def _numbers(aval: Any, first: int | None) -> Any:
    """Number the elements from 1; zeros if `first` is None, for other operands."""
    if first is None:
        return np.zeros(aval.shape, np.int32)
    return np.arange(1, aval.size + 1, dtype=np.int32).reshape(aval.shape)


def _reach_itself(at: Any) -> tuple[Any, Any]:
    """Let each position reach itself."""
    return np.arange(at.size), at


def _strides(shape: Sequence[int]) -> list[int]:
    out, step = [], 1
    for size in reversed(shape):
        out.append(step)
        step *= size
    return out[::-1]
