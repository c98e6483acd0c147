"""Compare minijax with JAX on random programs and calls.

python -m tests.fuzz --jax .venv-bench-jax/bin/python --programs 10000 --seed 0
"""

import argparse
import sys
from pathlib import Path

from . import calls, evaluated, large, values
from .pair import Pair


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.fuzz", description=__doc__)
    parser.add_argument("--jax", required=True, help="a Python that has JAX 0.10.2")
    parser.add_argument("--programs", type=int, default=200, help="how many, by values")
    parser.add_argument("--calls", type=int, default=5000, help="how many, by types")
    parser.add_argument("--evaluated", type=int, default=0, help="how many, by values")
    parser.add_argument("--large", type=int, default=0, help="how many, against eager")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after these")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"), help="scripts")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    pair = Pair(args.jax, str(args.out / f"log{args.seed}.txt"))
    count = 0
    try:
        seeds = range(args.seed, args.seed + args.programs)
        if args.programs:
            count += len(values.run(pair, seeds, args.out, args.seconds).seen)
        if args.calls:
            count += len(calls.run(pair, args.seed, args.calls, args.out, args.seconds))
        if args.large:
            seeds = range(args.seed, args.seed + args.large)
            count += large.run(seeds, args.out, args.seconds)
        if args.evaluated:
            n = args.evaluated
            count += len(evaluated.run(pair, args.seed, n, args.out, args.seconds))
    finally:
        pair.stop()
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
