"""A user's function at given arguments, as the program that tools read."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Callable, Sequence
from typing import Any

from ..api.aot import jit
from ..api.eval_shape import make_jaxpr
from ..base import tree
from ..base.source import wraps
from ..control.arguments import NO_STATICS, ArgNames
from ..control.calls.jit import jitted_of
from ..ir.jaxpr import ClosedJaxpr, Jaxpr
from ..runtime.running.dispatch import is_host_driven
from .source_lines import called_here


@dataclasses.dataclass
class Program:
    """A function traced for some arguments.

    closed: its jaxpr; leaves: the arrays (or their types) that it takes.
    names: what the leaves are called.
    """

    fun: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    closed: ClosedJaxpr
    shapes: Any
    leaves: list[Any]
    names: list[str]

    @property
    def jaxpr(self) -> Jaxpr:
        return self.closed.jaxpr

    def compiled(self) -> Any:
        """The function compiled for these arguments, not run; None if it is no program.

        One that drives devices itself (`pmap`) is none.
        """
        if is_host_driven(self.jaxpr):
            return None
        f: Any = self.fun if jitted_of(self.fun) is not None else jit(self.fun)
        return f.lower(*self.args, **self.kwargs).compile()


class Report:
    """An answer: data, that is `to_dict`; text, by `print`; and so in notebooks.

    >>> from minijax import tools
    >>> import minijax.numpy as jnp
    >>> report = tools.sparsity(jnp.sin, jnp.ones(2))
    >>> report.to_dict()
    {'rows': [0, 1], 'columns': [0, 1], 'out_shape': (2,), 'in_shape': (2,)}
    >>> print(report)
    2 x 2, 2 elements may differ from 0 (50.00%)
    #.
    .#
    """

    def _repr_html_(self) -> str:
        return f'<pre style="line-height:1.2">{html.escape(str(self))}</pre>'


def without_statics(
    fun: Callable[..., Any], args: Sequence[Any], kwargs: Any, given: Any = NO_STATICS
) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], tuple[int, ...]]:
    """A function of the arguments that are not static, these, and where they stood.

    given: which are static, if the function, being jitted, does not know.
    """
    called_here()
    jitted = jitted_of(fun)
    nums, names = given if jitted is None or given != NO_STATICS else jitted.statics
    n = len(args)
    places = tuple(i for i in range(n) if i not in nums and i - n not in nums)
    fixed = {k: v for k, v in kwargs.items() if k in names}
    if len(places) == n and not fixed:
        return fun, tuple(args), kwargs, places

    @wraps(fun)
    def rest(*xs: Any, **more: Any) -> Any:
        whole = list(args)
        for i, x in zip(places, xs, strict=True):
            whole[i] = x
        return fun(*whole, **more, **fixed)

    more = {k: v for k, v in kwargs.items() if k not in names}
    return rest, tuple(args[i] for i in places), more, places


def program_of(fun: Callable[..., Any], args: Sequence[Any], kwargs: Any) -> Program:
    """Trace a function; arguments may be arrays or `ShapeDtypeStruct`s."""
    rest, xs, more, places = without_statics(fun, args, kwargs)
    closed, shapes = make_jaxpr(rest, return_shape=True)(*xs, **more)
    leaves, in_tree = tree.flatten((xs, more))
    names = ArgNames(fun, in_tree, places)
    return Program(
        fun, tuple(args), kwargs, closed, shapes, leaves, [names[i] for i in range(len(leaves))]
    )


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Rows as text, in columns: words to the left, numbers to the right."""
    cells = [list(map(str, row)) for row in (head, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    number = [all(_is_number(row[i]) for row in cells[1:]) for i in range(len(head))]
    lines = [
        "  ".join(
            c.rjust(w) if n else c.ljust(w) for c, w, n in zip(row, widths, number, strict=True)
        ).rstrip()
        for row in cells
    ]
    return "\n".join(lines)


def _is_number(text: str) -> bool:
    return text[:1].isdigit() or text in ("", "-")


def amount(n: float, unit: str = "B") -> str:
    """`1.5 MB`."""
    for factor, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(n) >= factor:
            return f"{n / factor:.3g} {prefix}{unit}"
    return f"{n:.3g} {unit}"
