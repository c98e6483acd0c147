"""`python -m bench [CASE ...] [--quick] [--save]`: measure, and print the table."""

import argparse
import datetime
import importlib
import pathlib
import sys
import tempfile

from . import cases, harness, report

RESULTS = pathlib.Path(__file__).with_name("RESULTS.md")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument(
        "cases", nargs="*", metavar="CASE", help=f"of: {', '.join(cases.NAMES)}"
    )
    parser.add_argument("--jax", default=".venv-bench-jax/bin/python", metavar="PYTHON")
    parser.add_argument("--minijax", default=sys.executable, metavar="PYTHON")
    parser.add_argument(
        "--rounds", type=int, help="process pairs per case (5, with --quick: 2)"
    )
    parser.add_argument("--quick", action="store_true", help="less exact, and much faster")
    parser.add_argument("--save", action="store_true", help="also write RESULTS.md")
    chosen = parser.parse_args()
    unknown = set(chosen.cases) - set(cases.NAMES)
    if unknown:
        parser.error(f"unknown case: {', '.join(sorted(unknown))}")
    return chosen


def main() -> None:
    chosen = arguments()
    rounds = chosen.rounds or (2 if chosen.quick else 5)
    with tempfile.TemporaryDirectory() as folder:
        caches = pathlib.Path(folder)
        ours = harness.Side("minijax", chosen.minijax, caches / "minijax")
        theirs = harness.Side("jax", chosen.jax, caches / "jax")
        versions = ", ".join(map(harness.warm_up, (ours, theirs)))
        today = datetime.date.today().isoformat()
        header = (
            f"{versions}; {harness.machine()}; {today}. Median of {rounds} interleaved "
            "pairs of processes; ratio is minijax / JAX, spread is its range."
        )
        print(header, flush=True)
        every, pages = [], [f"# minijax against JAX 0.10.2\n\n{header}"]
        for name in chosen.cases or cases.NAMES:
            title = importlib.import_module(f"bench.cases.{name}").TITLE
            outcomes = harness.compare(name, ours, theirs, rounds, chosen.quick)
            every += outcomes
            pages.append(report.markdown(title, outcomes))
            print("\n" + report.text(f"{title} ({name})", outcomes), flush=True)
    closing = report.summary(every)
    print(f"\n{closing}")
    if chosen.save:
        RESULTS.write_text("\n\n".join([*pages, closing]) + "\n")


if __name__ == "__main__":
    main()
