"""Derivatives in every mode, beside what was recorded.

Next: __main__.py, which shows them; tests/api/test_slopes.py, which holds some.
"""

from __future__ import annotations

import functools
import importlib
import json
import lzma
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from . import table


class Modules:
    """The modules that rows compute with, of one library."""

    def __init__(self, library: Any):
        name = library.__name__
        self.library = library
        self.lax = importlib.import_module(f"{name}.lax")
        self.jnp = importlib.import_module(f"{name}.numpy")
        self.nn = importlib.import_module(f"{name}.nn")
        self.special = importlib.import_module(f"{name}.scipy.special")


class Error(NamedTuple):
    """The worst error of one order."""

    ulps: float
    mode: str = ""
    point: tuple[float, ...] = ()
    got: float = 0.0
    true: float = 0.0

    def __str__(self) -> str:
        where = ", ".join(f"{x!r}" for x in self.point)
        return f"{self.mode} at ({where}): {self.got!r}, true {self.true:.10g}"


@functools.cache
def expected() -> dict[str, dict[str, list[str]]]:
    path = Path(__file__).parent / "expected.json.xz"
    return json.loads(lzma.decompress(path.read_bytes()))


def rows(names: Sequence[str]) -> list[table.Row]:
    return [row for row in table.ROWS if not names or row.name in names]


def shown(ulps: float) -> str:
    return f"{ulps:.0f}" if ulps < 1e4 else f"{ulps:.0e}".replace("e+0", "e").replace("e+", "e")


def results(modules: Modules, row: table.Row, kind: str, points: Any) -> dict[str, Any]:
    """mode -> columns of values: the function, its partials of order 1, and of order 2."""
    lib, jnp = modules.library, modules.jnp
    n = table.arity(row)
    places = range(n)
    f = functools.partial(row.fun, modules)

    def forward(g: Any, i: int) -> Any:
        def slope(*xs: Any) -> Any:
            part = lambda x: g(*xs[:i], x, *xs[i + 1 :])
            return lib.jvp(part, (xs[i],), (jnp.ones_like(xs[i]),))[1]

        return slope

    backward = lambda g, i: lib.grad(g, i)
    modes = {"f": forward, "b": backward}
    second = [(i, j) for i in places for j in places if i <= j]

    def everything(*xs: Any) -> Any:
        out = {"": [f(*xs)]}
        for name, d in modes.items():
            out[name] = [d(f, i)(*xs) for i in places]
            for again, e in modes.items():
                out[again + name] = [e(d(f, i), j)(*xs) for i, j in second]
        return out

    columns = [np.asarray([p[i] for p in points], table.DTYPES[kind]) for i in places]
    return lib.jit(lib.vmap(everything))(*columns)


def ulp(x: Any, dtype: Any) -> Any:
    """The unit in the last place of numbers of float64 or wider; of tiny ones, that of
    the least normal number."""
    info = ml_dtypes.finfo(dtype)
    size = np.maximum(np.abs(x), np.longdouble(float(info.smallest_normal)))
    return np.exp2(np.floor(np.log2(size))) * np.longdouble(float(info.eps))


def worst(modules: Modules, row: table.Row, kind: str) -> list[Error]:
    """The worst errors of the values, of first and of second derivatives."""
    points = table.chosen(row, kind)
    if not points:
        return [Error(0.0)] * 3
    dtype = table.DTYPES[kind]
    known = expected()[row.name]
    true = np.asarray(
        [[np.longdouble(v) for v in known[" ".join(x.hex() for x in p)]] for p in points]
    )
    n = table.arity(row)
    begins = np.cumsum([0] + [len(table.partials(n, k)) for k in range(4)])
    unit = sum(ulp(np.asarray([p[i] for p in points]), dtype) for i in range(n)) / 2
    largest = np.longdouble(float(ml_dtypes.finfo(dtype).max))
    least = np.longdouble(float(ml_dtypes.finfo(dtype).smallest_normal))
    errors = [Error(0.0)] * 3
    with np.errstate(all="ignore"):
        values = results(modules, row, kind, points)
        for mode, columns in values.items():
            k = len(mode)
            more = np.abs(true[:, begins[k + 1] : begins[k + 2]]).max(1)
            for i, column in enumerate(columns):
                true_values = true[:, begins[k] + i]
                got = np.asarray(column).astype(np.longdouble)
                error = np.abs(got - true_values) / (ulp(true_values, dtype) + more * unit)
                # What overflows is infinite; what is next to the largest may be.
                over = np.isinf(got) & (np.sign(got) == np.sign(true_values))
                error = np.where(over & (np.abs(true_values) > largest * 0.99), 0, error)
                error = np.where(np.isnan(error) | np.isinf(error), 1e99, error)
                small = (np.abs(true_values) <= least * 1.01) & (np.abs(got) <= 2 * least)
                error = np.where(small, 0, error)
                at = int(np.argmax(error))
                if error[at] > errors[k].ulps:
                    name = "".join({"f": "f", "b": "b"}[c] for c in mode)
                    errors[k] = Error(
                        float(error[at]),
                        f"{name}{i}",
                        points[at],
                        float(got[at]),
                        float(true_values[at]),
                    )
    return errors
