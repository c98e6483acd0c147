"""The measured processes of both libraries, started alternately."""

import dataclasses
import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

from .rows import Row, Sheet

ROOT = pathlib.Path(__file__).parents[1]
TIME_LIMIT = 900  # seconds for one process


@dataclasses.dataclass
class Run:
    """A finished process: its output, CPU time over all threads, and wall time."""

    out: str
    cpu: float
    wall: float


@dataclasses.dataclass
class Side:
    """One of the two libraries: its name, its interpreter, its disk cache."""

    library: str
    python: str
    cache: pathlib.Path

    def environment(self, keep_programs: bool, devices: int) -> dict[str, str]:
        """Return the environment of a measured process, the same for both libraries.

        minijax caches compiled programs on disk by default, and only needs the folder.
        JAX caches all of them only if `keep_programs`.
        """
        drop = ("PYTHON", "JAX_", "XLA_", "MINIJAX_")
        env = {k: v for k, v in os.environ.items() if not k.startswith(drop)}
        env |= {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
        env["JAX_NUM_CPU_DEVICES"] = str(devices)
        if keep_programs or self.library == "minijax":
            env["JAX_COMPILATION_CACHE_DIR"] = str(self.cache)
        if keep_programs and self.library == "jax":
            env["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
            env["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
        return env

    def run(self, *args: str, keep_programs: bool = False, devices: int = 1) -> Run:
        """Run the interpreter with `args`, and raise RuntimeError if it fails."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            start = time.perf_counter()
            process = subprocess.Popen(
                [self.python, *args],
                env=self.environment(keep_programs, devices),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
            watch = threading.Timer(TIME_LIMIT, process.kill)
            watch.start()
            _, status, usage = os.wait4(process.pid, 0)
            wall = time.perf_counter() - start
            process.returncode = os.waitstatus_to_exitcode(status)
            watch.cancel()
            out.seek(0)
            err.seek(0)
            if process.returncode != 0:
                lines = err.read().strip().splitlines() or ["no message"]
                raise RuntimeError(f"exit {process.returncode}: {lines[-1]}")
            return Run(out.read(), usage.ru_utime + usage.ru_stime, wall)

    def script(self, text: str, keep_programs: bool = False) -> Run:
        """Run a script's text, with LIB replaced by the library's name."""
        text = text.replace("LIB", self.library)
        return self.run("-c", text, keep_programs=keep_programs)

    def measure(self, case_name: str, quick: bool) -> Sheet:
        """Return the numbers of one process, or of one round of processes, for a case."""
        case = importlib.import_module(f"bench.cases.{case_name}")
        sheet = Sheet(case.ROWS, quick)
        try:
            if hasattr(case, "outside"):
                case.outside(self, sheet)
            else:
                flags = ["--quick"] if quick else []
                inside = ("-m", "bench.child", case_name, self.library, *flags)
                done = self.run(*inside, devices=getattr(case, "DEVICES", 1))
                numbers = json.loads(done.out.strip().splitlines()[-1])
                sheet = dataclasses.replace(sheet, **numbers)
        except RuntimeError as error:
            missing = {row.name for row in case.ROWS} - sheet.values.keys()
            sheet.errors |= dict.fromkeys(missing, str(error))
        return sheet


@dataclasses.dataclass
class Outcome:
    """All rounds of one row."""

    row: Row
    ours: list[float] = dataclasses.field(default_factory=list)
    theirs: list[float] = dataclasses.field(default_factory=list)
    calls: tuple[int | None, int | None] = (None, None)
    error: str = ""


def compare(case_name: str, ours: Side, theirs: Side, rounds: int, quick: bool):
    """Return the outcomes of a case after `rounds` rounds with alternating sides."""
    case = importlib.import_module(f"bench.cases.{case_name}")
    outcomes = {row.name: Outcome(row) for row in case.ROWS}
    for number in range(rounds):
        sides = (ours, theirs) if number % 2 == 0 else (theirs, ours)
        sheets = {side.library: side.measure(case_name, quick) for side in sides}
        our_sheet, their_sheet = sheets[ours.library], sheets[theirs.library]
        for name, outcome in outcomes.items():
            for sheet, side in ((our_sheet, ours), (their_sheet, theirs)):
                if name in sheet.errors and not outcome.error:
                    outcome.error = f"{side.library}: {sheet.errors[name]}"
            if name in our_sheet.values and name in their_sheet.values:
                outcome.ours.append(our_sheet.values[name])
                outcome.theirs.append(their_sheet.values[name])
            outcome.calls = (our_sheet.calls.get(name), their_sheet.calls.get(name))
    return list(outcomes.values())


def warm_up(side: Side) -> str:
    """Compile the byte code once, and return the versions that are compared."""
    text = "import LIB, LIB.numpy, jaxlib, platform; print(jaxlib.version.__version__)"
    version = side.script(text).out.strip()
    return f"{side.library} on jaxlib {version}"


def machine() -> str:
    """Return the processor, the number of cores and the Python version."""
    name = "unknown processor"
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    python = ".".join(map(str, sys.version_info[:3]))
    return f"{name}, {os.cpu_count()} cores, Python {python}"
