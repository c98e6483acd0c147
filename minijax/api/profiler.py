"""Profiles: what devices and host did over time, and which allocations use memory.

XLA's profiler writes them for TensorBoard (XProf) and Perfetto; `pprof` displays memory
profiles.  Next: ../tools.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import os
import pathlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from jaxlib import _profile_data, _profiler  # type: ignore[attr-defined]

from ..base import errors
from ..runtime.backends import client

__all__ = (
    "ProfileData",
    "ProfileEvent",
    "ProfileOptions",
    "ProfilePlane",
    "StepTraceAnnotation",
    "TraceAnnotation",
    "annotate_function",
    "device_memory_profile",
    "get_profiled_instructions_proto",
    "register_subprocess",
    "save_device_memory_profile",
    "start_server",
    "start_trace",
    "stop_server",
    "stop_trace",
    "trace",
)

ProfileData = _profile_data.ProfileData
ProfileEvent = _profile_data.ProfileEvent
ProfilePlane = _profile_data.ProfilePlane
ProfileOptions = _profiler.ProfileOptions


class TraceAnnotation(_profiler.TraceMe):
    """Name what the host does within a block, on the time line of a profile.

    Args:
      name: the name.
      kwargs: numbers and strings to display with it.

    Example:
      >>> with TraceAnnotation('load', batch=3):
      ...     pass
    """


class StepTraceAnnotation(TraceAnnotation):
    """Name a step of a training loop, by which profiles aggregate times.

    Args:
      name: the name, such as 'train'.
      step_num: the number of the step; other keywords are displayed with it.

    Example:
      >>> for i in range(2):
      ...     with StepTraceAnnotation('train', step_num=i):
      ...         pass
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        # `_r=1` marks a root event: XProf groups the events of a step below it.
        super().__init__(name, _r=1, **kwargs)


def annotate_function(
    func: Callable[..., Any], name: str | None = None, **decorator_kwargs: Any
) -> Callable[..., Any]:
    """Return a function whose calls are named on the time line of a profile.

    Args:
      func: the function.
      name: the name of the calls; None: the function's name.
      decorator_kwargs: numbers and strings to display with each call.

    Returns:
      A function that calls `func`.

    Example:
      >>> annotate_function(lambda x: x + 1, name='step')(1)
      2
    """
    called = name or getattr(func, "__qualname__", None) or repr(func)

    @functools.wraps(func)
    def named(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(called, **decorator_kwargs):
            return func(*args, **kwargs)

    return named


class _Running:
    """The profile in progress."""

    __slots__ = ("folder", "link", "perfetto", "session")

    def __init__(self, folder: str, link: bool, perfetto: bool, options: Any) -> None:
        self.folder = folder
        self.link = link
        self.perfetto = perfetto or link
        self.session = _profiler.ProfilerSession(*([] if options is None else [options]))


_running: _Running | None = None
_lock = threading.Lock()


def start_trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> None:
    """Start a profile.

    Args:
      log_dir: the folder to write it to, under `plugins/profile/<time>`.
      create_perfetto_link: print a link to ui.perfetto.dev when the profile stops, and wait
        until the page has been opened.
      create_perfetto_trace: also write `perfetto_trace.json.gz`.
      profiler_options: a `ProfileOptions`.

    Returns:
      None.

    Raises:
      RuntimeError: a profile is in progress already.

    Example:
      >>> import tempfile
      >>> start_trace(tempfile.mkdtemp())
      >>> stop_trace()
    """
    global _running
    with _lock:
        if _running is not None:
            raise errors.error(
                RuntimeError,
                "Profile has already been started. Only one profile may be run at a time.",
                tries=["stop_trace() first"],
            )
        client.backend()  # the runtime registers its own tracers, which a profile needs
        folder = str(pathlib.Path(log_dir))
        _running = _Running(
            folder, create_perfetto_link, create_perfetto_trace, profiler_options
        )


def stop_trace() -> None:
    """Stop the profile in progress, and write it.

    Returns:
      None.

    Raises:
      RuntimeError: no profile is in progress.

    Example:
      >>> import pathlib, tempfile
      >>> folder = tempfile.mkdtemp()
      >>> start_trace(folder)
      >>> stop_trace()
      >>> len(list(pathlib.Path(folder).glob('plugins/profile/*/*.xplane.pb')))
      1
    """
    global _running
    with _lock:
        if _running is None:
            raise errors.error(
                RuntimeError, "No profile started", tries=["start_trace(folder)"]
            )
        running, _running = _running, None
        running.session.stop_and_export(running.folder)
    if running.perfetto:
        path = _for_perfetto(running.folder)
        if running.link:
            _serve(path)


@contextlib.contextmanager
def trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> Iterator[None]:
    """Profile a block.

    Args:
      log_dir, create_perfetto_link, create_perfetto_trace, profiler_options: as for
        `start_trace`.

    Returns:
      A context manager.

    Raises:
      RuntimeError: a profile is in progress already.

    Example:
      >>> import tempfile
      >>> with trace(tempfile.mkdtemp()):
      ...     pass
    """
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


def _for_perfetto(folder: str) -> pathlib.Path:
    """Copy the events of the latest profile to a file for Perfetto, in the same folder."""
    runs = pathlib.Path(folder, "plugins", "profile")
    latest = max(runs.iterdir(), key=lambda p: p.stat().st_mtime)
    traces = sorted(latest.glob("*.trace.json.gz"))
    if len(traces) != 1:
        raise RuntimeError(
            f"{latest} contains {len(traces)} files *.trace.json.gz instead of one: {traces}"
        )
    path = latest / "perfetto_trace.json.gz"
    path.write_bytes(gzip.compress(gzip.decompress(traces[0].read_bytes())))
    return path


def _serve(path: pathlib.Path) -> None:
    """Print a link that opens a profile in Perfetto, and serve the file once."""
    import http.server  # slow to import, and rarely needed

    origin = "https://ui.perfetto.dev"
    is_served = threading.Event()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=str(path.parent))

        def end_headers(self) -> None:
            self.send_header("Access-Control-Allow-Origin", origin)
            super().end_headers()

        def do_GET(self) -> None:
            if self.path.rpartition("/")[2] != path.name:
                self.send_error(404)
                return
            super().do_GET()
            is_served.set()

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 9001), Handler) as server:
        address = f"http://127.0.0.1:{server.server_port}/{path.name}"
        print(f"Open URL in browser: {origin}/#!/?url={address}", flush=True)
        while not is_served.is_set():
            server.handle_request()


