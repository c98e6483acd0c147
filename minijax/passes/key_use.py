"""How programs use random keys: which ones they consume, make, and hand on.

A key is to be used once.  Of a primitive, `uses_keys` says what it does with keys among its
operands and results, as a `KeyUse`; without it, it consumes those it gets.  What one does
that holds programs follows from what these do.  `use_of` finds out for a program and raises
where a key is consumed twice; parts of an array of keys may be so one after the other.

This room names no operation.  Next: ../runtime/arrays/key_checks.py, which does so for values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base import errors
from ..ir.core import Primitive
from ..ir.jaxpr import Equation, Jaxpr, Literal
from ..ir.regions import Loop, Region
from ..types.dtypes import KeyTy

Mask = Any  # of an array of keys, those that are meant: all (True), or an array of bools


class KeyUse(NamedTuple):
    """What an operation does with keys.  What is neither made nor handed on is consumed.

    sinks: operand -> those of its keys that are consumed.
    sources: results that are fresh.
    forwards: result -> the operand whose keys it has.
    """

    sinks: dict[int, Mask] = {}
    sources: frozenset[int] = frozenset()
    forwards: dict[int, int] = {}


READS = KeyUse()
"""It looks at keys, and makes none."""
MAKES = KeyUse(sources=frozenset({0}))
CONSUMES = KeyUse({0: True})
SPLITS = KeyUse({0: True}, frozenset({0}))
FORWARDS = KeyUse(forwards={0: 0})


def holds_keys(aval: Any) -> bool:
    """Whether values of this type are random keys."""
    return isinstance(getattr(aval, "dtype", None), KeyTy)


def overlap(one: Mask, other: Mask) -> bool:
    """Whether two masks of an array share a key."""
    return bool(np.any(np.logical_and(one, other)))


def joined(one: Mask, other: Mask) -> Mask:
    """The keys of either mask."""
    return True if one is True or other is True else np.logical_or(one, other)


def use_of(jaxpr: Jaxpr) -> KeyUse:
    """What a program does with keys: of inputs, then of constants.

    Raises:
      KeyReuseError: it consumes one twice.
    """
    known = jaxpr.memo.get("key_use")
    if known is None:
        known = jaxpr.memo["key_use"] = _Uses(jaxpr).of_program()
    return known


class _Uses:
    """What is consumed of the keys of a program."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr = jaxpr
        self.consumed: dict[Any, Mask] = {}
        self.by: dict[Any, Equation] = {}
        self.root: dict[Any, Any] = {}  # of keys that are handed on, whose they are

    def of_program(self) -> KeyUse:
        jaxpr = self.jaxpr
        for eqn in jaxpr.eqns:
            atoms = (*eqn.ins, *eqn.outs)
            if any(holds_keys(a.aval) for a in atoms) or any(programs_in_eqn(eqn)):
                self.equation(eqn)
        inputs = {v: i for i, v in enumerate((*jaxpr.invars, *jaxpr.constvars))}
        sinks = {i: self.consumed[v] for v, i in inputs.items() if v in self.consumed}
        sources, forwards = set(), {}
        for i, atom in enumerate(jaxpr.outvars):
            if type(atom) is Literal or not holds_keys(atom.aval):
                continue
            v = self.root.get(atom, atom)
            if v in inputs:
                forwards[i] = inputs[v]
            elif v not in self.consumed:
                sources.add(i)
        return KeyUse(sinks, frozenset(sources), forwards)

    def equation(self, eqn: Equation) -> None:
        use = use_of_operation(eqn.primitive, [a.aval for a in eqn.ins], eqn.params)
        for k, i in use.forwards.items():
            self.root[eqn.outs[k]] = self.root.get(eqn.ins[i], eqn.ins[i])
        for i, mask in use.sinks.items():
            if type(eqn.ins[i]) is not Literal and holds_keys(eqn.ins[i].aval):
                self.sink(eqn, i, mask)
        for k, v in enumerate(eqn.outs):
            if holds_keys(v.aval) and k not in use.sources and k not in use.forwards:
                self.consumed[v] = True
                self.by[v] = eqn

    def sink(self, eqn: Equation, i: int, mask: Mask) -> None:
        v = self.root.get(eqn.ins[i], eqn.ins[i])
        if mask is not True and np.shape(mask) != v.aval.shape:
            same = np.size(mask) == v.aval.size
            mask = np.reshape(mask, v.aval.shape) if same else True
        before = self.consumed.get(v, False)
        if overlap(before, mask):
            first = self.by[v].source
            raise errors.error(
                errors.KeyReuseError,
                f"In {eqn.primitive}, argument {i} is already consumed.",
                which=f"{v.aval.str_short(True)}, first used at {first}" if first else None,
                where=str(eqn.source) if eqn.source else None,
                why="what is drawn from one key twice is equal, or depends on the other.",
                tries=["a key of jax.random.split for each use"],
            )
        self.consumed[v] = joined(before, mask)
        self.by[v] = eqn


