"""Record what mpmath says of each row: `python reference.py`, where mpmath is installed.

Derivatives are central differences in so many bits that all digits kept are right.
"""

from __future__ import annotations

import itertools
import json
import lzma
import math
import sys
from pathlib import Path

import mpmath

sys.path.insert(0, str(Path(__file__).parent))
import table  # type: ignore[import-not-found]

STENCILS = {
    0: {0: 1},
    1: {-1: -1, 1: 1},
    2: {-1: 1, 0: -2, 1: 1},
    3: {-3: -1, -1: 3, 1: -3, 3: 1},
}


def derivative(row, xs, orders):
    """A partial derivative by differences of relative width 2^-(a tenth of the bits)."""
    mp = mpmath.mp
    mp.prec = row.bits
    xs = [mp.mpf(x) for x in xs]
    steps = [abs(x) * mp.mpf(2) ** (-row.bits // 10) for x in xs]
    total = mp.mpf(0)
    for places in itertools.product(*[STENCILS[n].items() for n in orders]):
        weight = math.prod(w for _, w in places)
        moved = [x + k * h for x, h, (k, _) in zip(xs, steps, places, strict=True)]
        total += weight * row.exact(mp, *moved)
    for h, n in zip(steps, orders, strict=True):
        total /= (h if n == 2 else 2 * h) ** n
    return mpmath.nstr(total, 20)


def main(names):
    path = Path(__file__).parent / "expected.json.xz"
    known = json.loads(lzma.decompress(path.read_bytes())) if path.exists() else {}
    for row in table.ROWS:
        if (names and row.name not in names) or (not names and row.name in known):
            continue
        n = table.arity(row)
        results = {}
        for kind in table.DTYPES:
            for xs in table.chosen(row, kind):
                key = " ".join(x.hex() for x in xs)
                if key not in results:
                    results[key] = [
                        derivative(row, xs, orders)
                        for order in range(4)
                        for orders in table.partials(n, order)
                    ]
        known[row.name] = results
        print(row.name, len(results), flush=True)
        known = {r.name: known[r.name] for r in table.ROWS if r.name in known}
        path.write_bytes(lzma.compress(json.dumps(known).encode()))


main(sys.argv[1:])
