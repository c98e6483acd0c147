"""`dim_as_value`: the value of a symbolic dimension, as an operation."""

from __future__ import annotations

from typing import Any

from ..base import errors
from ..ir import hooks
from ..ir.core import Primitive, register_aval
from ..symbolic.dims import SymbolicDim
from ..types.avals import scalar_aval
from .elementwise import zero_jvp

dim_as_value_p = Primitive("dim_as_value")
dim_as_value_p.abstract = lambda *, dim: scalar_aval(int)
zero_jvp(dim_as_value_p)


def _evaluate(*, dim: Any) -> Any:
    raise errors.error(
        NotImplementedError,
        "Evaluation rule for 'dim_as_value' is not implemented. It seems that you are using"
        " shape polymorphism outside jax.export.",
        which=str(dim),
        why="Its value is known only when the exported program is called.",
        tries=["export(jit(f))(...)"],
    )


dim_as_value_p.impl = _evaluate
dim_as_value_p.lower = lambda ctx, *, dim: ctx.size(dim, ctx.avals_out[0])


@hooks.dimension_value.fill
def _value(dim: Any) -> Any:
    return dim_as_value_p.bind(dim=dim)


register_aval(SymbolicDim, lambda dim: scalar_aval(int))
