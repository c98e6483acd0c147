"""Asynchronous checkpoints: arrays are stored in a thread while the program continues.

All processes agree when the whole checkpoint is on disk.
"""

from __future__ import annotations

import abc
import itertools
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..base import errors, log
from ..runtime.backends import client
from ..runtime.backends import jaxlib_compat as compat
from ..runtime.backends.cluster import state
from . import array_serialization
from .array_serialization import async_serialize, get_tensorstore_spec, run_deserialization

if TYPE_CHECKING:
    from ..runtime.arrays.array import Array

_names = itertools.count()  # numbers checkpoints in the same order in all processes


class BarrierTimeoutError(Exception):
    """Other processes did not store their shards in time."""


class AsyncManager:
    """Waits in a thread until the shards of all processes are on disk.

    Args:
      timeout_secs: for how long to wait for the other processes.
    """

    def __init__(self, timeout_secs: int = 300) -> None:
        self._timeout_secs = timeout_secs
        self._timeout_in_ms = timeout_secs * 1000
        self._commit_futures: Sequence[Any] | None = None
        self._thread: threading.Thread | None = None
        self._exception: BaseException | None = None
        if client.process_count() > 1 and state.client is None:
            raise errors.value_error(
                "Please initialize the distributed system via"
                " `jax.distributed.initialize()` at the start of your program."
            )

    def _thread_func(self, name: str, on_commit: Callable[[], None] | None) -> None:
        try:
            for future in self._commit_futures or ():
                future.result()
            if client.process_count() > 1:
                self._agree(name, on_commit)
            elif on_commit is not None:
                on_commit()
        except BaseException as e:
            self._exception = e

    def _agree(self, name: str, on_commit: Callable[[], None] | None) -> None:
        """Let process 0 finish the checkpoint after all processes stored their shards."""
        start = time.monotonic()
        try:
            state.client.wait_at_barrier(f"{name}/stored", self._timeout_in_ms)
            if client.backend().process_index() == 0:
                if on_commit is not None:
                    on_commit()
                state.key_value_set(f"{name}/committed", b"1")
        except compat.RuntimeFailure as e:
            if "DEADLINE_EXCEEDED" not in str(e):
                raise
            raise errors.error(
                BarrierTimeoutError,
                f"Suggestions for possible fixes: after {time.monotonic() - start:.0f}"
                " seconds not all processes have stored their shards.",
                tries=["timeout_secs=..., of more seconds", "check which process failed"],
            ) from e

    def _start_async_commit(self, on_commit_callback: Callable[[], None] | None) -> None:
        self._name = f"minijax/checkpoints/{next(_names)}"
        self._on_commit_callback = on_commit_callback
        self._thread = threading.Thread(
            target=self._thread_func, args=(self._name, on_commit_callback)
        )
        self._thread.start()

    def _add_futures(self, futures: Sequence[Any]) -> None:
        self._commit_futures = futures

    def check_for_errors(self) -> None:
        """Raise the error that occurred in the thread, if any.

        Returns:
          None, if there was no error.
        """
        failure, self._exception = self._exception, None
        if failure is not None:
            raise failure

    def wait_until_finished(self) -> None:
        """Wait until all processes have stored their shards.

        Returns:
          None.

        Raises:
          BarrierTimeoutError: a process did not store its shards in time.
        """
        if self._thread is None:
            return
        self._thread.join()
        self._thread = None
        self.check_for_errors()
        if client.process_count() > 1:
            state.blocking_key_value_get(f"{self._name}/committed")
        log.logger.debug("checkpoint %s is stored", self._name)


class GlobalAsyncCheckpointManagerBase(abc.ABC):
    """The interface of a manager that stores and reads arrays asynchronously."""

    @abc.abstractmethod
    def check_for_errors(self) -> None:
        """Raise the error of an unfinished or finished checkpoint, if any."""

    @abc.abstractmethod
    def wait_until_finished(self) -> None:
        """Wait until all arrays are stored."""

    @abc.abstractmethod
    def serialize(
        self,
        arrays: Sequence[Array],
        tensorstore_specs: Sequence[dict[str, Any]],
        *,
        on_commit_callback: Callable[[], None] | None = None,
    ) -> None:
        """Start storing arrays."""

    @abc.abstractmethod
    def deserialize(
        self,
        shardings: Sequence[Any],
        tensorstore_specs: Sequence[Any],
        global_shapes: Sequence[Any] | None = None,
        dtypes: Sequence[Any] | None = None,
    ) -> list[Array]:
        """Read arrays."""


class GlobalAsyncCheckpointManager(AsyncManager, GlobalAsyncCheckpointManagerBase):
    """Stores arrays by TensorStore: returns once they are copied, and writes in a thread.

    >>> import minijax as mj, tempfile
    >>> manager = GlobalAsyncCheckpointManager()
    >>> where = tempfile.mkdtemp() + '/x'
    >>> manager.serialize_with_paths([mj.numpy.ones(2)], [where])  # doctest: +SKIP
    >>> manager.wait_until_finished()  # doctest: +SKIP
    """

    def serialize(
        self,
        arrays: Sequence[Any],
        tensorstore_specs: Sequence[Any],
        *,
        on_commit_callback: Callable[[], None] | None = None,
        transaction: Any = None,
    ) -> None:
        """Start storing arrays; when done, process 0 calls `on_commit_callback`.

        There is one checkpoint at a time: this call first waits for the previous one.
        """
        self.wait_until_finished()
        futures: list[Any] = []
        pairs = zip(arrays, tensorstore_specs, strict=True)
        array_serialization._run(
            array_serialization._all(
                [
                    async_serialize(x, spec, futures, transaction=transaction)
                    for x, spec in pairs
                ]
            )
        )
        if transaction is not None:
            futures.append(transaction.commit_async())
        self._add_futures(futures)
        self._start_async_commit(on_commit_callback)

    def serialize_with_paths(
        self,
        arrays: Sequence[Any],
        paths: Sequence[str],
        *,
        on_commit_callback: Callable[[], None] | None = None,
        transaction: Any = None,
    ) -> None:
        """Start storing arrays at paths: see `serialize`."""
        self.serialize(
            arrays,
            list(map(get_tensorstore_spec, paths)),
            on_commit_callback=on_commit_callback,
            transaction=transaction,
        )

    def deserialize(
        self,
        shardings: Sequence[Any],
        tensorstore_specs: Sequence[Any],
        global_shapes: Sequence[Any] | None = None,
        dtypes: Sequence[Any] | None = None,
        concurrent_gb: int = 32,
    ) -> list[Any]:
        """Read arrays: see `run_deserialization`."""
        self.wait_until_finished()
        return run_deserialization(
            shardings, tensorstore_specs, global_shapes, dtypes, concurrent_gb
        )

    def deserialize_with_paths(
        self,
        shardings: Sequence[Any],
        paths: Sequence[str],
        global_shapes: Sequence[Any] | None = None,
        dtypes: Sequence[Any] | None = None,
        concurrent_gb: int = 32,
    ) -> list[Any]:
        """Read arrays from paths."""
        specs = list(map(get_tensorstore_spec, paths))
        return self.deserialize(shardings, specs, global_shapes, dtypes, concurrent_gb)
