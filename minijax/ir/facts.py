"""Facts that a primitive states about itself, for analyses, checkers, tools and the printer.

The rules of a primitive (core.py) apply it.  Its facts describe it: properties of its
results, its cost, its use of random keys, the text of its equations.  The default of each
fact is always safe.

`elementwise` and `data_movement` also describe how results depend on operands; `axes_of`
(prims/axis_dependence.py) describes other primitives.  Next: core.py.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

Avals = Sequence[Any]
Params = dict[str, Any]
Mask = Any  # selects elements of an array of keys: True for all, or an array of bools


class KeyUse(NamedTuple):
    """How an operation uses keys.  Result keys in neither field count as consumed.

    sinks: operand index -> mask of its keys that are consumed.
    sources: indices of results with fresh keys.
    forwards: result index -> index of the operand whose keys it is.
    """

    sinks: dict[int, Mask] = {}
    sources: frozenset[int] = frozenset()
    forwards: dict[int, int] = {}


READS = KeyUse()
"""The operation reads keys without consuming them, and creates none."""
MAKES = KeyUse(sources=frozenset({0}))
CONSUMES = KeyUse({0: True})
SPLITS = KeyUse({0: True}, frozenset({0}))
FORWARDS = KeyUse(forwards={0: 0})


class Facts(NamedTuple):
    """The facts of a primitive, which its block states: `prim.facts = Facts(...)`.

    In the signatures, `ins` and `outs` are the types of the operands and of the results,
    and `params` are the params of an equation.
    """

    elementwise: bool = False
    """Whether each element of a result depends only on the operands' elements at the same
    position; scalars and axes of size 1 repeat."""

    data_movement: Literal["moved", "in order", "back", "nothing"] | None = None
    """Whether and how results consist of elements of the operands that have their dtype:
    "moved", at other positions; "in order", of one operand in their order, some of them
    repeated; "back", sums of such elements, the transpose of a movement; "nothing", each
    result is an operand."""

    axes_of: Callable[[Avals, Avals, Params], Sequence[Any]] | None = None
    """(ins, outs, params) -> for each operand, for each axis of the result, the operand's
    axis that corresponds to it (or None), or that axis and its reach.  Elements mix along
    the other axes of the operand."""

    as_program: Callable[[Sequence[Any], Params], tuple[Any, Sequence[Any]]] | None = None
    """(args, params) -> (closed jaxpr, its operands) that compute the results, for a
    primitive that holds programs but has no regions."""

    depends: Callable[[Sequence[bool], Params], Sequence[bool]] | None = None
    """(a flag for each operand, params) -> for each result, whether it depends on a flagged
    operand.  Without it, all results do as soon as one operand is flagged."""

    makes_no_nans: bool = False
    """Whether no result holds a NaN if all operands are finite; also stated of callbacks, in
    whose results `checkify` looks for no NaNs."""

    keeps_nans: bool = False
    """Whether a result always holds a NaN or an infinity if an operand does."""

    keeps_finite: bool = False
    """Whether all real results are finite if all operands are."""

    divisor: int | None = None
    """The index of the operand that must not be 0, for `checkify`."""

    bounds: Callable[..., tuple[Any, Any, Any, Any]] | None = None
    """(*args, **params) -> (shape, index, axes, last): the indices at which it reads or
    writes an array of that shape, the axes that they are along, and the last valid index of
    each, for `checkify`."""

    checked: Callable[[Any, Sequence[Any], Params], tuple[Any, Any]] | None = None
    """(enabled errors, args, params) -> (error or None, results), the rule of `checkify`;
    without it `checkify` transforms the programs inside, or reads the facts above."""

    flops: Callable[[Avals, Avals, Params], float] | None = None
    """(ins, outs, params) -> number of arithmetic operations.  Without it: one for each
    element of a result, none for data movement (analysis/cost_model.py)."""

    workspace: Callable[[Avals, Avals, Params], float] | None = None
    """(ins, outs, params) -> bytes of scratch memory that it needs while it runs, besides
    operands and results.  Without it: none."""

    uses_keys: KeyUse | Callable[[Avals, Params], KeyUse] | None = None
    """How it uses random keys, or (ins, params) -> how it does.  Without it: as the programs
    inside do; a primitive without programs consumes its keys (analysis/key_use.py)."""

    has_closures: bool = False
    """Whether its params hold functions, which may close over lanes: its batch rule is
    called even if no operand has lanes."""

    lowers_key_arrays: bool = False
    """Whether its lowering handles key arrays; other lowerings get arrays of words."""

    sets_memory_space: bool = False
    """Whether its type rule sets the memory space of the results; other primitives keep
    the memory space of their operands."""

    pretty: Callable[[Any, Any], Sequence[tuple[str, Any]]] | dict[str, Any] | None = None
    """(equation, printer) -> [(param, value)] to print; or the params that are not printed,
    with the value that hides each, `...` for any."""

    text: Callable[[Any, Any], str] | None = None
    """(equation, printer) -> the text of the whole equation, for a special form."""


NO_FACTS = Facts()
