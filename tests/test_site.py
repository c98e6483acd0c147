"""The pages of the site: links lead somewhere, names stand where they are looked for."""

import enum
import inspect
import re

import pytest

from website import pages, reference

CONTENTS = pages.contents()


def test_links_lead_to_pages():
    wrong = []
    for page, text in CONTENTS.items():
        if not page.endswith(".md") or page.startswith("reference/"):
            continue
        folder = page.rpartition("/")[0]
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            path = target.partition("#")[0]
            while path.startswith("../"):
                path, folder = path[3:], folder.rpartition("/")[0]
            known = f"{folder}/{path}".lstrip("/") in CONTENTS
            if path and "://" not in path and not known:
                wrong.append((page, target))
    assert not wrong


def test_every_page_is_reached():
    """Pages stand in a list of pages, or cannot be found."""
    listed = set()
    for page, text in CONTENTS.items():
        folder = page.rpartition("/")[0]
        for block in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL):
            rows = [x for x in block.splitlines() if x and not x.startswith(":")]
            listed |= {f"{folder}/{row}".lstrip("/") for row in rows}
    chapters = {p for p in CONTENTS if not re.match(r"book/[a-z_]+\.py$", p)}
    assert chapters - listed == {"index.md"}


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("jax", "grad"),
        ("jax.numpy", "einsum"),
        ("jax.lax", "scan"),
        ("jax.tree", "map"),
        ("jax.scipy.special", "gammaln"),
        ("jax.sharding", "NamedSharding"),
    ],
)
def test_names_stand_on_their_pages(module, name):
    text = CONTENTS[f"reference/{module}.md"]
    assert f"({module}.{name})=\n## `{name}`" in text


def test_anchors_are_unique():
    for page in reference.pages():
        assert len({a.lower() for a in page.anchors}) == len(page.anchors)


def test_docstrings_as_markdown():
    text = """Add them.

    Args:
      x, *more: arrays of any shape; a * b
        is a product.
      where: None: all.

    Returns:
      Their sum.

    Example:
      >>> 1 + 1
      2

      >>> 3
      3

    Differs from NumPy: `out`.
    """
    assert reference.markdown(inspect.cleandoc(text)) == [
        "Add them.", "", "", "**Args**", "",
        r"- **x, \*more**: arrays of any shape; a \* b", "  is a product.",
        "- **where**: None: all.", "", "", "**Returns**", "", "Their sum.", "",
        "", "**Example**", "", "", "```pycon", ">>> 1 + 1", "2", "```", "", "", "",
        "```pycon", ">>> 3", "3", "```", "", "", "Differs from NumPy: `out`.",
    ]  # fmt: skip


def test_formulas_are_for_browsers():
    text = "A sum :math:`x_1 +\n  x_2` of [two].\n\n.. math:: y = x\n\n\nArgs: all.\n"
    text += "  to: of which all\n    that is so: is so."
    one, two = (
        reference.mathml(t, block=b) for t, b in (("x_1 + x_2", False), ("y = x", True))
    )
    assert [s for s in reference.markdown(text) if s] == [
        f"A sum {one} of \\[two].",
        two,
        "**Args**",
        "all.",
        "- **to**: of which all",
        "  that is so: is so.",
    ]
    for name, page in CONTENTS.items():
        if name.startswith("reference/"):
            assert ":math:" not in page and ".. math::" not in page, name


def test_signatures_can_be_read():
    mode = enum.Enum("M", "A").A

    def f(x, *, kind=int, fun=sorted, mode=mode): ...

    assert reference.signature(f) == "(x, *, kind=int, fun=sorted, mode=M.A)"
