"""`show`: every stage of a function, side by side, from Python to the compiler's output.

A stage is lines of text; each line knows the user's line that it comes from, and what it
makes.  The page lights up the lines of all stages that come from one line of the program.

The page's script and style stand in page.py.
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

from ..api.aot import jit
from ..api.eval_shape import ShapeDtypeStruct, make_jaxpr
from ..base import config, errors, tree
from ..base.source import name_of, wraps
from ..control.calls.remat_regions import inline_calls
from ..ir import core
from ..ir.jaxpr import Equation, Jaxpr, Literal, closed_jaxprs
from ..ir.printer import Printer, literal_text
from ..passes.cost_model import equation_flops, nbytes
from ..runtime.running.dispatch import is_host_driven
from .page import page
from .programs import amount, without_statics
from .source_lines import NOWHERE, source_line_of


@dataclasses.dataclass
class Line:
    """A line of a stage.

    source: "file:line" of the program that it comes from, "" if of none.
    kind: "code", "head" (of what folds), or "end".
    note: type, bytes and flops of what it makes.

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
    """A form of the program, under its name.

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
    """All stages of a function; `print` for text, `save` for a page, notebooks show it.

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
        """One page that needs nothing else."""
        graph = self.svg() if shutil.which("dot") else ""
        return page(self.title, [(s.name, _html(s)) for s in self.stages], graph)

    def _repr_html_(self) -> str:
        text = html.escape(self.html(), quote=True)
        style = "width:100%;height:640px;border:1px solid #ccc"
        return f'<iframe style="{style}" srcdoc="{text}"></iframe>'

    def save(self, path: str) -> str:
        """Write the page to a file; returns the path."""
        with open(path, "w", encoding="utf-8") as f:
            f.write(self.html())
        return path

    def svg(self) -> str:
        """The graph of the last jaxpr, drawn by graphviz.

        Raises:
          RuntimeError: that is not installed.
        """
        if shutil.which("dot") is None:
            raise errors.error(
                RuntimeError,
                "show: there is no program `dot` to draw the graph with.",
                why="graphviz is not installed, or not on the PATH.",
                tries=["install graphviz", "print(stages.graph), which is its input"],
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
    """Show every stage of a function: Python, jaxprs, StableHLO, and what XLA makes of it.

    Args:
      f: a function of arrays, with any transformations inside.
      args, kwargs: arguments of the whole function: arrays, or `ShapeDtypeStruct`s.
      through: transformations around `f`, the outermost first: `[jit, vmap, grad]` is
        `jit(vmap(grad(f)))`.  The jaxpr is shown before and after each.
      compiled: whether to lower and compile, too.

    Returns:
      `Stages`: data; `print` it, `save('page.html')`, or leave it to a notebook.  On the
      page, variables have the program's names, the lines of one line of the program light
      up in all stages together, hovering tells types, bytes and flops, loops and branches
      fold.

    Raises:
      TypeError: `through` holds what is no function.

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
    whole, taken = _composed(f, through)
    rest, xs, more, _ = without_statics(whole, args, kwargs)
    closed = make_jaxpr(rest)(*xs, **more)
    found: list[tuple[str, Jaxpr]] = []
    for name, fun, seen in taken:
        if seen:  # the function was called: with these types
            inner_args, inner_kwargs = seen[0]
            found.append((name, make_jaxpr(fun)(*inner_args, **inner_kwargs).jaxpr))
    if through or not found:
        found.append((_name(through[0]) if through else name_of(f), closed.jaxpr))
    stages = [Stage("Python", _python([j for _, j in found]))]
    names: dict[str, int] = {}
    for name, jaxpr in found:
        names[name] = names.get(name, 0) + 1
        again = f" {names[name]}" if names[name] > 1 else ""
        stages.append(Stage(name + again, _Writer().program(jaxpr, name_of(f))))
    if compiled and not is_host_driven(closed.jaxpr):
        jitted = whole if hasattr(whole, "lower") else jit(whole)
        lowered = jitted.lower(*args, **kwargs)
        text = lowered.as_text(debug_info=True)
        stages.append(Stage("StableHLO", _stablehlo(text)))
        with config.CACHE_LOCATIONS(True):  # else a program on disk knows no lines
            stages.append(Stage("HLO", _hlo(lowered.compile().as_text())))
    return Stages(name_of(f), stages, _graph(closed.jaxpr))


def _name(transform: Any) -> str:
    return name_of(transform)


def _composed(f: Any, through: Sequence[Any]) -> tuple[Any, list[tuple[str, Any, list[Any]]]]:
    """The whole function; for each inner one its stage, itself, and its arguments."""
    for t in through:
        if not callable(t):
            raise errors.type_error(
                f"show: through holds {t!r}, which is no transformation.",
                tries=["through=[jit, vmap, grad]", "functools.partial(vmap, in_axes=1)"],
            )
    taken: list[tuple[str, Any, list[Any]]] = []
    fun, name = f, name_of(f)
    for t in reversed(through):
        seen: list[Any] = []
        taken.append((name, fun, seen))
        fun, name = t(_recording(fun, seen)), _name(t)
    if not through:
        seen = []
        taken.append((name, fun, seen))
        fun = _recording(fun, seen)
    return fun, taken


def _recording(fun: Any, seen: list[Any]) -> Any:
    """The function; the types of its arguments go to a list when it is called."""

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
    """The user's functions that the equations come from, with their lines."""
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
        and ((x, y) != (a, b) or id(d) < id(c))
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
    return out or [Line("(no source is known)")]


# ------------------------------------------------------------------------------- jaxprs


class _Writer:
    """Writes jaxprs with the user's names for variables."""

    def __init__(self) -> None:
        self.names: dict[Any, str] = {}
        self.taken: dict[str, int] = {}

    def name(self, v: Any, wanted: str) -> str:
        """A new name, as wished if that is free."""
        if not re.fullmatch(r"[A-Za-z_]\w*(\[.*\])?", wanted) or wanted == "return":
            wanted = "v"
        n = self.taken[wanted] = self.taken.get(wanted, 0) + 1
        self.names[v] = wanted if n == 1 else f"{wanted}_{n}"
        return self.names[v]

    def base(self, v: Any) -> str:
        """The name of a variable without its number."""
        return re.sub(r"_\d+$", "", self.atom(v))

    def atom(self, a: Any) -> str:
        if type(a) is Literal:
            return literal_text(a.val)
        return self.names.get(a) or self.name(a, "c")

    def program(
        self, jaxpr: Jaxpr, title: str, depth: int = 0, called: Sequence[str] = ()
    ) -> list[Line]:
        """The lines of a program, whose arguments are called so if it does not say."""
        wanted = jaxpr.arg_names or called
        for i, v in enumerate(jaxpr.invars):
            self.name(v, wanted[i] if i < len(wanted) else "x")
        given = [f"{self.atom(v)}:{v.aval.str_short(True)}" for v in jaxpr.invars]
        lines = [Line(f"{title}({', '.join(given)})", depth, kind="head")]
        for eqn in jaxpr.eqns:
            lines += self.equation(eqn, depth + 1)
        outs = ", ".join(map(self.atom, jaxpr.outvars))
        lines.append(Line(f"return {outs}", depth + 1))
        lines.append(Line("", depth, kind="end"))
        return lines

    def equation(self, eqn: Equation, depth: int) -> list[Line]:
        place = source_line_of(eqn)
        ins = " ".join(map(self.atom, eqn.ins))
        targets = [t.strip() for t in place.variable.split(",")]
        if len(targets) < 2:
            targets = targets * len(eqn.outs)
        targets += [eqn.primitive.name] * len(eqn.outs)
        outs = [
            f"{self.name(v, _wished(t, eqn))}:{v.aval.str_short(True)}"
            for v, t in zip(eqn.outs, targets, strict=False)
        ]
        try:
            params = list(Printer().params(eqn))
        except (KeyError, ValueError):
            params = sorted(eqn.params.items())
        shown = [f"{k}={_short(v)}" for k, v in params if not closed_jaxprs({k: v})]
        brackets = f"[{' '.join(shown)}]" if shown else ""
        made = f"{', '.join(outs)} = " if outs else ""
        size = sum(nbytes(v.aval) for v in eqn.outs)
        note = (
            f"{place.short} {place.variable}  {', '.join(outs)}  {amount(size)},"
            f" {amount(equation_flops(eqn), 'flop')}"
        )
        if eqn.names:
            note += f"  in {eqn.names}"
        source = f"{place.file}:{place.line}" if place.file else ""
        text = f"{made}{eqn.primitive.name}{brackets} {ins}".rstrip()
        line = Line(text, depth, source, "code", note)
        inner = [(k, p) for k, v in eqn.params.items() for p in closed_jaxprs({k: v})]
        lines = [line]
        for k, p in inner:
            same = eqn.ins[len(eqn.ins) - len(p.jaxpr.invars) :]
            called = ["x" if type(a) is Literal else self.base(a) for a in same]
            lines += self.program(p.jaxpr, k, depth + 1, called)
        return lines


def _wished(target: str, eqn: Equation) -> str:
    """What a result is called: as the program says, or by the operation."""
    named = target not in ("", "_", "return") and target.isidentifier()
    return target if named else eqn.primitive.name.replace("-", "_")


def _short(value: Any, most: int = 60) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= most else text[: most - 3] + "..."


# -------------------------------------------------------------------- what XLA is given


_ALIAS = re.compile(r'^(#loc\w*) = loc\((?:"(.*?)"(?::(\d+):\d+)?)?(?:\((#loc\w*)\))?.*\)$')
_AT = re.compile(r"\s*loc\((#loc\w*|unknown)\)")


def _stablehlo(text: str) -> list[Line]:
    """Lines of a module; the locations at their ends become sources."""
    places: dict[str, tuple[str, str]] = {}
    parents: dict[str, str] = {}
    notes: dict[str, str] = {}
    for row in text.splitlines():
        found = _ALIAS.match(row)
        if found:
            alias, name, line, parent = found.groups()
            if line:
                places[alias] = (name, line)
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
        while alias in parents and alias not in places:
            alias = parents[alias]
        file, line = places.get(alias, ("", ""))
        body = _AT.sub("", row)
        depth = (len(body) - len(body.lstrip())) // 2
        source = f"{file}:{line}" if file else ""
        lines.append(Line(body.strip(), depth, source, "code", note))
    return lines


def _hlo(text: str) -> list[Line]:
    """Lines of optimised modules; stack frames become sources."""
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
        found = re.search(rf"{name}=(\d+)", row)
        return found.group(1) if found else ""

    row = tables.get("StackFrames", {}).get(frame, "")
    at = tables.get("FileLocations", {}).get(field(row, "file_location_id"), "")
    file = tables.get("FileNames", {}).get(field(at, "file_name_id"), "").strip('"')
    return f"{file}:{field(at, 'line')}" if file else ""


# ------------------------------------------------------------------------------ pictures


def _html(stage: Stage) -> str:
    """The lines of a stage; what follows a head, up to its end, folds."""
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
    """A jaxpr for graphviz: a node for each equation, those of calls too; edges: values."""
    writer, names = _Writer(), jaxpr.arg_names
    jaxpr = inline_calls(jaxpr)
    rows = ["digraph {", 'node [shape=box fontname="monospace" fontsize=10];']
    rows.append('edge [fontname="monospace" fontsize=8];')
    made: dict[Any, str] = {}
    for i, v in enumerate(jaxpr.invars):
        wanted = names[i] if i < len(names) else "x"
        made[v] = f"i{i}"
        label = f"{writer.name(v, wanted)}: {v.aval.str_short(True)}".replace('"', "'")
        rows.append(f'i{i} [label="{label}" shape=ellipse];')
    for i, eqn in enumerate(jaxpr.eqns):
        rows.append(f'e{i} [label="{eqn.primitive.name}"];')
        for a in eqn.ins:
            if type(a) is not Literal and a in made:
                rows.append(f'{made[a]} -> e{i} [label="{a.aval.str_short(True)}"];')
        for v in eqn.outs:
            made[v] = f"e{i}"
    for i, a in enumerate(jaxpr.outvars):
        rows.append(f'o{i} [label="result {i}" shape=ellipse];')
        if type(a) is not Literal and a in made:
            rows.append(f"{made[a]} -> o{i};")
    return "\n".join([*rows, "}"])
