"""`set_xla_metadata`: frontend attributes of single operations.

Next: scopes.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..base import config, tree
from ..base.source import wraps
from ..ir.core import STATE, Primitive
from ..prims.elementwise import batch_elementwise, linear_in_first
from ..runtime.lowering import frontend_attributes

if TYPE_CHECKING:
    from ..runtime.lowering.context import Lowering
    from ..types.aliases import MlirValue, PyTree

__all__ = ("set_xla_metadata", "xla_metadata_value_p")

xla_metadata_value_p = Primitive("xla_metadata_value")
xla_metadata_value_p.abstract = lambda x, *, xla_metadata_kvs: x
linear_in_first(xla_metadata_value_p, lambda ct, x, **_: [ct])
batch_elementwise(xla_metadata_value_p)


def _lower(ctx: Lowering, x: MlirValue, *, xla_metadata_kvs: Any) -> MlirValue:
    # A rule that reads `module` is called for each equation, not replayed from a recording:
    # a recording does not know which operation produced its operand.
    _ = ctx.module
    if "operands" in dir(x.owner):  # an operation; otherwise an argument of the program
        attributes = {
            key: frontend_attributes.as_text(value) for key, value in xla_metadata_kvs
        }
        frontend_attributes.tag(x.owner, attributes)  # type: ignore[arg-type]
    return x


xla_metadata_value_p.lower = _lower


class _MetadataScope:
    """A context that adds frontend attributes to the operations of a block or function."""

    def __init__(self, updates: dict[str, Any]) -> None:
        self.updates = updates
        self.before: list[tuple[Any, str]] = []

    def __enter__(self) -> None:
        now = frontend_attributes.attributes_in_name_stack(config.METADATA.value) or {}
        now |= {
            k: frontend_attributes.as_text(v) for k, v in self.updates.items() if v is not None
        }
        for key, value in self.updates.items():
            if value is None:
                now.pop(key, None)
        scope = frontend_attributes.scope_of(dict(sorted(now.items())))
        names = STATE.names
        self.before.append((config.METADATA.swap(scope), names))
        STATE.names = f"{names}/{scope}" if names else scope

    def __exit__(self, *exc: Any) -> None:
        option, STATE.names = self.before.pop()
        config.METADATA.swap_back(option)

    def __call__(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        return _WithMetadata(fun, self.updates)


class _WithMetadata:
    """A function, with its methods, whose operations get frontend attributes."""

    def __init__(self, fun: Callable[..., Any], updates: dict[str, Any]) -> None:
        functools.update_wrapper(self, fun, updated=())
        self._fun, self._updates = fun, updates

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with _MetadataScope(self._updates):
            return self._fun(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._fun, name)
        if not callable(value):
            return value

        @wraps(value)
        def with_metadata(*args: Any, **kwargs: Any) -> Any:
            with _MetadataScope(self._updates):
                return value(*args, **kwargs)

        return with_metadata


def set_xla_metadata(x: PyTree = None, **kwargs: object) -> PyTree:
    """Attach frontend attributes to operations, for XLA and for tools that read its HLO.

    Args:
      x: a pytree of arrays: the attributes go to the operations that produce them.  None:
        to the operations of a block or function.
      kwargs: the attributes, as strings; Booleans become 'true' and 'false'.  None removes
        an attribute of an outer block.

    Returns:
      The arrays; without `x`, a context manager, which is also a decorator.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> def f(x):
      ...     with set_xla_metadata(stage="head"):
      ...         return jnp.sin(x)
      >>> 'stage = "head"' in mj.jit(f).lower(1.).as_text()
      True
    """
    if x is None:
        return _MetadataScope(kwargs)
    kvs = tuple(sorted(kwargs.items()))
    return tree.map(lambda v: xla_metadata_value_p.bind(v, xla_metadata_kvs=kvs), x)
