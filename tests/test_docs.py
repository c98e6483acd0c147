"""The pages that are made of the code are up to date."""

import pathlib
import subprocess
import sys

import minijax.numpy as jnp
from minijax.tools import compatibility

ROOT = pathlib.Path(__file__).parent.parent


def printed_by(tool):
    """What a tool prints, in a process of its own."""
    run = [sys.executable, "-m", f"minijax.tools.{tool}"]
    return subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_the_table_of_rules_is_the_registry():
    page = (ROOT / "docs" / "rules.md").read_text()
    made = printed_by("rules")
    assert page == made, "run: python -m minijax.tools.rules > docs/rules.md"


def test_the_page_of_names_is_the_code():
    page = (ROOT / "docs" / "compatibility.md").read_text()
    assert page == printed_by("compatibility"), "run: make compatibility"


def name_of(path, *params):
    module, _, name = path.rpartition(".")
    return compatibility.Name(module, name, params or None)


def test_names_are_judged_by_what_is_there():
    names = compatibility.public_names()
    assert len(names) > 3000
    assert (
        name_of(
            "jax.vmap",
            *"fun in_axes out_axes axis_name axis_size".split(),
            "spmd_axis_name",
            "sum_match",
        )
        in names
    )
    find = lambda path: compatibility.lookup(name_of(path), {})
    assert find("jax.numpy.linalg.det") is jnp.linalg.det
    assert find("jax.numpy.no_such_name") is find("jax.no.such") is compatibility.MissingName
    assert find("jax.numpy.linalg") is jnp.linalg

    def fun(x, /, axis, *, dtype=None):
        """A function.

        Differs from JAX: takes
        less.

        Example: none.
        """

    theirs = ("x", "axis", "*", "dtype", "out")
    assert compatibility.missing_parameters(name_of("jax.f", *theirs), fun) == ["x", "out"]
    assert compatibility.missing_parameters(name_of("jax.f", "x", "/", "axis"), fun) == []
    assert compatibility.missing_parameters(name_of("jax.f", "y"), lambda **options: 0) == []
    assert compatibility.docstring_difference(fun) == "takes less"
    rows = compatibility.listed_differences(names)
    assert any("tuples" in row for row in rows["jax.numpy.meshgrid"])
    assert "jax.numpy.dtype" not in rows
    assert compatibility.reason("jax.experimental.pallas.x") != compatibility.reason("jax")
