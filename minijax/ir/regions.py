"""Regions: how a primitive holds programs, as data.

The region of a primitive names the params that hold its programs, and how its operands and
results correspond to theirs.  The rules of the primitive follow from that
(passes/region_rules.py, passes/loop_rules.py).  `rebuild` puts transformed programs back
into the params.  For a call or a choice between branches it takes the index of the old
operand or result that each new one corresponds to, and so finds its entries in params (the
axis it is mapped over, whether it is donated).  For a loop it takes the operands in their
groups.

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
# Which old operand (result) each new one corresponds to; ~i for the result (operand) i.
Origins = Sequence[int | None]
_NO_SCOPE = nullcontext()


class Region:
    """Alternative programs: all take the operands and return the results, and one runs.

    param: the name of the param that holds them.
    index: how many leading operands choose the program that runs (0 or 1).
    """

    __slots__ = (
        *("index", "opaque", "param", "operand_param", "result_param", "reset", "residual"),
        *("scope", "shift"),
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
        shift: Callable[[Any], Any] = lambda entry: entry,
        reset: Mapping[str, Any] | None = None,
        opaque: bool = False,
    ) -> None:
        """
        Args:
          scope: (params) -> the context in which the programs are traced, if they have
            mapped axes of their own.
          operand_param, result_param: the params that have one entry for each operand and
            for each result.
          residual: (params, its type inside) -> the entry of a new operand or result that
            corresponds to no old one.
          shift: (entry) -> the entry of an operand or result that got a lane axis in front.
          opaque: transformations use the primitive's own rules, not its programs: `checkify`
            and `jet` do not look inside.
          reset: params with one entry for each operand that most transformations reset, and
            the value that they reset it to.
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
        """Return the programs."""
        raise NotImplementedError

    def hold(self, bodies: Bodies) -> tuple[Sequence[Any], Any]:
        """Return the first operands that programs need, and the param that holds them."""
        raise NotImplementedError

    def rebuild(
        self, params: Params, bodies: Bodies, ins: Origins, outs: Origins, keep: bool = False
    ) -> tuple[Sequence[Any], Params]:
        """Return the first operands and the params of an equation that holds `bodies`.

        keep: whether old operands keep their entries of the params in `reset`.
        """
        first, held = self.hold(bodies)
        new = {**params, self.param: held}
        if first:
            ins = [*(None for _ in first), *ins]
        for name, value in self.reset.items():
            entries = params[name]
            new[name] = (
                tuple([value if i is None else entries[i] for i in ins])
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
        """Return the params after the flagged operands and results got a first lane axis."""
        new = dict(params)
        for name, flags in ((self.operand_param, ins), (self.result_param, outs)):
            pairs = zip(params[name], flags, strict=True)
            new[name] = tuple([self.shift(entry) if f else entry for entry, f in pairs])
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
    """Alternative programs; the first operand selects one."""

    __slots__ = ()

    def __init__(self, param: str, **options: Any) -> None:
        super().__init__(param, index=1, **options)

    def bodies(self, params: Params) -> Bodies:
        branches: Bodies = params[self.param]
        return branches

    def hold(self, bodies: Bodies) -> tuple[Sequence[Any], Any]:
        return (), tuple(bodies)


class Loop:
    """A program that runs step by step: (consts, carry, xs) -> (carry, ys).

    Operands are the constants of the condition, those of the body, the initial carry, and
    the arrays that each step reads one slice of.  Results are the final carry, and the
    arrays that each step returns one slice of.  A step runs if the condition, a program of
    its constants and the carry, returns true; without a condition every step runs.

    differ: (params) -> None, called before the condition becomes batched; may raise.
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
          consts, carry: the params with the number of its constants and of the components
            of the carry; without `carry`, the carry is all that the body returns.
          length: the param with the number of steps, if there are `xs`.
          cond: the params with the condition, and the number of its constants.
        """
        self.param = param
        self.consts = consts
        self.carry = carry
        self.length = length
        self.cond = cond
        self.differ = differ or (lambda params: None)

    def bodies(self, params: Params) -> Bodies:
        """Return the programs: the condition, if there is one, and the body."""
        body = params[self.param]
        return (body,) if self.cond is None else (params[self.cond[0]], body)

    def carried(self, params: Params) -> int:
        """Return the number of components of the carry."""
        if self.carry is None:
            return len(params[self.param].out_avals)
        return int(params[self.carry])

    def groups(self, params: Params, operands: Sequence[Any]) -> list[list[Any]]:
        """Split a list that parallels the operands: condition's and body's constants,
        carry, xs."""
        n_cond = 0 if self.cond is None else params[self.cond[1]]
        return split_list(operands, [n_cond, params[self.consts], self.carried(params)])

    def rebuild(
        self, params: Params, bodies: Bodies, groups: Sequence[Sequence[Any]]
    ) -> Params:
        """Return the params of a loop of other programs, on operands in these groups."""
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
        cond_consts, own, *rest = self.groups(params, args)
        if self.cond is not None:
            cond_consts = [*consts, *cond_consts]
        groups = [cond_consts, [*consts, *own], *rest]
        return [x for g in groups for x in g], self.rebuild(params, bodies, groups)
