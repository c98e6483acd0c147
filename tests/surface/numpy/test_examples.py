"""Every public function has a docstring, with an example that runs."""

import doctest

import pytest

import minijax.numpy as jnp

NAMES = sorted(
    name
    for name in dir(jnp)
    if name not in ("fft", "linalg")
    and not name.startswith("_")
    and callable(getattr(jnp, name))
    and (getattr(jnp, name).__module__ or "").startswith("minijax")
)


@pytest.mark.parametrize("name", NAMES)
def test_example(name):
    doc = getattr(jnp, name).__doc__
    assert doc and doc.split("\n")[0].rstrip().endswith("."), "no sentence"
    parsed = doctest.DocTestParser().get_doctest(doc, {}, name, None, 0)
    assert parsed.examples, "no example"
    runner = doctest.DocTestRunner(verbose=False)
    report = []
    runner.run(parsed, out=report.append)
    assert not runner.failures, "".join(report)
