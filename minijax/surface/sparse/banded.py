r"""A host solver for banded linear systems: QR, panel by panel.

A panel of columns is reduced by Householder's reflections, :math:`Q = I - V T V^H`.  They
extend below the panel by the number of subdiagonals, and the remainder of those rows goes
into the next panel.  Products of small dense matrices do all the work.

Source: Golub and Van Loan, Matrix Computations (4th ed.), 4.3 and 5.2.3; the triangle
:math:`T` of Joffrain, Low, Quintana-Orti, van de Geijn & Van Zee, Accumulating Householder
transformations, revisited, ACM TOMS 32 (2006).

Next: direct.py.
"""

from __future__ import annotations

import numpy as np

__all__ = ("band_of", "fits", "solve_banded")

_BYTES = 1 << 29  # the memory limit for the stored factors


def band_of(rows: np.ndarray, columns: np.ndarray) -> tuple[int, int]:
    """Return the lower and the upper bandwidth."""
    gap = rows - columns
    return max(int(gap.max(initial=0)), 0), max(-int(gap.min(initial=0)), 0)


def fits(n: int, below: int, above: int) -> bool:
    """Whether a band is narrow enough for panels to be faster than single columns, and to
    fit in memory."""
    width = below + above + 1
    return width < 1000 and 16 * n * (width + below + 32) < _BYTES


def solve_banded(
    n: int,
    rows: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
    b: np.ndarray,
    below: int,
    above: int,
) -> np.ndarray | None:
    """Return the solution of a banded system, or None if it might be singular.

    `rows` are the elements' rows in ascending order; duplicates are added.
    A second right-hand side of random signs estimates how near to singular the matrix is.
    """
    num_carried = below + above
    size = max(16, min(below, 128))  # columns of a panel
    width = size + num_carried + 2  # columns of its rows, then the right-hand sides
    dtype = np.result_type(values, b)
    ends = np.searchsorted(rows, np.arange(n + 1))
    signs = np.random.default_rng(0).choice([-1.0, 1.0], n)
    right_sides = np.stack([b, signs], 1)
    carried_rows = np.zeros((0, width), dtype)  # reduced rows that the next panel needs
    num_read_rows = 0
    panels = []
    for column in range(0, n, size):
        panel_size = min(size, n - column)
        row_end = min(column + size + below, n)
        window = np.zeros((len(carried_rows) + row_end - num_read_rows, width), dtype)
        window[: len(carried_rows), :num_carried] = carried_rows[:, :num_carried]
        window[: len(carried_rows), -2:] = carried_rows[:, -2:]
        span = slice(ends[num_read_rows], ends[row_end])
        window_indices = rows[span] - num_read_rows + len(carried_rows), columns[span] - column
        np.add.at(window, window_indices, values[span])
        window[len(carried_rows) :, -2:] = right_sides[num_read_rows:row_end]
        num_read_rows = row_end
        packed, factors = np.linalg.qr(window[:, :panel_size], "raw")
        packed = packed.T
        trailing = window[:, panel_size:]
        v = np.tril(packed, -1)
        np.fill_diagonal(v, 1)
        v = v[:, : len(factors)] * (factors != 0)
        v_adjoint = v.conj().T
        triangle = np.triu(v_adjoint @ v, 1)
        np.fill_diagonal(triangle, 1 / np.where(factors != 0, factors, 1))
        trailing -= v @ np.linalg.solve(triangle.conj().T, v_adjoint @ trailing)
        panels.append((np.triu(packed[:panel_size]), trailing[:panel_size].copy()))
        carried_rows = trailing[panel_size:]
    if not all(np.diagonal(r).all() for r, _ in panels):
        return None
    x = np.zeros((n + width, 2), dtype)
    for column, (r, trailing) in zip(
        reversed(range(0, n, size)), reversed(panels), strict=True
    ):
        end = column + len(r)
        right = trailing[:, -2:] - trailing[:, :-2] @ x[end : end + trailing.shape[1] - 2]
        x[column:end] = np.linalg.solve(r, right)
    # A solution for random signs grows like the norm of the inverse, so that this estimates
    # the condition number.  At the limit, about four digits of the result are correct.
    growth = np.abs(x[:, 1]).max() * np.abs(values).max(initial=0)
    return x[:n, 0] if growth < 1e-4 / np.finfo(signs.dtype).eps else None
