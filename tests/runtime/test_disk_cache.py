"""The disk cache of compiled programs: entries, and all that may go wrong.

The tests may run as root, to whom permissions do not apply; so failures of the file system
are simulated by replacing functions of `os`.
"""

import contextlib
import errno
import os
import random
import stat
import subprocess
import sys
import tempfile
import time

import pytest

from minijax.base import config
from minijax.runtime.running import disk_cache
from minijax.runtime.running.disk_cache import DiskCache, default_directory

MB = 1 << 20
PROGRAM = b"some words of a program, " * 4000


@pytest.fixture(autouse=True)
def usual_umask():
    old = os.umask(0o022)
    yield
    os.umask(old)


@pytest.fixture
def cache(tmp_path):
    return DiskCache(tmp_path / "programs", MB)


def files(cache):
    return sorted(os.listdir(cache.path))


def only_file(cache):
    [name] = files(cache)
    return os.path.join(cache.path, name)


def failing(code):
    def fail(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    return fail


def noise(n, seed=0):
    return random.Random(seed).randbytes(n)


@pytest.mark.parametrize(
    "blob",
    [b"", b"x", bytes(100_000), PROGRAM, noise(100), noise(50_000)],
    ids=["empty", "one", "zeros", "words", "short noise", "noise"],
)
def test_get_returns_what_put_stored(cache, blob):
    assert cache.get("k") is None
    cache.put("k", blob)
    assert cache.get("k") == blob
    assert DiskCache(cache.path, MB).get("k") == blob
    assert cache.get("K") is None


@pytest.mark.parametrize(
    "key", ["", "a/b", "../up", "nul\0", "é\n", "k" * 5000, ".", "x.program"]
)
def test_any_text_is_a_key(cache, key):
    cache.put(key, b"1")
    cache.put("other", b"2")
    assert cache.get(key) == b"1" and cache.get("other") == b"2"
    assert len(files(cache)) == 2


def test_a_second_put_replaces(cache):
    cache.put("k", b"old")
    cache.put("k", b"new")
    assert cache.get("k") == b"new" and len(files(cache)) == 1


def test_programs_are_compressed_where_it_pays(cache):
    cache.put("k", PROGRAM)
    assert os.path.getsize(only_file(cache)) < len(PROGRAM) // 4
    cache.put("k", noise(50_000))
    assert 50_000 < os.path.getsize(only_file(cache)) < 50_100


def test_only_this_user_sees_it(tmp_path):
    cache = DiskCache(tmp_path / "a" / "b", MB)
    os.umask(0)
    cache.put("k", PROGRAM)
    mode = lambda path: stat.S_IMODE(os.stat(path).st_mode)
    assert mode(tmp_path / "a") == mode(tmp_path / "a" / "b") == 0o700
    assert mode(only_file(cache)) == 0o600


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o1777])
def test_a_directory_that_others_write_is_refused(cache, mode):
    cache.put("k", b"1")
    os.chmod(cache.path, mode)
    assert cache.get("k") is None
    cache.put("l", b"2")
    assert len(files(cache)) == 1
    assert cache.problem() == f"{cache.path} can be written by others"
    os.chmod(cache.path, 0o755)
    assert cache.problem() is None and cache.get("k") == b"1"


def test_a_directory_of_someone_else_is_refused(cache, monkeypatch):
    cache.put("k", b"1")
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    assert cache.get("k") is None
    cache.put("l", b"2")
    assert cache.problem() == f"{cache.path} belongs to another user"
    monkeypatch.undo()
    assert cache.get("k") == b"1" and len(files(cache)) == 1


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_write_is_removed(cache, mode):
    cache.put("k", b"1")
    os.chmod(only_file(cache), mode)
    assert cache.get("k") is None and files(cache) == []


def test_a_file_of_someone_else_is_removed(cache, monkeypatch):
    cache.put("k", b"1")
    real = os.fstat

    def foreign(fd):
        info = list(real(fd))
        info[stat.ST_UID] += 1
        return os.stat_result(info)

    monkeypatch.setattr(os, "fstat", foreign)
    assert cache.get("k") is None and files(cache) == []


