"""`python -m minijax.tools`, and the page that describes the tools."""

import doctest
import json
import pathlib
import sys

import pytest

import minijax as mj
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


@pytest.fixture(autouse=True)
def path(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))


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
    with pytest.raises(SystemExit, match="no such module"):
        command.main(["cost", "nowhere_at_all.here:f"])
    with pytest.raises(SystemExit, match=r"nowhere\.html: No such file"):
        page = str(script.parent / "no" / "nowhere.html")
        command.main(["show", f"{script}:f", "--html", page])
    other = script.with_name("other.py")
    other.write_text(SCRIPT.replace("y * 2", "y * 3"))
    command.main(["diff", f"{script}:f", f"{other}:f"])
    assert "mul" in capsys.readouterr().out


def test_arguments_are_a_tuple_and_scripts_import_their_directory(
    tmp_path, capsys, monkeypatch
):
    (tmp_path / "beside_the_script.py").write_text("import minijax.lax\nN = 1000\n")
    (tmp_path / "imports_nothing_there.py").write_text("import nowhere_at_all\n")
    path = tmp_path / "a_script.py"
    path.write_text(
        "import beside_the_script as b\n"
        "from minijax import numpy as jnp\n"
        "def f(x):\n    return jnp.sin(jnp.sin(x)).sum()\n"
        "def f_args():\n    return (jnp.ones(b.N),)\n"
        "def g(x):\n    return x\n"
        "g_args = jnp.ones(3)\n"
    )
    command.main(["plan_remat", f"{path}:f", "100000"])
    assert capsys.readouterr().out.startswith("8 kB of 100 kB; 0 flop are computed twice")
    with pytest.raises(SystemExit, match="g_args must be a tuple, not ArrayImpl"):
        command.main(["cost", f"{path}:g"])
    with pytest.raises(ModuleNotFoundError, match="nowhere_at_all"):
        command.main(["cost", "imports_nothing_there:f"])
    # Functions of modules that load their names on first use.
    monkeypatch.setattr(mj.lax, "cosh_args", (1.0,), raising=False)
    capsys.readouterr()
    command.main(["memory", "minijax.lax:cosh"])
    assert "cosh" in capsys.readouterr().out


def test_each_tool_has_help(capsys):
    for name in (None, *command.TOOLS):
        with pytest.raises(SystemExit, match="0"):
            command.main(["--help"] if name is None else [name, "--help"])
        output = capsys.readouterr().out
        assert f"minijax.tools {name or ''}".strip() in output
        assert "--json" in output or name is None


def test_a_log_of_a_script(script, capsys):
    command.main(["why", str(script)])
    output = capsys.readouterr().out
    assert "x: known float32[1], now float32[2]" in output
    assert "some_script.py" in output


def test_the_examples_of_the_page_run():
    outcome = doctest.testfile(
        str(ROOT / "docs" / "tools.md"),
        module_relative=False,
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE,
    )
    assert outcome.attempted > 20
    assert not outcome.failed
