"""Colours of columns, so that few products give all elements of a sparse matrix.

`colors`: columns of one colour share no row.  `stars`, for symmetric matrices: neighbours
differ, and no path of four has two colours only; of the two places of an element one is
then alone in its row and colour.

Sources: Curtis, Powell & Reid, On the Estimation of Sparse Jacobian Matrices (1974);
Coleman & Moré, Estimation of Sparse Hessian Matrices and Graph Coloring Problems (1984);
Gebremedhin, Tarafdar, Manne & Pothen, New Acyclic and Star Coloring Algorithms (2007).
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np


def colors(rows: Any, columns: Any, n: int) -> Any:
    """A colour for each of `n` columns, so that those of one colour share no row.

    Greedy, in the order of the columns and by falling degree; the better one.
    """
    order = np.lexsort((columns, rows))
    of_row = np.split(columns[order], np.flatnonzero(np.diff(rows[order])) + 1)
    row_of: dict[int, Any] = dict(zip(np.unique(rows).tolist(), of_row, strict=True))
    order = np.lexsort((rows, columns))
    starts = np.searchsorted(columns[order], np.arange(n + 1))
    by_column = rows[order]
    degree = np.diff(starts)
    natural = range(n)
    best = None
    for sequence in (natural, np.argsort(-degree, kind="stable").tolist()):
        found = np.full(n, -1)
        for c in sequence:
            taken = set()
            for r in by_column[starts[c] : starts[c + 1]].tolist():
                taken.update(found[row_of[r]].tolist())
            k = 0
            while k in taken:
                k += 1
            found[c] = k
        if best is None or found.max(initial=-1) < best.max(initial=-1):
            best = found
        if best.max(initial=-1) + 1 <= max(map(len, of_row), default=0):
            break  # no fewer can do
    return best


def stars(rows: Any, columns: Any, n: int) -> Any:
    """A star colouring of a symmetric pattern of `n` columns; greedy, in two orders."""
    apart = rows != columns
    order = np.argsort(rows[apart], kind="stable")
    to = columns[apart][order]
    starts = np.searchsorted(rows[apart][order], np.arange(n + 1))
    near = [to[a:b].tolist() for a, b in itertools.pairwise(starts)]
    degree = np.diff(starts)
    sequences = (range(n), np.argsort(-degree, kind="stable").tolist())
    return min((_stars(near, order) for order in sequences), key=lambda c: c.max(initial=-1))


def _stars(near: list[list[int]], order: Any) -> Any:
    n = len(near)
    color = [-1] * n
    # Of a vertex: its neighbours by colour; colours that would close a path of four.
    around: list[dict[int, list[int]]] = [{} for _ in range(n)]
    closing: list[set[int]] = [set() for _ in range(n)]
    for v in order:
        taken = set(around[v])
        for w in near[v]:
            taken.update(closing[w] if color[w] >= 0 else around[w])
        c = 0
        while c in taken:
            c += 1
        color[v] = c
        # No path has v in the middle: what stands around one without a colour differs.
        for w in near[v]:
            same = around[w].setdefault(c, [])
            same.append(v)
            if color[w] >= 0 and len(same) > 1:  # paths that v ends
                for x in same if len(same) == 2 else (v,):
                    closing[x].add(color[w])
    return np.array(color, int)