def damaged(entry):
    """Return damaged entries: truncated, lengthened, with each byte changed, foreign."""
    header = disk_cache._HEADER
    for n in [*range(header + 1), (header + len(entry)) // 2, len(entry) - 1]:
        yield entry[:n]
    yield entry + b"x"
    for i in [*range(header), header, len(entry) - 1]:
        yield entry[:i] + bytes([entry[i] ^ 1]) + entry[i + 1 :]
    yield bytes(len(entry))
    yield b"#!/bin/sh\n" * 10


@pytest.mark.parametrize("blob", [b"tiny", PROGRAM], ids=["stored", "compressed"])
def test_a_damaged_entry_is_a_miss_and_goes(cache, blob):
    cache.put("k", blob)
    path = only_file(cache)
    with open(path, "rb") as f:
        good = f.read()
    count = 0
    for bad in damaged(good):
        with open(path, "wb") as f:
            f.write(bad)
        os.chmod(path, 0o600)
        assert cache.get("k") is None
        assert files(cache) == []
        count += 1
    assert count > 80
    cache.put("k", blob)
    assert cache.get("k") == blob


def test_an_entry_under_another_name_is_a_miss(cache):
    cache.put("k", b"1")
    cache.put("l", b"2")
    os.replace(cache._file("k"), cache._file("l"))
    assert cache.get("l") is None and files(cache) == []


def test_a_special_file_is_a_miss(cache, tmp_path):
    cache.put("k", b"1")
    path = only_file(cache)
    elsewhere = tmp_path / "elsewhere"
    os.replace(path, elsewhere)
    os.symlink(elsewhere, path)
    assert cache.get("k") is None
    cache.put("k", b"2")  # the link is replaced, its target stays
    assert cache.get("k") == b"2" and not os.path.islink(path)
    os.unlink(path)
    os.mkfifo(path, 0o600)
    assert cache.get("k") is None and files(cache) == []
    os.mkdir(path)
    assert cache.get("k") is None
    cache.put("k", b"3")
    assert cache.get("k") is None and files(cache) == [os.path.basename(path)]


def test_a_file_in_the_place_of_the_directory(tmp_path):
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        cache = DiskCache(path, MB)
        cache.put("k", b"1")
        assert cache.get("k") is None and cache.problem()
    assert (tmp_path / "file").read_text() == "mine"
    assert DiskCache(tmp_path / "file", MB).problem().endswith("is not a directory")


def test_a_path_that_cannot_be(tmp_path):
    for path in ("nul\0", tmp_path / ("x" * 5000)):
        cache = DiskCache(path, MB)
        cache.put("k", b"1")
        assert cache.get("k") is None and cache.problem()


def test_a_vanished_directory_is_made_again(cache):
    cache.put("k", b"1")
    os.unlink(only_file(cache))
    os.rmdir(cache.path)
    assert cache.get("k") is None and not os.path.exists(cache.path)
    cache.put("k", b"2")
    assert cache.get("k") == b"2"


def test_the_directory_vanishes_during_a_put(cache, monkeypatch):
    cache.put("k", b"1")
    real = os.replace

    def vanish(old, new):
        for name in os.listdir(cache.path):
            os.unlink(os.path.join(cache.path, name))
        os.rmdir(cache.path)
        real(old, new)

    monkeypatch.setattr(os, "replace", vanish)
    cache.put("l", b"2")
    monkeypatch.undo()
    assert cache.get("l") is None and not os.path.exists(cache.path)


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_a_read_only_directory_still_answers(cache, monkeypatch, code):
    cache.put("k", b"1")
    before = files(cache)
    real = os.open

    def read_only(path, flags, *args):
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(code, os.strerror(code), path)
        return real(path, flags, *args)

    monkeypatch.setattr(os, "open", read_only)
    for name in ("mkdir", "unlink", "replace", "utime"):
        monkeypatch.setattr(os, name, failing(code))
    assert cache.get("k") == b"1"
    cache.put("l", b"2")
    assert cache.get("l") is None and files(cache) == before
    with open(only_file(cache), "ab") as f:
        f.write(b"damage")
    assert cache.get("k") is None  # it stays, since it cannot be removed


@contextlib.contextmanager
def plain_user():
    """A new directory, and a user to whom permissions apply."""
    with tempfile.TemporaryDirectory() as directory:
        if os.geteuid() != 0:
            yield directory
            return
        os.chown(directory, 65534, 65534)
        os.seteuid(65534)
        try:
            yield directory
        finally:
            os.seteuid(0)


def test_real_permissions():
    import hashlib  # noqa: F401  # its files may not be readable to the other user

    with plain_user() as directory:
        cache = DiskCache(os.path.join(directory, "c"), MB)
        cache.put("k", b"1")
        os.chmod(cache.path, 0o500)
        cache.put("l", b"2")
        assert cache.get("k") == b"1" and cache.get("l") is None
        os.chmod(cache.path, 0o000)
        assert cache.get("k") is None
        cache.put("k", b"2")
        os.chmod(cache.path, 0o700)
        assert cache.get("k") == b"1"
        os.chmod(only_file(cache), 0)
        assert cache.get("k") is None
        cache.put("k", b"3")
        assert cache.get("k") == b"3"
        below = DiskCache(os.path.join(directory, "locked", "c"), MB)
        os.mkdir(os.path.dirname(below.path), 0o500)
        below.put("k", b"1")
        assert below.get("k") is None and below.problem()


@pytest.mark.parametrize("code", [errno.EACCES, errno.EMFILE, errno.EIO, errno.ESTALE])
def test_a_file_that_cannot_be_opened(cache, monkeypatch, code):
    cache.put("k", b"1")
    monkeypatch.setattr(os, "open", failing(code))
    assert cache.get("k") is None
    cache.put("l", b"2")
    monkeypatch.undo()
    assert cache.get("k") == b"1" and cache.get("l") is None


@pytest.mark.parametrize("name", ["read", "fstat"])
def test_a_file_that_cannot_be_read(cache, monkeypatch, name):
    cache.put("k", b"1")
    closed = []
    real = os.close
    monkeypatch.setattr(os, "close", lambda fd: (closed.append(fd), real(fd)))
    monkeypatch.setattr(os, name, failing(errno.EIO))
    assert cache.get("k") is None and len(closed) == 1
    monkeypatch.undo()
    assert cache.get("k") == b"1"


def test_a_directory_whose_status_cannot_be_read(cache, monkeypatch):
    cache.put("k", b"1")
    monkeypatch.setattr(os, "stat", failing(errno.EACCES))
    assert cache.get("k") is None
    cache.put("k", b"2")
    assert "Permission denied" in cache.problem()
    monkeypatch.undo()
    assert cache.get("k") == b"1"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
@pytest.mark.parametrize("written", [0, 100])
def test_a_full_disk(cache, monkeypatch, code, written):
    cache.put("k", b"old")
    before = files(cache)
    real = os.write
    room = written

    def write(fd, data):
        nonlocal room
        if not room:
            raise OSError(code, os.strerror(code))
        n = real(fd, data[:room])
        room -= n
        return n

    monkeypatch.setattr(os, "write", write)
    cache.put("k", noise(5000))
    cache.put("l", noise(5000))
    monkeypatch.undo()
    assert files(cache) == before and cache.get("k") == b"old"


@pytest.mark.parametrize("name", ["close", "replace"])
def test_a_disk_that_is_full_in_the_end(cache, monkeypatch, name):
    cache.put("k", b"old")
    real = os.close

    def fail(*args):
        if name == "close":
            real(*args)
        failing(errno.ENOSPC)()

    monkeypatch.setattr(os, name, fail)
    cache.put("k", b"new")
    monkeypatch.undo()
    assert len(files(cache)) == 1 and cache.get("k") == b"old"


def test_short_writes_and_reads(cache, monkeypatch):
    write, read = os.write, os.read
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:1000]))
    cache.put("k", noise(5000))
    monkeypatch.setattr(os, "read", lambda fd, n: read(fd, min(n, 999)))
    assert cache.get("k") == noise(5000)


