"""`sparsify`: functions written for dense arrays, applied to sparse ones.

Next: methods.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...base import tree
from ...base.source import wraps
from ...control.arguments import as_value
from ...control.flat import FlatCall
from ...ir.jaxpr import eval_jaxpr
from ...passes.stage import stage_closed
from . import rules as rules
from .tracing import applied, is_sparse, type_of

__all__ = ("sparsify",)


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """Return a function of dense arrays that also accepts sparse arrays.

    Args:
      f: a function of arrays and pytrees of them.
      use_tracer: whether `f` is run on tracers of sparse arrays in each call, so that dense
        arguments stay concrete.  Otherwise `f` is traced, and its jaxpr is applied to
        sparse arrays.

    Returns:
      A function of the same arguments, which may include BCOO and BCSR arrays; its results
      are sparse where the operations of `f` preserve sparsity.

    Raises:
      NotImplementedError: an operation of `f` cannot be applied to sparse arrays because
        its result would be dense.

    Example:
      >>> import minijax.numpy as jnp
      >>> from minijax.experimental import sparse
      >>> m = sparse.BCOO.fromdense(jnp.array([[0., 2.], [3., 0.]]))
      >>> sparsify(lambda m, v: 2 * m.T @ v)(m, jnp.ones(2))
      Array([6., 4.], dtype=float32)
    """

    @wraps(f, about="{fun}, which also accepts sparse arrays.")
    def sparsified(*args: Any, **kwargs: Any) -> Any:
        values, in_tree = tree.flatten((args, kwargs), is_leaf=is_sparse)
        flat = FlatCall(f, in_tree, "sparsify")
        run: Callable[..., Any] = flat
        if not use_tracer:
            closed = stage_closed(flat, [type_of(x) for x in values], text="sparsify")
            run = functools.partial(eval_jaxpr, closed.jaxpr, closed.consts)
        return flat.result(x if is_sparse(x) else as_value(x) for x in applied(run, values))

    return sparsified
