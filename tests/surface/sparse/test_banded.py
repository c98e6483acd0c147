"""Banded sparse systems, compared with NumPy's dense solver."""

import numpy as np
import pytest

from minijax.surface.sparse import banded, direct


def banded_matrix(n, below, above, dtype, seed=0):
    """Return a random banded matrix; its diagonal is small where possible."""
    rng = np.random.default_rng(seed)
    gap = np.arange(n)[:, None] - np.arange(n)
    a = rng.normal(size=(n, n))
    if dtype == np.complex64:
        a = a + 1j * rng.normal(size=(n, n))
    a = np.where((gap <= below) & (-gap <= above), a, 0)
    at = np.arange(n)
    if min(below, above) and n > 1:  # pairs of rows that change places
        a[at, at] *= 0.1
        first = at[: n - n % 2 : 2]
        a[first, first + 1] += 4 * max(below, above)
        a[first + 1, first] += 4 * max(below, above)
        a[n - 1, n - 1] += n % 2 * 4 * max(below, above)
    else:
        a[at, at] += 4 * (1 + max(below, above))
    return a.astype(dtype)


def by_rows(a):
    """Return the elements, columns and row starts of a matrix."""
    rows, columns = np.nonzero(a)
    starts = np.searchsorted(rows, np.arange(len(a) + 1))
    return a[rows, columns], columns, starts


def check(a, reorder=1):
    b = np.random.default_rng(1).normal(size=len(a)).astype(a.dtype)
    x = direct.solved(*by_rows(a), b, tol=1e-6, reorder=reorder)
    expected = np.linalg.solve(a.astype(np.complex128), b)
    assert x.dtype == a.dtype
    np.testing.assert_allclose(x, expected, rtol=2e-5, atol=2e-5 * abs(expected).max())


@pytest.mark.parametrize("n", [1, 2, 16, 33, 150])
@pytest.mark.parametrize("band", [(0, 0), (1, 0), (0, 3), (1, 1), (2, 7), (20, 5)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_bands(n, band, dtype):
    check(banded_matrix(n, *band, dtype), reorder=0)


def test_hidden_bands(monkeypatch):
    order = np.random.default_rng(3).permutation(300)
    monkeypatch.setattr(direct, "factored", None)  # not one column at a time
    check(banded_matrix(300, 2, 2, np.float64)[order][:, order])


def test_requested_orders_and_wide_bands_use_columns(monkeypatch):
    monkeypatch.setattr(banded, "_BYTES", 0)
    monkeypatch.setattr(direct, "solve_banded", None)
    a = banded_matrix(80, 3, 3, np.float64)
    check(a, reorder=2)
    order = np.random.default_rng(3).permutation(80)
    check(a[order], reorder=1)


@pytest.mark.parametrize("spoilt", ["a row of zeros", "equal rows", "infinity"])
def test_matrices_without_inverse(spoilt):
    a = banded_matrix(100, 2, 2, np.float64)
    if spoilt == "a row of zeros":
        a[50] = 0
    elif spoilt == "equal rows":
        a[50] = 0
        a[51] = 0
        a[50, 50:52] = a[51, 50:52] = 1, 2
    else:
        a[50, 50] = np.inf
    x = direct.solved(*by_rows(a), np.ones(100), tol=1e-6, reorder=1)
    assert np.isnan(x).all()


def test_nearly_singular_systems_use_columns():
    a = np.eye(100)
    a[3, 3] = 1e-14
    b = np.ones(100)
    assert banded.solve_banded(100, *np.nonzero(a), a[a != 0], b, 0, 0) is None
    x = direct.solved(*by_rows(a), b, tol=1e-6, reorder=1)
    assert x[3] == pytest.approx(1e14)


def test_duplicate_elements_are_added():
    data, columns = np.array([1.0, 1.0, 3.0, 4.0]), np.array([0, 0, 1, 1])
    x = direct.solved(
        data, columns, np.array([0, 3, 4]), np.array([5.0, 4.0]), tol=1e-6, reorder=1
    )
    np.testing.assert_allclose(x, [1, 1])


def test_a_long_band():
    n = 20_000
    rows = np.repeat(np.arange(n), 3)
    columns = rows + np.tile([-1, 0, 1], n)
    inside = (columns >= 0) & (columns < n)
    values = np.tile([1.0, -2.5, 1.0], n)[inside]
    starts = np.searchsorted(rows[inside], np.arange(n + 1))
    expected = np.sin(np.arange(n))
    b = -2.5 * expected
    b[1:] += expected[:-1]
    b[:-1] += expected[1:]
    x = direct.solved(values, columns[inside], starts, b, tol=1e-6, reorder=1)
    np.testing.assert_allclose(x, expected, atol=1e-12)
