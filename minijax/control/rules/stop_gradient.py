"""`stop_gradient`: the identity, through which no derivative goes."""

from __future__ import annotations

from typing import Any

from ...base import tree
from ...ir import core
from ...ir.core import Primitive, Tracer
from ...passes.algebra import Zero
from ...types import dtypes
from ..arguments import check_values

stop_gradient_p = Primitive("stop_gradient")
stop_gradient_p.takes_keys = True
stop_gradient_p.abstract = lambda x: x
stop_gradient_p.jvp = lambda primals, tangents: (
    stop_gradient_p.bind(*primals),
    Zero(core.aval_of(primals[0]).to_tangent()),
)
stop_gradient_p.batch = lambda axis, args, dims: (stop_gradient_p.bind(*args), dims[0])
stop_gradient_p.lower = lambda ctx, x: x
stop_gradient_p.impl = lambda x: x
stop_gradient_p.makes_nans = False


def stop_gradient(x: Any) -> Any:
    r"""The identity, whose derivative is zero.

    >>> import minijax as mj
    >>> mj.grad(lambda x: x * mj.lax.stop_gradient(x))(3.)
    Array(3., dtype=float32, weak_type=True)
    """

    def stop(v: Any) -> Any:
        if isinstance(v, Tracer):
            return v if dtypes.is_extended(v.dtype) else stop_gradient_p.bind(v)
        check_values([v], "stop_gradient")
        return v

    return tree.map(stop, x)
