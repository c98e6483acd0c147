"""Every example in a docstring runs and prints what it says."""

import builtins
import doctest
import importlib
import pkgutil
from types import SimpleNamespace

import pytest

import minijax

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def modules():
    for info in pkgutil.walk_packages(minijax.__path__, "minijax."):
        if not info.name.endswith("__main__"):
            yield info.name


def documented(module):
    """(name, docstring) of what a module defines: callable objects, made elsewhere, too."""
    seen = set()
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, module.__name__):
        seen.add(test.name)
        yield test.name.rsplit(".", 1)[-1], test.docstring
    for name, value in vars(module).items():
        ours = getattr(value, "__module__", None) == module.__name__
        is_documented = f"{module.__name__}.{name}" in seen
        if ours and not is_documented and isinstance(value.__doc__, str):
            yield name, value.__doc__
        if isinstance(value, SimpleNamespace):  # a record of functions
            for inner, fun in vars(value).items():
                yield f"{name}.{inner}", fun.__doc__


@pytest.mark.parametrize("name", list(modules()))
def test_examples(name):
    module = importlib.import_module(name)
    failures = []
    for label, text in documented(module):
        # A module's `sum` must not hide Python's, but in its own example.
        scope = {
            k: v for k, v in vars(module).items() if k == label or not hasattr(builtins, k)
        }
        test = doctest.DocTestParser().get_doctest(text, scope, label, None, 0)
        if test.examples:
            doctest.DocTestRunner(verbose=False, optionflags=FLAGS).run(
                test, out=failures.append
            )
    assert not failures, "".join(failures)
