"""Cached programs on disk: a second process compiles nothing, and an unusable directory is
ignored."""

import os
import pathlib
import subprocess
import sys

import pytest

PROGRAM = """
import minijax as mj, minijax.numpy as jnp
from minijax.runtime.running import compile as c
{setup}
x = jnp.arange(8.0)
y = mj.jit(lambda x: jnp.tanh(x) @ x)(x) + mj.grad(lambda x: (x ** 3).sum())(x).sum()
print(float(y), c.statistics.compiled, c.statistics.loaded)
"""


def run(home, setup="", **env):
    """Return value, programs compiled, programs loaded, and the text on standard error."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM.format(setup=setup)],
        env={**os.environ, "XDG_CACHE_HOME": str(home), **env},
        capture_output=True,
        text=True,
        check=True,
    )
    value, compiled, loaded = done.stdout.split()
    return float(value), int(compiled), int(loaded), done.stderr


def test_a_second_process_compiles_nothing(tmp_path):
    value, compiled, loaded, _ = run(tmp_path)
    assert compiled > 0 and loaded == 0
    repeated = run(tmp_path)
    assert repeated[:3] == (value, 0, compiled)
    files = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert len(files) == compiled + 1  # and the program of runtime/running/shutdown.py
    assert all(p.stat().st_mode & 0o077 == 0 for p in files), "private to the user"


def test_callbacks_are_those_of_the_process(tmp_path):
    """A cached program has no callbacks; equal programs of one process keep theirs apart."""
    setup = """
import sys
def shifted(by):
    double = lambda a: 2 * a + by
    like = mj.ShapeDtypeStruct((), "float32")
    return mj.jit(lambda x: mj.pure_callback(double, like, x) + 1)
print(float(shifted({0})(1.0)), float(shifted({1})(1.0)), file=sys.stderr)
"""
    value, compiled, loaded, output = run(tmp_path, setup.format(10, 20))
    assert output == "13.0 23.0\n" and loaded == 1  # by the second, of the first
    repeated = run(tmp_path, setup.format(30, 40))
    assert repeated == (value, 0, compiled + 1, "33.0 43.0\n")


def test_damaged_entries_are_compiled_again(tmp_path):
    value, compiled, _, _ = run(tmp_path)
    for p in tmp_path.rglob("*"):
        if p.is_file():
            p.write_bytes(p.read_bytes()[:100] + b"damage")
    assert run(tmp_path) == (value, compiled, 0, "")
    assert run(tmp_path)[1:3] == (0, compiled)


@pytest.mark.parametrize(
    "setup",
    [
        "mj.config.update('jax_enable_compilation_cache', False)",
        "mj.config.update('jax_compilation_cache_max_size', 0)",
    ],
)
def test_the_cache_can_be_switched_off(tmp_path, setup):
    for _ in range(2):
        assert run(tmp_path, setup)[2] == 0
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_the_directory_can_be_chosen(tmp_path):
    chosen = tmp_path / "chosen"
    setup = f"mj.config.update('jax_compilation_cache_dir', {str(chosen)!r})"
    run(tmp_path / "home", setup)
    assert run(tmp_path / "home", setup)[1] == 0
    assert not (tmp_path / "home").exists()
    assert [p for p in chosen.rglob("*") if p.is_file()]


def test_an_unusable_home_is_ignored_silently(tmp_path):
    file = pathlib.Path(tmp_path, "file")
    file.write_text("not a directory")
    _, compiled, loaded, output = run(file, HOME=str(file))
    assert compiled > 0 and loaded == 0 and output == ""


def test_other_options_are_other_programs(tmp_path):
    compiled = run(tmp_path)[1]
    with_x64 = run(tmp_path, "mj.config.update('jax_enable_x64', True)")
    assert with_x64[1] > 0
    assert run(tmp_path)[1:3] == (0, compiled)
