"""Other people's libraries on minijax: `make ecosystem`.

Installs pinned versions, without jax, in an environment of their own (build/ecosystem),
and runs through the alias the programs here, written after the libraries' documentation,
and tests that the libraries ship.  With `--jax PYTHON`, an interpreter that has JAX and its
jaxlib, the same runs there, and what is printed is compared, number by number.

    make ecosystem ECOSYSTEM="equinox flax --jax ~/jaxenv/bin/python --tests"
"""

from __future__ import annotations

import argparse
import math
import os
import re
import subprocess
import sys
import tarfile
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
PLACE = ROOT / "build" / "ecosystem"
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+|nan|inf)\b")
RTOL, ATOL = 2e-3, 2e-4  # of what float32 leaves after some training

# Tests that wheels hold, and flax's source distribution: which files, and which of them
# are left out, since they train or compile for minutes, or need packages that are not here.
TESTS = {
    "chex": ("chex/**/*_test.py", "fake_set_n_cpu"),
    "distrax": (
        "distrax/_src/**/*_test.py",
        "^(?!.*/(chain|lambda_bijector|inverse|sigmoid|diag_linear|transformations"
        "|conversion|normal|softmax|mixture_of_two|greedy)_test)",
    ),
    "flax_linen": (
        "flax-*/tests/**/*_test.py",
        "/nnx/|/design/|attention|recurrent|tensorboard|flaxlib|checkpoints|io_test",
    ),
    "flax_nnx": ("flax-*/tests/nnx/**/*test*.py", "transforms_test|/nn/"),
    "haiku": (
        "haiku/**/*_test.py",
        "/nets/|conv_test|layer_stack|recurrent_test"
        "|integration/(hk_tr|doctest|jax_tr|jax2tf|num|checkpoint)",
    ),
    "optax": (
        "optax/**/*_test.py",
        "alias_test|linesearch|_common|_galore|_schedule_test|_classif|_segment",
    ),
}


def install() -> Path:
    """The interpreter of the environment; made once for these versions."""
    python = PLACE / "bin" / "python"
    pinned = (HERE / "requirements.txt").read_text()
    mark = PLACE / "installed.txt"
    if not mark.exists() or mark.read_text() != pinned:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(PLACE)], check=True)
        pip = [str(python), "-m", "pip", "install", "-q"]
        needs = ["jaxlib==0.10.2", "-r", str(HERE / "support.txt")]
        subprocess.run([*pip, *needs, "opt_einsum"], check=True)
        listed = ["-r", str(HERE / "requirements.txt")]
        subprocess.run([*pip, "--no-deps", *listed], check=True)
        flax = re.search("^flax==.*$", pinned, re.M)
        assert flax is not None
        fetch = [*pip[:3], "download", "-q", "--no-deps", "--no-binary", "flax"]
        subprocess.run([*fetch, "-d", str(PLACE), flax[0]], check=True)
        with tarfile.open(next(PLACE.glob("flax-*.tar.gz"))) as source:
            source.extractall(PLACE, filter="data")
        mark.write_text(pinned)
    return python


def run(command: list[str], **env: str) -> tuple[int, str, float]:
    """The exit status of a process, what it printed, and how long it took."""
    start = time.perf_counter()
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
        cwd=PLACE,
        env=os.environ | {"JAX_PLATFORMS": "cpu"} | env,
    )
    seconds = time.perf_counter() - start
    return (done.returncode, done.stdout + (done.stderr if done.returncode else ""), seconds)


def difference(ours: str, theirs: str) -> str:
    """The first line in which two outputs differ; nothing if they agree."""
    for mine, other in zip(ours.splitlines(), theirs.splitlines(), strict=False):
        if NUMBER.sub("#", mine) != NUMBER.sub("#", other):
            return f"{other!r}, here {mine!r}"
        for a, b in zip(NUMBER.findall(mine), NUMBER.findall(other), strict=True):
            if not math.isclose(float(a), float(b), rel_tol=RTOL, abs_tol=ATOL):
                return f"{other!r}, here {mine!r}"
    short = len(ours.splitlines()) != len(theirs.splitlines())
    return "one printed more than the other" if short else ""


def counted(output: str) -> tuple[int, int]:
    """How many tests passed and failed, of what pytest printed."""
    last = output.strip().splitlines()[-1] if output.strip() else ""
    passed, failed = (re.search(rf"(\d+) {word}", last) for word in ("passed", "failed"))
    return int(passed[1]) if passed else 0, int(failed[1]) if failed else 0


def failures(output: str) -> list[str]:
    """The names of the tests that failed, of what pytest printed."""
    lines = [x for x in output.splitlines() if x.startswith(("FAILED ", "ERROR "))]
    return [x.split(" - ")[0].split(" ", 1)[1] for x in lines]


def main() -> None:
    """Run what is asked for, and tell how it went."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="programs and libraries; all by default")
    parser.add_argument("--jax", help="an interpreter that has JAX, to compare with")
    parser.add_argument("--tests", action="store_true", help="the libraries' tests, too")
    asked = parser.parse_args()
    python = install()
    site = next(PLACE.glob("lib/python*/site-packages"))
    here = {"PYTHONPATH": str(ROOT), "MINIJAX_AS_JAX": "1"}
    wanted = lambda name: not asked.names or name in asked.names
    bad = good = 0
    for program in sorted((HERE / "programs").glob("*.py")):
        if not wanted(program.stem):
            continue
        command = [str(python), "-m", "minijax.tools.alias", str(program)]
        status, ours, seconds = run(command, **here)
        told, wrong = f"{seconds:.1f} s", ours.strip() if status else ""
        if asked.jax and not wrong:
            status, theirs, other = run([asked.jax, str(program)], PYTHONPATH=str(site))
            wrong = theirs.strip() if status else difference(ours, theirs)
            told += f", JAX {other:.1f} s"
        good, bad = good + (not wrong), bad + bool(wrong)
        print(f"{'FAILED' if wrong else 'passed'}  {program.stem}  ({told})", flush=True)
        if wrong:
            print("    " + "\n    ".join(wrong.splitlines()[-12:]))
    for name, (files, without) in TESTS.items() if asked.tests else ():
        if not wanted(name):
            continue
        flags = ["-q", "-c", os.devnull, "-p", "no:cacheprovider", "--tb=line"]
        flags += ["-W", "ignore", "--continue-on-collection-errors"]
        found = (PLACE if name.startswith("flax") else site).glob(files)
        paths = [f for f in sorted(map(str, found)) if not re.search(without, f)]
        plugin = ["-m", "pytest", "-p", "minijax.tools.alias"]
        _, ours, _ = run([str(python), *plugin, *flags, *paths], **here)
        (passed, failed), bad_here = counted(ours), failures(ours)
        told = ""
        if asked.jax:
            command = [asked.jax, "-m", "pytest", *flags, *paths]
            _, theirs, _ = run(command, PYTHONPATH=str(site))
            told = " of {}; on JAX {} failed".format(*counted(theirs))
            bad_here = [x for x in bad_here if x not in failures(theirs)]
            failed = len(bad_here)
        good, bad = good + passed, bad + failed
        print(f"tests of {name}: {passed} passed{told}, {failed} failed", flush=True)
        for line in bad_here[:40]:
            print(f"    {line}")
    print(f"{good} passed, {bad} failed")
    raise SystemExit(bad > 0)


if __name__ == "__main__":
    main()