def test_an_interrupt_leaves_nothing_behind(cache, monkeypatch):
    cache.put("k", b"1")

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cache.put("l", b"2")
    monkeypatch.undo()
    assert len(files(cache)) == 1


def test_least_recently_used_goes_first(tmp_path):
    cache = DiskCache(tmp_path / "c", 10_000)
    for i in range(8):
        cache.put(f"{i}", noise(1100, i))
        os.utime(cache._file(f"{i}"), (1000 + i, 1000 + i))
    assert len(files(cache)) == 8
    assert cache.get("0") == noise(1100, 0)  # a use makes it the newest
    cache.put("8", noise(1100, 8))  # crosses the limit: down to three quarters
    alive = [i for i in range(9) if cache.get(f"{i}") is not None]
    assert alive == [0, 4, 5, 6, 7, 8]
    total = sum(os.path.getsize(cache._file(f"{i}")) for i in alive)
    assert total <= 7_500


def test_the_limit_holds_across_caches(tmp_path):
    for i in range(40):
        DiskCache(tmp_path / "c", 10_000).put(f"{i}", noise(900, i))
        sizes = [f.stat().st_size for f in (tmp_path / "c").iterdir()]
        assert sum(sizes) <= 10_000
    assert DiskCache(tmp_path / "c", 10_000).get("39") == noise(900, 39)


