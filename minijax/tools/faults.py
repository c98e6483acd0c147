"""The table of the compiler's faults, printed as docs/compiler.md.

`python -m minijax.tools.faults > docs/compiler.md` writes the page; a test compares it with
the table in `runtime/running/compiler_faults.py`.
"""

from __future__ import annotations

from ..runtime.running.compiler_faults import FAULTS, Fault

_HEAD = """\
# Faults of the compiler, and what minijax does about them

Made by `python -m minijax.tools.faults > docs/compiler.md`.

XLA computes some programs wrongly in some releases of jaxlib, or far too slowly, or never
ends. This table lists the faults that minijax knows, the releases that have them, and the
cure. A cure that is a compile option is set for the programs that have the pattern, and for
no others. An option that you pass as `compiler_options`, or set in `XLA_FLAGS`, is kept.
"""
_COLUMNS = ("fault", "where", "pattern", "effect", "what minijax does", "test")


def _row(fault: Fault) -> str:
    before = fault.before and ".".join(map(str, fault.before))
    releases = f"before {before}" if before else "all"
    cells = (
        fault.name,
        f"{', '.join(fault.platforms)}; jaxlib: {releases}",
        fault.pattern,
        fault.effect,
        fault.cure,
        f"`{fault.test}`",
    )
    return "| " + " | ".join(cells) + " |"


def page() -> str:
    """The page, as markdown."""
    head = "| " + " | ".join(_COLUMNS) + " |"
    rule = "| --- " * len(_COLUMNS) + "|"
    return "\n".join([_HEAD, head, rule, *map(_row, FAULTS)])


if __name__ == "__main__":
    print(page())
