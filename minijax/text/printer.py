"""Jaxprs as text, in JAX's form.

    { lambda ; a:f32[3]. let b:f32[3] = sin a; c:f32[3] = mul b 2.0:f32[] in (c,) }

Variables are named a, b .. z, ba, bb .. in order of appearance; unused variables of the
outermost jaxpr are `_`.  A jaxpr that occurs twice, or has more than ten equations, is
printed once in front (`let f = {...} in`).  jaxlib's C++ pretty printer breaks the lines;
time and memory are linear in the length of the text.

Equations are printed as `name[param=value ...] operands`, params sorted by name, unless
the attribute `pretty` of their primitive changes that:
    a dict      params to omit: always if the value is `...`, otherwise if the param equals
                the value;
    a function  `(eqn, printer) -> [(param, value)]`, the params to show, in order.
An attribute `text`, `(eqn, printer) -> str`, prints the equation in a form of its own.
This file names no primitive.  It is loaded when something is printed.
"""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jaxlib import _pretty_printer as pp  # type: ignore[attr-defined]

from ..analysis.contents import read_vars
from ..base import config
from ..ir import hooks
from ..ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Literal, Var, closed_jaxprs

if TYPE_CHECKING:
    from ..ir.jaxpr import Atom
    from ..types.aliases import Param, Value

WIDTH = 80
LONG = 10  # equations; a longer jaxpr is printed in front
ADDRESS = re.compile(r"\bat 0x[0-9a-f]+")

SPACE = pp.text(" ")
LINE = pp.brk()
MAYBE_LINE = pp.group(LINE)
MAYBE_COMMA_LINE = pp.concat([pp.text(","), MAYBE_LINE])
NO_SPACE_LINE = pp.brk("")


def on_terminal() -> bool:
    """Whether standard output is a terminal, which shows colours."""
    return bool(getattr(sys.stdout, "isatty", bool)())


@hooks.jaxpr_text.fill
def jaxpr_text(
    jaxpr: Jaxpr,
    *,
    source_info: bool = False,
    name_stack: bool = False,
    print_shapes: bool = True,
    custom_pp_eqn_rules: bool = True,
    print_effects: bool = False,
    use_color: bool | None = None,
    width: int = WIDTH,
) -> str:
    """Return the text of a jaxpr; on request with the source and names of each equation.

    Colours appear on terminals only; `use_color` and `jax_pprint_use_color` override this.
    """
    if use_color is None:
        use_color = config.USE_COLOR.peek() and on_terminal()
    printer = Printer(
        source_info, name_stack, print_shapes, custom_pp_eqn_rules, print_effects, use_color
    )
    return printer.text(printer.program(jaxpr), width)


@hooks.equation_text.fill
def equation_text(eqn: Equation) -> str:
    """Return the text of one equation, its variables named from `a`."""
    printer = Printer()
    return printer.text(printer.equation(eqn), WIDTH)