def test_an_entry_beyond_the_limit_is_not_kept(tmp_path):
    cache = DiskCache(tmp_path / "c", 1000)
    cache.put("small", b"1")
    cache.put("large", noise(1000))
    assert cache.get("large") is None and cache.get("small") == b"1"
    cache.put("fits", noise(900))
    assert cache.get("fits") == noise(900)
    cache.put("fits too", noise(900, 1))  # above three quarters, but below the limit: it stays
    assert cache.get("fits too") == noise(900, 1) and len(files(cache)) == 1
    DiskCache(tmp_path / "c", -1).put("large", noise(1000))
    assert DiskCache(tmp_path / "c", -1).get("large") == noise(1000)
    assert cache.get("large") is None  # stored under another limit
    nothing = DiskCache(tmp_path / "d", 0)
    nothing.put("k", b"")
    assert nothing.get("k") is None


def test_the_directory_is_listed_rarely(tmp_path, monkeypatch):
    listings = []
    real = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: (listings.append(1), real(path))[1])
    cache = DiskCache(tmp_path / "c", 1_000_000)
    for i in range(100):
        cache.put(f"{i}", noise(3000, i))
        cache.get(f"{i}")
    # Twice at the start, first to see whether there are many files, and once for each
    # eighth of the limit: 0.3 MB of 1 MB.
    assert len(listings) == 4
    unlimited = DiskCache(tmp_path / "c", -1)
    listings.clear()
    for i in range(100):
        unlimited.put(f"{i}", noise(3000, i))
    assert listings == []


def test_many_files_are_seldom_listed_by_processes_that_write_little(tmp_path, monkeypatch):
    """As often as by one process that writes as much as all, and the limit roughly holds."""
    listings, rng = [], random.Random(0)
    real = disk_cache._list
    monkeypatch.setattr(disk_cache, "_MANY_FILES", 10)
    monkeypatch.setattr(disk_cache, "_random", rng.random)
    monkeypatch.setattr(disk_cache, "_list", lambda path: (listings.append(1), real(path))[1])
    limit, most = 400_000, 0
    for i in range(800):  # 0.8 MB, which is 16 eighths of the limit
        DiskCache(tmp_path / "c", limit).put(f"{i}", noise(960, i))
        if i < 9:
            assert len(listings) == i + 1  # each process lists a directory of few files
        most = max(most, len(os.listdir(tmp_path / "c")))
    assert 9 + 8 <= len(listings) <= 9 + 32
    assert 300 < most <= 600
    assert DiskCache(tmp_path / "c", limit).get("799") == noise(960, 799)


def test_a_listing_that_fails(tmp_path, monkeypatch):
    cache = DiskCache(tmp_path / "c", 2000)
    monkeypatch.setattr(os, "scandir", failing(errno.EIO))
    for i in range(3):
        cache.put(f"{i}", noise(900, i))
    assert [cache.get(f"{i}") for i in range(3)] == [noise(900, i) for i in range(3)]
    monkeypatch.undo()
    cache.put("3", noise(900, 3))
    assert len(files(cache)) == 1


def test_only_its_own_files_are_evicted(tmp_path):
    cache = DiskCache(tmp_path, 2000)
    (tmp_path / "notes.txt").write_bytes(bytes(5000))
    (tmp_path / "sub").mkdir()
    old, new = tmp_path / ".writing-old", tmp_path / ".writing-new"
    old.write_bytes(bytes(10))
    new.write_bytes(bytes(10))
    os.utime(old, (time.time() - 7200,) * 2)
    for i in range(4):
        cache.put(f"{i}", noise(900, i))
    assert (tmp_path / "notes.txt").exists() and (tmp_path / "sub").exists()
    assert new.exists() and not old.exists()  # the leftover of a crash
    assert cache.get("3") == noise(900, 3)


