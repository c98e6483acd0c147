"""Fill-reducing orders of unknowns for `spsolve`.

They run on the host and depend only on the sparsity pattern.  All start from its graph, in
which two unknowns are neighbours if an equation contains both.

Source: George and Liu, Computer Solution of Large Sparse Positive Definite Systems (1981),
chapters 4, 5 and 8.

Next: direct.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import numpy as np

__all__ = ("ORDERINGS",)

Graph = list[set[int]]


def graph_of(rows: np.ndarray, columns: np.ndarray, n: int) -> Graph:
    """Return the neighbours of each unknown for a matrix with these nonzero positions."""
    off = rows != columns
    ends = np.concatenate([rows[off], columns[off]])
    others = np.concatenate([columns[off], rows[off]])
    by_end = np.argsort(ends, kind="stable")
    starts = np.searchsorted(ends[by_end], np.arange(n + 1)).tolist()
    near = others[by_end].tolist()
    return [set(near[i:j]) for i, j in itertools.pairwise(starts)]


def levels_from(near: Graph, start: int, among: set[int]) -> list[list[int]]:
    """Group unknowns by their distance from `start`, those with few neighbours first."""
    seen, level, out = {start}, [start], []
    while level:
        out.append(level)
        next_level = [
            j
            for i in level
            for j in sorted(near[i] & among, key=lambda j: len(near[j]))
            if j not in seen
        ]
        level = list(dict.fromkeys(next_level))
        seen.update(level)
    return out


def longest_levels(near: Graph, among: set[int]) -> list[list[int]]:
    """Return the levels from a peripheral unknown of its component."""
    levels = levels_from(near, min(among, key=lambda i: len(near[i])), among)
    while True:
        further = levels_from(near, min(levels[-1], key=lambda i: len(near[i])), among)
        if len(further) <= len(levels):
            return levels
        levels = further


def natural(near: Graph) -> list[int]:
    """Return the given order."""
    return list(range(len(near)))


def cuthill_mckee(near: Graph) -> list[int]:
    """Return the reverse Cuthill-McKee order: by level, which keeps the band narrow."""
    remaining, order = set(range(len(near))), []
    while remaining:
        levels = longest_levels(near, remaining)
        component = [i for level in levels for i in level]
        order += component
        remaining.difference_update(component)
    return order[::-1]


def minimum_degree(near: Graph) -> list[int]:
    """Return the minimum-degree order: eliminate the unknown with the fewest neighbours,
    which then become neighbours of each other."""
    near = [set(x) for x in near]
    remaining, order = set(range(len(near))), []
    while remaining:
        i = min(remaining, key=lambda j: len(near[j]))
        remaining.remove(i)
        order.append(i)
        for j in near[i]:
            near[j].update(near[i])
            near[j].difference_update((i, j))
    return order


def dissection(near: Graph) -> list[int]:
    """Return the nested-dissection order: both sides of a separator, then the separator."""
    order: list[int] = []
    work: list[tuple[set[int], bool]] = [(set(range(len(near))), False)]
    while work:
        among, last = work.pop()
        if not among:
            continue
        levels = [] if last else longest_levels(near, among)
        if len(levels) < 3:
            order += sorted(among) if last else [i for level in levels for i in level]
            if not last:
                work.append((among.difference(*levels), False))
            continue
        middle = set(levels[len(levels) // 2])
        before = {i for level in levels[: len(levels) // 2] for i in level}
        work += [(middle, True), (among - before - middle, False), (before, False)]
    return order


# The keys are values of `reorder`.
ORDERINGS: dict[int, Callable[[Graph], Iterable[int]]] = {
    0: natural,
    1: cuthill_mckee,
    2: minimum_degree,
    3: dissection,
}
