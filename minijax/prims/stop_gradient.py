"""`stop_gradient`: the identity, with zero derivatives."""

from __future__ import annotations

from typing import Any

from ..base import tree
from ..ir import core
from ..ir.core import Missing, Primitive, Tracer
from ..ir.facts import FORWARDS, Facts
from ..passes.ad_util import Zero
from ..types import dtypes
from .sharding_specs import first_operand_specs

# discarded: the result is never used, as in lanes that do not take a branch.  Only then
# is its cotangent zero; for a tangent that is used, jvp and transpose would disagree.
stop_gradient_p = Primitive("stop_gradient")
stop_gradient_p.def_sharding(specs=first_operand_specs)
stop_gradient_p.abstract = lambda x, **_: x
stop_gradient_p.jvp = lambda primals, tangents, **params: (
    stop_gradient_p.bind(*primals, **params),
    Zero(core.aval_of(primals[0]).to_tangent()),
)


def stop_gradient_transpose(ct: Any, x: Any, *, discarded: bool = False) -> list[Any]:
    if not discarded:
        Missing("Transpose rule (for reverse-mode differentiation)", "stop_gradient")()
    return [Zero(x.aval)]


stop_gradient_p.transpose = stop_gradient_transpose
stop_gradient_p.batch = lambda axis, args, dims, **params: (
    stop_gradient_p.bind(*args, **params),
    dims[0],
)
stop_gradient_p.lower = lambda ctx, x, **_: x
stop_gradient_p.impl = lambda x, **_: x
stop_gradient_p.facts = Facts(
    elementwise=True,
    makes_no_nans=True,
    keeps_nans=True,
    uses_keys=FORWARDS,
    lowers_key_arrays=True,
    pretty={"discarded": True},
)


def stop_gradient(x: Any) -> Any:
    r"""Return the argument, with a derivative of zero.

    Args:
      x: a pytree of arrays or numbers.

    Returns:
      `x`, unchanged.

    Example:
      >>> import minijax as mj
      >>> mj.grad(lambda x: x * mj.lax.stop_gradient(x))(3.)
      Array(3., dtype=float32, weak_type=True)
    """

    def stop(v: Any) -> Any:
        if isinstance(v, Tracer):
            return v if dtypes.is_extended(v.dtype) else stop_gradient_p.bind(v)
        core.aval_of(v)  # raises for values of other types
        return v

    return tree.map(stop, x)
