"""The log of what minijax does: the logger `minijax`, of Python's `logging`.

Next: config.py, whose options ask for more of it.
"""

from __future__ import annotations

import logging
from typing import Any

logger = logging.getLogger("minijax")


def heard(asked: Any) -> bool:
    """Whether anybody would read what `log_line` logs."""
    return logger.isEnabledFor(logging.WARNING if asked else logging.DEBUG)


def log_line(asked: Any, text: str, *args: Any) -> None:
    """Log a line: a warning if an option asks for it, else for debugging."""
    if heard(asked):
        logger.log(logging.WARNING if asked else logging.DEBUG, text, *args)
