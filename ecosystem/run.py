"""Run other libraries on minijax: `make ecosystem`.

This script installs pinned versions of the libraries, without jax, in their own environment
(build/ecosystem).  Through the alias it runs the programs of this folder, written after the
libraries' documentation, and tests that the libraries ship.  `--jax PYTHON`, an interpreter
with JAX and its jaxlib, runs the same with JAX, and compares the output number by number.

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

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent
ENVIRONMENT = ROOT / "build" / "ecosystem"
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+|nan|inf)\b")
RTOL, ATOL = 2e-3, 2e-4  # the agreement of float32 results after some training

# Tests in wheels and in flax's source distribution: which files, and which of them are
# excluded, since they train or compile for minutes, or need missing packages.
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
    """Return the environment's interpreter; it is created once for these versions."""
    python = ENVIRONMENT / "bin" / "python"
    pinned = (FOLDER / "requirements.txt").read_text()
    mark = ENVIRONMENT / "installed.txt"
    if not mark.exists() or mark.read_text() != pinned:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], check=True)
        pip = [str(python), "-m", "pip", "install", "-q"]
        needs = ["jaxlib==0.10.2", "-r", str(FOLDER / "support.txt")]
        subprocess.run([*pip, *needs, "opt_einsum"], check=True)
        listed = ["-r", str(FOLDER / "requirements.txt")]
        subprocess.run([*pip, "--no-deps", *listed], check=True)
        flax = re.search("^flax==.*$", pinned, re.M)
        assert flax is not None
        fetch = [*pip[:3], "download", "-q", "--no-deps", "--no-binary", "flax"]
        subprocess.run([*fetch, "-d", str(ENVIRONMENT), flax[0]], check=True)
        with tarfile.open(next(ENVIRONMENT.glob("flax-*.tar.gz"))) as source:
            source.extractall(ENVIRONMENT, filter="data")
        mark.write_text(pinned)
    return python


def run(command: list[str], **env: str) -> tuple[int, str, float]:
    """Run a process, and return its exit status, its output and its time."""
    start = time.perf_counter()
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
        cwd=ENVIRONMENT,
        env=os.environ | {"JAX_PLATFORMS": "cpu"} | env,
    )
    seconds = time.perf_counter() - start
    return (done.returncode, done.stdout + (done.stderr if done.returncode else ""), seconds)


def difference(ours: str, theirs: str) -> str:
    """Return the first line in which two outputs differ, or an empty string."""
    for our_line, their_line in zip(ours.splitlines(), theirs.splitlines(), strict=False):
        if NUMBER.sub("#", our_line) != NUMBER.sub("#", their_line):
            return f"JAX {their_line!r}, minijax {our_line!r}"
        for a, b in zip(NUMBER.findall(our_line), NUMBER.findall(their_line), strict=True):
            if not math.isclose(float(a), float(b), rel_tol=RTOL, abs_tol=ATOL):
                return f"JAX {their_line!r}, minijax {our_line!r}"
    short = len(ours.splitlines()) != len(theirs.splitlines())
    return "the outputs have different lengths" if short else ""


def counted(output: str) -> tuple[int, int]:
    """Return how many tests passed and failed, given pytest's output."""
    last = output.strip().splitlines()[-1] if output.strip() else ""
    passed, failed = (re.search(rf"(\d+) {word}", last) for word in ("passed", "failed"))
    return int(passed[1]) if passed else 0, int(failed[1]) if failed else 0


def failures(output: str) -> list[str]:
    """Return the names of the tests that failed, given pytest's output."""
    lines = [x for x in output.splitlines() if x.startswith(("FAILED ", "ERROR "))]
    return [x.split(" - ")[0].split(" ", 1)[1] for x in lines]


def main() -> None:
    """Run the selected programs and tests, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="programs and libraries; all by default")
    parser.add_argument("--jax", help="an interpreter with JAX, to compare with")
    parser.add_argument("--tests", action="store_true", help="also run the libraries' tests")
    options = parser.parse_args()
    python = install()
    site = next(ENVIRONMENT.glob("lib/python*/site-packages"))
    minijax_env = {"PYTHONPATH": str(ROOT), "MINIJAX_AS_JAX": "1"}
    is_selected = lambda name: not options.names or name in options.names
    bad = good = 0
    for program in sorted((FOLDER / "programs").glob("*.py")):
        if not is_selected(program.stem):
            continue
        command = [str(python), "-m", "minijax.tools.alias", str(program)]
        status, ours, seconds = run(command, **minijax_env)
        timing, wrong = f"{seconds:.1f} s", ours.strip() if status else ""
        if options.jax and not wrong:
            status, theirs, other = run([options.jax, str(program)], PYTHONPATH=str(site))
            wrong = theirs.strip() if status else difference(ours, theirs)
            timing += f", JAX {other:.1f} s"
        good, bad = good + (not wrong), bad + bool(wrong)
        print(f"{'FAILED' if wrong else 'passed'}  {program.stem}  ({timing})", flush=True)
        if wrong:
            print("    " + "\n    ".join(wrong.splitlines()[-12:]))
    for name, (files, without) in TESTS.items() if options.tests else ():
        if not is_selected(name):
            continue
        flags = ["-q", "-c", os.devnull, "-p", "no:cacheprovider", "--tb=line"]
        flags += ["-W", "ignore", "--continue-on-collection-errors"]
        files_found = (ENVIRONMENT if name.startswith("flax") else site).glob(files)
        paths = [f for f in sorted(map(str, files_found)) if not re.search(without, f)]
        plugin = ["-m", "pytest", "-p", "minijax.tools.alias"]
        _, ours, _ = run([str(python), *plugin, *flags, *paths], **minijax_env)
        (passed, failed), bad_here = counted(ours), failures(ours)
        jax_counts = ""
        if options.jax:
            command = [options.jax, "-m", "pytest", *flags, *paths]
            _, theirs, _ = run(command, PYTHONPATH=str(site))
            jax_counts = " of {}; on JAX {} failed".format(*counted(theirs))
            bad_here = [x for x in bad_here if x not in failures(theirs)]
            failed = len(bad_here)
        good, bad = good + passed, bad + failed
        print(f"tests of {name}: {passed} passed{jax_counts}, {failed} failed", flush=True)
        for line in bad_here[:40]:
            print(f"    {line}")
    print(f"{good} passed, {bad} failed")
    raise SystemExit(bad > 0)


if __name__ == "__main__":
    main()