def programs_in_eqn(eqn: Equation) -> Sequence[Any]:
    """The programs that an equation holds."""
    region = eqn.primitive.regions
    return () if region is None else region.bodies(eqn.params)


def use_of_operation(prim: Primitive, avals: Sequence[Any], params: Any) -> KeyUse:
    """What a primitive does with keys among operands of these types.

    Raises:
      KeyReuseError: a program that it holds consumes one twice.
    """
    rule = prim.uses_keys
    if rule is not None:
        return rule if isinstance(rule, KeyUse) else rule(avals, params)
    if isinstance(prim.regions, Region):
        return _of_choice(prim.regions, params)
    if isinstance(prim.regions, Loop):
        return _of_loop(prim, prim.regions, avals, params)
    return KeyUse({i: True for i, a in enumerate(avals) if holds_keys(a)})


def _of_choice(region: Region, params: Any) -> KeyUse:
    """Of programs of which one runs: what any one of them may do."""
    bodies = region.bodies(params)
    n = len(bodies[0].in_avals)
    uses = [use_of(b.jaxpr) for b in bodies]
    sinks: dict[int, Mask] = {}
    for use in uses:
        for i, mask in use.sinks.items():
            if i < n:  # others are constants, which are looked at where they are values
                sinks[i] = joined(sinks.get(i, False), mask)
    sources, forwards = set(), {}
    for k in range(len(bodies[0].out_avals)):
        given = [use.forwards[k] for use in uses if k in use.forwards]
        if len(given) == len(uses) and len({*given}) == 1:
            if given[0] < n:
                forwards[k] = given[0]
        elif all(k in use.sources or k in use.forwards for use in uses):
            sources.add(k)  # it may be one of several operands: these are given away
            sinks.update({i: True for i in given if i < n})
    shift = region.index
    return KeyUse(
        {i + shift: mask for i, mask in sinks.items()},
        frozenset(sources),
        {k: i + shift for k, i in forwards.items()},
    )


def _of_loop(prim: Primitive, loop: Loop, avals: Sequence[Any], params: Any) -> KeyUse:
    asked, consts, carry, rows = (len(g) for g in loop.groups(params, avals))
    *tests, body = loop.bodies(params)
    use = use_of(body.jaxpr)
    test = use_of(tests[0].jaxpr) if tests else READS
    kind, what = (f"{prim}_loop body", "")
    if not tests:
        kind, what = f"{prim} body", ", because key constants are repeatedly consumed:"
    if any(i < asked for i in test.sinks):
        raise _repeated(f"{prim}_loop cond", "", "a constant of it")
    if any(i < consts for i in use.sinks):
        raise _repeated(kind, what, "a constant of it")
    if not tests:
        what = ", because consumed inputs don't match sourced outputs:"
    eaten = {i - consts for i in use.sinks if consts <= i < consts + carry}
    looked = {i - asked for i in test.sinks if asked <= i < asked + carry}
    if looked - use.sources:
        raise _repeated(f"{prim}_loop cond", "", "the carry")
    if eaten - use.sources:
        raise _repeated(kind, what, "the carry")
    if eaten & looked:
        raise errors.error(
            errors.KeyReuseError,
            f"{prim}_loop cond and body functions both use the same key: ",
            tries=["jax.random.split in the body, and one key for each"],
        )
    first = asked + consts
    sinks: dict[int, Mask] = {first + i: True for i in eaten | looked}
    for i, mask in use.sinks.items():
        if consts + carry <= i < consts + carry + rows:
            shape = avals[asked + i].shape
            sinks[asked + i] = mask if mask is True else np.broadcast_to(mask, shape)
    sources = set(use.sources)
    forwards = {}
    for k, i in use.forwards.items():
        if i >= consts + carry + rows:
            continue
        if k < carry and i != consts + k:  # other steps hand on another one
            sources.add(k)
            sinks |= {first + k: True, asked + i: True}
        else:
            forwards[k] = asked + i
    return KeyUse(sinks, frozenset(sources), forwards)


def _repeated(kind: str, what: str, which: str) -> errors.KeyReuseError:
    return errors.error(
        errors.KeyReuseError,
        f"{kind} function leads to key reuse when repeatedly executed{what or ': '}",
        which=f"a key that is {which}",
        why="each step uses it again, and what it draws is the same in all of them.",
        tries=[
            "jax.random.fold_in(key, step)",
            "carry the key: key, sub = jax.random.split(key)",
        ],
    )
