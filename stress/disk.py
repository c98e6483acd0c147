"""The disk cache under faults: damaged and missing files, a full disk, several writers, and
killed writers.  Every process must compute right results in all cases."""

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

# A process that compiles a few programs, with the cache in argv[1].
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
        folder_path = pathlib.Path(folder, "programs")
        while not budget.spent and len(report.findings) < 20:
            for fault in r.sample(FAULTS, len(FAULTS)):
                if budget.spent:
                    break
                fault(folder_path, r, report)
                report.faults += 1
                _finish(_start(folder_path, r), report, fault.__name__)
        if folder_path.exists():
            folder_path.chmod(0o700)
    return report


def _start(
    folder_path: pathlib.Path, r: Random, limit: int = 0, indices: str | None = None
) -> subprocess.Popen[str]:
    indices = indices or ",".join(str(r.randrange(6)) for _ in range(4))
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder_path), indices, str(limit)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _finish(process: subprocess.Popen[str], report: Report, fault_name: str) -> None:
    try:
        out, err = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        report.findings.append(f"{fault_name}: a process did not end\n{err}")
        return
    report.operations += 4
    if process.returncode != 0 or "Error" in err:
        report.findings.append(f"{fault_name}: rc {process.returncode}\n{out}{err}"[-1500:])


def _entries(folder_path: pathlib.Path) -> list[pathlib.Path]:
    return sorted(folder_path.glob("*")) if folder_path.is_dir() else []


def truncated(folder_path: pathlib.Path, r: Random, report: Report) -> None:
    for path in _entries(folder_path):
        os.truncate(path, r.randrange(path.stat().st_size + 1))


def garbage(folder_path: pathlib.Path, r: Random, report: Report) -> None:
    for path in _entries(folder_path):
        data = bytearray(path.read_bytes() or b"?")
        for _ in range(r.randrange(1, 20)):
            data[r.randrange(len(data))] = r.randrange(256)
        path.write_bytes(data)


def exchanged(folder_path: pathlib.Path, r: Random, report: Report) -> None:
    for a, b in zip(paths := _entries(folder_path), reversed(paths), strict=True):
        shutil.copy(a, b) if a != b else None


def removed(folder_path: pathlib.Path, r: Random, report: Report) -> None:
    """Remove files, or the whole directory, while a process uses them."""
    process = _start(folder_path, r)
    time.sleep(r.uniform(0, 2))
    if r.random() < 0.5:
        shutil.rmtree(folder_path, ignore_errors=True)
    for path in _entries(folder_path):
        path.unlink(missing_ok=True)
    _finish(process, report, "removed during use")


def read_only(folder_path: pathlib.Path, r: Random, report: Report) -> None:
    folder_path.mkdir(mode=0o700, exist_ok=True)
    folder_path.chmod(0o500)
    _finish(_start(folder_path, r), report, "a read-only directory")
    folder_path.chmod(0o700)


def no_directory(folder_path: pathlib.Path, r: Random, report: Report) -> None:
    shutil.rmtree(folder_path, ignore_errors=True)
    folder_path.write_text("a file instead")
    _finish(_start(folder_path, r), report, "a file instead of the directory")
    folder_path.unlink()


def full_disk(folder_path: pathlib.Path, r: Random, report: Report) -> None:
    """Limit the size of files, so that writing an entry fails half way."""
    limit = r.choice((1, 100, 2000, 5000))
    _finish(_start(folder_path, r, limit), report, f"files of at most {limit} bytes")


def two_writers(folder_path: pathlib.Path, r: Random, report: Report) -> None:
    shutil.rmtree(folder_path, ignore_errors=True)
    processes = [_start(folder_path, r, indices="0,1,2,3") for _ in range(2)]
    for process in processes:
        _finish(process, report, "two writers")


def killed(folder_path: pathlib.Path, r: Random, report: Report) -> None:
    """Kill a process while it compiles, reads or writes; its files must do no harm."""
    shutil.rmtree(folder_path, ignore_errors=True)
    process = _start(folder_path, r)
    assert process.stdout is not None
    process.stdout.readline()
    end = time.monotonic() + r.uniform(0, 1)
    while time.monotonic() < end and not (hurry := _entries(folder_path)):
        time.sleep(0.0005)
    if r.random() < 0.5:  # a file exists: most often in the middle of writing
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
assert resource  # only Unix has limits, signals and forks
