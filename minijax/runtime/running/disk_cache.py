"""A persistent cache of compiled programs in a directory.

It maps a key (text) to bytes and never raises: whatever is wrong with the directory or an
entry, `get` returns None and `put` does nothing. An entry is one file. It is written under
another name and renamed, so that concurrent readers and writers see complete files only. It
has a version, lengths and a checksum over key and content; a file that does not match is a
miss, and is removed.

Programs are code. Therefore the directory belongs to the user (0700, files 0600); a
directory that others can write to and a file of another user are rejected.

When the files exceed the size limit, the least recently used ones are removed; a file's
modification time is that of its last use. The directory is listed only after an eighth of
the limit has been written since the last listing, or when the limit is exceeded. A new
process knows of no earlier listing. If the directory has few files, it lists them first.
Listing many takes seconds, or a minute if they are not in the system's cache, and most
processes write little. So with many files the first listing comes at random, such that many
processes together list as often as one process that writes as much as all of them.

This module does not know programs, keys, or versions of jaxlib.  Next: compile.py.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress

__all__ = ["DiskCache", "default_directory"]

# The first bytes of every entry. The last byte is the version of the format.
_MAGIC = b"minijax\x02"
_DIGEST = 16
# magic, whether compressed, original length, stored length, checksum
_HEADER = len(_MAGIC) + 1 + 8 + 8 + _DIGEST

_ENTRY, _TEMPORARY = ".program", ".writing-"
_STALE_SECONDS = 3600.0
_MANY_FILES = 2000  # files, which take some 10 ms to list with their sizes

# zlib at level 1 compresses XLA's executables to a quarter. It costs a `get` about 1 us for
# each kB of program, a tenth of the cost of loading the program.
_COMPRESS_FROM = 4096

_COMMON_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# Do not follow a link, and do not block on a pipe, in place of an entry.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_HAS_OWNERS = hasattr(os, "geteuid")


class DiskCache:
    """Bytes by key in a directory of limited size.

    Args:
      path: the directory; it is created when the first entry is written.
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
        """Return why the directory cannot be used now, or None."""
        try:
            info = os.stat(self._path)
        except (OSError, ValueError) as error:
            return str(error)
        if not stat.S_ISDIR(info.st_mode):
            return f"{self._path} is not a directory"
        trouble = _owner_problem(info)
        return trouble and f"{self._path} {trouble}"

    def get(self, key: str) -> bytes | None:
        """Return the bytes stored under a key, or None."""
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
        """Store bytes under a key, if possible; return False if that failed."""
        if self.problem() and (not _make_directory(self._path) or self.problem()):
            return False
        entry = _encode(key, blob)
        if 0 <= self._max_bytes < len(entry):
            return True  # too large to store, which is not an error
        if not self._store(self._file(key), entry):
            return False
        if self._max_bytes >= 0:
            budget = self._first_budget() if self._budget is None else self._budget
            self._budget = budget - len(entry)
            if self._budget < 0:
                self._evict()
        return True

    def remove(self, key: str) -> None:
        """Remove an entry, for example one that the runtime could not read."""
        _remove(self._file(key))

    def _file(self, key: str) -> str:
        # Any text may be a key, so the file name is its digest.
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
            # Atomic: readers see the old file or the complete new one.
            os.replace(temporary, path)
            stored = True
        except OSError:
            pass  # no space or no permission: the entry is not stored
        finally:
            if not stored:
                _remove(temporary)
        return stored

    def _first_budget(self) -> int:
        """Return the number of bytes to write before the first listing: random if there are
        many files."""
        try:
            many = _holds_many(self._path)
        except OSError:
            many = False
        return int(_random() * (self._max_bytes // 8)) if many else 0

    def _evict(self) -> None:
        """List the files; above the limit, remove the oldest down to three quarters."""
        try:
            files = _list(self._path)
        except OSError:
            return
        total = sum(size for _, size, _ in files)
        if total > self._max_bytes:
            files.sort()
            for _, size, path in files[:-1]:  # the newest fits, as `put` has checked
                _remove(path)
                total -= size
                # Well below the limit, so that not every later `put` must list the files again.
                if total <= self._max_bytes * 3 // 4:
                    break
        self._budget = min(self._max_bytes - total, self._max_bytes // 8)


def default_directory() -> str | None:
    """Return the user's default cache directory, or None.

    It is in `$XDG_CACHE_HOME`, or otherwise in `~/.cache`. There is none without a writable
    home, or for root in another user's home.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # the XDG specification rejects relative paths
        home = os.path.expanduser("~")
        if not os.path.isabs(home) or not os.path.isdir(home):
            return None
        base = os.path.join(home, ".cache")
    path = os.path.join(base, "minijax", "programs")
    return path if os.path.isdir(path) or _can_make(path) else None


def _can_make(path: str) -> bool:
    """Whether this user may create `path` in its nearest existing parent directory."""
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


def _make_directory(path: str) -> bool:
    """Create a directory and its missing parents, for this user only."""
    try:
        parent = os.path.dirname(os.path.abspath(path))
        if not os.path.lexists(parent) and parent != path and not _make_directory(parent):
            return False
        os.mkdir(path, 0o700)
    except FileExistsError:  # another process was faster
        return True
    except (OSError, ValueError):
        return False
    return True


def _owner_problem(info: os.stat_result) -> str | None:
    """Return what is wrong with the owner or mode of a file; None if only this user can
    write it."""
    if not _HAS_OWNERS:
        return None
    if info.st_uid != os.geteuid():
        return "belongs to another user"
    if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be written by others"
    return None


def _read(path: str, limit: int) -> bytes | None:
    """Return the content of a file; None if it is not a regular file of this user, or too
    large."""
    fd = os.open(path, _READ | _COMMON_FLAGS)
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or _owner_problem(info) is not None:
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
    with suppress(OSError):  # already removed, or the directory is read-only
        os.unlink(path)


def _holds_many(directory: str) -> bool:
    """Whether there are many files, without reading their metadata."""
    with os.scandir(directory) as items:
        return any(n >= _MANY_FILES for n, _ in enumerate(items, 1))


def _random() -> float:
    """Return a random number from 0 to 1; importing `random` would take longer."""
    return int.from_bytes(os.urandom(4), "little") / 2**32


def _list(directory: str) -> list[tuple[int, int, str]]:
    """Return time of last use, size and path of the entries; remove leftovers of crashes."""
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
    """Return an entry: the header, then the bytes, compressed if that saves an eighth."""
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
    """Return the bytes in an entry; None unless it is complete and belongs to this key."""
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
