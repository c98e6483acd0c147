"""Tokens as values: they order the effects of programs.

As an argument or result of a program, a token is an array without elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...ir import core
from ...types.avals import AbstractToken, abstract_token

if TYPE_CHECKING:
    from ...types.aliases import Aval
    from ..backends.jaxlib_types import Buffer


class Token:
    """A value that depends on all effects before it was made.

    >>> Token().block_until_ready()
    """

    __slots__ = ("__weakref__", "_buf")

    def __init__(self, buf: Buffer | None = None) -> None:
        self._buf = np.zeros(0, bool) if buf is None else buf

    def block_until_ready(self) -> None:
        """Wait for those effects."""
        if not isinstance(self._buf, np.ndarray):
            self._buf.block_until_ready()


core.register_aval(Token, lambda x: abstract_token)


def is_token(aval: Aval) -> bool:
    """Whether an abstract value is the type of tokens."""
    return isinstance(aval, AbstractToken)
