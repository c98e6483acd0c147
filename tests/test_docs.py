"""The pages that are made of the code are up to date."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent


def test_the_table_of_rules_is_the_registry():
    made = subprocess.run(
        [sys.executable, "-m", "minijax.tools.rules"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    page = (ROOT / "docs" / "rules.md").read_text()
    assert page == made, "run: python -m minijax.tools.rules > docs/rules.md"
