"""`python -m minijax.tools TOOL WHERE [ARGUMENT ...]`: a tool from the shell.

WHERE is `module:function` or `script.py:function`; a method is `object.method`.  It is
called with what the module gives as its arguments: `FUNCTION_args` (of a method,
`object_method_args`), or else `example_args`, a tuple or a function that makes one.  `why
script.py ...` runs the script and logs what was traced and compiled; `diff WHERE OTHER`
compares two functions at the arguments of the first.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import pathlib
import runpy
import sys
from collections.abc import Callable, Sequence
from typing import Any

from .coloring import sparsity
from .costs import cost
from .footprint import memory
from .ledger import residuals
from .nan_finder import nans
from .parting import diff
from .recompiles import watch
from .stages_page import show

TOOLS: dict[str, Callable[..., Any]] = {
    "nans": lambda f, *args: nans(f)(*args),
    "memory": memory,
    "cost": cost,
    "residuals": residuals,
    "sparsity": sparsity,
    "show": show,
}


def found_at(where: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The function that is named so, and its arguments."""
    home, colon, name = where.rpartition(":")
    if not colon:
        raise SystemExit(f"{where}: name a function, as in module:function")
    if home.endswith(".py"):
        if not pathlib.Path(home).is_file():
            raise SystemExit(f"{home}: no such file")
        given = runpy.run_path(home)
    else:
        sys.path.insert(0, "")
        given = vars(importlib.import_module(home))
    first, *rest = name.split(".")
    found = given.get(first)
    for attribute in rest:
        found = getattr(found, attribute, None)
    if not callable(found):
        raise SystemExit(f"{home} has no function {name}")
    own = f"{name.replace('.', '_')}_args"
    args = given.get(own, given.get("example_args", ()))
    if not args and not _takes_none(found):
        raise SystemExit(f"{home} has no arguments for {name}: set {own}, a tuple")
    return found, tuple(args() if callable(args) else args)


def _takes_none(fun: Callable[..., Any]) -> bool:
    """Whether a function may be called without arguments, as far as can be told."""
    try:
        inspect.signature(fun).bind()
    except TypeError:
        return False
    except ValueError:  # it has no signature
        pass
    return True


def main(given: Sequence[str] | None = None) -> None:
    """Run a tool and print what it found."""
    parser = argparse.ArgumentParser(
        prog="python -m minijax.tools", description=__doc__.split("\n\n")[1]
    )
    parser.add_argument("tool", choices=[*TOOLS, "why", "diff"])
    parser.add_argument(
        "where", help="module:function, script.py:function, or script.py"
    )
    parser.add_argument(
        "rest",
        nargs="*",
        help="arguments of the script, for why; the other function, for diff",
    )
    parser.add_argument("--json", action="store_true", help="print the data")
    parser.add_argument("--html", help="write the page of show to this file")
    asked = parser.parse_args(given)
    if asked.html and asked.tool != "show":
        parser.error("--html is for show")
    report: Any
    if asked.tool == "why":
        before, sys.argv = sys.argv, [asked.where, *asked.rest]
        try:
            with watch() as log:
                sys.path.insert(0, str(pathlib.Path(asked.where).parent))
                runpy.run_path(asked.where, run_name="__main__")
            report = log
        finally:
            sys.argv = before
    elif asked.tool == "diff":
        if len(asked.rest) != 1:
            parser.error("diff takes two functions: diff WHERE OTHER")
        fun, args = found_at(asked.where)
        report = diff(fun, found_at(asked.rest[0])[0], *args)
    else:
        if asked.rest:
            parser.error(f"{asked.tool} takes one function")
        fun, args = found_at(asked.where)
        report = TOOLS[asked.tool](fun, *args)
    if asked.html:
        report.save(asked.html)
    print(json.dumps(report.to_dict(), default=str) if asked.json else report)


if __name__ == "__main__":
    main()
