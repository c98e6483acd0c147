"""Regions: how a primitive holds programs, as data.

A primitive that holds programs says which of its params they are and how its operands and
results go with theirs; from that its rules follow (interpreters/regions.py).  Transformed
programs go back into the params by `rebuild`, which is told which old operand or result
each new one is like: what the params say of these (the axis one is mapped along, whether
it is donated) follows.

Next: ../interpreters/regions.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .jaxpr import ClosedJaxpr, Jaxpr, close_consts

Params = dict[str, Any]
Bodies = Sequence[ClosedJaxpr]
Origins = Sequence[int | None]  # the old operand (result) that each new one is like
_NO_SCOPE = nullcontext()


class Region:
    """Programs of which one runs: all take the operands and give the results.

    param: the name of the param that holds them.
    index: how many leading operands say which one runs (0 or 1).
    """

    __slots__ = ("index", "param", "per_in", "per_out", "reset", "scope")

    def __init__(
        self,
        param: str,
        *,
        index: int = 0,
        scope: Callable[[Params], AbstractContextManager[Any]] | None = None,
        per_in: Mapping[str, Any] | None = None,
        per_out: Mapping[str, Any] | None = None,
        reset: Mapping[str, Any] | None = None,
    ) -> None:
        """
        Args:
          scope: (params) -> the context in which the programs are traced, if they have
            mapped axes of their own.
          per_in, per_out: params that say something of each operand (result), and what
            they say of one that is like no other: a residual.
          reset: params that say of each operand what only its lanes keep.
        """
        self.param = param
        self.index = index
        self.scope = scope or (lambda params: _NO_SCOPE)
        self.per_in = per_in or {}
        self.per_out = per_out or {}
        self.reset = reset or {}

    def bodies(self, params: Params) -> Bodies:
        """The programs."""
        raise NotImplementedError

    def hold(self, bodies: Bodies) -> tuple[Sequence[Any], Any]:
        """The operands that programs need first, and the param that holds them."""
        raise NotImplementedError

    def rebuild(
        self, params: Params, bodies: Bodies, ins: Origins, outs: Origins,
        lanes: bool = False,
    ) -> tuple[Sequence[Any], Params]:  # fmt: skip
        """The first operands and the params of an equation that holds other programs.

        lanes: its operands are the old ones, of all lanes.
        """
        first, held = self.hold(bodies)
        new = {**params, self.param: held}
        if first:
            ins = [*(None for _ in first), *ins]
        for table, origins in ((self.per_in, ins), (self.per_out, outs)):
            for name, default in table.items():
                said = params[name]
                new[name] = tuple([default if i is None else said[i] for i in origins])
        for name, value in () if lanes else self.reset.items():
            new[name] = (value,) * (self.index + len(ins))
        return first, new


class Call(Region):
    """One program, closed."""

    __slots__ = ()

    def bodies(self, params: Params) -> Bodies:
        return (params[self.param],)

    def hold(self, bodies: Bodies) -> tuple[Sequence[Any], Any]:
        return (), bodies[0]


class OpenCall(Region):
    """One program, open: its constants are leading operands."""

    __slots__ = ()

    def bodies(self, params: Params) -> Bodies:
        jaxpr: Jaxpr = params[self.param]
        return (ClosedJaxpr(jaxpr),)

    def hold(self, bodies: Bodies) -> tuple[Sequence[Any], Any]:
        return bodies[0].consts, close_consts(bodies[0])


class Branches(Region):
    """Programs of which the first operand chooses one."""

    __slots__ = ()

    def __init__(self, param: str, **options: Any) -> None:
        super().__init__(param, index=1, **options)

    def bodies(self, params: Params) -> Bodies:
        branches: Bodies = params[self.param]
        return branches

    def hold(self, bodies: Bodies) -> tuple[Sequence[Any], Any]:
        return (), tuple(bodies)