class Printer:
    """The settings of one printout, and the names it has assigned."""

    def __init__(
        self,
        source_info: bool = False,
        name_stack: bool = False,
        print_shapes: bool = True,
        custom_rules: bool = True,
        print_effects: bool = False,
        use_color: bool = False,
    ) -> None:
        self.source_info = source_info
        self.name_stack = name_stack
        self.print_shapes = print_shapes
        self.custom_rules = custom_rules
        self.print_effects = print_effects
        self.use_color = use_color
        self.names: dict[Var, str] = {}
        self.promised: dict[Var, str] = {}  # names that binders will take
        self.shared: dict[int, str] = {}  # id of a jaxpr printed in front -> its name
        self.reserved: set[str] = set()  # the names of jaxprs in front
        self.count = 0

    def text(self, doc: pp.Doc, width: int) -> str:
        out: str = doc._format(
            width,
            use_color=self.use_color,
            output_format=pp.OutputFormat.TEXT,
            separable_lines=False,
            annotation_prefix=" # ",
            source_map=None,
        )
        return out

    # ------------------------------------------------------------------- names

    def fresh(self) -> str:
        """Return the next name that no jaxpr printed in front has."""
        while True:
            number, name = self.count, ""
            self.count += 1
            while number or not name:
                number, digit = divmod(number, 26)
                name = chr(ord("a") + digit) + name
            if name not in self.reserved:
                return name

    def bind(self, var: Var) -> str:
        """Name a variable where it is bound."""
        name = self.names[var] = self.promised.pop(var, "") or self.fresh()
        return name

    def name(self, var: Var) -> str:
        """Return the name of a variable where it is used."""
        return self.names.get(var) or self.bind(var)

    def promise(self, var: Var) -> str:
        """Return the name that `var` will have where it is bound."""
        if var not in self.promised:
            self.promised[var] = self.fresh()
        return self.promised[var]

    def same_names(self, jaxpr: Jaxpr, eqn: Equation) -> None:
        """Name the variables of a called jaxpr as the caller names its operands and results.

        For the `pretty` rule of a call whose operands and results correspond one by one
        to those of `jaxpr`.
        """
        if id(jaxpr) in self.shared:
            return
        operands = [a if type(a) is Literal else self.name(a) for a in eqn.ins]
        results = [self.promise(v) for v in eqn.outs]
        taken: set[str] = set()
        bound: set[Any] = set(jaxpr.invars).union(jaxpr.constvars)
        for var, name in zip(jaxpr.invars, operands, strict=True):
            if type(name) is str and name not in taken:
                taken.add(name)
                self.promised[var] = name
        for atom, name in zip(jaxpr.outvars, results, strict=True):
            if type(atom) is not Literal and atom not in bound:
                bound.add(atom)
                self.promised[atom] = name

    def share(self, top: Jaxpr) -> list[Jaxpr]:
        """Choose the jaxprs to print in front, in the order of their first occurrence.

        Each jaxpr is visited at most twice, which suffices to find repeated ones.
        """
        occurrences: dict[Jaxpr, int] = {}
        labels: dict[Jaxpr, str] = {}
        queue = deque([top])
        while queue:
            for eqn in queue.popleft().eqns:
                params = dict(eqn.params)  # without the names that `Params` adds for JAX
                called = params.get("jaxpr")
                for held in closed_jaxprs(params):
                    inner = held.jaxpr
                    count = occurrences[inner] = occurrences.get(inner, 0) + 1
                    if count <= 2:
                        queue.append(inner)
                    if inner not in labels:
                        own = called is held or called is inner
                        labels[inner] = label(params.get("name") if own else None)
        front = [j for j, n in occurrences.items() if n > 1 or len(j.eqns) > LONG]
        for jaxpr in front:
            self.shared[id(jaxpr)] = unused(labels[jaxpr], self.reserved)
        return front

    # --------------------------------------------------------------- documents

    def program(self, jaxpr: Jaxpr) -> pp.Doc:
        """Return the document of a jaxpr, after those of the jaxprs that it shares."""
        lines = []
        for inner in self.share(jaxpr):
            head = f"let {self.shared[id(inner)]} = "
            lines += [pp.text(head), self.jaxpr(inner), pp.text(" in"), LINE]
        for var in unread(jaxpr):
            self.promised[var] = "_"
        return pp.concat([*lines, self.jaxpr(jaxpr)])

    def jaxpr(self, jaxpr: Jaxpr) -> pp.Doc:
        constants = self.binders(jaxpr.constvars)
        head = [self.keyword("lambda "), constants, pp.text("; ")]
        head += [self.binders(jaxpr.invars), pp.text(". "), self.keyword("let")]
        eqns = [self.equation(eqn) for eqn in jaxpr.eqns]
        outs = wrapped([self.atom(a) for a in jaxpr.outvars], MAYBE_COMMA_LINE)
        tail = [self.keyword("in "), pp.text("("), outs]
        tail.append(pp.text(",)" if len(jaxpr.outvars) == 1 else ")"))
        if self.print_effects:
            tail.append(pp.text(f" : {{ {', '.join(map(str, jaxpr.effects))} }}"))
        body = pp.nest(2, pp.concat([LINE, joined(eqns, pp.brk("; "))]))
        inner = pp.nest(2, pp.concat([*head, body, LINE, *tail]))
        return pp.group(pp.concat([pp.text("{ "), inner, pp.text(" }")]))

    def equation(self, eqn: Equation) -> pp.Doc:
        if eqn.primitive.facts.text is not None and self.custom_rules:
            line = eqn.primitive.facts.text(eqn, self)
            return pp.text(line, self.annotation(eqn))
        params = self.params(eqn)
        docs = []
        if eqn.outs:
            docs += [self.binders(eqn.outs), pp.text(" = ")]
        docs.append(pp.text(eqn.primitive.name, self.annotation(eqn)))
        if params:
            shown = [pp.concat([pp.text(f"{k}="), self.value(v)]) for k, v in params]
            docs.append(bracketed("[", shown, "]"))
        docs += [SPACE, wrapped([self.atom(a) for a in eqn.ins], MAYBE_LINE)]
        return pp.concat(docs)

    def params(self, eqn: Equation) -> Sequence[tuple[str, Any]]:
        """Return the params to show."""
        rule = eqn.primitive.facts.pretty if self.custom_rules else None
        if callable(rule):
            return list(rule(eqn, self))
        return self.shown(eqn, rule or {})

    def shown(
        self, eqn: Equation, hidden: dict[str, Any], first: str = ""
    ) -> list[tuple[str, Any]]:
        """Return the params sorted by name, `first` in front, without the hidden ones."""
        names = sorted(eqn.params, key=lambda name: (name != first, name))
        shown = [(name, eqn.params[name]) for name in names]
        return [(k, v) for k, v in shown if k not in hidden or hidden[k] not in (..., v)]

    def value(self, value: Param) -> pp.Doc:
        if isinstance(value, (Jaxpr, ClosedJaxpr)):
            jaxpr = value if isinstance(value, Jaxpr) else value.jaxpr
            name = self.shared.get(id(jaxpr))
            return self.jaxpr(jaxpr) if name is None else pp.text(name)
        if isinstance(value, tuple) and any(map(is_jaxpr, value)):
            return bracketed("(", [self.value(v) for v in value], ")")
        text = str(value)
        if "at 0x" in text:
            text = ADDRESS.sub("at 0xXXXXXXXXXXXX", text)
        return pp.text(text)

    def binders(self, variables: Sequence[Var]) -> pp.Doc:
        if not self.print_shapes:
            return wrapped([pp.text(self.bind(v)) for v in variables], MAYBE_LINE)
        if not self.use_color:
            return wrapped(
                [pp.text(f"{self.bind(v)}:{v.aval.str_short(True)}") for v in variables],
                MAYBE_LINE,
            )
        docs = []
        for v in variables:
            kind = pp.text(f":{v.aval.str_short(True)}")
            coloured = pp.color(kind, foreground=pp.Color.MAGENTA)
            docs.append(pp.concat([pp.text(self.bind(v)), coloured]))
        return wrapped(docs, MAYBE_LINE)

    def bound(self, var: Var) -> str:
        """Return a variable and its type, where it is bound."""
        name = self.bind(var)
        return f"{name}:{var.aval.str_short(True)}" if self.print_shapes else name

    def untyped(self, atom: Atom) -> str:
        """Return a variable's name, or a literal without its type."""
        return literal_text(atom.val) if type(atom) is Literal else self.name(atom)

    def typed(self, atom: Atom) -> str:
        """Return a variable's name, or a literal with its type."""
        if type(atom) is Literal:
            return f"{literal_text(atom.val)}:{atom.aval.str_short(True)}"
        return self.name(atom)

    def atom(self, atom: Atom) -> pp.Doc:
        return pp.text(self.typed(atom))

    def keyword(self, word: str) -> pp.Doc:
        doc = pp.text(word)
        if not self.use_color:
            return doc
        return pp.color(doc, foreground=pp.Color.BLUE, intensity=pp.Intensity.BRIGHT)

    def annotation(self, eqn: Equation) -> str | None:
        """Return the note at the end of the equation's first line, or None."""
        notes = []
        if self.source_info:
            notes.append("" if eqn.source is None else str(eqn.source))
        if self.name_stack:
            notes.append(f"[{eqn.names}]")
        return "\n".join(notes) if notes else None