_server: Any = None


def start_server(port: int, requires_backend: bool = True) -> Any:
    """Let other programs, such as TensorBoard, profile this one.

    Args:
      port: the TCP port of the server.
      requires_backend: start the runtime first, so that the profile includes its devices.

    Returns:
      The server, which `stop_server` stops.

    Raises:
      ValueError: a server is running already.

    Example:
      >>> import socket
      >>> with socket.socket() as s:
      ...     s.bind(('', 0))
      ...     port = s.getsockname()[1]
      >>> server = start_server(port)
      >>> stop_server()
    """
    global _server
    with _lock:
        if _server is not None:
            raise errors.value_error(
                "Only one profiler server can be active at a time.",
                tries=["stop_server() first"],
            )
        if requires_backend:
            client.backend()
        _server = _profiler.start_server(port)
        return _server


def stop_server() -> None:
    """Stop the server.

    Returns:
      None.

    Raises:
      ValueError: no server is running.

    Example:
      >>> import minijax as mj
      >>> try:
      ...     stop_server()
      ... except ValueError as e:
      ...     print(str(e).splitlines()[0])
      No active profiler server.
    """
    global _server
    with _lock:
        if _server is None:
            raise errors.value_error("No active profiler server.", tries=["start_server(port)"])
        _server = None  # it stops when its last reference is dropped


def register_subprocess(pid: int, port: int) -> Callable[[], None]:
    """Include another process's profile in this one's; the other process runs a server.

    Args:
      pid: the number of the other process.
      port: where its server listens.

    Returns:
      A function that undoes the registration.

    Raises:
      JaxRuntimeError: no server answers there.

    Example:
      >>> import minijax as mj
      >>> try:
      ...     register_subprocess(1, 2)
      ... except mj.errors.JaxRuntimeError:
      ...     print('no server answers')
      no server answers
    """
    return _profiler.register_subprocess(pid, port)  # type: ignore[no-any-return]


def device_memory_profile(backend: str | None = None) -> bytes:
    """Return a profile of device memory: how much each line of the program allocated.

    Args:
      backend: a platform such as 'cpu'; None: the default one.

    Returns:
      A profile in the format of `pprof`, compressed.

    Raises:
      RuntimeError: there is no such platform.

    Example:
      >>> device_memory_profile()[:2]  # gzip
      b'\\x1f\\x8b'
    """
    return gzip.compress(client.backend(backend).heap_profile())


def get_profiled_instructions_proto(tensorboard_dir: str) -> bytes:
    """Return the time of each instruction in a stored profile, for XLA's compiler.

    Args:
      tensorboard_dir: the folder of one run: `<log_dir>/plugins/profile/<run>/`.

    Returns:
      A serialized `ProfiledInstructionsProto`; it is empty for profiles of CPUs.

    Raises:
      RuntimeError: the folder does not exist.

    Example:
      >>> try:
      ...   get_profiled_instructions_proto('/nowhere')
      ... except RuntimeError as e:
      ...   print(str(e).split(':')[0])
      NOT_FOUND
    """
    return bytes(_profiler.get_profiled_instructions_proto(str(tensorboard_dir)))


def save_device_memory_profile(
    filename: os.PathLike[str] | str, backend: str | None = None
) -> None:
    """Write `device_memory_profile` to a file.

    Args:
      filename: the file.
      backend: a platform such as 'cpu'; None: the default one.

    Returns:
      None.

    Raises:
      OSError: it cannot be written.

    Example:
      >>> import pathlib, tempfile
      >>> path = pathlib.Path(tempfile.mkdtemp(), 'memory.prof')
      >>> save_device_memory_profile(path)
      >>> path.stat().st_size > 0
      True
    """
    pathlib.Path(filename).write_bytes(device_memory_profile(backend))
