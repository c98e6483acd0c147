"""Who of a cluster's processes is there, and who has gone.

jaxlib's coordination service ends a process when another does not come, or dies, without
a word of which.  So before it starts, process 0 calls the roll on the same port: all
processes say who they are, and who is missing when the time is over is named by all.  The
connections stay open.  When one breaks, its process has died, and all others end at once,
saying so, instead of waiting in a collective for what no longer comes.

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

_LONGEST = 1 << 16  # of a message, in bytes
_GRACE = 1.0  # seconds in which a process may end by an error of its own
_GREETING = "minijax roll call"


class _Connection:
    """A connection on which messages come and go."""

    __slots__ = ("rest", "sock")

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.rest = b""
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def send(self, **message: Any) -> bool:
        """Send a message; False if nobody is there any more."""
        try:
            self.sock.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            return False
        return True

    def receive(self) -> list[dict[str, Any]] | None:
        """The messages that have come, waiting for some; None: nobody is there any more.

        Raises:
          ValueError: what comes is no message.
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
            raise ValueError("a message that does not end")
        messages = list(map(json.loads, lines))
        if not all(isinstance(message, dict) for message in messages):
            raise ValueError("no message")
        return messages

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.sock.close()


class ProcessMembership:
    """The processes of a cluster, in the eyes of one of them, number `me` of `count`.

    left: the numbers of those that have shut down.
    """

    def __init__(self, me: int, count: int) -> None:
        self.me = me
        self.count = count
        self.left: set[int] = set()
        self._connections: dict[int, _Connection] = {}
        self._closed = False
        self._failure: str | None = None
        self._ended: tuple[int, str] | None = None  # who has ended, and why
        self._report = ""  # what to say of it
        self._report_ready = threading.Event()
        self._printed = False
        self._thread: threading.Thread | None = None

    # ---- before the start
    def gather(self, address: str, bind: str, timeout: float) -> None:
        """Wait until all processes are there; and then, unless this is process 0, until
        that says so: see `open`.

        Raises:
          RuntimeError: some are missing after `timeout` seconds, or two say the same of
            themselves.
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
                why="it is where the others find it; the port is taken, or no address of"
                " this machine.",
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
        """Take in who speaks first, or lose who speaks again; tell who is missing now."""
        if connection in pending:
            pending.remove(connection)
            self._admit(connection, ready)
        else:  # one that had come has gone again
            self._drop(connection)
        for each in self._connections.values():
            each.send(missing=self._missing())

    def open(self) -> None:
        """Tell all that what they gathered for is there."""
        for connection in self._connections.values() if self.me == 0 else ():
            connection.send(go=True)

    def _admit(self, connection: _Connection, ready: selectors.BaseSelector) -> None:
        """Take in who speaks on a new connection, if it is one of us."""
        try:
            hello: Any = next(iter(connection.receive() or ()), {})
            process_id, count = int(hello["process_id"]), int(hello["num_processes"])
        except (KeyError, TypeError, ValueError):
            connection.close()  # some other program
            return
        if count != self.count:
            wrong = (
                f"process {process_id} was told num_processes={count}, and process 0"
                f" num_processes={self.count}."
            )
            self._refuse(_setup_message(wrong, "they are to be told the same."), [connection])
        if process_id in self._connections or not 0 < process_id < self.count:
            wrong = f"two processes have process_id={process_id}."
            self._refuse(_setup_message(wrong, "each has a number of its own."), [connection])
        self._connections[process_id] = connection
        ready.register(connection.sock, selectors.EVENT_READ, connection)

    def _drop(self, connection: _Connection) -> None:
        for process_id, other in list(self._connections.items()):
            if other is connection:
                del self._connections[process_id]
        connection.close()

    def _refuse(self, message: str, more: list[_Connection]) -> None:
        """Tell all that have come why there is no cluster, and raise."""
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
            )  # and now wait to be called
            while (left := deadline + 1.0 - time.monotonic()) > 0:
                sock.settimeout(left)
                try:
                    messages = connection.receive()
                except ValueError:
                    missing, wrong = [0], f"another program answers at {address}"
                    break
                if messages is None:
                    missing, wrong = [0], f"{address} hung up"
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
        """From now on, end this process when another one dies."""
        self._thread = threading.Thread(
            target=self._listen_on, name="minijax-roll-call", daemon=True
        )
        self._thread.start()

    def fail(self, why: str) -> None:
        """Have the others told, when this process ends, that an error ended it."""
        self._failure = why

    def leave(self) -> None:
        """Tell the others that this process shuts down, or why it fails."""
        message: dict[str, Any] = {"left": self.me}
        if self._failure is not None:
            message = {"failed": self._failure}
        elif self._ended is not None:
            message = {"who": self._ended[0], "failed": self._ended[1]}
        for connection in list(self._connections.values()):
            connection.send(**message)

    def close(self) -> None:
        """Hear nothing any more."""
        self._closed = True
        for connection in self._connections.values():
            with contextlib.suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _listen_on(self) -> None:
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
        """Take what a process says; None: it is not there any more."""
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
        """Hand a message on to all others, of whom process 0 alone knows."""
        if self.me == 0:
            for other, connection in list(self._connections.items()):
                if other != process_id:
                    connection.send(**message)

    def _end_process(self, process_id: int, why: str) -> None:
        """End this process, since another one is gone."""
        self._forward(process_id, {"failed": why, "who": process_id})
        self._ended = process_id, why
        self._report = errors.message(
            f"process {process_id} of {self.count} has "
            + ("ended with an error" if why else "died")
            + f"; process {self.me} ends too.",
            which=why.strip().replace("\n", "\n       ") or None,
            why="a program over several processes cannot go on without one of them.",
            tries=[f"the output of process {process_id} says more"],
        )
        self._report_ready.set()
        time.sleep(_GRACE)
        if not self._closed:
            self.print_news()
            with contextlib.suppress(Exception):
                sys.stdout.flush()
            os._exit(1)

    def explain(self, failed: bool) -> bool:
        """Print what ended this process, if it was the end of another.

        failed: whether a collective failed, of which that may be the reason.
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
                tries=["the same steps in all of them"],
            )
        self.print_news()
        return bool(self._report)

    def print_news(self) -> None:
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
        why = f"process 0 is to answer at {address}: {wrong}."
    return errors.message(
        f"jax.distributed.initialize(): {what} not come within {timeout:g} seconds, of"
        f" {count} in all.",
        why=why,
        tries=[
            "its output: has it started, and not failed?",
            "initialization_timeout=..., of more seconds",
        ],
    )
