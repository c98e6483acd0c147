"""Rows and matrices of edge values, for functions along an axis and of matrices.

A row is short and shows one thing: a tie, a nan, an infinity beside its like or its
opposite, zeros of both signs, sums and products that overflow.  See `edge_values.py`.
"""

import functools
from typing import Any

import ml_dtypes
import numpy as np
from edge_values import weights

import minijax as jax

nan, inf = np.nan, np.inf


def float_rows(dtype: Any) -> list[list[float]]:
    """Edge rows of a float dtype."""
    info = ml_dtypes.finfo(dtype)
    top, tiny = float(info.max), float(info.tiny)
    return [
        [3, 1, 2, -4],
        [2, 1, 2, 1],
        [1, 1, 1, 1],
        [100, -100, 50, 0],
        [0, 2, -3, 4],
        [0, 2, 0, 4],
        [0, -0.0, 0, -0.0],
        [-0.0, 0, -0.0, 0],
        [-0.0] * 4,
        [nan, 1, 2, 3],
        [1, nan, 2, nan],
        [0, nan, 2, 3],
        [nan] * 4,
        [inf, 1, 2, 3],
        [1, -inf, 2, 3],
        [1, inf, -1, inf],
        [-inf, inf, 1, 2],
        [inf] * 4,
        [-inf] * 4,
        [nan, inf, 1, -inf],
        [-inf, -inf, nan, 1],
        [0, inf, 1, 2],
        [top, top, 1, -top],
        [top, -top, 1, top],
        [-top] * 4,
        [tiny, tiny, 1, 2],
    ]


def complex_rows(dtype: Any) -> list[list[complex]]:
    """Edge rows of a complex dtype."""
    top = float(np.finfo(dtype).max)
    z = complex
    return [
        [1 + 2j, 2 - 1j, -1, 3j],
        [1 + 1j, 1 - 1j, 1 + 1j, 1 - 1j],
        [2j, 2j, 2j, 2j],
        [0, 2, 1j, 1],
        [0j, z(-0.0, 0), z(0, -0.0), z(-0.0, -0.0)],
        [z(nan, 0), 1, 1j, 2],
        [1, z(0, nan), 2, 1j],
        [z(nan, nan)] * 4,
        [z(inf, 0), 1, 1j, 2],
        [z(0, -inf), 1, 1j, 2],
        [z(inf, inf), z(-inf, 1), 1, 0],
        [z(nan, inf), z(inf, nan), 1, 0],
        [top, top, z(0, top), z(0, -top)],
    ]


def integer_rows(dtype: Any) -> list[list[int]]:
    """Edge rows of an integer dtype."""
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    rows = [
        [3, 1, 2, 4],
        [2, 1, 2, 1],
        [0, 0, 0, 0],
        [0, 2, 0, 4],
        [high, high, 1, 2],
        [low, high, 0, 1],
        [high] * 4,
        [low] * 4,
    ]
    return [*rows, [low, low, 1, 1], [-1, -1, 2, -3]] if low else rows


def stacks(dtype: str) -> dict[str, list[np.ndarray]]:
    """Edge rows of a dtype by name, and rows of one number and of none."""
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    if kind.kind in "biu":
        rows = [[0, 1, 1, 0], [0] * 4, [1] * 4] if kind.kind == "b" else None
        main = np.array(rows or integer_rows(kind), kind)
        ends = main[:3, :1]
    elif kind.kind == "c":
        main, ends = np.array(complex_rows(kind), kind), [[2j], [complex(nan, 1)]]
    else:
        main = np.array(float_rows(kind), np.float64).astype(kind)
        ends = [[2], [-0.0], [nan], [inf], [-inf]]
    one, empty = np.array(ends).astype(kind), np.zeros((2, 0), kind)
    return {"": [main], "one": [one], "empty": [empty]}


def with_subnormals(dtype: str) -> dict[str, list[np.ndarray]]:
    """The same, with a row of subnormal numbers."""
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    least = float(ml_dtypes.finfo(kind).smallest_subnormal)
    row = np.array([[least, 0, -least, 2 * least]], np.float64).astype(kind)
    known = stacks(dtype)
    return known | {"": [np.concatenate([known[""][0], row])]}


def _stack(rows: list[Any], dtype: str) -> np.ndarray:
    """Matrices, of which the first axis counts; complex ones are turned by a phase."""
    stacked = np.array(rows, np.float64)
    if np.dtype(dtype).kind == "c":
        turn = np.array([1, 1j, -1j])[: stacked.shape[-1]]
        with np.errstate(invalid="ignore"):
            return (stacked * turn[: stacked.shape[-2], None] * turn.conj()).astype(dtype)
    return stacked.astype(dtype)


