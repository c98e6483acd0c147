"""What goes wrong in callbacks of programs over several devices.

Where one device stops, the others wait for it in the next collective for ever, and XLA
ends the process.  So no callback stops such a program: once one has failed, it and those
that follow answer with zeros, and the call that started the program, which waits for it,
raises instead of returning.

Next: dispatch.py, whose programs are watched so.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..backends import jaxlib_compat as compat


class Failures:
    """The failures of one program's callbacks, by the runs that are under way."""

    __slots__ = ("runs",)

    def __init__(self) -> None:
        # Which run a callback belongs to is not known to it: all that are there fail.
        self.runs: dict[int, list[BaseException]] = {}

    def caught(self, call: Callable[..., Any], avals: Sequence[Any]) -> Any:
        """A callback that notes its failures, and returns zeros of the types `avals`."""

        def run(*values: Any) -> Any:
            runs = list(self.runs.values())
            failure = next((failed[0] for failed in runs if failed), None)
            if failure is None:
                try:
                    return call(*values)
                except BaseException as e:
                    failure = e
            for failed in runs:
                failed.append(failure)
            return tuple(a and np.zeros(a.shape, a.dtype) for a in avals)

        return run

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Within, a program is run and waited for; its failure is raised at the end."""
        failed: list[BaseException] = []
        self.runs[id(failed)] = failed
        try:
            yield
        finally:
            del self.runs[id(failed)]
        if failed:
            text = "".join(traceback.format_exception(failed[0]))
            raise compat.RuntimeFailure(f"INTERNAL: a callback raised: {text}")
