"""Detection of programs that nest too deeply for XLA.

XLA's conversion from StableHLO recurses into nested regions, on a thread with a stack of 8
MiB: about 190 nested loops or branches end the process. A program deeper than `MAX_DEPTH` is
rejected first. It is then evaluated operation by operation from the outside in, until the
rest can be compiled. Nested calls are emitted in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base import errors
from ...ir.jaxpr import Jaxpr, cached_on_jaxpr, closed_jaxprs
from ...ir.regions import Branches, Loop

if TYPE_CHECKING:
    from .lower_jaxpr import Lowered

MAX_DEPTH = 100  # nested loops and branches


class TooDeep(RecursionError):
    """A program nests too deeply for the compiler."""


# Until the first program that is too deep, `is_deep` need not search any.
deep_programs: list[str] = []


def check(lowered: Lowered, name: str) -> None:
    """Raise TooDeep for a module that would overflow the compiler's stack."""
    if lowered.deepest > MAX_DEPTH:
        deep_programs[:] = [name]
        raise TooDeep(
            errors.message(
                f"{name}: the program cannot be compiled as a whole.",
                which=f"{lowered.deepest} nested loops and branches",
                why=f"XLA overflows its stack at about 190; up to {MAX_DEPTH} are compiled.",
                tries=["call the function: the outer ones then run in Python"],
            )
        )


def is_deep(jaxpr: Jaxpr) -> bool:
    """Whether a program must be evaluated from the outside in."""
    return bool(deep_programs) and nesting(jaxpr) > MAX_DEPTH


@cached_on_jaxpr
def nesting(jaxpr: Jaxpr) -> int:
    """Return the nesting depth of loops and branches."""
    depth = 0
    for eqn in jaxpr.eqns:
        regions = eqn.primitive.regions
        own = regions is None or isinstance(regions, Loop | Branches)
        for p in closed_jaxprs(eqn.params):
            depth = max(depth, own + nesting(p.jaxpr))
    return depth
