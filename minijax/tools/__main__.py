"""`python -m minijax.tools TOOL WHERE [ARGUMENT ...]`: a tool from the shell.

WHERE is `module:function` or `script.py:function`; a method is `object.method`.  It is
called with what the module gives as its arguments: `FUNCTION_args` (of a method,
`object_method_args`), or else `example_args`, a tuple or a function that makes one.  `why
script.py ...` runs the script and logs what was traced and compiled; `diff WHERE OTHER`
compares two functions at the arguments of the first; `plan_remat WHERE BYTES` says what
the gradient of a scalar function should recompute.  `TOOL --help` tells of one.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import pathlib
import runpy
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from .coloring import sparsity
from .costs import cost
from .jaxpr_diff import diff
from .memory_report import memory
from .nan_finder import nans
from .recompiles import watch
from .residuals_report import plan_remat, residuals
from .stages_page import show
from .verifier import verify

TOOLS: dict[str, Callable[..., Any]] = {
    "nans": nans,
    "verify": verify,
    "memory": memory,
    "cost": cost,
    "residuals": residuals,
    "plan_remat": plan_remat,
    "sparsity": sparsity,
    "show": show,
    "why": watch,
    "diff": diff,
}

SAYS = {  # where that is not what the function's own first line says
    "nans": "Run a function, and name the equation where its first NaN began.",
    "verify": "Compute a function in several ways, and name where they differ.",
    "why": "Run a script, and tell what was traced and compiled, and why.",
}


def found_at(where: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The function that is named so, and its arguments."""
    home, colon, name = where.rpartition(":")
    if not colon:
        raise SystemExit(f"{where}: name a function, as in module:function")
    if home.endswith(".py"):
        module: Any = types.SimpleNamespace(**run_script(home))
    else:
        sys.path.insert(0, "")
        try:
            module = importlib.import_module(home)
        except ModuleNotFoundError as error:
            if not f"{home}.".startswith(f"{error.name}."):
                raise  # what it imports is not there
            raise SystemExit(f"{home}: no such module") from None
    found = module
    for attribute in name.split("."):
        found = getattr(found, attribute, None)
    if not callable(found):
        raise SystemExit(f"{home} has no function {name}")
    own = f"{name.replace('.', '_')}_args"
    source = own if hasattr(module, own) else "example_args"
    args = getattr(module, source, None)
    args = args() if callable(args) else args
    if args is None and _takes_none(found):
        args = ()
    if args is None:
        raise SystemExit(f"{home} has no arguments for {name}: set {own}, a tuple")
    if not isinstance(args, tuple | list):
        raise SystemExit(f"{home}: {source} must be a tuple, not {type(args).__name__}")
    return found, tuple(args)


def run_script(path: str, name: str = "<run_path>") -> dict[str, Any]:
    """What a script defines; it finds the modules beside it, as when Python runs it."""
    if not pathlib.Path(path).is_file():
        raise SystemExit(f"{path}: no such file")
    sys.path.insert(0, str(pathlib.Path(path).parent))
    return runpy.run_path(path, run_name=name)


def _takes_none(fun: Callable[..., Any]) -> bool:
    """Whether a function may be called without arguments, as far as can be told."""
    try:
        inspect.signature(fun).bind()
    except TypeError:
        return False
    except ValueError:  # it has no signature
        pass
    return True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m minijax.tools", description=(__doc__ or "").split("\n\n")[1]
    )
    tools = parser.add_subparsers(dest="tool", metavar="TOOL", required=True)
    for name, tool in TOOLS.items():
        says = SAYS.get(name) or (inspect.getdoc(tool) or "").split("\n")[0]
        one = tools.add_parser(name, help=says, description=says)
        where = "script.py" if name == "why" else "module:function or script.py:function"
        one.add_argument("where", metavar="WHERE", help=where)
        if name == "why":
            one.add_argument("rest", nargs=argparse.REMAINDER, help="arguments of the script")
        if name == "diff":
            one.add_argument("other", metavar="OTHER", help="the second function")
        if name == "plan_remat":
            one.add_argument("bytes", metavar="BYTES", type=int, help="the budget")
        if name == "show":
            one.add_argument("--html", help="write the page to this file")
        one.add_argument("--json", action="store_true", help="print the data")
    return parser


def main(given: Sequence[str] | None = None) -> None:
    """Run a tool and print what it found."""
    asked = _parser().parse_args(given)
    report: Any
    if asked.tool == "why":
        before, sys.argv = sys.argv, [asked.where, *asked.rest]
        try:
            with watch() as log:
                run_script(asked.where, "__main__")
            report = log
        finally:
            sys.argv = before
    else:
        fun, args = found_at(asked.where)
        if asked.tool == "diff":
            report = diff(fun, found_at(asked.other)[0], *args)
        elif asked.tool == "plan_remat":
            report = plan_remat(fun, asked.bytes, *args, measure=True)
        elif asked.tool in ("nans", "verify"):
            report = TOOLS[asked.tool](fun)(*args)
        else:
            report = TOOLS[asked.tool](fun, *args)
    if getattr(asked, "html", None):
        try:
            report.save(asked.html)
        except OSError as error:
            raise SystemExit(f"{asked.html}: {error.strerror}") from None
    print(json.dumps(report.to_dict(), default=str) if asked.json else report)


if __name__ == "__main__":
    main()
