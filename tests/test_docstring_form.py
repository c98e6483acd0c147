"""Docstrings of public functions have the house's form.

One sentence; Args for every parameter; Returns; Raises where the function itself raises;
an example; and where there is a formula or a paper, it.
"""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import textwrap
import warnings

import pytest

from minijax.base import lazy_modules
from minijax.tools import stubs

# Small public modules, which import by name.
SMALL = (
    "minijax.ad_checkpoint",
    "minijax.checkpoint_policies",
    "minijax.custom_batching",
    "minijax.custom_derivatives",
    "minijax.debug",
    "minijax.dlpack",
    "minijax.dtypes",
    "minijax.experimental.checkify",
    "minijax.flatten_util",
    "minijax.ref",
    "minijax.test_util",
    "minijax.tree",
    "minijax.tree_util",
)
# What libraries build on: who calls these knows them, and a sentence will do.
FOR_LIBRARIES = (
    "minijax.api_util",
    "minijax.core",
    "minijax.extend",
    "minijax.interpreters",
    "minijax.lib",
    "minijax.experimental.hijax",
)
# Rooms whose functions have a formula or a source.
SOURCED = (
    "minijax.surface.random.continuous",
    "minijax.surface.random.discrete",
    "minijax.surface.random.gammas",
    "minijax.surface.nn.initializers",
    "minijax.surface.nn.activations",
    "minijax.surface.numpy.windows",
    "minijax.prims.special.gamma",
    "minijax.prims.special.beta",
    "minijax.prims.special.bessel",
    "minijax.prims.special.error_function",
    "minijax.prims.linalg",
    "minijax.surface.numpy.fft",
    "minijax.surface.numpy.decompositions",
    "minijax.surface.scipy.linalg",
    "minijax.surface.scipy.special",
    "minijax.surface.scipy.stats",
)


def public_values(for_libraries=False):
    """Yield (module.name, value) for all public names: those of libraries, or all others."""
    for owner in (*stubs.PUBLIC_MODULES, *SMALL):
        if owner.startswith(FOR_LIBRARIES) is not for_libraries:
            continue
        module = importlib.import_module(owner)
        table = getattr(module, "_TABLE", None)
        names = vars(module) if table is None else lazy_modules.homes(table)
        for name in sorted(names):
            if name.startswith("_") or name.endswith("_p"):
                continue
            with warnings.catch_warnings(action="ignore"):  # of old names
                yield f"{owner}.{name}", getattr(module, name)


def public_functions(for_libraries=False):
    """Yield (module.name, function) for all functions that users call, once each."""
    seen = {}
    for name, value in public_values(for_libraries):
        kind = type(value)
        if inspect.isclass(value) or inspect.ismodule(value) or not callable(value):
            continue
        if not getattr(value, "__module__", "").startswith("minijax"):
            continue
        if kind.__module__.startswith("minijax") and kind.__name__ == "_ScalarMeta":
            continue
        seen.setdefault(id(value), (name, value))
    return [
        pytest.param(value, id=name)
        for name, value in sorted(seen.values(), key=lambda p: p[0])
    ]


def section(doc: str, title: str) -> str | None:
    """The text below a heading, up to the next one."""
    match = re.search(rf"^{title}:[^\n]*\n((?:[ \t]+[^\n]*\n|\n)*)", doc + "\n", re.M)
    return match.group(0) if match else None


def raises(fun) -> bool:
    """Whether the function's own body has a raise of its own."""
    target = inspect.unwrap(fun)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(target)))
    except (OSError, TypeError, SyntaxError, IndentationError):
        return False
    body = tree.body[0]
    if not isinstance(body, ast.FunctionDef) or body.name != getattr(fun, "__name__", ""):
        return False  # a row: its template speaks for it
    inner = [
        n
        for n in ast.walk(body)
        if isinstance(n, ast.FunctionDef | ast.Lambda) and n is not body
    ]
    hidden = {id(x) for n in inner for x in ast.walk(n)}
    return any(
        isinstance(n, ast.Raise) and n.exc is not None and id(n) not in hidden
        for n in ast.walk(body)
    )


def faults(fun) -> list[str]:
    doc = inspect.cleandoc(fun.__doc__ or "")
    messages = []
    first = doc.split("\n\n")[0]
    if not first.rstrip().endswith((".", ":", "?")):
        messages.append("no sentence")
    try:
        parameters = [
            p.name
            for p in inspect.signature(fun).parameters.values()
            if not p.name.startswith("_")
        ]
    except (ValueError, TypeError):
        parameters = []
    args = section(doc, "Args") or ""
    left = [p for p in parameters if not re.search(rf"\b{p}\b", args)]
    if left:
        messages.append(f"Args: {', '.join(left)}")
    if section(doc, "Returns") is None:
        messages.append("Returns")
    if section(doc, "Raises") is None and raises(fun):
        messages.append("Raises")
    if ">>>" not in doc:
        messages.append("example")
    room = getattr(fun, "__module__", "")
    if room.startswith(SOURCED) and not re.search(
        r":math:|\.\. math::|Source:|arXiv|\(\d{4}\)", doc
    ):
        messages.append("formula or source")
    return messages


@pytest.mark.parametrize("fun", public_functions())
def test_form(fun):
    assert not faults(fun)


@pytest.mark.parametrize("fun", public_functions(for_libraries=True))
def test_a_sentence(fun):
    assert "no sentence" not in faults(fun)
    assert fun.__doc__


def silent_parts(cls):
    """Public methods and properties of a class without a word of help."""
    return [
        name
        for name, part in vars(cls).items()
        if not name.startswith("_")
        and (inspect.isroutine(part) or isinstance(part, (property, classmethod)))
        and not inspect.getdoc(getattr(cls, name))
    ]


def test_classes_and_their_parts():
    silent = {}
    for name, value in public_values():
        ours = inspect.isclass(value) and value.__module__.startswith("minijax")
        if ours and (not value.__doc__ or silent_parts(value)):
            silent[name] = silent_parts(value)
    assert not silent


def test_help_on_methods_of_arrays_before_the_first_is_called():
    """In a notebook `x.sum?` asks so, of an array that nothing was done with."""
    program = """
import inspect
import minijax as jax
from minijax.runtime.arrays import array_methods
names = [n for n in (*array_methods.METHODS, *array_methods.PROPERTIES) if not n.startswith("_")]
x = jax.device_put(1.0)
assert len(inspect.getdoc(x.sum)) > 100
assert not [n for n in names if not inspect.getdoc(getattr(jax.Array, n))]
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)
