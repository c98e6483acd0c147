"""How programs use random keys: which ones they consume, create, and forward.

A key must be used only once.  The fact `uses_keys` of a primitive, a `KeyUse`, describes how
it uses keys among its operands and results; without it, the primitive consumes its keys.  The
use of keys by a primitive that holds programs follows from theirs.  `use_of` analyses a
program and raises if a key is consumed twice; different elements of an array of keys may be
consumed one after the other.

This package names no operation.  Next: ../runtime/arrays/key_checks.py, which checks values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import errors
from ..ir.core import Primitive
from ..ir.facts import READS, KeyUse, Mask
from ..ir.jaxpr import Equation, Jaxpr, Literal, cached_on_jaxpr
from ..ir.regions import Loop, Region
from ..types.dtypes import KeyTy

if TYPE_CHECKING:
    from ..types.aliases import Aval, Params


def holds_keys(aval: Aval) -> bool:
    """Whether values of this type are random keys."""
    return isinstance(getattr(aval, "dtype", None), KeyTy)


def overlap(one: Mask, other: Mask) -> bool:
    """Whether two masks of an array share a key."""
    return bool(np.any(np.logical_and(one, other)))


def joined(one: Mask, other: Mask) -> Mask:
    """Return the mask of the keys in either mask."""
    return True if one is True or other is True else np.logical_or(one, other)


@cached_on_jaxpr
def use_of(jaxpr: Jaxpr) -> KeyUse:
    """Return how a program uses keys; constants are counted after the inputs.

    Raises:
      KeyReuseError: the program consumes a key twice.
    """
    return _Uses(jaxpr).of_program()


class _Uses:
    """The keys of a program that its equations consumed so far."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr = jaxpr
        self.consumed: dict[Any, Mask] = {}
        self.by: dict[Any, Equation] = {}
        self.root: dict[Any, Any] = {}  # forwarded keys -> the variable they come from

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
                why="two draws from the same key are equal or correlated.",
                tries=["a key of jax.random.split for each use"],
            )
        self.consumed[v] = joined(before, mask)
        self.by[v] = eqn


def programs_in_eqn(eqn: Equation) -> Sequence[Any]:
    """Return the programs that an equation holds."""
    region = eqn.primitive.regions
    return () if region is None else region.bodies(eqn.params)


def use_of_operation(prim: Primitive, avals: Sequence[Aval], params: Params) -> KeyUse:
    """Return how a primitive uses the keys among operands of these types.

    Raises:
      KeyReuseError: a program that it holds consumes a key twice.
    """
    rule = prim.facts.uses_keys
    if rule is not None:
        return rule if isinstance(rule, KeyUse) else rule(avals, params)
    if isinstance(prim.regions, Region):
        return _of_choice(prim.regions, params)
    if isinstance(prim.regions, Loop):
        return _of_loop(prim, prim.regions, avals, params)
    return KeyUse({i: True for i, a in enumerate(avals) if holds_keys(a)})


def _of_choice(region: Region, params: Any) -> KeyUse:
    """Return the use of keys by alternative programs: the union over all of them."""
    bodies = region.bodies(params)
    n = len(bodies[0].in_avals)
    uses = [use_of(b.jaxpr) for b in bodies]
    sinks: dict[int, Mask] = {}
    for use in uses:
        for i, mask in use.sinks.items():
            if i < n:  # the others are constants, which are checked as values
                sinks[i] = joined(sinks.get(i, False), mask)
    sources, forwards = set(), {}
    for k in range(len(bodies[0].out_avals)):
        forwarded = [use.forwards[k] for use in uses if k in use.forwards]
        if len(forwarded) == len(uses) and len({*forwarded}) == 1:
            if forwarded[0] < n:
                forwards[k] = forwarded[0]
        elif all(k in use.sources or k in use.forwards for use in uses):
            sources.add(k)  # it may be any of several operands, so all of them are consumed
            sinks.update({i: True for i in forwarded if i < n})
    shift = region.index
    return KeyUse(
        {i + shift: mask for i, mask in sinks.items()},
        frozenset(sources),
        {k: i + shift for k, i in forwards.items()},
    )


def _of_loop(prim: Primitive, loop: Loop, avals: Sequence[Any], params: Any) -> KeyUse:
    n_cond_consts, n_consts, n_carry, n_xs = (len(g) for g in loop.groups(params, avals))
    *conds, body = loop.bodies(params)
    use = use_of(body.jaxpr)
    cond = use_of(conds[0].jaxpr) if conds else READS
    kind, what = (f"{prim}_loop body", "")
    if not conds:
        kind, what = f"{prim} body", ", because key constants are repeatedly consumed:"
    if any(i < n_cond_consts for i in cond.sinks):
        raise _repeated(f"{prim}_loop cond", "", "a constant of it")
    if any(i < n_consts for i in use.sinks):
        raise _repeated(kind, what, "a constant of it")
    if not conds:
        what = ", because consumed inputs don't match sourced outputs:"
    consumed = {i - n_consts for i in use.sinks if n_consts <= i < n_consts + n_carry}
    read_by_cond = {
        i - n_cond_consts for i in cond.sinks if n_cond_consts <= i < n_cond_consts + n_carry
    }
    if read_by_cond - use.sources:
        raise _repeated(f"{prim}_loop cond", "", "the carry")
    if consumed - use.sources:
        raise _repeated(kind, what, "the carry")
    if consumed & read_by_cond:
        raise errors.error(
            errors.KeyReuseError,
            f"{prim}_loop cond and body functions both use the same key: ",
            tries=["jax.random.split in the body, and one key for each"],
        )
    first_carry = n_cond_consts + n_consts
    sinks: dict[int, Mask] = {first_carry + i: True for i in consumed | read_by_cond}
    for i, mask in use.sinks.items():
        if n_consts + n_carry <= i < n_consts + n_carry + n_xs:
            shape = avals[n_cond_consts + i].shape
            sinks[n_cond_consts + i] = mask if mask is True else np.broadcast_to(mask, shape)
    sources = set(use.sources)
    forwards = {}
    for k, i in use.forwards.items():
        if i >= n_consts + n_carry + n_xs:
            continue
        if k < n_carry and i != n_consts + k:  # later steps forward another key
            sources.add(k)
            sinks |= {first_carry + k: True, n_cond_consts + i: True}
        else:
            forwards[k] = n_cond_consts + i
    return KeyUse(sinks, frozenset(sources), forwards)


def _repeated(kind: str, what: str, which: str) -> errors.KeyReuseError:
    return errors.error(
        errors.KeyReuseError,
        f"{kind} function leads to key reuse when repeatedly executed{what or ': '}",
        which=f"a key that is {which}",
        why="each step uses the key again, so all steps draw the same numbers.",
        tries=[
            "jax.random.fold_in(key, step)",
            "carry the key: key, sub = jax.random.split(key)",
        ],
    )
