"""`python -m minijax.tools`, and the page that tells of the tools."""

import doctest
import json
import pathlib
import sys

import pytest

from minijax.tools import __main__ as command

ROOT = pathlib.Path(__file__).parents[2]
SCRIPT = """
import minijax as mj, minijax.numpy as jnp

def f(x):
    y = jnp.log(x)
    return y * 2

class Some:
    def method(self, x):
        return f(x)

some = Some()
example_args = (jnp.array([0.0, 2.0]),)
for n in (1, 2):
    mj.jit(f)(jnp.ones(n))
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "some_script.py"
    path.write_text(SCRIPT)
    return path


def test_a_function_of_a_script(script, capsys):
    command.main(["nans", f"{script}:f"])
    assert "log makes an infinity" in capsys.readouterr().out
    command.main(["sparsity", f"{script}:f", "--json"])
    assert json.loads(capsys.readouterr().out)["rows"] == [0, 1]
    page = script.with_suffix(".html")
    command.main(["show", f"{script}:f", "--html", str(page)])
    assert "<!doctype html>" in page.read_text()
    command.main(["memory", f"{script}:some.method"])
    assert "argument x" in capsys.readouterr().out
    for name in ("g", "example_args", "some.other", "g.method"):
        with pytest.raises(SystemExit, match=f"has no function {name}"):
            command.main(["cost", f"{script}:{name}"])
    bare = script.with_name("bare.py")
    bare.write_text("def f(x):\n    return x\n\ndef g():\n    return 1.0\n")
    with pytest.raises(SystemExit, match=r"no arguments for f: set f_args"):
        command.main(["cost", f"{bare}:f"])
    command.main(["memory", f"{bare}:g"])
    with pytest.raises(SystemExit, match="name a function"):
        command.main(["cost", str(script)])
    with pytest.raises(SystemExit, match="no such file"):
        command.main(["cost", "nowhere.py:f"])
    other = script.with_name("other.py")
    other.write_text(SCRIPT.replace("y * 2", "y * 3"))
    command.main(["diff", f"{script}:f", f"{other}:f"])
    assert "mul" in capsys.readouterr().out


def test_a_log_of_a_script(script, capsys, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    command.main(["why", str(script)])
    said = capsys.readouterr().out
    assert "x: known float32[1], now float32[2]" in said
    assert "some_script.py" in said


def test_the_page_tells_what_is_so():
    found = doctest.testfile(
        str(ROOT / "docs" / "tools.md"), module_relative=False,
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE,
    )  # fmt: skip
    assert found.attempted > 20
    assert not found.failed
