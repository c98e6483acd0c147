"""A limit on how far the host runs ahead of programs over several CPU devices.

XLA's CPU client has about as many threads as devices, and runs its multi-device programs one
after another, in the order of their starts. The shards of a program need all these threads
at once, since they wait for each other. But a start needs them too, and with 32 programs in
progress on a device, it keeps its thread until one of them ends. Then a shard that all
others wait for may find no thread: XLA gives up after a minute and ends the process. More
threads would also work, but waking them makes each start take 1.5 times as long.

So no more than 32 programs are ever in progress, counted in three parts:

- Starts are counted, and at every tenth one the host waits for those of the ten before:
  20 programs. It waits for a marker, an empty program on two of the devices: one more.
  Calls on the C++ fast path are counted without Python code: the tree of a program's
  result has an extra root node, and C++ calls its unflatten function for each result.
- A start is counted when it has happened, so each thread may be ahead of the count by one.
  Only eight threads start programs freely, also in C++: 8 programs.
- Calls of all other threads reach Python, since they lack the value that these eight have in
  C++'s key. There a start holds a lock: one program.

Next: program.py.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jaxlib import _jax
from jaxlib.mlir import ir

from ...base import tree
from ..backends import jaxlib_compat as compat
from ..lowering.mlir_context import context
from .compile import compile_module

if TYPE_CHECKING:
    from ...base.tree import PyTreeDef
    from ...types.aliases import PyTree
    from ..backends.jaxlib_types import Buffer, Device, Executable

_SPAN = 10  # starts between two markers
_MOST_THREADS = 8  # threads that may start programs freely

# Whether the thread may start programs in C++.
_CPP_STARTS = _jax.config.Config("minijax:cpp_starts", False, include_in_jit_key=True)
_cpp_threads: list[threading.Thread] = []

# Held by waits, and by starts of other threads. Reentrant: a finalizer may start a program.
_lock = threading.RLock()

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

    __slots__ = ("_devices", "_latest", "_marker", "count", "next_wait")

    def __init__(self, devices: Sequence[Device]) -> None:
        self.count = itertools.count(1).__next__  # one C call, so atomic among threads
        self.next_wait = _SPAN
        self._devices = tuple(devices[:2])
        self._marker: Executable | Any = None
        self._latest: Buffer | None = None

    def wait(self, count: int) -> None:
        """Wait until start number `count` is within the limit.

        Other threads that start programs meanwhile wait on the same lock.
        """
        with _lock:
            while count >= self.next_wait:
                self._wait_and_mark()

    def _wait_and_mark(self) -> None:
        """Wait for the programs started before the latest marker, and start another one."""
        if self._latest is not None:
            with contextlib.suppress(compat.RuntimeFailure):  # of the marker itself
                self._latest.block_until_ready()
        if self._marker is None:
            with context.ir, context.unknown:
                module = ir.Module.parse(_MARKER)
            self._marker = compile_module(
                module, self._devices, partitions=2, has_locations=False
            )
        results = self._marker.execute_sharded([], with_tokens=True)
        self._latest = results.consume_token()
        self.next_wait += _SPAN


_paces: dict[Any, Pace] = {}


def pace_of(devices: Sequence[Device]) -> Pace | None:
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


def starts_in_cpp() -> bool:
    """Whether this thread may start programs over several CPU devices in C++.

    If not at the beginning of a call, C++ must not keep the program, not even if the call
    itself gives the thread this right: under the call's key, other threads would find it.
    """
    return _CPP_STARTS.value  # type: ignore[no-any-return]


def _request_cpp_starts() -> None:
    """Let this thread start programs in C++, unless enough others do."""
    _cpp_threads[:] = [thread for thread in _cpp_threads if thread.is_alive()]
    thread = threading.current_thread()
    # Python cannot tell when a thread ends that it has not started.
    is_foreign = isinstance(thread, threading._DummyThread)
    if len(_cpp_threads) < _MOST_THREADS and not is_foreign:
        _cpp_threads.append(thread)
        _CPP_STARTS.set_local(True)


def paced(start: Callable[..., Any], pace: Pace) -> Callable[..., Any]:
    """Return a function that starts a program and counts the start."""

    def start_and_count(buffers: Any, how: dict[str, Any]) -> Any:
        results = start(buffers, **how)
        if (count := pace.count()) >= pace.next_wait:
            pace.wait(count)
        return results

    def counted(buffers: Any, **how: Any) -> Any:
        if _CPP_STARTS.value:
            return start_and_count(buffers, how)
        with _lock:
            _request_cpp_starts()
            return start_and_count(buffers, how)

    return counted


class Counted:
    """Pytree node around a program's result: C++ calls `_unflatten_counted` for each one."""

    __slots__ = ("pace", "result")

    def __init__(self, result: PyTree, pace: Pace) -> None:
        self.result = result
        self.pace = pace


def _unflatten_counted(pace: Pace, children: Sequence[Any]) -> Any:
    if (count := pace.count()) >= pace.next_wait:
        pace.wait(count)
    (result,) = children
    return result


tree.DISPATCH.register_node(Counted, lambda x: ((x.result,), x.pace), _unflatten_counted)


def result_tree(result: PyTree, pace: Pace | None) -> PyTreeDef:
    """Return the tree structure with which C++ builds a program's result."""
    return tree.DISPATCH.flatten(result if pace is None else Counted(result, pace))[1]
