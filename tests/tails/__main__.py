"""Derivatives to third order in both tails, against mpmath: `make tails`.

Every function of `scipy.special`, and every method of a distribution, is computed with
its first three derivatives in float32 and float64, and compared with differences of
mpmath's values in 150 digits.  An error counts where it exceeds what the dtype leaves:
so many units of its last place of the derivative, with an allowance for points close to
one of its zeros.  What is below the smallest normal number may be 0, and what is above
the largest infinite.
"""

import argparse
import hashlib
import json
import pathlib
import re

import numpy as np
from mpmath import mp, mpf

import minijax as mj
from minijax import nn, scipy
from minijax import numpy as jnp

from . import table

ORDERS = 3
DIGITS = 220
# What differences leave of a derivative, as a share of the value.
UNKNOWN = mpf(10) ** -150
CACHE = pathlib.Path("build/tails")
# Derivatives by central differences of nine points: weights, and their denominators.
STENCILS = (
    ((3, -32, 168, -672, 0, 672, -168, 32, -3), 840),
    ((-9, 128, -1008, 8064, -14350, 8064, -1008, 128, -9), 5040),
    ((-7, 72, -338, 488, 0, -488, 338, -72, 7), 240),
)


def truth(formula, others, place, x, singular):
    """The function and its derivatives at x, as decimal strings."""
    mp.dps = DIGITS
    x = mpf(x)
    gaps = [abs(x - s) for s in singular if x != s]
    scale = min([mpf(1), *gaps])
    h = scale * mpf(10) ** -20
    args = [mpf(v) if v is not None else None for v in others]

    def f(v):
        args[place] = v
        return mp.re(formula(*args))

    values = [f(x + j * h) for j in range(-4, 5)]
    out = [values[4]]
    for n, (weights, below) in enumerate(STENCILS, 1):
        total = mp.fsum(w * v for w, v in zip(weights, values))
        out.append(total / below / h**n)
        if abs(out[-1]) < abs(out[0]) * mpf(10) ** (30 - DIGITS) / h**n:
            out[-1] = mpf(0)  # rounding
    return [mp.nstr(v, 25) for v in out]


def truths(name, formula, others, place, points, singular):
    source = "".join(map(repr, (name, others, points, singular)))
    key = hashlib.sha256(source.encode()).hexdigest()[:12]
    path = CACHE / f"{re.sub(r'[^a-z0-9_.]', '-', name)}-{key}.json"
    if path.exists():
        return json.loads(path.read_text())
    rows = [truth(formula, others, place, x, singular) for x in points]
    CACHE.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows))
    return rows


def function(name):
    """The function of a row's name; of those with several results, one."""
    bare, _, which = name.partition("[")[0].partition(":")
    room, *path = bare.split(".")
    home = {"special": scipy.special, "stats": scipy.stats, "numpy": jnp, "nn": nn}[room]
    for part in path:
        home = getattr(home, part)
    if bare == "special.bessel_jn":
        return lambda z: home(z, v=4)[int(which)]
    if which:
        return lambda x: home(x)[int(which)]
    return home


def computed(name, others, place, points, dtype):
    fun = function(name)

    def of(x):
        args = [
            x if i == place else v if isinstance(v, int) else dtype(v)
            for i, v in enumerate(others)
        ]
        return fun(*args)

    def together(x):
        out, g = [], of
        for _ in range(ORDERS + 1):
            out.append(g(x))
            g = mj.grad(g)
        return out

    return np.array(mj.jit(mj.vmap(together))(np.array(points, dtype)))


def excess(got, expected, allow, dtype):
    """The error in units of what is allowed."""
    info = np.finfo(dtype)
    expected = mpf(expected)
    if abs(expected) > float(info.max):
        return 0 if np.isinf(got) and (got > 0) == (expected > 0) else np.inf
    if not np.isfinite(got):
        return np.inf
    floor = float(info.tiny)
    error = abs(mpf(float(got)) - expected)
    if error <= floor:
        return 0
    return float(error / (allow + floor))


def wrong_numbers(points, got, expected, dtype, units):
    """For each order the (point, number, truth, excess) that are off by too much."""
    eps = float(np.finfo(dtype).eps)
    for order in range(ORDERS + 1):
        bad = []
        for i, x in enumerate(points):
            allow = units * eps * abs(mpf(expected[i][order]))
            allow += abs(mpf(expected[i][0])) * UNKNOWN
            if order < ORDERS:  # next to a zero, x counts as rounded
                allow += 4 * eps * abs(mpf(expected[i][order + 1]) * mpf(x))
            factor = excess(got[order][i], expected[i][order], allow, dtype)
            if factor > 1:
                bad.append((x, got[order][i], mp.nstr(mpf(expected[i][order]), 8), factor))
        yield order, bad


def compare(row, options):
    """How many numbers of a row there are, and how many are wrong, which are printed."""
    name, place, others, formula, points, singular = row
    # What float32 holds, in both dtypes.
    points = [float(np.float32(x)) for x in points]
    others = tuple(float(np.float32(v)) if isinstance(v, float) else v for v in others)
    expected = truths(name, formula, others, place, points, singular)
    count = wrong = 0
    for dtype in (np.float32, np.float64):
        got = computed(name, others, place, points, dtype)
        for order, bad in wrong_numbers(points, got, expected, dtype, options.units):
            count, wrong = count + len(points), wrong + len(bad)
            if bad:
                label = f"{name} {dtype.__name__} order {order}"
                print(f"{label}: {len(bad)} of {len(points)}", flush=True)
            for x, g, w, factor in bad if options.all else bad[:3]:
                print(f"    at {x:g}: {g:.8g}, true {w}  ({factor:.1e})", flush=True)
    return count, wrong


def main():
    parser = argparse.ArgumentParser(prog="make tails")
    parser.add_argument("names", nargs="*", help="rows whose names have one of these")
    parser.add_argument("--units", type=float, default=200, help="of the last place")
    parser.add_argument("--all", action="store_true", help="list each wrong number")
    options = parser.parse_args()
    mj.config.update("jax_enable_x64", True)
    total = off = 0
    for row in table.rows():
        if options.names and not any(n in row[0] for n in options.names):
            continue
        try:
            count, wrong = compare(row, options)
        except (ArithmeticError, NotImplementedError, ValueError) as err:
            print(f"{row[0]}: {type(err).__name__}: {err}", flush=True)
            continue
        total, off = total + count, off + wrong
    print(f"{off} of {total} numbers are wrong")


if __name__ == "__main__":
    main()
