"""The log of minijax: the logger `minijax` of Python's `logging`.

Next: config.py, with options that log more.
"""

from __future__ import annotations

import logging
from typing import Any

logger = logging.getLogger("minijax")


def heard(as_warning: Any) -> bool:
    """Whether the logger emits what `log_line` logs."""
    return logger.isEnabledFor(logging.WARNING if as_warning else logging.DEBUG)


def log_line(as_warning: Any, text: str, *args: Any) -> None:
    """Log a line: as a warning if an option requests it, otherwise for debugging."""
    if heard(as_warning):
        logger.log(logging.WARNING if as_warning else logging.DEBUG, text, *args)
