"""`checkify`: functionalized checks, with an `Error` among a function's results.

The function is staged, and its jaxpr is run by checkify_transform.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base import tree
from ...base.source import wraps
from ..arguments import as_value
from ..flat import FlatFun
from . import checkify_errors
from .checkify_errors import (
    DivisionByZeroError,
    Error,
    FailedCheckError,
    JaxException,
    NaNError,
    OOBError,
)
from .checkify_transform import Enabled, run_checked

ErrorCategory = type[JaxException]

user_checks: Enabled = frozenset((FailedCheckError,))
nan_checks: Enabled = frozenset((NaNError,))
index_checks: Enabled = frozenset((OOBError,))
div_checks: Enabled = frozenset((DivisionByZeroError,))
float_checks: Enabled = nan_checks | div_checks
automatic_checks: Enabled = float_checks | index_checks
all_checks: Enabled = automatic_checks | user_checks


def checkify(
    f: Callable[..., Any], errors: frozenset[ErrorCategory] = user_checks
) -> Callable[..., tuple[Error, Any]]:
    """Return a function that also returns an `Error`, for use under `jit`.

    Args:
      f: a function, in which `check` may be called.
      errors: what to check: `user_checks` (default), `nan_checks`, `div_checks`,
        `index_checks`, their unions `float_checks`, `automatic_checks`, `all_checks`.

    Returns:
      A function from `f`'s arguments to (error, result).  `error.get()` is the message
      of the first failure or None, `error.throw()` raises it.  After a failure the
      result is meaningless.

    Raises:
      TypeError: a result of `f` is not an array.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> from minijax.experimental import checkify as ck
      >>> def f(x):
      ...     ck.check(x > 0, "{x} is not positive", x=x)
      ...     return jnp.log(x)
      >>> error, _ = mj.jit(ck.checkify(f))(-1.)
      >>> error.get()
      '-1.0 is not positive (`check` failed)'
    """
    if not callable(f):
        raise TypeError(f"Expected a callable value, got {f!r}.")
    enabled = frozenset(errors)

    @wraps(f)
    def checked_fun(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        flat = FlatFun(lambda: f(*args, **kwargs), tree.structure(()), "checkify", f)
        jaxpr, consts = flat.stage([])
        error, outs = run_checked(enabled, jaxpr, consts, ())
        error = error or checkify_errors.init_error
        return tree.map(as_value, error), flat.result(outs)

    return checked_fun
