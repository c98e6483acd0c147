"""Floor 6: primitives by family.

`minijax.ops` is also the name of a public module of JAX (`segment_sum` ..), whose
functions are made of these primitives, far above: `public` tells where, once the whole
package is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

public: Callable[[str], Any] | None = None


def __getattr__(name: str) -> Any:
    if public is None or name.startswith("_"):
        raise AttributeError(f"module 'minijax.ops' has no attribute {name!r}")
    return public(name)
