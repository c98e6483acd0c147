"""Names for parts of a program; evaluation at trace time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ..base import config, errors
from ..base.source import name_of, wraps
from ..ir import core
from ..passes.stage import StageTrace


class named_scope:
    """Name the operations of a block (or function) in profiles and HLO.

    >>> import minijax as mj
    >>> with mj.named_scope('layer1'):
    ...     y = mj.numpy.sin(1.)
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise errors.type_error(
                "named_scope name argument must be a string.", which=repr(name)
            )
        self.name = name

    def __enter__(self) -> None:
        self._scope = core.name_scope(self.name)
        self._scope.__enter__()

    def __exit__(self, *exc: object) -> None:
        self._scope.__exit__(*exc)

    def __call__(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(fun)
        def scoped(*args: Any, **kwargs: Any) -> Any:
            before = core.STATE.names
            try:  # inline: an interrupt between two calls could leave the name set
                core.STATE.names = f"{before}/{self.name}" if before else self.name
                return fun(*args, **kwargs)
            finally:
                core.STATE.names = before

        return scoped


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """Make a function whose operations are named after it, in profiles and HLO.

    Args:
      fun: the function.
      name: a string; None: the function's own name.

    Returns:
      A function with `fun`'s arguments and result.

    Raises:
      TypeError: `name` is not a string.

    Example:
      >>> import minijax as mj
      >>> mj.named_call(lambda x: x + 1, name='inc')(1)
      2
    """
    return named_scope(name or name_of(fun))(fun)


@contextlib.contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """Evaluate a block's operations immediately, if possible, even while tracing.

    Operations on traced values become part of the program, as outside the block.

    Returns:
      A context manager, or a decorator of functions.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> @mj.jit
      ... def f(x):
      ...     with mj.ensure_compile_time_eval():
      ...         n = jnp.arange(4).sum()  # an array, here and now
      ...         return x * int(n)
      >>> f(2.)
      Array(12., dtype=float32, weak_type=True)
    """
    traces = [t for t in core.trace_stack() if isinstance(t, StageTrace)]
    before = [t.folds for t in traces]
    with config.FOLDING(True):
        for t in traces:
            t.folds = True
        try:
            yield
        finally:
            for t, folds in zip(traces, before, strict=True):
                t.folds = folds
