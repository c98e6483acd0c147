"""`show`: every stage of a function, side by side, from Python to the compiler's output.

A stage is lines of text.  Each line records the user's line that it comes from, and what it
computes.  The page highlights the lines of all stages that come from one source line.

The page's script and style are in page.py.
"""

from __future__ import annotations

import dataclasses
import html
import linecache
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

from ..analysis.cost_model import equation_flops, nbytes
from ..api.aot import jit
from ..api.eval_shape import ShapeDtypeStruct, make_jaxpr
from ..base import config, errors, tree
from ..base.source import name_of, wraps
from ..control.calls.remat_regions import inline_calls
from ..ir import core
from ..ir.jaxpr import Equation, Jaxpr, Literal, closed_jaxprs
from ..runtime.running.dispatch import is_host_driven
from ..text.printer import Printer, literal_text
from .page import page
from .programs import amount, without_statics
from .source_lines import NOWHERE, source_line_of


@dataclasses.dataclass
class Line:
    """A line of a stage.

    source: "file:line" of the program that it comes from, "" if unknown.
    kind: "code", "head" (of a fold), or "end".
    note: type, bytes and flops of its results.

    >>> from minijax import tools
    >>> import minijax.numpy as jnp
    >>> line = tools.show(jnp.sin, jnp.ones(2), compiled=False)['sin'].lines[1]
    >>> line.text, line.depth
    ('sin:f32[2] = sin x', 1)
    """

    text: str
    depth: int = 0
    source: str = ""
    kind: str = "code"
    note: str = ""


@dataclasses.dataclass
class Stage:
    """A form of the program, with its name.

    >>> from minijax import tools
    >>> import minijax.numpy as jnp
    >>> print(tools.show(jnp.sin, jnp.ones(2), compiled=False)['sin'])
    sin(x:f32[2])
      sin:f32[2] = sin x
      return sin
    """

    name: str
    lines: list[Line]

    def __str__(self) -> str:
        lines = [x for x in self.lines if x.kind != "end"]
        return "\n".join("  " * x.depth + x.text for x in lines)


@dataclasses.dataclass
class Stages:
    """All stages of a function; `print` for text, `save` for a page; notebooks display it.

    >>> from minijax import tools
    >>> import minijax.numpy as jnp
    >>> stages = tools.show(jnp.sin, jnp.ones(2), compiled=False)
    >>> [stage.name for stage in stages.stages]
    ['Python', 'sin']
    """

    title: str
    stages: list[Stage]
    graph: str

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def __getitem__(self, name: str) -> Stage:
        return next(s for s in self.stages if s.name == name)

    def __str__(self) -> str:
        parts = [f"== {s.name} ==\n{s}" for s in self.stages]
        return "\n\n".join(parts)

    def html(self) -> str:
        """Return a self-contained HTML page."""
        graph = self.svg() if shutil.which("dot") else ""
        return page(self.title, [(s.name, _html(s)) for s in self.stages], graph)

    def _repr_html_(self) -> str:
        text = html.escape(self.html(), quote=True)
        style = "width:100%;height:640px;border:1px solid #ccc"
        return f'<iframe style="{style}" srcdoc="{text}"></iframe>'

    def save(self, path: str) -> str:
        """Write the page to a file; return the path."""
        with open(path, "w", encoding="utf-8") as f:
            f.write(self.html())
        return path

    def svg(self) -> str:
        """Return the graph of the last jaxpr, drawn by graphviz.

        Raises:
          RuntimeError: graphviz is not installed.
        """
        if shutil.which("dot") is None:
            raise errors.error(
                RuntimeError,
                "show: the program `dot`, which draws the graph, was not found.",
                why="graphviz is not installed, or not on the PATH.",
                tries=["install graphviz", "print(stages.graph), the input of `dot`"],
            )
        run = ["dot", "-Tsvg"]
        done = subprocess.run(run, input=self.graph, capture_output=True, text=True, check=True)
        return done.stdout[done.stdout.index("<svg") :]


