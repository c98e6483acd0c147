"""Functions declared as table rows: functions with one signature share its code.

A row holds a name, a summary (a formula may follow it), the description of the result, and
an example.  Arguments are described here, once for all functions that have them.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from ...base.util import renamed
from ...control.calls.jit import composite

# Descriptions of the arguments, unless a row has its own.
ARGS = {
    "a": "array or number.",
    "axis": "axes to reduce; None for all of them.",
    "dtype": "dtype to convert to first, and to compute in.",
    "out": "not supported.",
    "keepdims": "keep reduced axes with size 1.",
    "initial": "a number that is combined with each result.",
    "where": "a mask; elements where it is False are excluded.",
    "promote_integers": "widen small integers when no dtype is given.",
}


def as_arrays(text: str) -> str:
    """Rewrite the outermost lists of an example's arguments as `jnp.array` calls."""
    out, depth = [], 0
    for c in text:
        depth -= c == "]"
        out.append("jnp.array([" if c == "[" and not depth else c)
        out[-1] += ")" * (c == "]" and not depth)
        depth += c == "["
    return "".join(out)


def describe(
    name: str, summary: str, args: str, returns: str, example: str, raises: str = ""
) -> str:
    """Return a docstring in the project's form.

    `example` is "[1., 2.], 3 -> [3., 6.]": the operands, with lists for arrays, and the
    result; or any expression with parentheses, and its printed value.
    """
    call, _, result = example.partition(" -> ")
    if "(" not in call:
        call = f"jnp.{name}({as_arrays(call)})"
        if "e" in result:  # True, False
            dtype = "bool"
        elif "j" in result:
            dtype = "complex64"
        else:
            dtype = "float32" if "." in result else "int32"
        result = f"Array({result}, dtype={dtype})"
    raises_section = f"Raises:\n  {raises}\n\n" if raises else ""
    return (
        f"{summary}\n\nArgs:\n  {args}\n\nReturns:\n  {returns}\n\n{raises_section}"
        f"Example:\n  >>> import minijax.numpy as jnp\n  >>> {call}\n  {result}\n"
    )


def row(
    name: str,
    module: str,
    summary: str,
    returns: str,
    example: str,
    *,
    raises: str = "",
    **arg_docs: str,
) -> Callable[[Any], Any]:
    """Name and document a function of `module`; `arg_docs` describe its arguments."""

    def declare(fun: Any) -> Any:
        code = fun.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        args = "\n  ".join(f"{n}: {arg_docs.get(n) or ARGS[n]}" for n in names)
        fun.__name__ = fun.__qualname__ = name
        fun.__module__ = module
        fun.__doc__ = describe(name, summary, args, returns, example, raises)
        return fun

    return declare


def synonym(fun: Any, name: str) -> Any:
    """Return a copy of `fun` with another name and its own docstring.

    `fun` is a Python function, or a `composite` of one without options.
    """
    compiled = not isinstance(fun, FunctionType)
    out = renamed(fun.__wrapped__ if compiled else fun, name, fun.__module__)
    out.__doc__ = out.__doc__.replace(f"jnp.{fun.__name__}(", f"jnp.{name}(")
    return composite(out) if compiled else out
