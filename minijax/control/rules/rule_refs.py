"""References among the arguments, results and residuals of custom derivative rules.

A rule may keep a reference among its arguments as a residual, since it outlives the call;
no result may be a reference, and none is passed twice.  Next: custom_vjp.py, which checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...base import errors, tree
from ...base.source import function_text
from ...ir import core
from ...types.avals import AbstractRef
from ..arguments import ArgNames


def is_reference(x: Any) -> bool:
    """Whether a leaf is a reference, or a tracer of one."""
    return isinstance(x, core.Reference) or (
        isinstance(x, core.Tracer) and type(x.aval) is AbstractRef
    )


def check_passed_once(
    leaves: Sequence[Any], fun: Any, in_tree: Any, positions: Sequence[int]
) -> None:
    """Raise ValueError if two arguments of a custom_vjp function are the same reference."""
    first: dict[int, int] = {}
    for i, x in enumerate(leaves):
        if is_reference(x) and (j := first.setdefault(id(x), i)) != i:
            args = tree.unflatten(in_tree, range(len(leaves)))
            names = ArgNames(fun, tree.structure((args, {})), positions)
            raise ValueError(
                errors.message(
                    "only one reference to a mutable array may be passed as an argument to"
                    f" a function, but custom_vjp function {function_text(fun)} got the"
                    f" same mutable array reference of type {x.aval} at {names[j]} and"
                    f" {names[i]}.",
                    tries=["pass it once, and use it twice inside"],
                )
            )


def check_results(kind: str, fun: Callable[..., Any], out: Any) -> None:
    """Raise ValueError if a primal function or the first result of `fwd` is a reference."""
    for path, x in tree.leaves_with_path(out):
        if is_reference(x):
            end = "that was not an argument"
            if kind == "fwd":
                at = tree.keystr((tree.SequenceKey(0), *path))
                end = f"at output tree path {at}, but mutable array references cannot be"
                end += " returned there"
            raise _returned(kind, fun, x, end, "return ref[...], its value")


def check_residuals(fun: Callable[..., Any], residuals: Any, leaves: Sequence[Any]) -> None:
    """Raise ValueError if a residual is a reference that is not an argument of `fwd`."""
    for path, x in tree.leaves_with_path(residuals):
        if is_reference(x) and not any(x is leaf for leaf in leaves):
            at = tree.keystr((tree.SequenceKey(1), *path))
            end = f"at output tree path {at} that was not an argument"
            raise _returned("fwd", fun, x, end, "pass the reference as an argument")


def _returned(kind: str, fun: Callable[..., Any], x: Any, end: str, hint: str) -> ValueError:
    return ValueError(
        errors.message(
            f"custom_vjp {kind} function {function_text(fun)} returned a mutable array"
            f" reference of type {x.aval} {end}.",
            tries=[hint],
        )
    )
