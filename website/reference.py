"""Reference pages: the docstrings of each public module as Markdown."""

from __future__ import annotations

import dataclasses
import enum
import importlib
import inspect
import re
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from minijax.tools import stubs

try:  # comes with Sphinx, of the extra `docs`
    from docutils.utils.math import latex2mathml
except ImportError:
    latex2mathml = None

SMALL = (
    "minijax.ad_checkpoint",
    "minijax.checkpoint_policies",
    "minijax.custom_batching",
    "minijax.custom_derivatives",
    "minijax.debug",
    "minijax.dlpack",
    "minijax.dtypes",
    "minijax.errors",
    "minijax.flatten_util",
    "minijax.memory",
    "minijax.ref",
    "minijax.sharding",
    "minijax.stages",
    "minijax.test_util",
    "minijax.tree",
    "minijax.tree_util",
    "minijax.typing",
)
ITEM = re.compile(r"  (\*{0,2}\w[\w.]*(?:, \*{0,2}\w[\w.]*)*): (.*)")
FORMULA = re.compile("\0(\\d+)\0")
SECTIONS = re.compile(
    r"(Args|Returns|Raises|Yields|Attributes|Examples?|Source):$|(Args): (.+)"
)


@dataclasses.dataclass
class Page:
    """A module's page: its path, its title, its text, and the anchors in it."""

    module: str
    text: str
    anchors: list[str]

    @property
    def path(self) -> str:
        return f"reference/{self.module.replace('minijax', 'jax', 1)}.md"

    @property
    def title(self) -> str:
        return self.module.replace("minijax", "jax", 1)


def pages() -> list[Page]:
    """Return the pages of all public modules with names of minijax, sorted by name."""
    candidates = [page(name) for name in sorted({*stubs.PUBLIC_MODULES, *SMALL})]
    return [p for p in candidates if p.anchors]


def page(name: str) -> Page:
    """Return the page of one module."""
    module = importlib.import_module(name)
    shown = name.replace("minijax", "jax", 1)
    lines = [f"# {shown}", "", escaped((module.__doc__ or "").strip()), ""]
    anchors: list[str] = []
    for label, value in members(module):
        anchor = f"{shown}.{label}"
        if anchor.lower() in map(str.lower, anchors):  # `optimizer` and `Optimizer`
            anchor += "-"
        anchors.append(anchor)
        lines += [f"({anchor})=", f"## {code(label)}", "", *entry(label, value), ""]
    return Page(name, "\n".join(lines), anchors)


def members(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield the public names of a module that have docstrings, except modules."""
    for name in sorted(set(dir(module)), key=lambda n: (n.lower(), n)):
        if name.startswith("_"):
            continue
        with warnings.catch_warnings(action="ignore"):  # deprecated names
            value = getattr(module, name)
        if inspect.ismodule(value) or not isinstance(value.__doc__, str):
            continue
        ours = (getattr(value, "__module__", None) or "").startswith("minijax")
        if ours and (callable(value) or inspect.isclass(value)):
            yield name, value


def entry(name: str, value: Any) -> list[str]:
    """Return the entry of a function or class."""
    lines = ["```python", name + signature(value), "```", ""]
    lines += markdown(inspect.getdoc(value) or "")
    if inspect.isclass(value):
        for label, method in sorted(vars(value).items()):
            text = getattr(method, "__doc__", None)
            if label.startswith("_") or not text or not callable(method):
                continue
            first = escaped(inspect.cleandoc(text).splitlines()[0])
            lines += [f"- {code(label + signature(method))}: {first}"]
    return lines


def signature(value: Any) -> str:
    """Return the parameters of a callable and their defaults, as source text."""
    try:
        sig = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [
        p.replace(
            annotation=p.empty, default=p.empty if p.default is p.empty else _Shown(p.default)
        )
        for p in sig.parameters.values()
    ]
    return str(sig.replace(parameters=parameters, return_annotation=sig.empty))


class _Shown:
    """A default value, with a text that Python can parse."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        if isinstance(self.value, enum.Enum):
            return str(self.value)
        text = repr(self.value)
        named = text.startswith("<") and getattr(self.value, "__name__", None)
        return str(named or ("..." if text.startswith("<") else text))


def markdown(text: str) -> list[str]:
    """Return a docstring as Markdown: sections, their items, examples."""
    lines, section = [], ""
    text, formulas = without_formulas(text)
    blocks = text.splitlines()
    i = 0
    while i < len(blocks):
        line = blocks[i]
        if match := SECTIONS.match(line):
            section = match[1] or match[2]
            lines += ["", f"**{section}**", ""]
            lines += [escaped(match[3]), ""] if match[3] else []
        elif line.strip().startswith(">>>"):
            example_lines = example(blocks, i)
            lines += ["", "```pycon", *example_lines, "```", ""]
            i += len(example_lines) - 1
        elif section and (item := ITEM.match(line)):
            lines.append(f"- **{escaped(item[1])}**: {escaped(item[2])}")
        elif section and re.match(r"    +\S", line):
            lines.append("  " + escaped(line.strip()))
        else:
            if line and not line.startswith(" "):
                section = ""
            lines.append(escaped(line.strip()))
        i += 1
    return [FORMULA.sub(lambda m: formulas[int(m[1])], line) for line in lines]


def without_formulas(text: str) -> tuple[str, list[str]]:
    """Return a docstring with a marker for each formula, and the formulas as MathML."""
    formulas: list[str] = []

    def inline(match: re.Match[str]) -> str:
        formulas.append(mathml(match[1], block=False))
        return f"\0{len(formulas) - 1}\0"

    def block(match: re.Match[str]) -> str:
        formulas.append(mathml(match[2], block=True))
        return f"\n{match[1]}\0{len(formulas) - 1}\0\n"

    text = re.sub(r"(?m)^( *)\.\. math::(.*(?:\n\1 +\S.*)*)", block, text)
    return re.sub(r":math:`([^`]*)`", inline, text), formulas


def mathml(tex: str, block: bool) -> str:
    """Return a formula as MathML, which browsers display; as TeX if it cannot be parsed."""
    tex = " ".join(tex.split())
    if latex2mathml is None:
        return code(tex)
    try:
        converted = latex2mathml.tex2mathml(tex, as_block=block)
    except (AttributeError, SyntaxError, ValueError):
        return code(tex)
    return re.sub(r"\s*\n\s*", "", converted)


def example(lines: list[str], at: int) -> list[str]:
    """Return the lines of the example that begins at line `at`, without indentation."""
    margin = len(lines[at]) - len(lines[at].lstrip())
    end = at
    while end < len(lines) and lines[end].strip():
        end += 1
    return [line[margin:] for line in lines[at:end]]


def code(text: str) -> str:
    """Return text as inline code."""
    return f"`{text}`"


def escaped(text: str) -> str:
    """Escape stars and angle brackets in text, except in inline code."""
    parts = text.split("`")
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([*<\[])", r"\\\1", parts[i])
    return "`".join(parts)
