"""Compile every sample for TPUs and GPUs that this machine lacks: `make platforms`.

With `--jax PYTHON`, whose environment has JAX and the same plugins, also by JAX: what it
compiles must compile here, by the same calls of the platforms' libraries.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from .samples import SAMPLES

DIRECTORY = Path(__file__).parent


def outcomes(python: str, library: str, platform: str, numbers: list[int]) -> dict:
    """Return the outcomes of samples, also of those that end the compiler's process."""
    results: dict[int, dict] = {}
    left = numbers
    environment = {**os.environ, "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1"}
    environment.update(TPU_SKIP_MDS_QUERY="1", ALLOW_MULTIPLE_LIBTPU_LOAD="1")
    environment.update(TPU_WORKER_HOSTNAMES="localhost", TPU_ACCELERATOR_TYPE="v5litepod-4")
    if library == "minijax":
        environment["PYTHONPATH"] = str(DIRECTORY.parents[1])
    while left:
        child = subprocess.run(
            [python, str(DIRECTORY / "child.py"), library, platform],
            input="".join(f"{n}\n" for n in left),
            env=environment,
            text=True,
            capture_output=True,
            check=False,
        )
        for line in child.stdout.splitlines():
            if line.startswith("@["):
                number, outcome = json.loads(line[1:])
                results[number] = outcome
        done = len([n for n in left if n in results])
        if not done and child.stderr and "Check failed" not in child.stderr:
            raise SystemExit(child.stderr[-3000:])
        if done < len(left):
            why = [s for s in child.stderr.splitlines() if "Check failed" in s]
            outcome = why[-1].split("] ", 1)[-1] if why else f"status {child.returncode}"
            results[left[done]] = {"error": ["died", outcome]}
        left = left[done + 1 :]
    return results


def difference(own: dict, theirs: dict) -> str:
    """Return how JAX differs in a sample, or an empty text."""
    if "error" in own and "error" not in theirs:
        return f"JAX compiles it; here {': '.join(own['error'])}"
    if "error" in theirs and "error" not in own:
        return f"compiles; under JAX {': '.join(theirs['error'])}"
    for kind, source in (("calls", "module"), ("made", "program")):
        if own.get(kind) != theirs.get(kind):
            ours, others = set(own.get(kind, ())), set(theirs.get(kind, ()))
            return (
                f"calls in the {source}: here alone {sorted(ours - others)}, in JAX"
                f" alone {sorted(others - ours)}"
            )
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.platforms", description=__doc__)
    parser.add_argument("words", nargs="*", help="samples whose text has one of these")
    parser.add_argument("--on", nargs="+", default=["cuda", "tpu"])
    parser.add_argument("--jax", metavar="PYTHON")
    parser.add_argument("--save", help="write all that was found to this file")
    options = parser.parse_args()
    numbers = [
        i
        for i, s in enumerate(SAMPLES)
        if not options.words or any(w in s.name for w in options.words)
    ]
    bad, differing = 0, {}
    for platform in options.on:
        own = outcomes(sys.executable, "minijax", platform, numbers)
        theirs = {}
        if options.jax:
            theirs = outcomes(options.jax, "jax", platform, numbers)
        failed = 0
        for i in numbers:
            name, outcome = SAMPLES[i].name, own[i]
            differing[f"{platform} {name}"] = outcome, theirs.get(i)
            failed += "error" in outcome
            if theirs:
                differs = difference(outcome, theirs[i])
                bad += differs.startswith("JAX compiles")
                if differs:
                    print(f"{platform}  {name}\n    {differs}")
            elif "error" in outcome:
                print(f"{platform}  {name}\n    {': '.join(outcome['error'])}")
        print(f"{platform}: {len(numbers)} samples, {failed} do not compile", flush=True)
    if options.save:
        Path(options.save).write_text(json.dumps(differing, indent=1))
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
