"""The page that lists each public name of JAX, whether minijax has it, and what differs.

`make compatibility` writes `docs/compatibility.md`, and a test compares it with the code.
The names come from `docs/jax-names.txt`.  A name differs if its function accepts fewer
parameters than JAX's, if its docstring has a paragraph "Differs from JAX", or if a row of
`docs/differences.md` names it.
"""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
import warnings
from pathlib import Path
from typing import Any, NamedTuple

_DOCS = Path(__file__).parent.parent.parent / "docs"
_OURS = (__package__ or "").partition(".")[0]

_LATER = "not supported yet"
_KERNELS = "a kernel language with its own compiler, which minijax does not have"
_INNER = "parts of JAX's implementation, which minijax implements differently"
_PASSED_ON = "names that JAX's modules import from other modules, or define for type checkers"
# Why a name is absent: the entry with the longest matching prefix applies.
_REASONS = {
    "": _LATER,
    "jax.experimental.pallas": _KERNELS,
    "jax.experimental.mosaic": _KERNELS,
    "jax.extend.pallas": _KERNELS,
    "jax.experimental.fused": _PASSED_ON,
    "jax.experimental.scheduling_groups": _PASSED_ON,
    "jax.experimental.hijax": _KERNELS,
    "jax.extend.core.primitives": _INNER,
    "jax.api_util": _INNER,
    "jax.core": _INNER,
    "jax.custom_derivatives": _INNER,
    "jax.ad_checkpoint": _INNER,
    "jax.extend.linear_util": _INNER,
    "jax.extend.mlir": _INNER,
    "jax.interpreters": _INNER,
    "jax.experimental.array_serialization": "needs the library tensorstore",
    "jax.experimental.jet": _INNER,
    "jax.experimental.sparse.": _INNER,
    "jax.experimental.source_mapper": _PASSED_ON,
    "jax.experimental.roofline": _PASSED_ON,
    "jax.experimental.colocated_python": _INNER,
    "jax.experimental.colocated_python.func.ShapeDtypeStructTree": _PASSED_ON,
    "jax.experimental.colocated_python.func.is_prng_key_dtype": _PASSED_ON,
    "jax.experimental.colocated_python.func.jax_register_backend_cache": _PASSED_ON,
    "jax.cloud_tpu_init": "TPUs need no initialization in minijax",
    "jax.jax2tf_associative_scan_reductions": "minijax does not have jax2tf",
}

# Modules that a name in docs/differences.md may belong to, in the order of the search.
_SEARCHED_MODULES = (
    "jax",
    "jax.numpy",
    "jax.lax",
    "jax.numpy.fft",
    "jax.nn",
    "jax.experimental",
    "jax.experimental.checkify",
    "jax.example_libraries",
    "jax.scipy",
    "jax.random",
    "jax.tree_util",
    "jax.numpy.linalg",
    "jax.scipy.linalg",
)
_ARGUMENTS = ("dtype", "ref[...] = v", "tol", "where")  # words that are not function names


class Name(NamedTuple):
    """A public name of JAX."""

    module: str
    name: str
    params: tuple[str, ...] | None  # None if the name is not a function

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"


def public_names() -> list[Name]:
    """Return the names of docs/jax-names.txt, in its order."""
    names, module = [], ""
    for line in (_DOCS / "jax-names.txt").read_text().splitlines():
        if line.startswith("["):
            module = line[1:-1]
        elif not line.startswith("#"):
            for word in line.split():
                name, mark, rest = word.lstrip("~").partition("(")
                params = tuple(rest[:-1].split(",")) if mark else None
                names.append(Name(module, name, params))
    return names


class MissingName:
    """Marker for a name that minijax does not have."""


def _module(name: str, cache: dict[str, Any]) -> Any:
    if name not in cache:
        try:
            cache[name] = importlib.import_module(_OURS + name[len("jax") :])
        except ImportError:
            outer, _, last = name.rpartition(".")
            cache[name] = (
                getattr(_module(outer, cache), last, MissingName) if outer else MissingName
            )
    return cache[name]


def lookup(name: Name, cache: dict[str, Any]) -> Any:
    """Return the object of this name in minijax, or `MissingName`."""
    module = _module(name.module, cache)
    value = MissingName if module is MissingName else getattr(module, name.name, MissingName)
    return _module(name.path, cache) if value is MissingName else value