def show(
    f: Callable[..., Any],
    *args: Any,
    through: Sequence[Callable[..., Any]] = (),
    compiled: bool = True,
    **kwargs: Any,
) -> Stages:
    """Show every stage of a function: Python, jaxprs, StableHLO, and XLA's optimized HLO.

    Args:
      f: a function of arrays, with any transformations inside.
      args, kwargs: arguments of the transformed function: arrays, or `ShapeDtypeStruct`s.
      through: transformations around `f`, the outermost first: `[jit, vmap, grad]` is
        `jit(vmap(grad(f)))`.  The jaxpr is shown before and after each.
      compiled: whether to lower and compile as well.

    Returns:
      `Stages`: data; `print` it, call `save('page.html')`, or display it in a notebook.  On
      the page, variables have the program's names; lines of all stages that come from one
      source line highlight together; hovering shows types, bytes and flops; loops and
      branches fold.

    Raises:
      TypeError: `through` contains something that is not a function.

    Example:
      >>> import minijax as mj, minijax.numpy as jnp
      >>> def f(x):
      ...     wave = jnp.sin(x)
      ...     return wave * 2.
      >>> stages = show(f, jnp.ones(3), through=[mj.vmap, mj.grad])
      >>> [s.name for s in stages.stages]
      ['Python', 'f', 'grad', 'vmap', 'StableHLO', 'HLO']
      >>> print(stages['f'])
      f(x:f32[])
        wave:f32[] = sin x
        mul:f32[] = mul wave 2.0
        return mul
    """
    if not through:
        f, args, kwargs, _ = without_statics(f, args, kwargs)
    transformed_f, stages_called = _composed(f, through)
    rest, xs, more, _ = without_statics(transformed_f, args, kwargs)
    closed = make_jaxpr(rest)(*xs, **more)
    jaxprs: list[tuple[str, Jaxpr]] = []
    for name, fun, seen in stages_called:
        if seen:  # the function was called with these types
            inner_args, inner_kwargs = seen[0]
            jaxprs.append((name, make_jaxpr(fun)(*inner_args, **inner_kwargs).jaxpr))
    if through or not jaxprs:
        jaxprs.append((_name(through[0]) if through else name_of(f), closed.jaxpr))
    stages = [Stage("Python", _python([j for _, j in jaxprs]))]
    names: dict[str, int] = {}
    for name, jaxpr in jaxprs:
        names[name] = names.get(name, 0) + 1
        suffix = f" {names[name]}" if names[name] > 1 else ""
        stages.append(Stage(name + suffix, _JaxprWriter().program(jaxpr, name_of(f))))
    if compiled and not is_host_driven(closed.jaxpr):
        jitted = transformed_f if hasattr(transformed_f, "lower") else jit(transformed_f)
        lowered = jitted.lower(*args, **kwargs)
        text = lowered.as_text(debug_info=True)
        stages.append(Stage("StableHLO", _stablehlo(text)))
        with config.CACHE_LOCATIONS(True):  # otherwise a cached program has no source lines
            stages.append(Stage("HLO", _hlo(lowered.compile().as_text())))
    return Stages(name_of(f), stages, _graph(closed.jaxpr))


def _name(transform: Any) -> str:
    return name_of(transform)


def _composed(f: Any, through: Sequence[Any]) -> tuple[Any, list[tuple[str, Any, list[Any]]]]:
    """Return the composed function, and for each inner one (stage, function, arguments)."""
    for t in through:
        if not callable(t):
            raise errors.type_error(
                f"show: through contains {t!r}, which is not a transformation.",
                tries=["through=[jit, vmap, grad]", "functools.partial(vmap, in_axes=1)"],
            )
    stages_called: list[tuple[str, Any, list[Any]]] = []
    fun, name = f, name_of(f)
    for t in reversed(through):
        seen: list[Any] = []
        stages_called.append((name, fun, seen))
        fun, name = t(_with_recorded_types(fun, seen)), _name(t)
    if not through:
        seen = []
        stages_called.append((name, fun, seen))
        fun = _with_recorded_types(fun, seen)
    return fun, stages_called


def _with_recorded_types(fun: Any, seen: list[Any]) -> Any:
    """Wrap a function so that calls append the types of their arguments to `seen`."""

    @wraps(fun)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        seen.append(tree.map(_type, (args, kwargs)))
        return fun(*args, **kwargs)

    return recorded


def _type(x: Any) -> Any:
    if not core.is_value(x):
        return x
    aval = core.aval_of(x)
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)


# ------------------------------------------------------------------------------- Python


def _python(jaxprs: Sequence[Jaxpr]) -> list[Line]:
    """Return the user's functions that the equations come from, with their lines."""
    codes: dict[Any, tuple[int, int]] = {}

    def visit(jaxpr: Jaxpr) -> None:
        for eqn in jaxpr.eqns:
            source = None if source_line_of(eqn) is NOWHERE else eqn.source
            if source is not None and source.code.co_name != "<module>":
                code = source.code
                lines = [at[0] for at in code.co_positions() if at[0]]
                codes[code] = (min(code.co_firstlineno, *lines), max(lines))
            for p in closed_jaxprs(eqn.params):
                visit(p.jaxpr)

    for jaxpr in jaxprs:
        visit(jaxpr)
    inside = {
        c
        for c, (a, b) in codes.items()
        for d, (x, y) in codes.items()
        if d is not c
        and d.co_filename == c.co_filename
        and x <= a
        and b <= y
        and ((x, y) != (a, b) or id(d) < id(c))  # of equal ranges one stays: ids break the tie
    }
    out: list[Line] = []
    for code, (first, last) in sorted(
        codes.items(), key=lambda item: (item[0].co_filename, item[1])
    ):
        text = [linecache.getline(code.co_filename, i) for i in range(first, last + 1)]
        if code in inside or not any(text):
            continue
        out.append(Line(code.co_filename, kind="head"))
        out += [
            Line(line.rstrip(), source=f"{code.co_filename}:{first + i}")
            for i, line in enumerate(text)
        ]
        out.append(Line("", kind="end"))
    return out or [Line("(source not available)")]


