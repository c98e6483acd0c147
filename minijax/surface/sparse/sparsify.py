"""`sparsify`: functions that are written for dense arrays, of sparse ones.

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
    """A function of dense arrays as one that takes sparse ones, too.

    Args:
      f: a function of arrays and pytrees of them.
      use_tracer: whether `f` is run each time on values that stand for sparse arrays,
        so that dense arguments keep their numbers; else it is traced, and its program
        applied to sparse arrays.

    Returns:
      A function of the same arguments, among which may be BCOO and BCSR arrays; its
      results are sparse where the operations of `f` can keep them so.

    Raises:
      NotImplementedError: an operation of `f` cannot be applied to sparse arrays, since
        its result would be dense.

    Example:
      >>> import minijax.numpy as jnp
      >>> from minijax.experimental import sparse
      >>> m = sparse.BCOO.fromdense(jnp.array([[0., 2.], [3., 0.]]))
      >>> sparsify(lambda m, v: 2 * m.T @ v)(m, jnp.ones(2))
      Array([6., 4.], dtype=float32)
    """

    @wraps(f, about="{fun}, which takes sparse arrays, too.")
    def sparsified(*args: Any, **kwargs: Any) -> Any:
        values, in_tree = tree.flatten((args, kwargs), is_leaf=is_sparse)
        flat = FlatCall(f, in_tree, "sparsify")
        run: Callable[..., Any] = flat
        if not use_tracer:
            closed = stage_closed(flat, [type_of(x) for x in values], text="sparsify")
            run = functools.partial(eval_jaxpr, closed.jaxpr, closed.consts)
        return flat.result(x if is_sparse(x) else as_value(x) for x in applied(run, values))

    return sparsified
