"""Regions: how a primitive holds programs, as data.

A primitive that holds programs says which of its params they are and how its operands and
results go with theirs; from that its rules follow (passes/region_rules.py, loops.py).
Transformed programs go back into the params by `rebuild`.  Of a call, or a choice between
branches, it is told which old operand or result each new one is like: what the params say
of these (the axis one is mapped along, whether it is donated) follows.  Of a loop it is
told the operands in their groups.

Next: passes/region_rules.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..base.util import split_list
from .jaxpr import ClosedJaxpr, Jaxpr, lift_consts

Params = dict[str, Any]
Bodies = Sequence[ClosedJaxpr]
# Which old operand (result) each new one is like; ~i for the result (operand) i.
Origins = Sequence[int | None]
_NO_SCOPE = nullcontext()


class Region:
    """Programs of which one runs: all take the operands and give the results.

    param: the name of the param that holds them.
    index: how many leading operands say which one runs (0 or 1).
    """

    __slots__ = (
        "index",
        "opaque",
        "param",
        "operand_param",
        "result_param",
        "reset",
        "residual",
        "scope",
        "shift",
    )

    def __init__(
        self,
        param: str,
        *,
        index: int = 0,
        scope: Callable[[Params], AbstractContextManager[Any]] | None = None,
        operand_param: str = "",
        result_param: str = "",
        residual: Callable[[Params, Any], Any] | None = None,
        shift: Callable[[Any], Any] = lambda said: said,
        reset: Mapping[str, Any] | None = None,
        opaque: bool = False,
    ) -> None:
        """
        Args:
          scope: (params) -> the context in which the programs are traced, if they have
            mapped axes of their own.
          per_in, per_out: params that say something of each operand and of each result.
          residual: (params, its type inside) -> what they say of one that is like no other.
          shift: what they say of one that has got lanes, of what they said of it before.
          opaque: the primitive's own rules speak for the programs where they are
            transformed: `checkify` and `jet` do not look inside.
          reset: params that say of each operand what most transformations forget.
        """
        self.param = param
        self.index = index
        self.scope = scope or (lambda params: _NO_SCOPE)
        self.operand_param = operand_param
        self.result_param = result_param
        self.residual = residual
        self.shift = shift
        self.reset = reset or {}
        self.opaque = opaque

    def bodies(self, params: Params) -> Bodies:
        """The programs."""
        raise NotImplementedError

    def hold(self, bodies: Bodies) -> tuple[Sequence[Any], Any]:
        """The operands that programs need first, and the param that holds them."""
        raise NotImplementedError

    def rebuild(
        self, params: Params, bodies: Bodies, ins: Origins, outs: Origins, keep: bool = False
    ) -> tuple[Sequence[Any], Params]:
        """The first operands and the params of an equation that holds other programs.

        keep: what `reset` says of old operands still holds.
        """
        first, held = self.hold(bodies)
        new = {**params, self.param: held}
        if first:
            ins = [*(None for _ in first), *ins]
        for name, value in self.reset.items():
            said = params[name]
            new[name] = (
                tuple([value if i is None else said[i] for i in ins])
                if keep
                else (value,) * len(ins)
            )
        if self.operand_param:
            of_ins, of_outs = params[self.operand_param], params[self.result_param]
            avals = bodies[0].in_avals, bodies[0].out_avals
            new[self.operand_param] = self._param_entries(
                params, ins, avals[0], of_ins, of_outs
            )
            new[self.result_param] = self._param_entries(
                params, outs, avals[1], of_outs, of_ins
            )
        return first, new

    def _param_entries(
        self, params: Params, origins: Origins, avals: Sequence[Any], own: Any, others: Any
    ) -> tuple[Any, ...]:
        assert self.residual is not None
        return tuple(
            [
                self.residual(params, a) if i is None else own[i] if i >= 0 else others[~i]
                for i, a in zip(origins, avals, strict=True)
            ]
        )

    def shifted(self, params: Params, ins: Sequence[bool], outs: Sequence[bool]) -> Params:
        """The params where the flagged operands and results have got lanes, first."""
        new = dict(params)
        for name, flags in ((self.operand_param, ins), (self.result_param, outs)):
            pairs = zip(params[name], flags, strict=True)
            new[name] = tuple([self.shift(said) if f else said for said, f in pairs])
        return new

    def lifted(
        self, params: Params, bodies: Bodies, consts: Sequence[Any], args: Sequence[Any]
    ) -> tuple[Sequence[Any], Params]:
        """The equation whose programs take some of their constants as first operands."""
        k = self.index
        ins = [*[None] * len(consts), *range(len(args) - k)]
        outs = range(len(self.bodies(params)[0].out_avals))
        _, new = self.rebuild(params, bodies, ins, outs, keep=True)
        return (*args[:k], *consts, *args[k:]), new


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
        return bodies[0].consts, lift_consts(bodies[0].jaxpr).jaxpr


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


class Loop:
    """A program run step by step: (consts, carry, rows) -> (carry, rows).

    Operands are the consts of the test, those of the body, the first carry, and what each
    step reads one row of; results are the last carry, and what each step gives a row of.
    Before a step the test, if there is one, tells from its consts and the carry whether it
    is taken.

    differ: (params) -> None, called before the test becomes one of each lane; may refuse.
    """

    __slots__ = ("carry", "consts", "differ", "length", "param", "cond")

    def __init__(
        self,
        param: str,
        *,
        consts: str,
        carry: str | None = None,
        length: str | None = None,
        cond: tuple[str, str] | None = None,
        differ: Callable[[Params], None] | None = None,
    ) -> None:
        """
        Args:
          param: the name of the param that holds the body.
          consts, carry: those with the numbers of its consts and of the components of the
            carry, which else is all that the body gives.
          length: the one with the number of steps, if there are rows.
          test: those that hold the test, and the number of its consts.
        """
        self.param = param
        self.consts = consts
        self.carry = carry
        self.length = length
        self.cond = cond
        self.differ = differ or (lambda params: None)

    def bodies(self, params: Params) -> Bodies:
        """The programs: the test, if there is one, and the body."""
        body = params[self.param]
        return (body,) if self.cond is None else (params[self.cond[0]], body)

    def carried(self, params: Params) -> int:
        """The number of components of the carry."""
        if self.carry is None:
            return len(params[self.param].out_avals)
        return int(params[self.carry])

    def groups(self, params: Params, operands: Sequence[Any]) -> list[list[Any]]:
        """What goes with the operands: of the test's consts, the body's, carry, rows."""
        n_test = 0 if self.cond is None else params[self.cond[1]]
        return split_list(operands, [n_test, params[self.consts], self.carried(params)])

    def rebuild(
        self, params: Params, bodies: Bodies, groups: Sequence[Sequence[Any]]
    ) -> Params:
        """The params of a loop of other programs, on operands in these groups."""
        new = {**params, self.param: bodies[-1], self.consts: len(groups[1])}
        if self.cond is not None:
            new |= {self.cond[0]: bodies[0], self.cond[1]: len(groups[0])}
        if self.carry is not None:
            new[self.carry] = len(groups[2])
        return new

    def lifted(
        self, params: Params, bodies: Bodies, consts: Sequence[Any], args: Sequence[Any]
    ) -> tuple[Sequence[Any], Params]:
        """The equation whose programs take some of their constants as first operands."""
        asked, own, *rest = self.groups(params, args)
        if self.cond is not None:
            asked = [*consts, *asked]
        groups = [asked, [*consts, *own], *rest]
        return [x for g in groups for x in g], self.rebuild(params, bodies, groups)
