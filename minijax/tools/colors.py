"""Colours of columns, so that few products determine all elements of a sparse matrix.

`colors`: columns of one colour share no row.  `stars`, for symmetric matrices: neighbours
have different colours, and every path of four vertices has at least three colours; then
one of the two positions of each element is alone in its row and colour.

Sources: Curtis, Powell & Reid, On the Estimation of Sparse Jacobian Matrices (1974);
Coleman & Moré, Estimation of Sparse Hessian Matrices and Graph Coloring Problems (1984);
Gebremedhin, Tarafdar, Manne & Pothen, New Acyclic and Star Coloring Algorithms (2007).
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np


def colors(rows: Any, columns: Any, n: int) -> Any:
    """Return a colour for each of `n` columns: columns of one colour share no row.

    Greedy, in column order and by falling degree; the better of both is returned.
    """
    sorted_indices = np.lexsort((columns, rows))
    of_row = np.split(
        columns[sorted_indices], np.flatnonzero(np.diff(rows[sorted_indices])) + 1
    )
    row_of: dict[int, Any] = dict(zip(np.unique(rows).tolist(), of_row, strict=True))
    sorted_indices = np.lexsort((rows, columns))
    starts = np.searchsorted(columns[sorted_indices], np.arange(n + 1))
    by_column = rows[sorted_indices]
    degree = np.diff(starts)
    natural = range(n)
    best = None
    for sequence in (natural, np.argsort(-degree, kind="stable").tolist()):
        color = np.full(n, -1)
        for c in sequence:
            taken = set()
            for r in by_column[starts[c] : starts[c + 1]].tolist():
                taken.update(color[row_of[r]].tolist())
            k = 0
            while k in taken:
                k += 1
            color[c] = k
        if best is None or color.max(initial=-1) < best.max(initial=-1):
            best = color
        if best.max(initial=-1) + 1 <= max(map(len, of_row), default=0):
            break  # this is the lower bound
    return best


def stars(rows: Any, columns: Any, n: int) -> Any:
    """Return a greedy star colouring of a symmetric pattern of `n` columns."""
    apart = rows != columns
    sorted_indices = np.argsort(rows[apart], kind="stable")
    to = columns[apart][sorted_indices]
    starts = np.searchsorted(rows[apart][sorted_indices], np.arange(n + 1))
    near = [to[a:b].tolist() for a, b in itertools.pairwise(starts)]
    degree = np.diff(starts)
    sequences = (range(n), np.argsort(-degree, kind="stable").tolist())
    return min((_stars(near, seq) for seq in sequences), key=lambda c: c.max(initial=-1))


def _stars(near: list[list[int]], order: Any) -> Any:
    n = len(near)
    color = [-1] * n
    # For each vertex: its neighbours by colour; the colours that close a path of four.
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
        # No path has v in the middle: all coloured neighbours of an uncoloured one differ.
        for w in near[v]:
            same = around[w].setdefault(c, [])
            same.append(v)
            if color[w] >= 0 and len(same) > 1:  # paths that v ends
                for x in same if len(same) == 2 else (v,):
                    closing[x].add(color[w])
    return np.array(color, int)
