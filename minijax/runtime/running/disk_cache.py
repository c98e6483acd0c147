"""A directory of compiled programs, kept from one process to the next.

It maps a key (text) to bytes and never gets in the way: whatever is wrong with the
directory or an entry, `get` answers None and `put` does nothing.  An entry is one file,
written under another name and renamed, so that readers and writers in many processes
see whole files only; it carries a version, lengths and a checksum over key and content,
so that anything else is a miss, and is removed.

Programs are code.  So the directory is the user's own (0700, files 0600), and one that
others can write is refused, as is a file of someone else.  When the files outgrow the
limit, those unused for longest go; a file's time of modification is that of its last
use.  The directory is listed only once an eighth of the limit has been written since
the last time, or the limit is crossed.  A process knows of no last time, so it lists a
directory of few files first; listing many takes seconds, or a minute where the system has
forgotten them, and most processes write little: there the first time comes by chance, so
that processes together list as often as one that writes as much as they all.

This room knows nothing of programs, keys and versions of jaxlib.  Next: compile.py.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress

__all__ = ["DiskCache", "default_directory"]

# Stands at the head of every entry.  The last byte is the version of the format.
_MAGIC = b"minijax\x02"
_DIGEST = 16
# magic, whether compressed, length as given, length as stored, checksum
_HEADER = len(_MAGIC) + 1 + 8 + 8 + _DIGEST

_ENTRY, _TEMPORARY = ".program", ".writing-"
_STALE_SECONDS = 3600.0
_MANY = 2000  # files, which take some 10 ms to list with their sizes

# zlib at level 1 shrinks XLA's executables to a quarter; it costs a get about 1 us for
# each kB of program, a tenth of what loading the program costs.
_COMPRESS_FROM = 4096

_COMMON_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# A link is not followed, and a pipe in the place of an entry does not block.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_HAS_OWNERS = hasattr(os, "geteuid")


class DiskCache:
    """Bytes by key in a directory of limited size.

    Args:
      path: the directory; it is made when the first entry is written.
      max_bytes: the limit on the size of all files; negative: no limit.

    >>> import tempfile
    >>> from minijax.runtime.running.disk_cache import DiskCache
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     cache = DiskCache(directory, max_bytes=1_000_000)
    ...     kept = cache.put("key", b"program")
    ...     cache.get("key"), cache.get("another key")
    (b'program', None)
    """

    __slots__ = ("_max_bytes", "_path", "_budget")

    def __init__(self, path: str | os.PathLike[str], max_bytes: int) -> None:
        self._path = os.fspath(path)
        self._max_bytes = max_bytes
        # Bytes that may be written before the directory is listed again.
        self._budget: int | None = None

    @property
    def path(self) -> str:
        """The directory."""
        return self._path

    def problem(self) -> str | None:
        """Why the directory is not used as it is now; None if it is."""
        try:
            info = os.stat(self._path)
        except (OSError, ValueError) as error:
            return str(error)
        if not stat.S_ISDIR(info.st_mode):
            return f"{self._path} is not a directory"
        trouble = _distrust(info)
        return trouble and f"{self._path} {trouble}"

    def get(self, key: str) -> bytes | None:
        """The bytes that were put under a key, or None."""
        if self.problem():
            return None
        path = self._file(key)
        try:
            entry = _read(path, self._max_bytes)
        except OSError:
            return None
        blob = None if entry is None else _decode(key, entry)
        if blob is None:
            _remove(path)
            return None
        with suppress(OSError):  # a read-only directory, or it was evicted just now
            os.utime(path)
        return blob

    def put(self, key: str, blob: bytes) -> bool:
        """Keep bytes under a key, if that is possible; whether nothing went wrong."""
        if self.problem() and (not _make(self._path) or self.problem()):
            return False
        entry = _encode(key, blob)
        if 0 <= self._max_bytes < len(entry):
            return True  # as it should be
        if not self._store(self._file(key), entry):
            return False
        if self._max_bytes >= 0:
            budget = self._first_budget() if self._budget is None else self._budget
            self._budget = budget - len(entry)
            if self._budget < 0:
                self._evict()
        return True

    def remove(self, key: str) -> None:
        """Forget an entry, for instance one that the runtime could not read."""
        _remove(self._file(key))

    def _file(self, key: str) -> str:
        # Any text may be a key, so its digest is the name.
        return os.path.join(self._path, _digest(key.encode()).hex() + _ENTRY)

    def _store(self, path: str, entry: bytes) -> bool:
        temporary = os.path.join(self._path, _TEMPORARY + os.urandom(8).hex())
        stored = False
        try:
            fd = os.open(temporary, _WRITE | _COMMON_FLAGS, 0o600)
            try:
                _write(fd, entry)
            finally:
                os.close(fd)
            os.replace(temporary, path)
            stored = True
        except OSError:
            pass  # no space, no permission: then the entry is not kept
        finally:
            if not stored:
                _remove(temporary)
        return stored

    def _first_budget(self) -> int:
        """Bytes to write before the first listing; by chance where it takes long."""
        try:
            many = _holds_many(self._path)
        except OSError:
            many = False
        return int(_chance() * (self._max_bytes // 8)) if many else 0

    def _evict(self) -> None:
        """List the files; above the limit, remove the oldest down to three quarters."""
        try:
            files = _list(self._path)
        except OSError:
            return
        total = sum(size for _, size, _ in files)
        if total > self._max_bytes:
            files.sort()
            for _, size, path in files[:-1]:  # the newest fits: `put` has seen to it
                _remove(path)
                total -= size
                if total <= self._max_bytes * 3 // 4:
                    break
        self._budget = min(self._max_bytes - total, self._max_bytes // 8)


def default_directory() -> str | None:
    """Where the programs of this user are kept, or None if there is no place for them.

    It lies in `$XDG_CACHE_HOME`, or else in `~/.cache`.  There is none without a home
    that can be written, nor for root in the home of another user.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # relative ones are invalid, by that standard
        home = os.path.expanduser("~")
        if not os.path.isabs(home) or not os.path.isdir(home):
            return None
        base = os.path.join(home, ".cache")
    path = os.path.join(base, "minijax", "programs")
    return path if os.path.isdir(path) or _may_make(path) else None