WORKER = """
import random, sys
from minijax.runtime.running.disk_cache import DiskCache
path, seed = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
rng, hits = random.Random(seed), 0
blob = lambda i: random.Random(i).randbytes(2000) * (1 + i % 3)
cache = DiskCache(path, 60_000)
for step in range(1500):
    i = rng.randrange(30)
    if rng.random() < 0.5:
        cache.put(str(i), blob(i))
    else:
        found = cache.get(str(i))
        assert found is None or found == blob(i), "a wrong program"
        hits += found is not None
    if step % 200 == 99:
        cache = DiskCache(path, 60_000)
print(hits)
"""


def test_many_processes(tmp_path):
    path = tmp_path / "shared"
    workers = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", WORKER, str(path), str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in range(4)
    ]
    for worker in workers:  # all start together, once all have imported
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    results = [worker.communicate(timeout=60) for worker in workers]
    assert [error for _, error in results] == [""] * 4
    assert all(int(out) > 50 for out, _ in results)
    names = os.listdir(path)
    assert not [name for name in names if name.startswith(".writing-")]
    total = sum(os.path.getsize(path / name) for name in names)
    # Each process may write an eighth before it lists again.
    assert 0 < total <= 60_000 * (1 + 4 / 8)


def test_a_process_that_dies_in_the_middle(tmp_path):
    code = (
        "import os, sys\n"
        "from minijax.runtime.running.disk_cache import DiskCache\n"
        "os.replace = lambda *a: os._exit(3)\n"
        "DiskCache(sys.argv[1], 10**6).put('k', b'1')\n"
    )
    path = tmp_path / "c"
    done = subprocess.run([sys.executable, "-c", code, str(path)], timeout=60)
    assert done.returncode == 3
    [name] = os.listdir(path)
    assert name.startswith(".writing-")
    cache = DiskCache(path, MB)
    assert cache.get("k") is None
    cache.put("k", b"2")
    assert cache.get("k") == b"2"


def test_import_does_no_work():
    code = (
        "import __future__, contextlib, os, stat, sys, time\n"
        f"source = open({disk_cache.__file__!r}).read()\n"
        "before = set(sys.modules)\n"
        "exec(source, {'__name__': 'disk_cache'})\n"
        "print(sorted(set(sys.modules) - before))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_get_opens_one_file(cache, monkeypatch):
    """This holds for any number of entries."""
    for i in range(30):
        cache.put(f"k{i}", noise(100, i))
    opened, real = [], os.open
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", lambda *a, **k: [opened.append(a[0]), real(*a, **k)][1])
        patch.delattr(os, "scandir")
        patch.delattr(os, "listdir")
        assert cache.get("k7") == noise(100, 7)
    assert len(opened) == 1


def test_default_directory(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    expected = str(home / ".cache" / "minijax" / "programs")
    assert default_directory() == expected
    assert not (home / ".cache").exists()  # the query creates no directory
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_directory() == expected
    other = tmp_path / "xdg" / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(other))
    assert default_directory() == str(other / "minijax" / "programs")
    cache = DiskCache(default_directory(), MB)
    cache.put("k", b"1")
    assert cache.get("k") == b"1" and default_directory() == cache.path
    mode = lambda path: stat.S_IMODE(os.stat(path).st_mode)
    assert mode(other) == mode(other / "minijax") == mode(cache.path) == 0o700


def test_no_default_directory(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    (tmp_path / "file").write_text("")
    for home in (tmp_path / "gone", tmp_path / "file", "relative"):
        monkeypatch.setenv("HOME", str(home))
        assert default_directory() is None
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".cache").write_text("a file in the way")
    assert default_directory() is None
    (tmp_path / ".cache").unlink()
    os.symlink(tmp_path / "gone", tmp_path / ".cache")
    assert default_directory() is None
    (tmp_path / ".cache").unlink()
    assert default_directory() is not None
    with monkeypatch.context() as m:
        m.setattr(os, "access", lambda path, mode: False)
        assert default_directory() is None
    # Root does not write its own files into the home of another user.
    real = os.stat

    def of_someone(path, *args, **kwargs):
        info = list(real(path, *args, **kwargs))
        info[stat.ST_UID] = 1234
        return os.stat_result(info)

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "stat", of_someone)
    assert default_directory() is None


@pytest.mark.parametrize("where", ["gs://bucket/cache", "s3://b", "file:///tmp/x"])
def test_only_local_directories(where, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="is not a local directory"):
        config.CACHE_DIR.update(where)
    with pytest.raises(ValueError, match="is not a local directory"), config.CACHE_DIR(where):
        pass
    assert not list(tmp_path.iterdir())
