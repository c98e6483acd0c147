"""The table of primitives and their rules, read off the registry.

`python -m minijax.tools.rules > docs/rules.md` writes the page; a test compares it with
the registry.  A rule that is missing for a stated reason says so below the table.
"""

from __future__ import annotations

import importlib
import pkgutil

from ..ir.core import Missing, Primitive, Unsupported, registry

_ROOMS = ("prims", "control", "api", "surface")
_COLUMNS = ("jvp", "transpose", "batch", "lower")


def load_all() -> None:
    """Import every room that declares primitives."""
    for room in _ROOMS:
        package = importlib.import_module(f"minijax.{room}")
        for found in pkgutil.walk_packages(package.__path__, f"minijax.{room}."):
            importlib.import_module(found.name)


def mark(prim: Primitive, column: str) -> str:
    """`yes`, or what stands in a rule's place."""
    rule = getattr(prim, column)
    if column == "jvp" and isinstance(rule, Unsupported) and prim.linearize is not None:
        return "linearize"
    if column == "lower" and isinstance(rule, Unsupported) and prim.lower_by_platform:
        return ", ".join(sorted(prim.lower_by_platform))
    return "no" if isinstance(rule, Unsupported) else "yes"


def reasons() -> list[tuple[str, str, str]]:
    """(primitive, rule, reason) for rules that are missing for a stated reason."""
    out = []
    for name, prim in sorted(registry.items()):
        for column in _COLUMNS:
            rule = getattr(prim, column)
            if isinstance(rule, Unsupported) and not isinstance(rule, Missing):
                out.append((name, column, rule.reason.split("\n")[0]))
    return out


def table() -> str:
    """The page, as markdown."""
    load_all()
    lines = [
        "# The rules of every primitive",
        "",
        "Made by `python -m minijax.tools.rules > docs/rules.md`.",
        "",
        "A primitive that is not linear has no transpose; one that only evaluates or calls",
        "another has no lowering of its own.",
        "",
        "| primitive | " + " | ".join(_COLUMNS) + " |",
        "| --- " * (len(_COLUMNS) + 1) + "|",
    ]
    for name, prim in sorted(registry.items()):
        if name.startswith("test_"):
            continue
        lines.append(f"| `{name}` | " + " | ".join(mark(prim, c) for c in _COLUMNS) + " |")
    lines += ["", "## Missing for a reason", ""]
    lines += [f"- `{n}`, {c}: {why}" for n, c, why in reasons()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