def _may_make(path: str) -> bool:
    """Whether the nearest directory that exists lets this user make `path` in it."""
    while not os.path.lexists(path):
        parent = os.path.dirname(path)
        if parent == path:
            return False
        path = parent
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return False
    if _HAS_OWNERS and os.geteuid() == 0 and info.st_uid != 0:
        return False
    return stat.S_ISDIR(info.st_mode) and os.access(path, os.W_OK | os.X_OK)


def _make(path: str) -> bool:
    """Make a directory, and those above it that are missing, for this user only."""
    try:
        parent = os.path.dirname(os.path.abspath(path))
        if not os.path.lexists(parent) and parent != path and not _make(parent):
            return False
        os.mkdir(path, 0o700)
    except FileExistsError:  # another process was faster
        return True
    except (OSError, ValueError):
        return False
    return True


def _distrust(info: os.stat_result) -> str | None:
    """What is wrong with the owner or the mode of a file; None if it is ours alone."""
    if not _HAS_OWNERS:
        return None
    if info.st_uid != os.geteuid():
        return "belongs to another user"
    if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be written by others"
    return None


def _read(path: str, limit: int) -> bytes | None:
    """The content of a file; None if it is no plain file of this user, or too large."""
    fd = os.open(path, _READ | _COMMON_FLAGS)
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or _distrust(info) is not None:
            return None
        if 0 <= limit < info.st_size:
            return None
        content = os.read(fd, info.st_size + 1)
        if len(content) >= info.st_size:
            return content
        chunks = [content]
        while chunks[-1]:  # one call reads 2 GB at most
            chunks.append(os.read(fd, info.st_size))
        return b"".join(chunks)
    finally:
        os.close(fd)


def _write(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _remove(path: str) -> None:
    with suppress(OSError):  # gone already, or the directory is read-only
        os.unlink(path)


def _holds_many(directory: str) -> bool:
    """Whether there are many files, without a look at any of them."""
    with os.scandir(directory) as items:
        return any(n >= _MANY for n, _ in enumerate(items, 1))


def _chance() -> float:
    """A number from 0 to 1; `random` would be a module more to import."""
    return int.from_bytes(os.urandom(4), "little") / 2**32


def _list(directory: str) -> list[tuple[int, int, str]]:
    """Time of last use, size and path of the entries; what crashes left is removed."""
    entries = []
    now = time.time()
    with os.scandir(directory) as items:
        for item in items:
            unfinished = item.name.startswith(_TEMPORARY)
            if not unfinished and not item.name.endswith(_ENTRY):
                continue
            try:
                info = item.stat(follow_symlinks=False)
            except OSError:
                continue  # evicted by another process just now
            if unfinished and now - info.st_mtime > _STALE_SECONDS:
                _remove(item.path)
            elif not unfinished:
                entries.append((info.st_mtime_ns, info.st_size, item.path))
    return entries


def _digest(*chunks: bytes) -> bytes:
    # hashlib takes 2.5 ms to import, and a process may never come here.
    from hashlib import blake2b

    state = blake2b(digest_size=_DIGEST)
    for chunk in chunks:
        state.update(chunk)
    return state.digest()


def _encode(key: str, blob: bytes) -> bytes:
    """An entry: the header, then the bytes, compressed where that saves an eighth."""
    stored = blob
    if len(blob) >= _COMPRESS_FROM:
        import zlib

        packed = zlib.compress(blob, 1)
        if len(packed) <= len(blob) - len(blob) // 8:
            stored = packed
    sizes = len(blob).to_bytes(8, "little") + len(stored).to_bytes(8, "little")
    head = _MAGIC + bytes([stored is not blob]) + sizes
    return b"".join((head, _digest(head, key.encode(), stored), stored))


def _decode(key: str, entry: bytes) -> bytes | None:
    """The bytes in an entry; None unless it is whole and was made for this key."""
    head = entry[: _HEADER - _DIGEST]
    if len(entry) < _HEADER or not head.startswith(_MAGIC):
        return None
    compressed = head[len(_MAGIC)] == 1
    length = int.from_bytes(head[-16:-8], "little")
    stored = entry[_HEADER:]
    if len(stored) != int.from_bytes(head[-8:], "little"):
        return None
    if _digest(head, key.encode(), stored) != entry[_HEADER - _DIGEST : _HEADER]:
        return None
    if not compressed:
        return stored
    import zlib

    return zlib.decompress(stored, bufsize=length)