def missing_parameters(name: Name, fun: Any) -> list[str]:
    """Return the parameters of JAX's function that this one does not accept by name."""
    if name.params is None:
        return []
    try:
        ours = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError):
        return []
    if any(p.kind is p.VAR_KEYWORD for p in ours):
        return []
    theirs = [p for p in name.params if p]
    if "/" in theirs:
        theirs = theirs[theirs.index("/") + 1 :]
    taken = {p.name for p in ours if p.kind is not p.POSITIONAL_ONLY}
    return [p for p in theirs if not p.startswith("*") and p not in taken]


def docstring_difference(value: Any) -> str:
    """Return the paragraph "Differs from JAX" of a docstring, or an empty string."""
    if not callable(value):
        return ""
    doc = inspect.cleandoc(getattr(value, "__doc__", None) or "")
    match = re.search(r"^Differs from JAX: (.*?)(?:\n\n|\Z)", doc, re.S | re.M)
    return " ".join(match[1].split()).rstrip(".") if match else ""


def listed_differences(names: list[Name]) -> dict[str, list[str]]:
    """Return the rows of docs/differences.md about each name, by name.

    Only tables of three columns compare: what, minijax, JAX.
    """
    paths_of_jax = {n.path for n in names}
    text = (_DOCS / "differences.md").read_text()
    rows: dict[str, list[str]] = {}
    for line in text.splitlines():
        cells = [c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) != 3 or cells[0] in ("what", "---"):
            continue
        what, ours, theirs = cells
        row = f"{what}: {ours}" + (f" (JAX: {theirs})" if theirs else "")
        words = re.findall(r"`([^`]*)`", what)
        for word in (w for w in words if w not in _ARGUMENTS):
            dotted = re.split(r"[(\[]", word)[0]
            paths = [f"{module}.{dotted}" for module in _SEARCHED_MODULES]
            match = next((p for p in paths if p in paths_of_jax), None)
            if match and row not in rows.setdefault(match, []):
                rows[match].append(row)
    return rows


def reason(path: str) -> str:
    """Return why a name is absent."""
    fits = [k for k in _REASONS if path.startswith(k)]
    return _REASONS[max(fits, key=len)]


class Section(NamedTuple):
    """The names of one module: working, different (name, how each), absent."""

    works: list[str]
    differs: list[tuple[str, list[str]]]
    absent: list[str]


def sections() -> dict[str, Section]:
    """Compare all modules of JAX with minijax's."""
    names = public_names()
    rows = listed_differences(names)
    cache: dict[str, Any] = {}
    sections_by_module: dict[str, Section] = {}
    for name in names:
        section = sections_by_module.setdefault(name.module, Section([], [], []))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = lookup(name, cache)
        if value is MissingName:
            section.absent.append(name.name)
            continue
        differences = [f"does not accept `{p}=`" for p in missing_parameters(name, value)]
        differences += [f"minijax: {h}" for h in [docstring_difference(value)] if h] + rows.get(
            name.path, []
        )
        if differences:
            section.differs.append((name.name, differences))
        else:
            section.works.append(name.name)
    return sections_by_module


def page() -> str:
    """Return the text of docs/compatibility.md."""
    sections_by_module = sections()
    out = [
        "# Which of JAX's names minijax has",
        "",
        "Generated from the code by `make compatibility`: each public name of JAX 0.10.2, by",
        "module. [differences.md](differences.md) lists the differences by topic.",
        "",
        "| module | names | work | differ | absent |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    total = [0, 0, 0, 0]
    for module, section in sections_by_module.items():
        counts = [len(section.works), len(section.differs), len(section.absent)]
        counts = [sum(counts), *counts]
        total = [a + b for a, b in zip(total, counts, strict=True)]
        out.append(f"| {module} | {' | '.join(map(str, counts))} |")
    out.append(f"| **all** | {' | '.join(map(str, total))} |")
    for module, section in sections_by_module.items():
        out += ["", f"## {module}", ""]
        if section.works:
            out += _wrapped(f"Works: {_quoted(section.works)}.")
        if section.differs:
            out += ["", "| differs | how |", "| --- | --- |"]
            out += [f"| `{n}` | {how} |" for n, hows in section.differs for how in hows]
        by_reason: dict[str, list[str]] = {}
        for n in section.absent:
            by_reason.setdefault(reason(f"{module}.{n}"), []).append(n)
        for why, absent in by_reason.items():
            if out[-1]:
                out.append("")
            out += _wrapped(f"Absent, {why}: {_quoted(absent)}.")
    return "\n".join(out) + "\n"


def _quoted(names: list[str]) -> str:
    return ", ".join(f"`{n}`" for n in names)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 92, break_long_words=False, break_on_hyphens=False)


def main() -> None:
    """Print the page."""
    print(page(), end="")


if __name__ == "__main__":
    main()
