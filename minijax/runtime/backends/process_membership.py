"""Detection of missing and failed processes in a cluster.

jaxlib's coordination service ends a process when another is missing or dies, without naming
it. So before the service starts, process 0 listens on the same port, and all processes
register there. After the timeout, every process reports which ones are missing. The
connections stay open. If one breaks, its process has died. All others then end immediately
with a message, instead of waiting forever in a collective.

One line of JSON is one message.  Next: client.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
import sys
import threading
import time
from typing import Any

from ...base import errors
from .cluster import split_address

_LONGEST = 1 << 16  # length of a message, in bytes
_GRACE = 1.0  # seconds that a process has to end with its own error first
_GREETING = "minijax roll call"


class _Connection:
    """A connection for messages."""

    __slots__ = ("rest", "sock")

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.rest = b""
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def send(self, **message: Any) -> bool:
        """Send a message; return False if the connection is closed."""
        try:
            self.sock.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            return False
        return True

    def receive(self) -> list[dict[str, Any]] | None:
        """Wait for messages and return them; None if the connection is closed.

        Raises:
          ValueError: the received data is not a message.
        """
        try:
            data = self.sock.recv(4096)
        except TimeoutError:
            return []
        except OSError:
            return None
        if not data:
            return None
        *lines, self.rest = (self.rest + data).split(b"\n")
        if len(self.rest) > _LONGEST:
            raise ValueError("the message is too long")
        messages = list(map(json.loads, lines))
        if not all(isinstance(message, dict) for message in messages):
            raise ValueError("not a message")
        return messages

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.sock.close()


class ProcessMembership:
    """The processes of a cluster, as seen by process `me` of `count`.

    left: the ids of the processes that have shut down.
    """

    def __init__(self, me: int, count: int) -> None:
        self.me = me
        self.count = count
        self.left: set[int] = set()
        self._connections: dict[int, _Connection] = {}
        self._closed = False
        self._failure: str | None = None
        self._ended: tuple[int, str] | None = None  # the process that ended, and why
        self._report = ""  # the message about it
        self._report_ready = threading.Event()
        self._printed = False
        self._thread: threading.Thread | None = None

    # ---- before the coordination service starts
    def gather(self, address: str, bind: str, timeout: float) -> None:
        """Wait until all processes are connected and, except in process 0, until `open`.

        Raises:
          RuntimeError: some are missing after `timeout` seconds, or two have the same id.
        """
        deadline = time.monotonic() + timeout
        if self.me == 0:
            self._gather_processes(bind, deadline, timeout)
        else:
            self._join(address, deadline, timeout)
        for connection in self._connections.values():
            connection.sock.settimeout(None)

    def _missing(self) -> list[int]:
        return [i for i in range(1, self.count) if i not in self._connections]

    def _gather_processes(self, bind: str, deadline: float, timeout: float) -> None:
        try:
            listening = _listen(*split_address(bind))
        except OSError as e:
            raise errors.error(
                RuntimeError,
                f"jax.distributed.initialize(): process 0 cannot listen on {bind}: {e}.",
                why="the other processes connect to it there. The port is in use, or it is not"
                " an address of this machine.",
                tries=["another port", "coordinator_bind_address='[::]:port'"],
            ) from None
        pending: list[_Connection] = []
        with listening, selectors.DefaultSelector() as ready:
            ready.register(listening, selectors.EVENT_READ)
            while missing := self._missing():
                left = deadline - time.monotonic()
                if left <= 0:
                    self._refuse(_missing_message(missing, self.count, timeout), pending)
                for key, _ in ready.select(left):
                    if key.fileobj is listening:
                        connection = _Connection(listening.accept()[0])
                        connection.sock.settimeout(5.0)
                        pending.append(connection)
                        ready.register(connection.sock, selectors.EVENT_READ, connection)
                    else:
                        ready.unregister(key.fileobj)
                        self._receive_hello(key.data, pending, ready)
        for connection in pending:
            connection.close()

    def _receive_hello(
        self, connection: _Connection, pending: list[_Connection], ready: selectors.BaseSelector
    ) -> None:
        """Admit a new connection, or drop one that closed; send the list of missing
        processes."""
        if connection in pending:
            pending.remove(connection)
            self._admit(connection, ready)
        else:  # an admitted process has disconnected
            self._drop(connection)
        for each in self._connections.values():
            each.send(missing=self._missing())

    def open(self) -> None:
        """Tell all processes that the coordination service is running."""
        for connection in self._connections.values() if self.me == 0 else ():
            connection.send(go=True)

    def _admit(self, connection: _Connection, ready: selectors.BaseSelector) -> None:
        """Register the process on a new connection, if it belongs to the cluster."""
        try:
            hello: Any = next(iter(connection.receive() or ()), {})
            process_id, count = int(hello["process_id"]), int(hello["num_processes"])
        except (KeyError, TypeError, ValueError):
            connection.close()  # some other program
            return
        if count != self.count:
            wrong = (
                f"process {process_id} has num_processes={count}, and process 0 has"
                f" num_processes={self.count}."
            )
            self._refuse(
                _setup_message(wrong, "all processes must have the same number."), [connection]
            )
        if process_id in self._connections or not 0 < process_id < self.count:
            wrong = f"two processes have process_id={process_id}."
            self._refuse(_setup_message(wrong, "each process needs its own id."), [connection])
        self._connections[process_id] = connection
        ready.register(connection.sock, selectors.EVENT_READ, connection)

    def _drop(self, connection: _Connection) -> None:
        for process_id, other in list(self._connections.items()):
            if other is connection:
                del self._connections[process_id]
        connection.close()

    def _refuse(self, message: str, more: list[_Connection]) -> None:
        """Tell all connected processes why there is no cluster, and raise."""
        for connection in (*self._connections.values(), *more):
            connection.send(error=message)
            connection.close()
        self._connections.clear()
        raise RuntimeError(message)

    def _join(self, address: str, deadline: float, timeout: float) -> None:
        host, port = split_address(address)
        missing: list[int] = [0]
        pause, wrong = 0.02, ""
        while (left := deadline - time.monotonic()) > 0:
            try:
                sock = socket.create_connection((host, port), timeout=min(left, 10.0))
            except OSError as e:
                missing, wrong = [0], str(e)
                time.sleep(min(pause, max(left, 0.0)))
                pause = min(pause * 1.5, 0.5)
                continue
            connection = _Connection(sock)
            connection.send(
                hello=_GREETING, process_id=self.me, num_processes=self.count
            )  # then wait for the answer
            while (left := deadline + 1.0 - time.monotonic()) > 0:
                sock.settimeout(left)
                try:
                    messages = connection.receive()
                except ValueError:
                    missing, wrong = [0], f"another program answers at {address}"
                    break
                if messages is None:
                    missing, wrong = [0], f"{address} closed the connection"
                    break
                for message in messages:
                    if "error" in message:
                        connection.close()
                        raise RuntimeError(str(message["error"]))
                    if "go" in message:
                        self._connections[0] = connection
                        return
                    missing = message.get("missing", missing)
            connection.close()
            time.sleep(min(pause, max(left, 0.0)))
        raise RuntimeError(_missing_message(missing, self.count, timeout, address, wrong))

    # ---- afterwards
    def watch(self) -> None:
        """End this process when another one dies, from now on."""
        self._thread = threading.Thread(
            target=self._watch_connections, name="minijax-roll-call", daemon=True
        )
        self._thread.start()

    def fail(self, why: str) -> None:
        """Record the error that ends this process; `leave` sends it to the others."""
        self._failure = why

    def leave(self) -> None:
        """Tell the others that this process shuts down, or why it failed."""
        message: dict[str, Any] = {"left": self.me}
        if self._failure is not None:
            message = {"failed": self._failure}
        elif self._ended is not None:
            message = {"who": self._ended[0], "failed": self._ended[1]}
        for connection in list(self._connections.values()):
            connection.send(**message)

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        for connection in self._connections.values():
            with contextlib.suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _watch_connections(self) -> None:
        with selectors.DefaultSelector() as ready:
            for process_id, connection in self._connections.items():
                ready.register(connection.sock, selectors.EVENT_READ, (process_id, connection))
            while not self._closed and ready.get_map():
                for key, _ in ready.select(1.0):
                    process_id, connection = key.data
                    try:
                        messages = connection.receive()
                    except ValueError:
                        messages = None
                    if messages is None:
                        ready.unregister(key.fileobj)
                    self._handle_all(process_id, messages)

    def _handle_all(self, process_id: int, messages: list[dict[str, Any]] | None) -> None:
        """Handle the messages of a process; None: it has disconnected."""
        if messages is None:
            if process_id not in self.left and not self._closed:
                self._end_process(process_id, "")
            return
        for message in messages:
            self._handle(process_id, message)

    def _handle(self, process_id: int, message: dict[str, Any]) -> None:
        if "left" in message:
            self.left.add(int(message["left"]))
            self._forward(process_id, message)
        elif "failed" in message:
            self._end_process(int(message.get("who", process_id)), str(message["failed"]))

    def _forward(self, process_id: int, message: dict[str, Any]) -> None:
        """Forward a message to all other processes, to which only process 0 is connected."""
        if self.me == 0:
            for other, connection in list(self._connections.items()):
                if other != process_id:
                    connection.send(**message)

    def _end_process(self, process_id: int, why: str) -> None:
        """End this process because another one has ended."""
        self._forward(process_id, {"failed": why, "who": process_id})
        self._ended = process_id, why
        self._report = errors.message(
            f"process {process_id} of {self.count} has "
            + ("ended with an error" if why else "died")
            + f"; process {self.me} ends too.",
            which=why.strip().replace("\n", "\n       ") or None,
            why="a program over several processes cannot go on without one of them.",
            tries=[f"see the output of process {process_id}"],
        )
        self._report_ready.set()
        time.sleep(_GRACE)
        if not self._closed:
            self.print_report()
            with contextlib.suppress(Exception):
                sys.stdout.flush()
            # `sys.exit` would end only this thread, while the main one waits in a collective.
            os._exit(1)

    def explain(self, failed: bool) -> bool:
        """Print why this process ended, if the end of another process caused it.

        failed: whether a collective failed, which that may have caused.
        """
        if failed:
            self._report_ready.wait(_GRACE)
        if failed and not self._report and self.left:
            process_id = min(self.left)
            self._ended = process_id, "it has shut down"
            self._report = errors.message(
                f"process {process_id} of {self.count} has shut down, and process {self.me} still"
                " computes with it.",
                why="a program over several processes cannot go on without one of them.",
                tries=["run the same steps in all processes"],
            )
        self.print_report()
        return bool(self._report)

    def print_report(self) -> None:
        if self._report and not self._printed:
            self._printed = True
            with contextlib.suppress(Exception):
                sys.stderr.write(f"minijax: {self._report}\n")
                sys.stderr.flush()


def _listen(host: str, port: int) -> socket.socket:
    everywhere = host in ("", "::", "0.0.0.0")
    if everywhere and socket.has_dualstack_ipv6():
        return socket.create_server(
            ("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=128
        )
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server(("" if everywhere else host, port), family=kind, backlog=128)


def _setup_message(wrong: str, why: str) -> str:
    return errors.message(
        f"jax.distributed.initialize(): {wrong}",
        why=why,
        tries=["jax.distributed.initialize(address, num_processes, process_id)"],
    )


def _missing_message(
    missing: list[int], count: int, timeout: float, address: str = "", wrong: str = ""
) -> str:
    few = ", ".join(map(str, missing[:20])) + (", ..." if len(missing) > 20 else "")
    what = f"process {few} has" if len(missing) == 1 else f"processes {few} have"
    why = "all processes of a cluster start together."
    if missing == [0] and wrong:
        why = f"process 0 should answer at {address}: {wrong}."
    return errors.message(
        f"jax.distributed.initialize(): {what} not connected within {timeout:g} seconds, of"
        f" {count} in all.",
        why=why,
        tries=[
            "check its output: whether it has started, and has not failed",
            "a longer initialization_timeout=... (seconds)",
        ],
    )
