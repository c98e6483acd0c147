"""The disk cache under faults: damaged and missing files, a full disk, many writers, and
writers that are killed.  Every process must compute rightly, whatever it finds."""

from __future__ import annotations

import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from random import Random

from .report import Budget, Report

# A process that compiles some programs of a few, with the cache in argv[1].
PROGRAM = """
import os, resource, sys
if int(sys.argv[3]):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
import numpy as np, minijax as mj
from minijax.runtime.running.compile import statistics
mj.config.update("jax_compilation_cache_dir", sys.argv[1])
x = np.arange(3, dtype=np.float32)
print("ready", flush=True)
for i in map(int, sys.argv[2].split(",")):
    y = mj.jit(lambda x: mj.numpy.sin(x) * i + mj.numpy.arange(3)[::-1])(x)
    np.testing.assert_allclose(y, np.sin(x) * i + [2, 1, 0], rtol=1e-5)
print(statistics.compiled, statistics.loaded, flush=True)
"""


def run(budget: Budget) -> Report:
    report, r = Report(), Random(budget.seed)
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder, "programs")
        while not budget.spent and len(report.found) < 20:
            for fault in r.sample(FAULTS, len(FAULTS)):
                if budget.spent:
                    break
                fault(place, r, report)
                report.faults += 1
                _finish(_start(place, r), report, fault.__name__)
        if place.exists():
            place.chmod(0o700)
    return report


def _start(
    place: pathlib.Path, r: Random, limit: int = 0, which: str | None = None
) -> subprocess.Popen[str]:
    which = which or ",".join(str(r.randrange(6)) for _ in range(4))
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(place), which, str(limit)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _finish(process: subprocess.Popen[str], report: Report, what: str) -> None:
    try:
        out, err = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        report.found.append(f"{what}: a process did not end\n{err}")
        return
    report.operations += 4
    if process.returncode != 0 or "Error" in err:
        report.found.append(f"{what}: rc {process.returncode}\n{out}{err}"[-1500:])


def _entries(place: pathlib.Path) -> list[pathlib.Path]:
    return sorted(place.glob("*")) if place.is_dir() else []


def truncated(place: pathlib.Path, r: Random, report: Report) -> None:
    for path in _entries(place):
        os.truncate(path, r.randrange(path.stat().st_size + 1))


def garbage(place: pathlib.Path, r: Random, report: Report) -> None:
    for path in _entries(place):
        data = bytearray(path.read_bytes() or b"?")
        for _ in range(r.randrange(1, 20)):
            data[r.randrange(len(data))] = r.randrange(256)
        path.write_bytes(data)


def exchanged(place: pathlib.Path, r: Random, report: Report) -> None:
    for a, b in zip(paths := _entries(place), reversed(paths), strict=True):
        shutil.copy(a, b) if a != b else None


def removed(place: pathlib.Path, r: Random, report: Report) -> None:
    """Files, or all of it, go while a process uses them."""
    process = _start(place, r)
    time.sleep(r.uniform(0, 2))
    if r.random() < 0.5:
        shutil.rmtree(place, ignore_errors=True)
    for path in _entries(place):
        path.unlink(missing_ok=True)
    _finish(process, report, "removed meanwhile")


def read_only(place: pathlib.Path, r: Random, report: Report) -> None:
    place.mkdir(mode=0o700, exist_ok=True)
    place.chmod(0o500)
    _finish(_start(place, r), report, "a read-only directory")
    place.chmod(0o700)


def no_directory(place: pathlib.Path, r: Random, report: Report) -> None:
    shutil.rmtree(place, ignore_errors=True)
    place.write_text("a file in its place")
    _finish(_start(place, r), report, "a file in the directory's place")
    place.unlink()


def full_disk(place: pathlib.Path, r: Random, report: Report) -> None:
    """No file may grow beyond some bytes: writing an entry fails half way."""
    limit = r.choice((1, 100, 2000, 5000))
    _finish(_start(place, r, limit), report, f"files of {limit} bytes at most")


def two_writers(place: pathlib.Path, r: Random, report: Report) -> None:
    shutil.rmtree(place, ignore_errors=True)
    processes = [_start(place, r, which="0,1,2,3") for _ in range(2)]
    for process in processes:
        _finish(process, report, "two writers")


def killed(place: pathlib.Path, r: Random, report: Report) -> None:
    """A process dies while it compiles, reads or writes; what it left is of no harm."""
    shutil.rmtree(place, ignore_errors=True)
    process = _start(place, r)
    assert process.stdout is not None
    process.stdout.readline()
    end = time.monotonic() + r.uniform(0, 1)
    while time.monotonic() < end and not (hurry := _entries(place)):
        time.sleep(0.0005)
    if r.random() < 0.5:  # while something is there: in the middle of writing, mostly
        del hurry
        time.sleep(r.uniform(0, 0.05))
    process.send_signal(signal.SIGKILL)
    process.communicate()


FAULTS = (
    truncated,
    garbage,
    exchanged,
    removed,
    read_only,
    no_directory,
    full_disk,
    two_writers,
    killed,
)
assert resource  # Unix alone has limits, signals and forks
