"""`make slopes`: a table of the worst errors of derivatives, in units of the last place.

    python -m tests.slopes [names] [--dtypes f16 f32] [--worst] [--jax]

An error is measured in the sum of two units: that of the true value, and what half a unit
of the argument moves it by.  --jax measures the JAX of this interpreter.
"""

from __future__ import annotations

import argparse
import importlib

from . import compare


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.slopes")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--dtypes", nargs="*", default=["f16", "bf16", "f32", "f64"])
    parser.add_argument("--worst", action="store_true", help="say where, and what")
    parser.add_argument("--jax", action="store_true")
    options = parser.parse_args()
    library = importlib.import_module("jax" if options.jax else "minijax")
    library.config.update("jax_enable_x64", True)
    modules = compare.Modules(library)
    print("| function | " + " | ".join(options.dtypes) + " |")
    print("| --- |" + " ---: |" * len(options.dtypes))
    for row in compare.rows(options.names):
        cells, notes = [], []
        for kind in options.dtypes:
            worst = compare.worst(modules, row, kind)
            cells.append(", ".join(compare.shown(e.ulps) for e in worst))
            notes += [f"    {kind} {e}" for e in worst if e.ulps > 8]
        print(f"| {row.name} | " + " | ".join(cells) + " |", flush=True)
        if options.worst and notes:
            print("\n".join(notes), flush=True)


main()
