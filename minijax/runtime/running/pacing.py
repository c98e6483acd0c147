"""A limit on how far the host runs ahead of programs over several CPU devices.

XLA's CPU client has about as many threads as devices. In these threads, shards of one
program wait for each other, and a start waits while 32 programs are in progress on its
device. If the host keeps starting programs, no thread is left for the shards that all
others wait for: XLA gives up after a minute and ends the process. More threads would also
work, but waking them makes each start take 1.5 times as long.

So starts are counted, and at every tenth one the host waits for those of the ten before (of
fewer, if it has many threads). It waits for a marker: an empty program on two of the
devices. This works because XLA runs a client's multi-device programs one after another, in
the order of their starts. Calls on the C++ fast path are counted as well, without Python
code: the tree of a program's result has an extra root node, and C++ calls its unflatten
function for each result.

Next: ../sharding/partitioned_placement.py.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any

from jaxlib.mlir import ir

from ...base import tree
from ..backends import jaxlib_compat as compat
from ..lowering.mlir_context import context
from .compile import compile_module

_MOST = 10  # starts between two markers
_LIMIT = 31  # upper limit of two such spans plus one start per thread

_MARKER = """
module @marker attributes {mhlo.num_partitions = 2 : i32} {
  func.func public @main() -> tensor<i32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    return %zero : tensor<i32>
  }
}
"""


class Pace:
    """Counter of a client's starts of programs over several devices.

    count: increments and returns the number of starts.
    next_wait: the number of the start at which the host waits.
    """

    __slots__ = ("_devices", "_latest", "_lock", "_marker", "count", "next_wait")

    def __init__(self, devices: Sequence[Any]) -> None:
        self.count = itertools.count(1).__next__  # one C call, so atomic among threads
        self.next_wait = _MOST
        self._devices = tuple(devices[:2])
        self._lock = threading.Lock()
        self._marker: Any = None
        self._latest: Any = None

    def wait(self) -> None:
        """Wait for the programs started before the latest marker, and start another marker.

        Other threads that start programs meanwhile wait on the same lock.
        """
        with self._lock:
            reached = self.count()
            if reached < self.next_wait:
                return
            before, self._latest = self._latest, None
            if before is not None:
                with contextlib.suppress(compat.RuntimeFailure):  # of the marker itself
                    before.block_until_ready()
            if self._marker is None:
                with context.ir, context.unknown:
                    module = ir.Module.parse(_MARKER)
                self._marker = compile_module(
                    module, self._devices, partitions=2, has_locations=False
                )
            results = self._marker.execute_sharded([], with_tokens=True)
            self._latest = results.consume_token()
            span = (_LIMIT - threading.active_count()) // 2
            self.next_wait = reached + max(1, min(_MOST, span))


_paces: dict[Any, Pace] = {}


def pace_of(devices: Sequence[Any]) -> Pace | None:
    """Return the `Pace` of programs over these devices, or None if they need none."""
    client = devices[0].client
    if len(devices) == 1 or client.platform != "cpu" or compat.is_compile_only(client):
        return None
    pace = _paces.get(client)
    if pace is None:
        local_devices = client.local_devices()
        if len(local_devices) == 1:
            return None
        pace = _paces.setdefault(client, Pace(local_devices))
    return pace


def paced(start: Callable[..., Any], pace: Pace) -> Callable[..., Any]:
    """Return a function that starts a program and counts the start."""

    def counted(buffers: Any, **how: Any) -> Any:
        results = start(buffers, **how)
        if pace.count() >= pace.next_wait:
            pace.wait()
        return results

    return counted


class Counted:
    """Pytree node around a program's result: C++ calls `_unflatten_counted` for each one."""

    __slots__ = ("pace", "result")

    def __init__(self, result: Any, pace: Pace) -> None:
        self.result = result
        self.pace = pace


def _unflatten_counted(pace: Pace, children: Sequence[Any]) -> Any:
    if pace.count() >= pace.next_wait:
        pace.wait()
    (result,) = children
    return result


tree.DISPATCH.register_node(Counted, lambda x: ((x.result,), x.pace), _unflatten_counted)


def result_tree(result: Any, pace: Pace | None) -> Any:
    """Return the tree structure with which C++ builds a program's result."""
    return tree.DISPATCH.flatten(result if pace is None else Counted(result, pace))[1]
