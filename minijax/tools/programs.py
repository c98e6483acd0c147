"""The traced program of a user's function at given arguments, as tools read it."""

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
from .source_lines import exclude_current_line


@dataclasses.dataclass
class Program:
    """A function traced for some arguments.

    closed: its jaxpr; leaves: its array arguments (or their types).
    names: the names of the leaves.
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
        """Return the function compiled for these arguments, without running it.

        None if it drives devices itself (`pmap`), since it is then no single program.
        """
        if is_host_driven(self.jaxpr):
            return None
        f: Any = self.fun if jitted_of(self.fun) is not None else jit(self.fun)
        return f.lower(*self.args, **self.kwargs).compile()


class Report:
    """A tool's result: `to_dict` returns data; `print` and notebooks show text.

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
    fun: Callable[..., Any], args: Sequence[Any], kwargs: Any, statics: Any = NO_STATICS
) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], tuple[int, ...]]:
    """Return a function of the non-static arguments, these, and their positions.

    given: which arguments are static, if the function is not jitted with its own.
    """
    exclude_current_line()
    jitted = jitted_of(fun)
    nums, names = statics if jitted is None or statics != NO_STATICS else jitted.statics
    n = len(args)
    positions = tuple(i for i in range(n) if i not in nums and i - n not in nums)
    fixed = {k: v for k, v in kwargs.items() if k in names}
    if len(positions) == n and not fixed:
        return fun, tuple(args), kwargs, positions

    @wraps(fun)
    def rest(*xs: Any, **more: Any) -> Any:
        all_args = list(args)
        for i, x in zip(positions, xs, strict=True):
            all_args[i] = x
        return fun(*all_args, **more, **fixed)

    more = {k: v for k, v in kwargs.items() if k not in names}
    return rest, tuple(args[i] for i in positions), more, positions


def program_of(fun: Callable[..., Any], args: Sequence[Any], kwargs: Any) -> Program:
    """Trace a function; arguments may be arrays or `ShapeDtypeStruct`s."""
    rest, xs, more, positions = without_statics(fun, args, kwargs)
    closed, shapes = make_jaxpr(rest, return_shape=True)(*xs, **more)
    leaves, in_tree = tree.flatten((xs, more))
    names = ArgNames(fun, in_tree, positions)
    return Program(
        fun, tuple(args), kwargs, closed, shapes, leaves, [names[i] for i in range(len(leaves))]
    )


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Format rows in columns: words are left-aligned, numbers right-aligned."""
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
    """Format an amount with its unit: `1.5 MB`."""
    for factor, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(n) >= factor:
            return f"{n / factor:.3g} {prefix}{unit}"
    return f"{n:.3g} {unit}"