def _ends(dtype: str, main: np.ndarray, *empties: tuple[int, ...]) -> Any:
    """The main matrices, those of one number, and empty ones."""
    one = np.array([2, -0.0, nan, inf]).reshape(4, 1, 1).astype(dtype)
    ends = {"": [main], "one": [one]}
    for shape in empties:
        title = "empty" if len(empties) == 1 else f"empty_{shape[-2]}x{shape[-1]}"
        ends[title] = [np.zeros(shape, dtype)]
    return ends


def matrices(dtype: str) -> dict[str, list[np.ndarray]]:
    """Square matrices."""
    rows = [
        [[2, 1, 0], [1, 3, 1], [0, 1, 4]],
        [[0, 2, 1], [1, 0, 0], [3, 1, 1]],
        [[0] * 3] * 3,
        [[1] * 3] * 3,
        [[1, 2, 3], [2, 4, 6], [1, 0, 1]],
        [[1, 0, 0], [0, 1, 0], [0, 0, 0]],
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[0, 0, 0], [0, 2, 0], [0, 0, 3]],
        [[1, 2, nan], [0, 1, 1], [1, 0, 1]],
        [[nan] * 3] * 3,
        [[1, 0, 0], [0, inf, 0], [0, 0, 1]],
        [[1, inf, 0], [0, 1, 0], [0, 0, 1]],
        [[1e30, 0, 0], [0, 1e30, 1], [0, 0, 1e30]],
        [[1e-30, 0, 0], [1, 1e-30, 0], [0, 0, 1e-30]],
        [[1e-38, 0, 0], [0, 1, 0], [0, 0, 1e38]],
    ]
    return _ends(dtype, _stack(rows, dtype), (2, 0, 0))


def symmetric(dtype: str) -> dict[str, list[np.ndarray]]:
    """Symmetric matrices, some positive definite, some with repeated eigenvalues."""
    rows = [
        [[2, 1, 0], [1, 3, 1], [0, 1, 4]],
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[2, 0, 0], [0, 2, 0], [0, 0, 5]],
        [[0] * 3] * 3,
        [[1] * 3] * 3,
        [[1, 0, 0], [0, -1, 0], [0, 0, 2]],
        [[-1, 0, 0], [0, -1, 0], [0, 0, -1]],
        [[1, nan, 0], [nan, 1, 0], [0, 0, 1]],
        [[nan] * 3] * 3,
        [[inf, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[1e30, 0, 0], [0, 2e30, 0], [0, 0, 3e30]],
        [[4e-30, 0, 0], [0, 1e-30, 0], [0, 0, 9e-30]],
        [[0, 0, 0], [0, 1, 0], [0, 0, 4]],
    ]
    return _ends(dtype, _stack(rows, dtype), (2, 0, 0))


def tall(dtype: str) -> dict[str, list[np.ndarray]]:
    """Matrices of three rows and two columns."""
    rows = [
        [[3, 1], [1, 2], [0, 1]],
        [[1, 0], [0, 1], [0, 0]],
        [[1, 2], [2, 4], [0, 0]],
        [[0, 0]] * 3,
        [[2, 0], [0, 5], [0, 0]],
        [[1, 0], [0, 0], [0, 0]],
        [[nan, 0], [1, 2], [0, 1]],
        [[inf, 0], [0, 1], [1, 0]],
        [[2e20, 0], [0, 1e20], [0, 0]],
        [[2e-20, 0], [0, 1e-20], [0, 0]],
        [[2, 0], [0, 1e-9], [0, 0]],
    ]
    return _ends(dtype, _stack(rows, dtype), (2, 3, 0), (2, 0, 2))


def wide(dtype: str) -> dict[str, list[np.ndarray]]:
    """Matrices of two rows and three columns."""
    return {
        title: [np.ascontiguousarray(np.swapaxes(x, 1, 2)) for x in args]
        for title, args in tall(dtype).items()
    }


def vectors(dtype: str) -> dict[str, list[np.ndarray]]:
    """Pairs of vectors of three."""
    top = float(np.finfo(dtype).max)
    x = [[1, 2, 3], [0, -0.0, 1], [nan, 0, 1], [inf, 0, 1], [inf, 1, -inf], [top, 1, 0]]
    y = [[2, -1, 1], [-0.0, 0, 0], [0, 1, 2], [0, 1, 2], [1, inf, 1], [top, top, 1]]
    return {"": [np.array(x, dtype), np.array(y, dtype)]}


def rows_of(programs, names="", *, subnormals=False, dtypes="float32", **options):
    """Add functions with the axis as a keyword, by name, and others that are complete."""
    functions = {}
    for name in names.split():
        f = functools.reduce(getattr, name.split("."), jax)
        functions[name] = functools.partial(f, axis=-1)
    args = with_subnormals if subnormals else stacks
    options = {"args": args, "seed": weights, "subnormals": subnormals, **options}
    programs.table(dtypes=dtypes, **{**functions, **options})
