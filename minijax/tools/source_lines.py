"""The user's source line of an equation: file, line, variable, direction.

The name of a variable is read from the line that computes its value: it is the target of
the assignment that contains the operation.
"""

from __future__ import annotations

import ast
import dataclasses
import linecache
import os
import textwrap
from collections.abc import Sequence
from typing import Any

from ..base import util
from ..base.source import UNKNOWN, Source, user_source
from ..ir.jaxpr import Equation


@dataclasses.dataclass(frozen=True)
class SourceLine:
    """A line of the user's program.

    variable: what the line assigns to ("" if nothing, "return" for a return statement).

    >>> from minijax import tools
    >>> report = tools.nans(lambda x: 1 / x)(0.0)
    >>> report.first.place.function
    '<lambda>'
    """

    file: str
    line: int
    column: int
    function: str
    text: str
    variable: str

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @property
    def short(self) -> str:
        """`file.py:3`."""
        return f"{os.path.basename(self.file)}:{self.line}" if self.file else "?"

    def __str__(self) -> str:
        named = f" in {self.function}" if self.function else ""
        return f"{self.file}:{self.line}{named}" if self.file else "an unknown place"


def report_lines(
    what: str, scope: str, place: SourceLine | None, iterations: Sequence[tuple[str, int]]
) -> list[str]:
    """Return the first lines of a report on an operation: what happened, where, and when.

    Without `place`, `what` is the complete first line.
    """
    lines = [what]
    if place is not None:
        lines[0] += f", in {scope}." if scope else "."
        lines.append(f"  at {place}")
        if place.text:
            lines.append(f"     {place.text}")
        if place.variable:
            lines.append(f"  variable: {place.variable}")
    for name, number in iterations:
        lines.append(f"  {name.replace(' of ', f' {number} of ', 1)}")
    return lines


NOWHERE = SourceLine("", 0, 0, "", "", "")
_calls: set[Any] = set()  # calls of tools by users, which are not lines of programs


def exclude_current_line() -> None:
    """Exclude the user's current line, which calls a tool, from source lines."""
    source = user_source()
    if source is not None:
        _calls.add((source.code, source.lasti))


def source_line_of(eqn: Equation) -> SourceLine:
    """Return the user's line that an operation comes from."""
    return of_source(eqn.source)


@util.cached(4096)
def of_source(source: Source | None) -> SourceLine:
    """Return a recorded source as a line with its text and variable."""
    if source is None or source is UNKNOWN or (source.code, source.lasti) in _calls:
        return NOWHERE
    line, column = source.position()
    text = linecache.getline(source.file, line).strip()
    name = source.function.rpartition(".")[2]
    return SourceLine(source.file, line, column, name, text, _assigned(source.file, line))


def is_backward(eqn: Equation) -> bool:
    """Whether an operation belongs to the backward pass."""
    return "transpose(" in eqn.names


@util.cached(256)
def _targets(file: str) -> dict[int, str]:
    """Map each line to the assignment target of the innermost statement around it."""
    source = "".join(linecache.getlines(file))
    try:
        tree = ast.parse(textwrap.dedent(source))
    except SyntaxError:
        return {}
    targets: dict[int, str] = {}
    for node in ast.walk(tree):  # outer statements first
        if isinstance(node, ast.Assign):
            name = ", ".join(ast.unparse(t).strip("()") for t in node.targets)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign):
            name = ast.unparse(node.target)
        elif isinstance(node, ast.Return):
            name = "return"
        else:
            continue
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
            targets[line] = name
    return targets


def _assigned(file: str, line: int) -> str:
    return _targets(file).get(line, "")
