"""The chapters of tutorials/stack run and are notebooks; their plan counts right.

Every claim of a chapter is followed by an assert, so running is checking. All run in one
process, each in a namespace of its own.
"""

import importlib.util
import inspect
import json
import os
import pathlib
import re
import subprocess
import sys
import xml.dom.minidom

import pytest

ROOT = pathlib.Path(__file__).parents[1]
BOOK = ROOT / "tutorials" / "stack"
CHAPTERS = sorted(BOOK.glob("[0-9]*.py"))

# Runs each chapter as a script, whatever became of those before; writes what went wrong.
DRIVER = """
import json, runpy, sys, traceback
_, out, *chapters = sys.argv
wrong = {}
for chapter in chapters:
    try:
        runpy.run_path(chapter, run_name="__main__")
    except BaseException:
        wrong[chapter] = traceback.format_exc()
with open(out, "w") as file:
    json.dump(wrong, file)
"""


def part(name):
    """A module of the book, as its chapters import it."""
    spec = importlib.util.spec_from_file_location(f"book_{name}", BOOK / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(chapters, folder):
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(BOOK)]),
        "JAX_PLATFORMS": "cpu",
        "JAX_NUM_CPU_DEVICES": "8",
        "JAX_COMPILATION_CACHE_DIR": str(folder / "programs"),
    }
    out = folder / "wrong.json"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", DRIVER, out, *chapters],
        env=env,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(out.read_text())


def test_chapters_run(tmp_path):
    false = tmp_path / "false.py"  # a claim that does not hold is found
    false.write_text("assert 1 + 1 == 3\n")
    wrong = run([*CHAPTERS, false], tmp_path)
    assert "AssertionError" in wrong.pop(str(false))
    assert not wrong, "\n".join(wrong.values())


def lines_to_try(cells):
    """How many lines the cell has that a student is to write, without empty ones."""
    (at,) = [i for i, cell in enumerate(cells) if "lines to try" in cell.source]
    code = next(cell for cell in cells[at:] if cell.cell_type == "code")
    return sum(bool(line.strip()) for line in code.source.splitlines())


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_chapter_is_a_notebook(path):
    jupytext = pytest.importorskip("jupytext")
    nbformat = pytest.importorskip("nbformat")
    notebook = jupytext.read(path)
    nbformat.validate(notebook)
    first, *rest = notebook.cells
    assert first.source.startswith(f"# {int(path.stem[:2])}. ")
    assert "**Question.**" in first.source
    prose = "\n".join(c.source for c in rest if c.cell_type == "markdown")
    headings = re.findall(r"^## (.*)", prose, re.MULTILINE)
    *parts, exercises, different, answers = headings
    assert any("lines to try" in h for h in parts)
    assert any(h.startswith("The picture") for h in parts)
    assert exercises == "Exercises"
    assert different == "What JAX does differently, and why"
    assert answers == "Answers"
    assert lines_to_try(rest) <= (60 if "Sixty lines" in prose else 40)
    code = [cell.source for cell in rest if cell.cell_type == "code"]
    assert sum("assert" in source for source in code) >= len(code) / 2
    for i in (1, 2, 3):  # each has a check, an answer, and a wrong answer or an error
        assert sum(f"def exercise_{i}(" in source for source in code) == 1
        answered = re.compile(rf"^exercise_{i}\(", re.MULTILINE)
        assert sum(bool(answered.search(source)) for source in code) == 1
    assert any("draw.refuses(exercise_" in source for source in code)


def test_plan_counts_lines():
    plan = part("plan")
    page = (BOOK / "README.md").read_text()
    assert [name for name, _, _ in plan.PLAN] == [path.stem for path in CHAPTERS]
    before, now = page, plan.filled(page)
    number = re.compile(r"\b\d{2,}\b")
    assert number.sub("N", before) == number.sub("N", now)
    for old, new in zip(number.findall(before), number.findall(now), strict=True):
        # Files grow a little; the plan is made again when it misleads.
        assert abs(int(old) - int(new)) <= int(new) / 10, "run tutorials/stack/plan.py"
    assert plan.total(plan.PLAN[: plan.CORE]) < 3200  # one afternoon


def test_source_is_read_from_the_library():
    draw = part("draw")
    from minijax.passes import jvp

    shown = draw.source(jvp.JVPTrace.process)
    body = inspect.getsource(jvp.JVPTrace.process)
    assert shown.startswith("# minijax/passes/jvp.py, line ")
    assert [x.strip() for x in body.splitlines()] == [x.strip() for x in shown.splitlines()[1:]]


def test_pictures_are_svg_and_watching_ends():
    import minijax as mj
    from minijax.ir.core import EvalTrace

    draw = part("draw")
    closed = mj.make_jaxpr(lambda x, y: (x * y + 1.0) * x)(1.0, 2.0)
    for picture in (
        draw.graph(closed, mark=closed.jaxpr.invars),
        draw.graph(closed, flip=True),
        draw.curves(("a<b", [0, 1], [0, 1]), ("flat", [0, 1], [2, 2])),
    ):
        page = xml.dom.minidom.parseString(picture.svg)
        drawn = [t.firstChild.data for t in page.getElementsByTagName("text")]
        assert drawn == picture.boxes
    before = EvalTrace.process
    with pytest.raises(ZeroDivisionError):
        draw.binds(lambda: 1 / 0)
    assert EvalTrace.process is before
    assert draw.binds(mj.lax.neg, 1.0).events == [(0, "eager", "neg")]
