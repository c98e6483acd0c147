"""`python -m minijax.tools TOOL WHERE [ARGUMENT ...]`: run a tool from the shell.

WHERE is `module:function` or `script.py:function`; a method is `object.method`.  The
module defines the arguments for the call: `FUNCTION_args` (for a method
`object_method_args`) or `example_args`, a tuple or a function that returns one.  `why
script.py ...` runs the script and logs what was traced and compiled; `diff WHERE OTHER`
compares two functions at the arguments of the first; `plan_remat WHERE BYTES` plans what
the gradient of a scalar function should recompute.  `TOOL --help` describes one tool.
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

SUMMARIES = {  # where the summary is not the first line of the function's docstring
    "nans": "Run a function, and name the equation that produced its first NaN.",
    "verify": "Compute a function in several ways, and name where they differ.",
    "why": "Run a script, and log what was traced and compiled, and why.",
}


def load_function(target: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Load the function with this name, and its arguments."""
    module_name, colon, name = target.rpartition(":")
    if not colon:
        raise SystemExit(f"{target}: name a function, as in module:function")
    if module_name.endswith(".py"):
        module: Any = types.SimpleNamespace(**run_script(module_name))
    else:
        sys.path.insert(0, "")
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if not f"{module_name}.".startswith(f"{error.name}."):
                raise  # the module exists, but one of its own imports is missing
            raise SystemExit(f"{module_name}: no such module") from None
    fun = module
    for attribute in name.split("."):
        fun = getattr(fun, attribute, None)
    if not callable(fun):
        raise SystemExit(f"{module_name} has no function {name}")
    args_name = f"{name.replace('.', '_')}_args"
    source = args_name if hasattr(module, args_name) else "example_args"
    args = getattr(module, source, None)
    args = args() if callable(args) else args
    if args is None and _callable_without_args(fun):
        args = ()
    if args is None:
        raise SystemExit(f"{module_name} has no arguments for {name}: set {args_name}, a tuple")
    if not isinstance(args, tuple | list):
        raise SystemExit(f"{module_name}: {source} must be a tuple, not {type(args).__name__}")
    return fun, tuple(args)


def run_script(path: str, name: str = "<run_path>") -> dict[str, Any]:
    """Run a script and return its globals; modules in its directory can be imported."""
    if not pathlib.Path(path).is_file():
        raise SystemExit(f"{path}: no such file")
    sys.path.insert(0, str(pathlib.Path(path).parent))
    return runpy.run_path(path, run_name=name)


def _callable_without_args(fun: Callable[..., Any]) -> bool:
    """Whether a function may be called without arguments, as far as its signature shows."""
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
        summary = SUMMARIES.get(name) or (inspect.getdoc(tool) or "").split("\n")[0]
        command = tools.add_parser(name, help=summary, description=summary)
        target_help = "script.py" if name == "why" else "module:function or script.py:function"
        command.add_argument("where", metavar="WHERE", help=target_help)
        if name == "why":
            command.add_argument(
                "rest", nargs=argparse.REMAINDER, help="arguments of the script"
            )
        if name == "diff":
            command.add_argument("other", metavar="OTHER", help="the second function")
        if name == "plan_remat":
            command.add_argument("bytes", metavar="BYTES", type=int, help="the budget")
        if name == "show":
            command.add_argument("--html", help="write the page to this file")
        command.add_argument("--json", action="store_true", help="print the data")
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Run a tool and print its report."""
    options = _parser().parse_args(argv)
    report: Any
    if options.tool == "why":
        before, sys.argv = sys.argv, [options.where, *options.rest]
        try:
            with watch() as log:
                run_script(options.where, "__main__")
            report = log
        finally:
            sys.argv = before
    else:
        fun, args = load_function(options.where)
        if options.tool == "diff":
            report = diff(fun, load_function(options.other)[0], *args)
        elif options.tool == "plan_remat":
            report = plan_remat(fun, options.bytes, *args, measure=True)
        elif options.tool in ("nans", "verify"):
            report = TOOLS[options.tool](fun)(*args)
        else:
            report = TOOLS[options.tool](fun, *args)
    if getattr(options, "html", None):
        try:
            report.save(options.html)
        except OSError as error:
            raise SystemExit(f"{options.html}: {error.strerror}") from None
    print(json.dumps(report.to_dict(), default=str) if options.json else report)


if __name__ == "__main__":
    main()
