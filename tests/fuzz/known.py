"""Differences that are not minijax's fault: JAX 0.10.2 is wrong, or nothing is right.

Each entry has a reason, and says which findings it is about: by the kind of difference,
a pattern of the smallest script's text, and a pattern of what differs.
"""

import re
from typing import NamedTuple


class Known(NamedTuple):
    reason: str
    kinds: str  # of difference, by words
    text: str  # a regular expression that the program's text has
    detail: str = ""  # one that the difference has


KNOWN = [
    Known(
        "a name that JAX has not", "error class", "", r"module 'jax\S* has no attribute"
    ),
]


def reason_for(text: str, kind: str, detail: str) -> str | None:
    """Why a difference is no finding, or None."""
    for known in KNOWN:
        about = kind in known.kinds.split() and re.search(known.text, text)
        if about and re.search(known.detail, detail):
            return known.reason
    return None