# -------------------------------------------------------------------------- pieces


def joined(docs: Sequence[pp.Doc], separator: pp.Doc) -> pp.Doc:
    """Join documents with a separator."""
    out: list[pp.Doc] = []
    for doc in docs:
        out += (separator, doc)
    return pp.concat(out[1:])


def wrapped(docs: Sequence[pp.Doc], separator: pp.Doc) -> pp.Doc:
    """Lay items out over lines; indent every line after the first."""
    if len(docs) == 1:
        return docs[0]
    return pp.nest(2, pp.group(joined(docs, separator)))


def bracketed(left: str, docs: Sequence[pp.Doc], right: str) -> pp.Doc:
    """Put items in brackets: all on this line, or each on its own line."""
    inner = pp.nest(2, pp.concat([NO_SPACE_LINE, joined(docs, LINE)]))
    return pp.group(pp.concat([pp.text(left), inner, NO_SPACE_LINE, pp.text(right)]))


def is_jaxpr(value: Param) -> bool:
    return isinstance(value, (Jaxpr, ClosedJaxpr))


def unread(jaxpr: Jaxpr) -> Iterator[Var]:
    """Yield the results of equations that no equation and no output reads."""
    read = read_vars(jaxpr)
    for eqn in jaxpr.eqns:
        yield from (v for v in eqn.outs if v not in read)


def label(name: str | None) -> str:
    """Return a name for a jaxpr in front, from the name of the function it came from."""
    return re.sub(r"\W", "", name) or "jaxpr" if isinstance(name, str) else "jaxpr"


def unused(name: str, taken: set[str]) -> str:
    """Return `name`, with a number if it is taken, and mark the result as taken."""
    number, candidate = 0, name
    while candidate in taken:
        number += 1
        candidate = f"{name}{number}"
    taken.add(candidate)
    return candidate


def literal_text(value: Value) -> str:
    """Return a scalar as Python writes it, whatever its type."""
    return str(value.item() if hasattr(value, "item") else value)
