"""The log of what minijax does: the logger `minijax`, of Python's `logging`.

Next: config.py, whose options ask for more of it.
"""

from __future__ import annotations

import logging
from typing import Any

logger = logging.getLogger("minijax")


def heard(as_warning: Any) -> bool:
    """Whether anybody would read what `log_line` logs."""
    return logger.isEnabledFor(logging.WARNING if as_warning else logging.DEBUG)


def log_line(as_warning: Any, text: str, *args: Any) -> None:
    """Log a line: a warning if an option asks for it, else for debugging."""
    if heard(as_warning):
        logger.log(logging.WARNING if as_warning else logging.DEBUG, text, *args)
