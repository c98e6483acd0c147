"""`dce_sink`: keeps a value in a program although it is never read.

Next: ../callbacks/debugging.py.
"""

from __future__ import annotations

from typing import Any

from ...base import tree
from ...ir.core import Primitive
from ...ir.facts import READS, Facts
from ..arguments import check_values
from .effects import Effect


class _NoDCEEffect(Effect):
    """The effect that keeps an equation; it leaves no trace in a compiled program."""

    __slots__ = ()
    runs = False


_EFFECTS = frozenset((_NoDCEEffect("NoDCE", ordered=False, is_once_per_call=False),))

dce_sink_p = Primitive("dce_sink", multiple_results=True)
dce_sink_p.abstract = lambda x, **params: []
dce_sink_p.effects = lambda params: _EFFECTS
dce_sink_p.impl = lambda x, **params: []
dce_sink_p.jvp = lambda primals, tangents, **params: (dce_sink_p.bind(*primals, **params), [])
dce_sink_p.transpose = lambda cts, x, **params: [None]
dce_sink_p.batch = lambda axis, args, dims, **params: (dce_sink_p.bind(*args, **params), [])


def _lower(ctx: Any, x: Any, *, prevent_mlir_dce: bool) -> list[Any]:
    if prevent_mlir_dce:
        ctx.create(
            "stablehlo.custom_call",
            [],
            [x],
            call_target_name=ctx.string("dce_sink"),
            has_side_effect=ctx.parse("true"),
            api_version=ctx.i32(4),
            backend_config=ctx.parse("{}"),
        )
    return []


dce_sink_p.lower = _lower
dce_sink_p.facts = Facts(uses_keys=READS, lowers_key_arrays=True)


def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Keep a value in jaxprs: dead code elimination does not remove it.

    The compiler still removes unused values in the end.

    Args:
      val: a pytree of arrays.
      prevent_mlir_dce: also keep it in the program that is passed to the compiler.

    Returns:
      None.

    Example:
      >>> import minijax as mj
      >>> f = lambda x: (mj.lax.dce_sink(mj.lax.sin(x)), x)[1]
      >>> [str(eqn.primitive) for eqn in mj.make_jaxpr(f)(1.).eqns]
      ['sin', 'dce_sink']
    """
    leaves = tree.leaves(val)
    check_values(leaves, "dce_sink")
    for x in leaves:
        dce_sink_p.bind(x, prevent_mlir_dce=prevent_mlir_dce)
