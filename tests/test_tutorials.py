"""The tutorials run and render as notebooks; the examples of other pages run.

Every claim of a tutorial is followed by an assert, so running is checking. Each runs in
a process of its own, since one of them asks for eight devices.
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]
TUTORIALS = sorted((ROOT / "tutorials").glob("[0-9]*.py"))


def run(script: str, folder: pathlib.Path) -> subprocess.CompletedProcess:
    env = os.environ | {
        "PYTHONPATH": str(ROOT),
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": str(folder / "programs"),
    }
    return subprocess.run(
        [sys.executable, "-W", "error", script],
        env=env,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_there_are_tutorials():
    assert len(TUTORIALS) >= 4


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorial_runs(path, tmp_path):
    done = run(str(path), tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorial_is_a_notebook(path):
    jupytext = pytest.importorskip("jupytext")
    nbformat = pytest.importorskip("nbformat")
    notebook = jupytext.read(path)
    nbformat.validate(notebook)
    first, *rest = notebook.cells
    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")
    code = [cell.source for cell in rest if cell.cell_type == "code"]
    assert len(code) >= 10
    assert sum("assert" in source for source in code) >= len(code) / 2


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_examples_of_a_page_run(page, tmp_path):
    examples = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert examples
    script = tmp_path / "examples.py"
    script.write_text("\n\n".join(examples))
    done = run(str(script), tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