# ------------------------------------------------------------------------------- jaxprs


class _JaxprWriter:
    """Writer of jaxprs with the user's names for variables."""

    def __init__(self) -> None:
        self.names: dict[Any, str] = {}
        self.taken: dict[str, int] = {}

    def name(self, v: Any, requested: str) -> str:
        """Choose a new name, the requested one if it is free."""
        if not re.fullmatch(r"[A-Za-z_]\w*(\[.*\])?", requested) or requested == "return":
            requested = "v"
        n = self.taken[requested] = self.taken.get(requested, 0) + 1
        self.names[v] = requested if n == 1 else f"{requested}_{n}"
        return self.names[v]

    def base(self, v: Any) -> str:
        """Return the name of a variable without its number."""
        return re.sub(r"_\d+$", "", self.atom(v))

    def atom(self, a: Any) -> str:
        if type(a) is Literal:
            return literal_text(a.val)
        return self.names.get(a) or self.name(a, "c")

    def program(
        self, jaxpr: Jaxpr, title: str, depth: int = 0, called: Sequence[str] = ()
    ) -> list[Line]:
        """Return the lines of a program; `called` names its arguments if it does not."""
        arg_names = jaxpr.arg_names or called
        for i, v in enumerate(jaxpr.invars):
            self.name(v, arg_names[i] if i < len(arg_names) else "x")
        args = [f"{self.atom(v)}:{v.aval.str_short(True)}" for v in jaxpr.invars]
        lines = [Line(f"{title}({', '.join(args)})", depth, kind="head")]
        for eqn in jaxpr.eqns:
            lines += self.equation(eqn, depth + 1)
        outs = ", ".join(map(self.atom, jaxpr.outvars))
        lines.append(Line(f"return {outs}", depth + 1))
        lines.append(Line("", depth, kind="end"))
        return lines

    def equation(self, eqn: Equation, depth: int) -> list[Line]:
        source_line = source_line_of(eqn)
        ins = " ".join(map(self.atom, eqn.ins))
        targets = [t.strip() for t in source_line.variable.split(",")]
        if len(targets) < 2:
            targets = targets * len(eqn.outs)
        targets += [eqn.primitive.name] * len(eqn.outs)
        outs = [
            f"{self.name(v, _result_name(t, eqn))}:{v.aval.str_short(True)}"
            for v, t in zip(eqn.outs, targets, strict=False)
        ]
        try:
            params = list(Printer().params(eqn))
        except (KeyError, ValueError):
            params = sorted(eqn.params.items())
        shown = [f"{k}={_truncated(v)}" for k, v in params if not closed_jaxprs({k: v})]
        brackets = f"[{' '.join(shown)}]" if shown else ""
        targets_text = f"{', '.join(outs)} = " if outs else ""
        size = sum(nbytes(v.aval) for v in eqn.outs)
        note = (
            f"{source_line.short} {source_line.variable}  {', '.join(outs)}  {amount(size)},"
            f" {amount(equation_flops(eqn), 'flop')}"
        )
        if eqn.names:
            note += f"  in {eqn.names}"
        source = f"{source_line.file}:{source_line.line}" if source_line.file else ""
        text = f"{targets_text}{eqn.primitive.name}{brackets} {ins}".rstrip()
        line = Line(text, depth, source, "code", note)
        inner = [(k, p) for k, v in eqn.params.items() for p in closed_jaxprs({k: v})]
        lines = [line]
        for k, p in inner:
            same = eqn.ins[len(eqn.ins) - len(p.jaxpr.invars) :]
            called = ["x" if type(a) is Literal else self.base(a) for a in same]
            lines += self.program(p.jaxpr, k, depth + 1, called)
        return lines


def _result_name(target: str, eqn: Equation) -> str:
    """Return the name of a result: the user's variable, or the operation."""
    named = target not in ("", "_", "return") and target.isidentifier()
    return target if named else eqn.primitive.name.replace("-", "_")


def _truncated(value: Any, most: int = 60) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= most else text[: most - 3] + "..."


# ---------------------------------------------------------------- input of XLA


_ALIAS = re.compile(r'^(#loc\w*) = loc\((?:"(.*?)"(?::(\d+):\d+)?)?(?:\((#loc\w*)\))?.*\)$')
_AT = re.compile(r"\s*loc\((#loc\w*|unknown)\)")


