"""The public module `minijax.experimental.sparse.api`."""

from ...surface.sparse.api import empty as empty
from ...surface.sparse.api import eye as eye
from ...surface.sparse.api import todense as todense
from ...surface.sparse.api import todense_p as todense_p

__all__ = [
    "empty", "eye", "todense", "todense_p"
]
