"""Train the transformer of proofs/decoder.py in every way, and compare the losses.

    python -m proofs [--layers 8] [--steps 50] [--jax PYTHON]

All ways must have equal losses, up to rounding: one device, pmap over 8, sharded jit over a
4 x 2 mesh, shard_map; the last two also as 2 processes of 4 devices and as 4 of 2.  If
orbax-checkpoint is installed, the run of 2 processes is killed after it saved step 30, and
continues in one process on a 2 x 4 mesh.  The reference is one device; with `--jax`, an
interpreter with JAX, the reference is JAX on one device.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parent.parent
LIMIT = 3600.0
# Losses are sums of thousands of terms, which each way adds in another order; the rounding
# error of one step grows over fifty steps.
TOLERANCE = 2e-5


def run(
    route: list[str],
    size: list[str],
    processes: int = 1,
    killed: bool = False,
    python: str | None = None,
) -> tuple[list[float], float]:
    """Run one way of training, and return its losses and its time."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("JAX_")}
    env |= {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "8"}
    module = ["-m", "proofs.decoder", *route, *size]
    if python is not None:
        command = [python, *module]
    elif processes > 1:
        command = [
            sys.executable,
            "-m",
            "minijax.launch",
            "-n",
            str(processes),
            "--devices-per-process",
            str(8 // processes),
            "--alias",
            *module,
        ]
    else:
        command = [sys.executable, "-m", "minijax.tools.alias", *module]
    began = time.monotonic()
    done = subprocess.run(
        command, cwd=ROOT, env=env, text=True, capture_output=True, timeout=LIMIT
    )
    took = time.monotonic() - began
    if bool(done.returncode) is not killed:
        raise SystemExit(f"{' '.join(command)}: {done.returncode}\n{done.stderr}")
    line = next(s for s in done.stdout.splitlines() if '"losses"' in s)
    return json.loads(line[line.index("{") :])["losses"], took


def main() -> int:
    """Train in all ways; the exit status is 0 if the losses agree."""
    parser = argparse.ArgumentParser(prog="python -m proofs")
    parser.add_argument("--layers", default="8")
    parser.add_argument("--steps", default="50")
    parser.add_argument("--jax", help="an interpreter with JAX")
    options = parser.parse_args()
    size = ["--layers", options.layers, "--steps", options.steps]
    wrong = 0

    def row(name: str, losses: list[float], took: float, reference: list[float]) -> None:
        nonlocal wrong
        error = max(abs(a - b) / b for a, b in zip(losses, reference, strict=True))
        wrong += error > TOLERANCE
        print(
            f"| {name:34} | {losses[0]:.5f} | {losses[-1]:.5f} | {error:.1e} | {took:5.0f} |",
            flush=True,
        )

    print(f"| {'route':34} | first   | last    | error   | secs  |")
    print(f"| {'-' * 34} | ------- | ------- | ------- | ----- |")
    if options.jax:
        reference, took = run(["one"], size, python=options.jax)
        row("JAX, one device", reference, took, reference)
        first, took = run(["one"], size)
    else:
        first, took = run(["one"], size)
        reference = first
    row("one device", first, took, reference)
    for name, route, n in (
        ("pmap over 8", ["pmap"], 1),
        ("jit over 4 x 2", ["jit"], 1),
        ("shard_map over 4 x 2", ["shard_map"], 1),
        ("jit, 2 processes of 4 devices", ["jit"], 2),
        ("jit, 4 processes of 2 devices", ["jit"], 4),
        ("shard_map, 2 processes of 4", ["shard_map"], 2),
    ):
        row(name, *run(route, size, n), reference)
    if importlib.util.find_spec("orbax") is None:
        print("orbax-checkpoint is not installed: saving and restoring was not checked")
        return bool(wrong)
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = f"{folder}/run"
        until = int(options.steps) * 3 // 5
        stop = ["jit", "--save", checkpoint, "--until", str(until)]
        begun, took = run(stop, size, 2, killed=True)
        row(f"2 processes, killed at {until}", begun, took, reference[:until])
        resume = ["jit", "--mesh", "2x4", "--restore", checkpoint]
        rest, took = run(resume, size)
        row("restored over 2 x 4", rest, took, reference[until:])
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
