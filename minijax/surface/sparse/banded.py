r"""Linear systems whose elements lie near the diagonal, on the host: QR, panel by panel.

A panel of columns is reduced by Householder's reflections, :math:`Q = I - V T V^H`, which
reach as many rows further as there are diagonals below the main one; what is left of those
rows goes into the next panel.  Products of small dense matrices do all the work.

Source: Golub and Van Loan, Matrix Computations (4th ed.), 4.3 and 5.2.3; the triangle
:math:`T` of Joffrain, Low, Quintana-Orti, van de Geijn & Van Zee, Accumulating Householder
transformations, revisited, ACM TOMS 32 (2006).

Next: direct.py.
"""

from __future__ import annotations

import numpy as np

__all__ = ("band_of", "fits", "solve_banded")

_BYTES = 1 << 29  # of what is kept of a factored matrix


def band_of(rows: np.ndarray, columns: np.ndarray) -> tuple[int, int]:
    """How many diagonals below and above the main one have elements."""
    gap = rows - columns
    return max(int(gap.max(initial=0)), 0), max(-int(gap.min(initial=0)), 0)


def fits(n: int, below: int, above: int) -> bool:
    """Whether a band is narrow enough for this: against the steps of one column at a time,
    and in memory."""
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
    """The solution of a system of such a band; None if it might be singular.

    rows: of the elements, in rising order; several of one place are added.
    A second right-hand side, of random signs, tells how near to singular the matrix is.
    """
    reach = below + above
    size = max(16, min(below, 128))  # columns of a panel
    width = size + reach + 2  # those of its rows, and the right-hand sides behind
    dtype = np.result_type(values, b)
    ends = np.searchsorted(rows, np.arange(n + 1))
    signs = np.random.default_rng(0).choice([-1.0, 1.0], n)
    sides = np.stack([b, signs], 1)
    held = np.zeros((0, width), dtype)  # what is left of rows that were in a panel
    taken = 0  # rows that were
    panels = []
    for at in range(0, n, size):
        here = min(size, n - at)
        last = min(at + size + below, n)
        window = np.zeros((len(held) + last - taken, width), dtype)
        window[: len(held), :reach] = held[:, :reach]
        window[: len(held), -2:] = held[:, -2:]
        span = slice(ends[taken], ends[last])
        spots = rows[span] - taken + len(held), columns[span] - at
        np.add.at(window, spots, values[span])
        window[len(held) :, -2:] = sides[taken:last]
        taken = last
        packed, factors = np.linalg.qr(window[:, :here], "raw")
        packed = packed.T
        rest = window[:, here:]
        v = np.tril(packed, -1)
        np.fill_diagonal(v, 1)
        v = v[:, : len(factors)] * (factors != 0)
        turned = v.conj().T
        triangle = np.triu(turned @ v, 1)
        np.fill_diagonal(triangle, 1 / np.where(factors != 0, factors, 1))
        rest -= v @ np.linalg.solve(triangle.conj().T, turned @ rest)
        panels.append((np.triu(packed[:here]), rest[:here].copy()))
        held = rest[here:]
    if not all(np.diagonal(r).all() for r, _ in panels):
        return None
    x = np.zeros((n + width, 2), dtype)
    for at, (r, rest) in zip(reversed(range(0, n, size)), reversed(panels), strict=True):
        end = at + len(r)
        right = rest[:, -2:] - rest[:, :-2] @ x[end : end + rest.shape[1] - 2]
        x[at:end] = np.linalg.solve(r, right)
    grown = np.abs(x[:, 1]).max() * np.abs(values).max(initial=0)
    return x[:n, 0] if grown < 1e-4 / np.finfo(signs.dtype).eps else None
