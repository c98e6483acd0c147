"""What must hold of every operation, checked on one program with one set of arguments.

`obeys(fun, *args)` checks: jit gives what eager gives; jvp agrees with differences; the
transpose agrees with jvp by inner products; what structure says to be zero is zero; lanes
of vmap agree with a loop, of the function and of its gradient, wherever the lane axes are.
Floats are taken as float64.
`exact=False` is for programs that may be rounded in another way than their steps.

This knows no operation.  The files beside it give it programs.
"""

import itertools
from functools import partial

import numpy as np

import minijax as mj
from minijax.tools import sparsity

EPS = 1e-5


def leaves(out):
    return [np.asarray(x) for x in mj.tree.leaves(out)]


def numbers(x):
    """Values that NumPy can compare: small floats and integers as float32."""
    return x.astype(np.float32) if x.dtype.kind == "V" else x


def total(x):
    return mj.lax.reduce_sum(x, tuple(range(x.ndim)))


def same(got, expected, **tolerance):
    got, expected = leaves(got), leaves(expected)
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        if tolerance and a.dtype.kind in "fc":
            np.testing.assert_allclose(a, b, **tolerance)
        else:
            np.testing.assert_array_equal(numbers(a), numbers(b))


def doubled(x):
    x = np.asarray(x)
    wide = {"f": np.float64, "c": np.complex128}.get(x.dtype.kind)
    return x if wide is None else x.astype(wide)


def moves(x):
    return np.asarray(x).dtype.kind in "fc"


def obeys(fun, *args, derivatives=True, lanes=True, exact=True):
    with mj.enable_x64(True):
        args = [doubled(x) for x in args]
        jit_agrees(fun, args, {} if exact else {"rtol": 1e-13})
        dependent = [i for i, x in enumerate(args) if moves(x)]
        outs = leaves(fun(*args))
        if derivatives and dependent and any(map(moves, outs)):
            derivatives_agree(fun, args, dependent)
            if lanes:
                lanes_agree(partial(pulled_back, fun, dependent), args)
        if lanes:
            lanes_agree(fun, args)


def jit_agrees(fun, args, tolerance):
    same(mj.jit(fun)(*args), fun(*args), **tolerance)


def of_moving(fun, args, dependent):
    """`fun` of the arguments that move alone, giving the results that move."""

    def flat(*xs):
        full = list(args)
        for i, x in zip(dependent, xs, strict=True):
            full[i] = x
        return [y for y in mj.tree.leaves(fun(*full)) if y.dtype.kind in "fc"]

    return flat


def like(x, seed):
    rng = np.random.default_rng(seed)
    t = rng.normal(size=np.shape(x))
    if np.asarray(x).dtype.kind == "c":
        t = t + 1j * rng.normal(size=np.shape(x))
    return np.asarray(t, np.asarray(x).dtype)


def inner(xs, ys):
    """The pairing of cotangents and tangents; its real part is what conj keeps."""
    return sum(np.sum(np.asarray(x) * np.asarray(y)).real for x, y in zip(xs, ys, strict=True))


def derivatives_agree(fun, args, dependent):
    flat = of_moving(fun, args, dependent)
    primals = [args[i] for i in dependent]
    ts = [like(x, 1 + i) for i, x in enumerate(primals)]
    outs, out_ts = mj.jvp(flat, tuple(primals), tuple(ts))
    ahead = flat(*(x + EPS * t for x, t in zip(primals, ts, strict=True)))
    behind = flat(*(x - EPS * t for x, t in zip(primals, ts, strict=True)))
    slopes = [
        (np.asarray(a) - np.asarray(b)) / (2 * EPS) for a, b in zip(ahead, behind, strict=True)
    ]
    same(outs, flat(*primals), rtol=1e-12)
    same(out_ts, slopes, rtol=1e-6, atol=1e-8)
    cts = [like(y, 7 + i) for i, y in enumerate(outs)]
    cotangents = mj.vjp(flat, *primals)[1](cts)
    np.testing.assert_allclose(inner(cts, out_ts), inner(cotangents, ts), rtol=1e-9)
    for k, x in enumerate(primals):
        if 0 < x.size <= 500:
            structure_agrees(flat, primals, k)
    some_move(fun, args, dependent)


def structure_agrees(flat, primals, k):
    """What does not depend on an element, by structure, does not move with it."""
    x = primals[k]
    fun = lambda x: flat(*primals[:k], x, *primals[k + 1 :])
    chosen = np.random.default_rng(x.size).integers(x.size)
    t = np.zeros(x.size, x.dtype)
    t[chosen] = 1
    for j, y in enumerate(mj.jvp(fun, (x,), (t.reshape(x.shape),))[1]):
        pattern = sparsity(lambda x, j=j: fun(x)[j], x)
        rows = pattern.rows[pattern.columns == chosen]
        assert not np.delete(np.ravel(np.asarray(y)), rows).any()


def some_move(fun, args, dependent):
    """Derivatives by one argument alone are those by all, with the others still."""
    if len(dependent) < 2:
        return
    cts = [like(y, 3) for y in of_moving(fun, args, dependent)(*(args[i] for i in dependent))]
    every = mj.vjp(of_moving(fun, args, dependent), *(args[i] for i in dependent))[1](cts)
    for i, expected in zip(dependent, every, strict=True):
        alone = mj.vjp(of_moving(fun, args, [i]), args[i])[1](cts)
        same(alone, [expected], rtol=1e-12)


def pulled_back(fun, dependent, *args):
    flat = of_moving(fun, args, dependent)
    primals = [args[i] for i in dependent]
    outs, pull = mj.vjp(flat, *primals)
    return pull([mj.lax.full_like(y, 0.5) for y in outs])


def lanes_agree(fun, args, size=3):
    """Each choice of arguments with lanes; lanes first, and lanes last."""
    for chosen in itertools.product((False, True), repeat=len(args)):
        if not any(chosen):
            continue
        for last in (False, True):
            stacked, dims, rows = [], [], []
            for i, (x, c) in enumerate(zip(args, chosen, strict=True)):
                many = [varied(x, k) for k in range(size)] if c else [x] * size
                rows.append(many)
                dim = (np.ndim(x) if last and i % 2 == 0 else 0) if c else None
                dims.append(dim)
                stacked.append(np.stack(many, dim) if c else x)
            got = mj.vmap(fun, tuple(dims))(*stacked)
            each = [fun(*(r[k] for r in rows)) for k in range(size)]
            expected = [np.stack(xs) for xs in zip(*map(leaves, each), strict=True)]
            same(got, expected, rtol=1e-12)


def varied(x, k):
    """Another argument of the same kind; indices stay small."""
    x = np.asarray(x)
    if x.dtype.kind in "iu":
        return (x + k * (x % 2)).astype(x.dtype) if k else x
    if x.dtype.kind == "b":
        return x if k % 2 == 0 else ~x
    return x + k * like(x, 40 + k)
