"""The pages of the site: which file of the repository becomes which page.

`python -m website.pages FOLDER` writes them for Sphinx.  Building the site runs tutorials
and chapters.  Examples in docstrings run as tests, before `make docs` builds the site.
"""

from __future__ import annotations

import pathlib
import re
import sys

from . import reference

ROOT = pathlib.Path(__file__).resolve().parents[1]

# file of the repository -> page of the site
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "LICENSE": "license.md",
    "docs/differences.md": "differences.md",
    "docs/ecosystem.md": "ecosystem.md",
    "docs/compatibility.md": "compatibility.md",
    "docs/rules.md": "rules.md",
    "docs/tools.md": "tools.md",
    "bench/RESULTS.md": "measured.md",
    "tutorials/stack/README.md": "book/index.md",
    **{
        f"tutorials/{p.name}": f"learn/{p.name}"
        for p in sorted((ROOT / "tutorials").glob("[0-9]*.py"))
    },
    **{
        f"tutorials/stack/{p.name}": f"book/{p.name}"
        for p in sorted((ROOT / "tutorials" / "stack").glob("[0-9]*.py"))
    },
}


def linked(text: str, home: str, page: str) -> str:
    """Turn links between files of the repository into links between pages of the site.

    A link to a file that is not a page becomes plain text.
    """

    def page_of(match: re.Match[str]) -> str:
        target, _, anchor = match[2].partition("#")
        if "://" in target or not target:
            return match[0]
        path = ((ROOT / home).parent / target).resolve()
        name = path.relative_to(ROOT).as_posix()
        if name == "tutorials":
            name = next(p for p in PAGES if p.startswith("tutorials/0"))
        if name not in PAGES or not (ROOT / name).exists():
            return match[1]
        up = "../" * page.count("/")
        return f"[{match[1]}]({up}{PAGES[name]}{'#' + anchor if anchor else ''})"

    return re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", page_of, text)


def toctree(caption: str, pages: list[str], hidden: bool = True) -> str:
    """Return the list of pages that Sphinx uses for navigation."""
    options = [f":caption: {caption}", ":maxdepth: 1", *([":hidden:"] if hidden else [])]
    return "\n".join(["", "```{toctree}", *options, "", *pages, "```", ""])


def contents() -> dict[str, str]:
    """Return the text of each page, by its path."""
    texts = {}
    for home, page in PAGES.items():
        if not (ROOT / home).exists():
            continue
        text = (ROOT / home).read_text()
        if page.endswith(".md"):
            text = linked(text, home, page)
        if home == "LICENSE":
            text = f"# Licence\n\n```text\n{text}\n```\n"
        texts[page] = text
    for module in ROOT.glob("tutorials/stack/[a-z_]*.py"):  # modules that chapters import
        texts[f"book/{module.name}"] = module.read_text()
    modules = reference.pages()
    texts |= {p.path: p.text for p in modules}
    names = [p.path.removeprefix("reference/") for p in modules]
    texts["reference/index.md"] = (
        "# Reference\n\nEvery public module, under its name in JAX: write"
        " `import minijax as jax`.\n" + toctree("Modules", names, hidden=False)
    )
    in_folder = lambda folder: sorted(p for p in texts if re.match(rf"{folder}/\d.*\.py$", p))
    book = [p for p in ("book/index.md",) if p in texts] + in_folder("book")
    more = [
        "tools.md",
        "differences.md",
        "ecosystem.md",
        "compatibility.md",
        "rules.md",
        "measured.md",
        "contributing.md",
        "license.md",
    ]
    texts["index.md"] += (
        toctree("Learn", in_folder("learn"))
        + (toctree("The book", book) if book else "")
        + toctree("Look up", ["reference/index.md", *(p for p in more if p in texts)])
    )
    return texts


def main(folder: str) -> None:
    """Write all pages."""
    for page, text in contents().items():
        path = pathlib.Path(folder) / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1])
