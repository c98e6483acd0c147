"""How far the host runs ahead of programs over several of its CPU devices.

XLA's CPU client has about as many threads as devices.  Parts of one program wait for one
another in them; and so does the start of a part, where 32 programs are under way on its
device.  A host that runs on starts until no thread is left to the parts that all others
wait for: XLA gives up after a minute and ends the process.  More threads would do, too;
but waking them costs each start half as much again.

So starts are counted, and at every tenth one the host waits for those of the ten before
(of fewer, if it has many threads).  What it waits for is a marker: a program that does
nothing, on two of the devices, since XLA runs the programs over several devices of a
client one after another, in the order of their starts.  C++ counts, too, without asking:
the tree of what a program returns has a node around it, which is counted as it is taken
off.

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

_MOST = 10  # starts from one marker to the next
_LIMIT = 31  # what two such spans, and a start of each thread, are to stay below

_MARKER = """
module @marker attributes {mhlo.num_partitions = 2 : i32} {
  func.func public @main() -> tensor<i32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    return %zero : tensor<i32>
  }
}
"""


class Pace:
    """The starts of a client's programs over several devices.

    count: how many there were.  due: at which one the host waits.
    """

    __slots__ = ("_devices", "_latest", "_lock", "_marker", "count", "next_wait")

    def __init__(self, devices: Sequence[Any]) -> None:
        self.count = itertools.count(1).__next__  # of all threads: nobody comes between
        self.next_wait = _MOST
        self._devices = tuple(devices[:2])
        self._lock = threading.Lock()
        self._marker: Any = None
        self._latest: Any = None

    def keep(self) -> None:
        """Wait for what was started before the latest marker, and start another.

        Threads that start meanwhile come here, too, and wait with the first.
        """
        with self._lock:
            reached = self.count()
            if reached < self.next_wait:
                return
            before, self._latest = self._latest, None
            if before is not None:
                with contextlib.suppress(compat.RuntimeFailure):  # nobody asked for it
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
    """What keeps the pace of programs over these devices, if any must."""
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
    """What starts a program, counted."""

    def counted(buffers: Any, **how: Any) -> Any:
        results = start(buffers, **how)
        if pace.count() >= pace.next_wait:
            pace.keep()
        return results

    return counted


class Counted:
    """A program's result as C++ is told of it."""

    __slots__ = ("pace", "result")

    def __init__(self, result: Any, pace: Pace) -> None:
        self.result = result
        self.pace = pace


def _take_off(pace: Pace, children: Sequence[Any]) -> Any:
    if pace.count() >= pace.next_wait:
        pace.keep()
    (result,) = children
    return result


tree.DISPATCH.register_node(Counted, lambda x: ((x.result,), x.pace), _take_off)


def result_tree(result: Any, pace: Pace | None) -> Any:
    """The tree by which C++ puts a program's result together."""
    return tree.DISPATCH.flatten(result if pace is None else Counted(result, pace))[1]
