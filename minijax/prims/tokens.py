"""Tokens: values without data that order the effects of programs.

`create_token` makes a token.  `after_all` makes one that follows all its operands.
"""

from __future__ import annotations

from typing import Any

from ..base import errors
from ..ir.core import Primitive, aval_of
from ..runtime.arrays.tokens import Token, is_token
from ..types.avals import abstract_token

__all__ = ("after_all", "after_all_p", "create_token", "create_token_p")

create_token_p = Primitive("create_token")
create_token_p.abstract = lambda: abstract_token
create_token_p.impl = lambda: Token()
create_token_p.lower = lambda ctx: (
    ctx.create("stablehlo.create_token", [ctx.type(abstract_token)], []).result
)


def create_token(_: Any = None) -> Any:
    """Make a token that is not ordered after any other.

    Returns:
      A token.

    Example:
      >>> import minijax as mj
      >>> mj.typeof(create_token())
      AbstractToken()
    """
    return create_token_p.bind()


after_all_p = Primitive("after_all")


def _after_type(*tokens: Any) -> Any:
    if not all(map(is_token, tokens)):
        raise errors.type_error(
            "Arguments to after_all must be tokens",
            which=", ".join(a.str_short(True) for a in tokens),
            tries=["lax.create_token()"],
        )
    return abstract_token


def _after_now(*tokens: Any) -> Any:
    _after_type(*map(aval_of, tokens))
    return Token()


def _after_batch(axis: Any, args: Any, dims: Any) -> Any:
    return after_all_p.bind(*args), None


after_all_p.abstract = _after_type
after_all_p.impl = _after_now
after_all_p.batch = _after_batch
after_all_p.lower = lambda ctx, *tokens: (
    ctx.create("stablehlo.after_all", [ctx.type(abstract_token)], list(tokens)).result
)


def after_all(*operands: Any) -> Any:
    """Return a token that follows all operands.

    Args:
      operands: tokens.

    Returns:
      A token.

    Raises:
      TypeError: an operand is not a token.

    Example:
      >>> import minijax as mj
      >>> mj.typeof(after_all(create_token(), create_token()))
      AbstractToken()
    """
    return after_all_p.bind(*operands)
