"""Programs that nest deeper than XLA can compile.

XLA's conversion from StableHLO calls itself for each region inside another, on a thread
with a stack of 8 MiB: some 190 loops or branches end the process.  A program deeper than
`MOST` is refused before, and evaluated operation by operation from the outside in, until
what is left can be compiled.  Calls are emitted in place where they nest.
"""

from __future__ import annotations

from typing import Any

from ...base import errors
from ...ir.jaxpr import Jaxpr, closed_jaxprs
from ...ir.regions import Branches, Loop

MOST = 100  # loops and branches, one within another


class TooDeep(RecursionError):
    """A program nests deeper than the compiler can follow."""


# Where no program has been too deep, as mostly, none need be looked through.
seen: list[str] = []


def check(lowered: Any, name: str) -> None:
    """Raise TooDeep for a module that would end the process in the compiler."""
    if lowered.deepest > MOST:
        seen[:] = [name]
        raise TooDeep(
            errors.message(
                f"{name}: the program cannot be compiled as a whole.",
                which=f"{lowered.deepest} loops and branches, one within another",
                why=f"XLA overflows its stack at about 190; up to {MOST} are compiled.",
                tries=["call the function, which runs the outer ones in Python"],
            )
        )


def is_deep(jaxpr: Jaxpr) -> bool:
    """Whether a program is to be evaluated from the outside in."""
    return bool(seen) and nesting(jaxpr) > MOST


def nesting(jaxpr: Jaxpr) -> int:
    """How many loops and branches stand one within another."""
    depth = jaxpr.memo.get("nesting")
    if depth is None:
        depth = 0
        for eqn in jaxpr.eqns:
            regions = eqn.primitive.regions
            own = regions is None or isinstance(regions, Loop | Branches)
            for p in closed_jaxprs(eqn.params):
                depth = max(depth, own + nesting(p.jaxpr))
        jaxpr.memo["nesting"] = depth
    return int(depth)
