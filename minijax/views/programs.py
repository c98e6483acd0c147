"""Programs made by hand, under JAX's names.  Next: traces.py."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Any

import ml_dtypes
import numpy as np

from ..ir.core import Primitive
from ..ir.jaxpr import Equation, EquationContext, SourceInfo, Var
from ..runtime.array import Array
from ..types import dtypes

Effects = Set
Value = Any
ParamDict = dict[str, Any]
# The types of values that are arrays, ours and NumPy's.
array_types = {
    Array, np.ndarray, *(d.type for d in (
        dtypes.bool_, dtypes.float16, dtypes.float32, dtypes.float64, dtypes.complex64,
        dtypes.complex128, *dtypes.SIGNED, *dtypes.UNSIGNED)),
    ml_dtypes.bfloat16, *(d.type for d in dtypes.SMALL_FLOATS),
}  # fmt: skip


class Token:
    """A value that orders effects; it holds a buffer, to be waited for."""

    __slots__ = ("_buf",)

    def __init__(self, buf: Any) -> None:
        self._buf = buf

    def block_until_ready(self) -> Token:
        """Wait for what made it."""
        self._buf.block_until_ready()
        return self


def new_jaxpr_eqn(
    invars: Sequence[Any], outvars: Sequence[Var], primitive: Primitive,
    params: dict[str, Any], effects: Iterable[Any] = (),
    source_info: SourceInfo | None = None, ctx: EquationContext | None = None,
) -> Equation:  # fmt: skip
    """An equation.

    Args:
      invars: what it reads, variables and literals.
      outvars: its results.
      primitive: the operation.
      params: what it is told besides.
      effects, ctx: those of the operation, whatever is given.
      source_info: where it was written.
    """
    place, names = source_info or (None, "")
    return Equation(primitive, list(invars), list(outvars), params, place, str(names))
