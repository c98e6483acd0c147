"""Errors in callbacks of programs over several devices.

If one device stopped, the others would wait for it forever in the next collective, and XLA
would end the process. So a failing callback does not stop such a program: it and all later
ones return zeros. The call that started the program waits for it and then raises the error.

Next: ../running/program.py, which uses `Failures.watched`.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends import jaxlib_compat as compat

if TYPE_CHECKING:
    from ...types.aliases import Aval


class Failures:
    """The failures of one program's callbacks, by the runs in progress."""

    __slots__ = ("runs",)

    def __init__(self) -> None:
        # A callback cannot tell which run it belongs to, so all runs in progress fail.
        self.runs: dict[int, list[BaseException]] = {}

    def caught(
        self, call: Callable[..., Any], avals: Sequence[Aval | None]
    ) -> Callable[..., Any]:
        """Return a callback that records its failure and then returns zeros of types
        `avals`."""

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
        """Context in which a program is run and waited for; raise its failure at the end."""
        failed: list[BaseException] = []
        self.runs[id(failed)] = failed
        try:
            yield
        finally:
            del self.runs[id(failed)]
        if failed:
            text = "".join(traceback.format_exception(failed[0]))
            raise compat.RuntimeFailure(f"INTERNAL: a callback raised: {text}")