def _stablehlo(text: str) -> list[Line]:
    """Return the lines of a module; the locations at their ends become sources."""
    locations: dict[str, tuple[str, str]] = {}
    parents: dict[str, str] = {}
    notes: dict[str, str] = {}
    for row in text.splitlines():
        match = _ALIAS.match(row)
        if match:
            alias, name, line, parent = match.groups()
            if line:
                locations[alias] = (name, line)
            elif name:
                notes[alias] = name
            if parent:
                parents[alias] = parent
    lines = []
    for row in text.splitlines():
        if row.startswith("#loc"):
            continue
        at = _AT.findall(row)
        alias = note = at[-1] if at else ""
        note = notes.get(alias, "")
        while alias in parents and alias not in locations:
            alias = parents[alias]
        file, line = locations.get(alias, ("", ""))
        body = _AT.sub("", row)
        depth = (len(body) - len(body.lstrip())) // 2
        source = f"{file}:{line}" if file else ""
        lines.append(Line(body.strip(), depth, source, "code", note))
    return lines


def _hlo(text: str) -> list[Line]:
    """Return the lines of optimised modules; stack frames become sources."""
    tables: dict[str, dict[str, str]] = {}
    lines: list[Line] = []
    table = ""
    for row in text.splitlines():
        if row in ("FileNames", "FunctionNames", "FileLocations", "StackFrames"):
            table = row
            tables.setdefault(table, {})
            continue
        if table and re.match(r"\d+ ", row):
            number, _, rest = row.partition(" ")
            tables[table][number] = rest
            continue
        table = ""
        frame = re.search(r"stack_frame_id=(\d+)", row)
        source = _frame_source(tables, frame.group(1)) if frame else ""
        name = re.search(r'op_name="([^"]*)"', row)
        body = re.sub(r", metadata=\{[^}]*\}", "", row)
        depth = (len(body) - len(body.lstrip())) // 2
        if body.strip():
            note = name.group(1) if name else ""
            lines.append(Line(body.strip(), depth, source, "code", note))
    return lines


def _frame_source(tables: dict[str, dict[str, str]], frame: str) -> str:
    def field(row: str, name: str) -> str:
        match = re.search(rf"{name}=(\d+)", row)
        return match.group(1) if match else ""

    row = tables.get("StackFrames", {}).get(frame, "")
    at = tables.get("FileLocations", {}).get(field(row, "file_location_id"), "")
    file = tables.get("FileNames", {}).get(field(at, "file_name_id"), "").strip('"')
    return f"{file}:{field(at, 'line')}" if file else ""


# ------------------------------------------------------------------------------ pictures


def _html(stage: Stage) -> str:
    """Return a stage's lines as HTML; lines from a head to its end fold."""
    out = []
    for line in stage.lines:
        text = html.escape(line.text) or "&nbsp;"
        if line.kind == "end":
            out.append("</details>")
            continue
        indent = f'style="padding-left:{line.depth * 1.2 + 0.3:.1f}em"'
        about = f' data-src="{html.escape(line.source)}"' if line.source else ""
        note = f' title="{html.escape(line.note)}"' if line.note else ""
        if line.kind == "head":
            out.append(f"<details open><summary {indent}{about}{note}>{text}</summary>")
        else:
            out.append(f'<div class="line" {indent}{about}{note}>{text}</div>')
    return "\n".join(out)


def _graph(jaxpr: Jaxpr) -> str:
    """Return a graph for graphviz: nodes are equations, edges are values."""
    writer, names = _JaxprWriter(), jaxpr.arg_names
    jaxpr = inline_calls(jaxpr)
    rows = ["digraph {", 'node [shape=box fontname="monospace" fontsize=10];']
    rows.append('edge [fontname="monospace" fontsize=8];')
    node_of: dict[Any, str] = {}
    for i, v in enumerate(jaxpr.invars):
        arg_name = names[i] if i < len(names) else "x"
        node_of[v] = f"i{i}"
        label = f"{writer.name(v, arg_name)}: {v.aval.str_short(True)}".replace('"', "'")
        rows.append(f'i{i} [label="{label}" shape=ellipse];')
    for i, eqn in enumerate(jaxpr.eqns):
        rows.append(f'e{i} [label="{eqn.primitive.name}"];')
        for a in eqn.ins:
            if type(a) is not Literal and a in node_of:
                rows.append(f'{node_of[a]} -> e{i} [label="{a.aval.str_short(True)}"];')
        for v in eqn.outs:
            node_of[v] = f"e{i}"
    for i, a in enumerate(jaxpr.outvars):
        rows.append(f'o{i} [label="result {i}" shape=ellipse];')
        if type(a) is not Literal and a in node_of:
            rows.append(f"{node_of[a]} -> o{i};")
    return "\n".join([*rows, "}"])
