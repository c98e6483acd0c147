"""Drawings for the chapters: source text, tables, trees, graphs and curves.

Drawings are made from live objects: `source` reads the text of the code that runs,
`binds` records the operations that traces receive, `graph` and `nest` read jaxprs.  A
`Text` prints without quotes; a `Picture` is an SVG in a notebook and text otherwise.
"""

import inspect
import pathlib
import textwrap
from contextlib import contextmanager
from html import escape

import minijax
from minijax.base import above
from minijax.ir.core import STATE, Trace
from minijax.ir.jaxpr import ClosedJaxpr, Literal, sub_jaxprs

ROOT = pathlib.Path(minijax.__file__).parents[1]


class Text(str):
    """Text that a notebook prints without quotes."""

    def __repr__(self):
        return str(self)


class Picture:
    """An SVG picture; `boxes` and `arrows` list its contents, `text` is its description."""

    def __init__(self, width, height, parts, text, boxes=(), arrows=()):
        self.svg = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            f' width="{width}" height="{height}" font-family="monospace" font-size="12">'
            f"{''.join(parts)}</svg>"
        )
        self.text, self.boxes, self.arrows = text, list(boxes), list(arrows)

    def _repr_svg_(self):
        return self.svg

    def __repr__(self):
        return self.text


# ------------------------------------------------------------------------ source text


def source(*objects):
    """Return the source of functions, methods and classes, with file and line."""
    pieces = []
    for x in objects:
        lines, first = inspect.getsourcelines(x)
        path = pathlib.Path(inspect.getsourcefile(x))
        inside = path.is_relative_to(ROOT)
        positions = path.relative_to(ROOT) if inside else path.name
        pieces.append(f"# {positions}, line {first}\n{textwrap.dedent(''.join(lines))}")
    return Text("\n".join(pieces))


def refuses(check, *wrong):
    """Whether an exercise's check rejects each of these answers."""
    for answer in wrong:
        try:
            check(answer)
        except AssertionError:
            continue
        return False
    return bool(wrong)


# --------------------------------------------------------------------- tables and bars


def table(head, *rows):
    """Return a table with a line under its head."""
    cells = [[str(x) for x in row] for row in (head, *rows)]
    wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(x.ljust(n) for x, n in zip(row, wide, strict=True)) for row in cells]
    lines.insert(1, "  ".join("─" * n for n in wide))
    return Text("\n".join(line.rstrip() for line in lines))


def bars(counts, width=40):
    """Return a bar for each labelled number."""
    most = max(counts.values()) or 1
    wide = max(map(len, counts))
    rows = [
        f"{label.ljust(wide)} {'█' * round(width * n / most)} {n:g}"
        for label, n in counts.items()
    ]
    return Text("\n".join(rows))


# ----------------------------------------------------------------------- traces at work


class Binds:
    """The operations that traces received: (depth, trace, primitive), in order."""

    def __init__(self):
        self.events = []
        self.out = None

    def by(self, transform):
        """Return the names of the primitives that traces of this transformation received."""
        return [prim for _, t, prim in self.events if t == transform]

    def __repr__(self):
        return "\n".join(f"{'    ' * d}{t} ← {prim}" for d, t, prim in self.events)


def _kinds(kind):
    for sub in kind.__subclasses__():
        yield sub
        yield from _kinds(sub)


@contextmanager
def _watching(seen):
    """Append every operation that a trace receives while the block runs to `seen`."""
    stack, kinds = [], [k for k in _kinds(Trace) if "process" in vars(k)]
    original = {kind: kind.process for kind in kinds}

    def recording(process):
        def recorded(self, prim, args, params):
            if (self, prim) in stack[-1:]:  # a subclass calls its base class
                return process(self, prim, args, params)
            seen.append((len(stack), self.transform or "tangent", prim.name))
            stack.append((self, prim))
            try:
                return process(self, prim, args, params)
            finally:
                stack.pop()

        return recorded

    evaluators = [h for h in above.HOOKS if h.name.startswith("evaluate_")]
    compiled = [hook.call for hook in evaluators]
    for kind in kinds:
        kind.process = recording(original[kind])
    for hook in evaluators:  # each operation of a rule alone, not one program per rule
        hook.call = lambda *args: None
    try:
        yield
    finally:
        for kind in kinds:
            kind.process = original[kind]
        for hook, call in zip(evaluators, compiled, strict=True):
            hook.call = call


def binds(fun, *args):
    """Run `fun(*args)`, and record which trace receives which primitive at which depth."""
    recorded = Binds()
    with _watching(recorded.events):
        recorded.out = fun(*args)
    return recorded


def current():
    """Return the current trace and its parents, innermost first."""
    chain, trace = [], STATE.trace
    while trace.parent is not trace:
        chain.append(trace.transform or "tangent")
        trace = trace.parent
    return [*chain, trace.transform]


# ------------------------------------------------------------------------------ jaxprs


def opened(jaxpr):
    """Return the open jaxpr of a closed one."""
    return jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr


