"""Orders of unknowns in which elimination fills in little: what `spsolve` reorders by.

On the host, of the pattern of a matrix alone.  All start from its graph: two unknowns are
neighbours where an equation knows both.

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
    """The neighbours of each unknown, of a matrix with elements at these places."""
    off = rows != columns
    ends = np.concatenate([rows[off], columns[off]])
    others = np.concatenate([columns[off], rows[off]])
    by_end = np.argsort(ends, kind="stable")
    starts = np.searchsorted(ends[by_end], np.arange(n + 1)).tolist()
    near = others[by_end].tolist()
    return [set(near[i:j]) for i, j in itertools.pairwise(starts)]


def levels_from(near: Graph, start: int, among: set[int]) -> list[list[int]]:
    """Unknowns by their distance from one, those of few neighbours first."""
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
    """The levels from an unknown at the rim of its component."""
    levels = levels_from(near, min(among, key=lambda i: len(near[i])), among)
    while True:
        further = levels_from(near, min(levels[-1], key=lambda i: len(near[i])), among)
        if len(further) <= len(levels):
            return levels
        levels = further


def natural(near: Graph) -> list[int]:
    """As the unknowns come."""
    return list(range(len(near)))


def cuthill_mckee(near: Graph) -> list[int]:
    """Reverse Cuthill-McKee: level after level, which keeps the matrix narrow."""
    remaining, order = set(range(len(near))), []
    while remaining:
        levels = longest_levels(near, remaining)
        component = [i for level in levels for i in level]
        order += component
        remaining.difference_update(component)
    return order[::-1]


def minimum_degree(near: Graph) -> list[int]:
    """Always the unknown that has the fewest neighbours, which then know one another."""
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
    """Nested dissection: both sides of a separator, then the separator."""
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


# By the numbers that callers know them by.
ORDERINGS: dict[int, Callable[[Graph], Iterable[int]]] = {
    0: natural,
    1: cuthill_mckee,
    2: minimum_degree,
    3: dissection,
}
