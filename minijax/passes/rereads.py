"""Values that a chain of shifted reads would compute again and again.

In `x = x + roll(x, 1)`, done many times over, each element of a step reads two of the step
before.  A compiler that fuses all that is elementwise computes every step from the first
one: XLA for CPUs takes time and instructions that grow with the square of the number of
steps, and its loops may compute an element thousands of times.  `chains` finds the values
at which such a program is to be cut.

A value is read again where an elementwise operation joins results that have moved its
elements in different ways.  Where such a value is computed from others that are read again,
two levels deep and with nothing stored between, it is to be stored.  Operations that are
not elementwise and move nothing store their results anyway.

This package names no operation.  Next: runtime/lowering/context.py, which stores the values.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from ..ir.jaxpr import Jaxpr, Literal
from ..ir.regions import Call, OpenCall

LEVELS = 2  # of values that are read again, up to one that is stored
KNOWN = 8  # how many values a result is followed back to
_HERE = -1  # stands for no move
_CALLS = (Call, OpenCall)


class Chains(NamedTuple):
    """What a program does with values that are read again."""

    stored: frozenset[Any]  # variables, at which the program is cut
    inputs: frozenset[int]  # the operands that it reads again
    shifts: bool  # whether it moves elements to other places


_NONE = Chains(frozenset(), frozenset(), False)
_SHIFTS = Chains(frozenset(), frozenset(), True)


def chains(jaxpr: Jaxpr, *, inside: bool = False) -> Chains:
    """What a jaxpr does with values that are read again; remembered with it.

    inside: it is called by another one, which needs to know of a single step as well.
    """
    key = "steps" if inside else "chains"
    found = jaxpr.memo.get(key)
    if found is None:
        found = jaxpr.memo[key] = _chains(jaxpr, 1 if inside else LEVELS + 1)
    return found


def _chains(jaxpr: Jaxpr, least: int) -> Chains:
    called: dict[int, Chains] = {}
    moves = shifts = False
    for i, eqn in enumerate(jaxpr.eqns):
        prim = eqn.primitive
        if prim.is_data_movement is True:
            moves = True
        elif prim.regions is not None and isinstance(prim.regions, _CALLS):
            body = prim.regions.bodies(eqn.params)[0].jaxpr
            called[i] = chains(body, inside=True)
            shifts = shifts or called[i].shifts
    if not moves and not shifts:
        return _NONE
    if not _joins_moved(jaxpr, called, least):
        return _SHIFTS
    again = _read_again(jaxpr, called)
    inputs = frozenset(i for i, v in enumerate(jaxpr.invars) if v in again)
    if len(again) <= LEVELS:
        return Chains(frozenset(), inputs, True)
    return Chains(frozenset(_cuts(jaxpr, again, called)), inputs, True)


def _joins_moved(jaxpr: Jaxpr, called: dict[int, Chains], least: int) -> bool:
    """Whether elementwise operations join moved operands so often, one after the other,
    which is quick to see: most programs do not."""
    # Twice the number of such joins, and one more if the value was moved since.
    joins: dict[Any, int] = {}
    known = joins.get
    for i, eqn in enumerate(jaxpr.eqns):
        prim = eqn.primitive
        call = called.get(i) if called else None
        shifts = prim.is_data_movement is True if call is None else call.shifts
        if not shifts and (
            not joins or not (prim.elementwise or prim.is_data_movement or call)
        ):
            continue
        count = 0
        for a in eqn.ins:
            if (before := known(a, 0)) > count:
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
    if eqn.primitive.is_data_movement:
        return False
    return sum([type(a) is not Literal for a in eqn.ins]) > 1


def _is_array(a: Any) -> bool:
    return type(a) is not Literal and getattr(a.aval, "size", 1) != 1


def _read_again(jaxpr: Jaxpr, called: dict[int, Chains]) -> set[Any]:
    """The values that elementwise operations join after different moves."""
    uses = Counter([a for e in jaxpr.eqns for a in e.ins if _is_array(a)])
    again: set[Any] = set()
    # For each result: the values that it is made of, with their last moves.
    made_of: dict[Any, dict[Any, set[int]]] = {}
    for i, eqn in enumerate(jaxpr.eqns):
        prim, call = eqn.primitive, called.get(i)
        shifts = prim.is_data_movement is True if call is None else call.shifts
        if call is None and not prim.is_data_movement and not prim.elementwise:
            continue
        joined: dict[Any, set[int]] = {}
        for k, a in enumerate(eqn.ins):
            if not _is_array(a):
                continue
            if call is not None and k in call.inputs:
                again.add(a)
            for value, moves in made_of.get(a, {}).items():
                joined.setdefault(value, set()).update({i} if shifts else moves)
            if uses[a] > 1:
                joined.setdefault(a, set()).add(i if shifts else _HERE)
        if not shifts and len(eqn.ins) > 1:
            again.update([value for value, moves in joined.items() if len(moves) > 1])
        left = [row for row in joined.items() if row[0] not in again][-KNOWN:]
        if left:
            kept = dict(left)
            made_of.update({v: kept for v in eqn.outs})
    return again


def _cuts(jaxpr: Jaxpr, again: set[Any], called: dict[int, Chains]) -> set[Any]:
    """Those that are computed from others that are read again, `LEVELS` deep."""
    levels: dict[Any, int] = {}
    cuts = set()
    for i, eqn in enumerate(jaxpr.eqns):
        prim = eqn.primitive
        if i not in called and not prim.is_data_movement and not prim.elementwise:
            continue
        level = max(
            [levels.get(a, 0) + (a in again) for a in eqn.ins if type(a) is not Literal],
            default=0,
        )
        for v in eqn.outs:
            if level >= LEVELS and v in again:
                cuts.add(v)
            else:
                levels[v] = level
    return cuts