def names(jaxpr):
    """Return a letter for each variable, in the order in which they are bound."""
    jaxpr = opened(jaxpr)
    results = [v for eqn in jaxpr.eqns for v in eqn.outs]
    every = dict.fromkeys([*jaxpr.constvars, *jaxpr.invars, *results])
    letters = "abcdefghijklmnopqrstuvwxyz"
    return {v: letters[i % 26] * (1 + i // 26) for i, v in enumerate(every)}


def reads(atom, letter_of):
    """Return an atom as text."""
    return str(atom.val) if type(atom) is Literal else letter_of[atom]


def lines(jaxpr):
    """Return one line per equation, with types."""
    jaxpr, letter_of = opened(jaxpr), names(jaxpr)
    return [
        f"{', '.join(letter_of[v] for v in eqn.outs)}:{eqn.outs[0].aval.str_short(True)} ="
        f" {eqn.primitive} {' '.join(reads(a, letter_of) for a in eqn.ins)}"
        for eqn in jaxpr.eqns
    ]


def _types(jaxpr):
    return f"program of ({', '.join(a.str_short(True) for a in jaxpr.in_avals)})"


def nest(jaxpr, depth=0):
    """Return equations as a tree; programs that an equation holds are indented below it."""
    rows = []
    for eqn, line in zip(opened(jaxpr).eqns, lines(jaxpr), strict=True):
        rows.append("│   " * depth + line)
        for inner in sub_jaxprs(eqn.params):
            rows.append("│   " * depth + "├─ " + _types(inner))
            rows.append(nest(inner, depth + 1))
    return Text("\n".join(r for r in rows if r))


def graph(jaxpr, mark=(), flip=False):
    """Draw the dataflow of a jaxpr: boxes are equations, arrows variables.

    Variables of `mark` have thick arrows; `flip` draws from bottom to top.
    """
    jaxpr, letter_of = opened(jaxpr), names(jaxpr)
    layer = {v: 0 for v in (*jaxpr.constvars, *jaxpr.invars)}
    nodes = [(f"{letter_of[v]}:{v.aval.str_short(True)}", 0, [], [v]) for v in layer]
    for eqn in jaxpr.eqns:
        read = [a for a in eqn.ins if type(a) is not Literal]
        at = 1 + max([layer[a] for a in read], default=0)
        layer.update(dict.fromkeys(eqn.outs, at))
        nodes.append((eqn.primitive.name, at, read, eqn.outs))
    last = 1 + max(layer.values(), default=0)
    for a in jaxpr.outvars:
        read = [] if type(a) is Literal else [a]
        nodes.append((f"result {reads(a, letter_of)}", last, read, []))
    # A variable that crosses a layer gets a slot there, so that no line crosses a box.
    maker = {v: i for i, (_, _, _, outs) in enumerate(nodes) for v in outs}
    slots = [[] for _ in range(last + 1)]
    for i, (_, at, read, _) in enumerate(nodes):
        slots[at].append(i)
        for a in dict.fromkeys(read):
            for passed in range(nodes[maker[a]][1] + 1, at):
                slots[passed].append((a, i, passed))
    slot_width = lambda slot: 130 if type(slot) is int else 50
    widths = [sum(map(slot_width, row)) for row in slots]
    width, height = max(widths) + 20, 60 * (last + 1)
    positions = {}
    for at, row in enumerate(slots):
        x, y = (width - widths[at]) / 2, height - 60 * at - 36 if flip else 60 * at + 12
        for slot in row:
            positions[slot] = x + slot_width(slot) / 2, y
            x += slot_width(slot)
    parts, arrows = [], []
    leave, enter = (0, 24) if flip else (24, 0)
    for i, (label, at, read, _) in enumerate(nodes):
        for k, a in enumerate(read):
            (x, y), (to_x, to_y) = positions[maker[a]], positions[i]
            path = f"M{x:g} {y + leave}"
            for passed in range(nodes[maker[a]][1] + 1, at):
                x, y = positions[a, i, passed]
                path += f" L{x:g} {y + enter} L{x:g} {y + leave}"
            path += f" L{to_x + 24 * (k - (len(read) - 1) / 2):g} {to_y + enter}"
            parts.append(
                f'<path d="{path}" stroke="#357" fill="none"'
                f' stroke-width="{4 if a in mark else 1}"/>'
            )
            arrows.append((nodes[maker[a]][0], label))
    for i, (label, *_) in enumerate(nodes):
        x, y = positions[i]
        parts.append(
            f'<rect x="{x - 58:g}" y="{y}" width="116" height="24" rx="6" fill="#eef4ff"'
            f' stroke="#357"/><text x="{x:g}" y="{y + 16}" text-anchor="middle">'
            f"{escape(label[:16])}</text>"
        )
    boxes = [label for label, *_ in nodes]
    description = "\n".join(f"{a} → {b}" for a, b in arrows)
    return Picture(width, height, parts, description, boxes, arrows)


# ------------------------------------------------------------------------------ curves


def curves(*series, width=420, height=240):
    """Draw polylines of (label, xs, ys), in one frame."""
    xs = [float(x) for _, line, _ in series for x in line]
    ys = [float(y) for _, _, line in series for y in line]
    low, high = (min(xs), min(ys)), (max(xs), max(ys))
    colours, parts, description = ("#357", "#c52", "#283", "#839"), [], []

    def at(x, y):
        right = (float(x) - low[0]) / (high[0] - low[0] or 1)
        up = (float(y) - low[1]) / (high[1] - low[1] or 1)
        return f"{10 + right * (width - 20):.1f} {height - 10 - up * (height - 20):.1f}"

    for i, (label, line, values) in enumerate(series):
        path = " L".join(at(x, y) for x, y in zip(line, values, strict=True))
        colour = colours[i % 4]
        parts.append(f'<path d="M{path}" stroke="{colour}" fill="none"/>')
        y, word = 20 + 14 * i, escape(label)
        parts.append(f'<text x="{width + 8}" y="{y}" fill="{colour}">{word}</text>')
        description.append(f"{label}: {float(values[0]):.3g} … {float(values[-1]):.3g}")
    named = 16 + 8 * max(len(label) for label, *_ in series)
    return Picture(width + named, height, parts, "\n".join(description), [s[0] for s in series])
