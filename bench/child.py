"""The program of one measured process: `python -m bench.child CASE LIBRARY [--quick]`.

Imports the library under test, lets the case measure it, and prints the sheet as JSON
on the last line.
"""

import importlib
import json
import sys

from .rows import Sheet


def library(name: str):
    """Return the package `name`, with the submodules that programs use imported."""
    for module in ("numpy", "lax", "random", "tree_util"):
        importlib.import_module(f"{name}.{module}")
    return sys.modules[name]


def main(case_name: str, library_name: str, *flags: str) -> None:
    case = importlib.import_module(f"bench.cases.{case_name}")
    sheet = Sheet(case.ROWS, quick="--quick" in flags)
    case.measure(library(library_name), sheet)
    print()
    print(json.dumps({"values": sheet.values, "calls": sheet.calls, "errors": sheet.errors}))


if __name__ == "__main__":
    main(*sys.argv[1:])
