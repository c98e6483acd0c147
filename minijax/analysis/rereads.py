"""Values that a chain of shifted reads would compute repeatedly.

If `x = x + roll(x, 1)` is repeated many times, each element of a step reads two elements of
the step before.  A compiler that fuses all elementwise operations computes every step from
the first one.  XLA for CPUs then needs time and instructions that grow with the square of
the number of steps, and its loops may compute an element thousands of times.  `chains`
finds the values that such a program should store, which ends a fusion.

A value is *reread* if an elementwise operation joins results that have moved its elements
in different ways.  If a reread value is computed from other reread values, two levels deep
and without a stored value between, it is stored.  Operations that are neither elementwise
nor data movement store their results in any case.

This package names no operation.  Next: runtime/lowering/context.py, which stores the values.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from ..ir.jaxpr import Jaxpr, Literal, cached_on_jaxpr
from ..ir.regions import Call, OpenCall

LEVELS = 2  # how many reread values may follow one another before one is stored
MAX_SOURCES = 8  # the number of values that a result is traced back to
_NO_MOVE = -1  # the move of a value that was not moved
_CALLS = (Call, OpenCall)


class Chains(NamedTuple):
    """The reread values of a program."""

    stored: frozenset[Any]  # the variables to store
    inputs: frozenset[int]  # the indices of the operands that it rereads
    shifts: bool  # whether it moves elements to other positions


_NONE = Chains(frozenset(), frozenset(), False)
_SHIFTS = Chains(frozenset(), frozenset(), True)


def chains(jaxpr: Jaxpr, *, inside: bool = False) -> Chains:
    """Return the reread values of a jaxpr; they are cached on it.

    inside: whether another jaxpr calls it, which must also know about a single step.
    """
    return _chains(jaxpr, 1 if inside else LEVELS + 1)


@cached_on_jaxpr
def _chains(jaxpr: Jaxpr, least: int) -> Chains:
    prims = {eqn.primitive for eqn in jaxpr.eqns}
    called: dict[int, Chains] = {}
    if any(isinstance(prim.regions, _CALLS) for prim in prims):
        for i, eqn in enumerate(jaxpr.eqns):
            regions = eqn.primitive.regions
            if isinstance(regions, _CALLS):
                called[i] = chains(regions.bodies(eqn.params)[0].jaxpr, inside=True)
    any_moves = any(prim.facts.data_movement == "moved" for prim in prims)
    if not any_moves and not any(call.shifts for call in called.values()):
        return _NONE
    if not _joins_moved(jaxpr, called, least):
        return _SHIFTS
    reread = _reread_values(jaxpr, called)
    inputs = frozenset(i for i, v in enumerate(jaxpr.invars) if v in reread)
    if len(reread) <= LEVELS:
        return Chains(frozenset(), inputs, True)
    return Chains(frozenset(_stored(jaxpr, reread, called)), inputs, True)


def _joins_moved(jaxpr: Jaxpr, called: dict[int, Chains], least: int) -> bool:
    """Whether `least` elementwise operations in a chain join moved operands.

    A quick test that excludes most programs.
    """
    # Twice the number of such joins, plus one if the value was moved since.
    joins: dict[Any, int] = {}
    joins_of = joins.get
    for i, eqn in enumerate(jaxpr.eqns):
        facts = eqn.primitive.facts
        call = called.get(i) if called else None
        shifts = facts.data_movement == "moved" if call is None else call.shifts
        if not shifts and (not joins or not (facts.elementwise or facts.data_movement or call)):
            continue
        count = 0
        for a in eqn.ins:
            if (before := joins_of(a, 0)) > count:
                count = before
        if shifts:
            count |= 1
        if count & 1 and _joins(eqn, call):
            count += 1
            if count >= 2 * least:
                return True
        if count:
            for v in eqn.outs:
                joins[v] = count
    return False


def _joins(eqn: Any, call: Chains | None) -> bool:
    if call is not None:
        return bool(call.inputs)
    if eqn.primitive.facts.data_movement:
        return False
    return sum([type(a) is not Literal for a in eqn.ins]) > 1


def _is_array(a: Any) -> bool:
    return type(a) is not Literal and getattr(a.aval, "size", 1) != 1


def _reread_values(jaxpr: Jaxpr, called: dict[int, Chains]) -> set[Any]:
    """Return the values that elementwise operations join after different moves."""
    uses = Counter([a for e in jaxpr.eqns for a in e.ins if _is_array(a)])
    reread: set[Any] = set()
    # For each result: the values that it is computed from, with their last moves.
    sources_of: dict[Any, dict[Any, set[int]]] = {}
    for i, eqn in enumerate(jaxpr.eqns):
        facts, call = eqn.primitive.facts, called.get(i)
        shifts = facts.data_movement == "moved" if call is None else call.shifts
        if call is None and not facts.data_movement and not facts.elementwise:
            continue
        joined: dict[Any, set[int]] = {}
        for k, a in enumerate(eqn.ins):
            if not _is_array(a):
                continue
            if call is not None and k in call.inputs:
                reread.add(a)
            for value, moves in sources_of.get(a, {}).items():
                joined.setdefault(value, set()).update({i} if shifts else moves)
            if uses[a] > 1:
                joined.setdefault(a, set()).add(i if shifts else _NO_MOVE)
        if not shifts and len(eqn.ins) > 1:
            reread.update([value for value, moves in joined.items() if len(moves) > 1])
        left = [row for row in joined.items() if row[0] not in reread][-MAX_SOURCES:]
        if left:
            sources = dict(left)
            sources_of.update({v: sources for v in eqn.outs})
    return reread


def _stored(jaxpr: Jaxpr, reread: set[Any], called: dict[int, Chains]) -> set[Any]:
    """Return the reread values that are computed from reread values, `LEVELS` deep."""
    levels: dict[Any, int] = {}
    stored = set()
    for i, eqn in enumerate(jaxpr.eqns):
        facts = eqn.primitive.facts
        if i not in called and not facts.data_movement and not facts.elementwise:
            continue
        level = max(
            [levels.get(a, 0) + (a in reread) for a in eqn.ins if type(a) is not Literal],
            default=0,
        )
        for v in eqn.outs:
            if level >= LEVELS and v in reread:
                stored.add(v)
            else:
                levels[v] = level
    return stored
