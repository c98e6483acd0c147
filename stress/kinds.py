"""Kinds of calls: each runs a random call and compares its result with NumPy's.

Shapes and constants come from small sets, so most programs repeat.
"""

from __future__ import annotations

import functools
import itertools
import pickle
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.experimental import checkify, io_callback

close = functools.partial(np.testing.assert_allclose, rtol=2e-4, atol=2e-5)
KINDS: dict[str, Callable[[Random], None]] = {}


def kind(fun: Callable[[Random], None]) -> Callable[[Random], None]:
    KINDS[fun.__name__] = fun
    return fun


def vector(r: Random, n: int | None = None) -> Any:
    n = r.choice((1, 2, 3, 5, 8)) if n is None else n
    return np.array([r.uniform(-2, 2) for _ in range(n)], np.float32)


def constant(r: Random) -> float:
    return r.choice((0.5, 1.5, 2.0, 3.0))


# ------------------------------------------------------------------------ single calls


@kind
def eager(r: Random) -> None:
    x, c = vector(r), constant(r)
    close(jnp.sin(jnp.asarray(x) * c) - x, np.sin(x * np.float32(c)) - x)


@mj.jit
def _sums(x: Any, y: Any) -> Any:
    return {"sum": x + y, "all": (x * y).sum()}


@kind
def jit(r: Random) -> None:
    x = vector(r)
    out = _sums(x, y=2 * x)
    close(out["sum"], 3 * x)
    close(out["all"], (2 * x * x).sum())


@kind
def jit_again(r: Random) -> None:
    x, c = vector(r), constant(r) if r.random() < 0.95 else r.random()
    close(mj.jit(lambda x: x * c + 1)(x), x * c + 1)


@functools.partial(mj.jit, static_argnames="n")
def _power(x: Any, n: int) -> Any:
    return x**n


@kind
def static_arguments(r: Random) -> None:
    x, n = vector(r), r.randrange(1, 5)
    close(_power(x, n=n), x**n)


@functools.partial(mj.jit, donate_argnums=0)
def _grow(x: Any) -> Any:
    return x + 1


@kind
def donation(r: Random) -> None:
    x = vector(r)
    array = jnp.asarray(x)
    for i in range(1, 4):
        array = _grow(array)
        close(array, x + i)


@kind
def trees(r: Random) -> None:
    x = vector(r)
    tree = {"a": [x, (x * 2, None)], "b": x.sum()}
    out = mj.jit(lambda t: mj.tree.map(lambda y: y + 1, t))(tree)
    assert mj.tree.structure(out) == mj.tree.structure(tree)
    for a, b in zip(mj.tree.leaves(out), mj.tree.leaves(tree), strict=True):
        close(a, b + 1)


@kind
def indexing(r: Random) -> None:
    x = vector(r, 8)
    i, j = r.randrange(8), r.randrange(8)
    expected = x.copy()
    expected[i] += 3
    out = jnp.asarray(x).at[i].add(3.0)
    close(out, expected)
    close(jnp.sort(out), np.sort(expected))
    close(out[j:], expected[j:])


@kind
def algebra(r: Random) -> None:
    n = r.choice((2, 3))
    a = np.outer(v := vector(r, n), v) + np.eye(n, dtype=np.float32) * 3
    b = vector(r, n)
    close(a @ np.asarray(jnp.linalg.solve(a, b)), b, atol=1e-3)
    low = np.asarray(jnp.linalg.cholesky(a))
    close(low @ low.T, a, atol=1e-3)


@kind
def keys(r: Random) -> None:
    seed = r.randrange(100)
    key = mj.random.key(seed)
    one = mj.random.normal(key, (4,))
    close(one, mj.random.normal(mj.random.key(seed), (4,)))
    parts = mj.random.split(key, 3)
    assert len({tuple(np.asarray(mj.random.key_data(k))) for k in parts}) == 3


@kind
def wide(r: Random) -> None:
    x = vector(r).astype(np.float64)
    with mj.enable_x64(True):
        out = jnp.asarray(x) / 3
        assert out.dtype == np.float64
        np.testing.assert_allclose(out, x / 3, rtol=1e-14)


@kind
def to_and_fro(r: Random) -> None:
    x = vector(r)
    device = r.choice(mj.devices("cpu"))
    y = mj.device_put({"x": x}, device)["x"]
    assert y.devices() == {device}
    close(pickle.loads(pickle.dumps(y + 1)), x + 1)
    assert not y.is_deleted()


# ------------------------------------------------------------------------ transformations


@kind
def grad(r: Random) -> None:
    x, c = vector(r), constant(r)
    close(mj.grad(lambda x: (jnp.sin(x) * c).sum())(x), np.cos(x) * c)


@kind
def jit_of_grad(r: Random) -> None:
    x, c = vector(r), constant(r)
    f = mj.jit(mj.value_and_grad(lambda x: (mj.checkpoint(jnp.cos)(x) * c).sum()))
    value, slope = f(x)
    close(value, (np.cos(x) * c).sum())
    close(slope, -np.sin(x) * c)


@kind
def forward(r: Random) -> None:
    x, t = vector(r, 3), vector(r, 3)
    close(mj.jvp(lambda x: x**3, (x,), (t,))[1], 3 * x * x * t)
    close(mj.jacfwd(lambda x: x * x)(x), np.diag(2 * x))


@kind
def vmap(r: Random) -> None:
    x = vector(r, 6).reshape(r.choice(((2, 3), (3, 2), (6, 1))))
    f = mj.vmap(lambda row: row @ row - lax.psum(row.sum(), "i"), axis_name="i")
    close(mj.jit(f)(x), (x * x).sum(1) - x.sum())


@mj.custom_vjp
def _clip(x: Any) -> Any:
    return jnp.clip(x, -1, 1)


_clip.defvjp(lambda x: (_clip(x), x), lambda x, ct: (ct * 2 + 0 * x,))


@kind
def custom_rule(r: Random) -> None:
    x = vector(r)
    value, slope = mj.jit(mj.value_and_grad(lambda x: _clip(x).sum()))(x)
    close(value, np.clip(x, -1, 1).sum())
    close(slope, np.full_like(x, 2))


@kind
def scan(r: Random) -> None:
    x, n = vector(r, 3), r.randrange(1, 4)

    def f(x: Any) -> Any:
        carry, ys = lax.scan(lambda c, _: (c * x, c.sum()), x, None, length=n)
        return carry.sum() + ys[-1]

    close(f(x), (x ** (n + 1)).sum() + (x**n).sum())
    close(mj.grad(f)(x), (n + 1) * x**n + n * x ** (n - 1))


@kind
def loops(r: Random) -> None:
    x, n = vector(r, 3), r.randrange(5)
    close(lax.fori_loop(0, n, lambda i, c: c + i, x), x + n * (n - 1) / 2)
    y = lax.cond(x[0] > 0, lambda x: x * 2, lambda x: x - 1, x)
    close(y, x * 2 if x[0] > 0 else x - 1)


@kind
def replicas(r: Random) -> None:
    n = r.choice((2, 4, 8))
    x = vector(r, n)
    f = mj.pmap(lambda x: (x - lax.pmean(x, "i"), lax.psum(x, "i")), axis_name="i")
    apart, total = f(x)
    close(apart, x - x.mean(), atol=1e-4)
    close(total, np.full(n, x.sum()), atol=1e-4)


# ------------------------------------------------------------------------------ callbacks


def _host(x: Any, c: Any) -> Any:  # a callback that itself computes with minijax
    return np.asarray(_times_sin(x, c))


@mj.jit
def _times_sin(x: Any, c: Any) -> Any:
    return jnp.sin(x) * c


def _call(x: Any, c: Any) -> Any:
    return mj.pure_callback(_host, x, x, c, vmap_method="sequential") + 1


_jit_call = mj.jit(_call)


@kind
def pure_callback(r: Random) -> None:
    x, c = vector(r), np.float32(constant(r))
    how = r.choice((_call, _jit_call, mj.vmap(_call, (0, None))))
    close(how(x, c), np.sin(x) * c + 1)


_seen: dict[int, list[Any]] = {}  # the arguments of callbacks, by the number of the call
_numbers = itertools.count()


def _note(number: Any, x: Any, i: Any = 0) -> None:
    _seen[int(number)].append(float(x) + int(i))


@mj.jit
def _call_ordered(number: Any, x: Any) -> Any:
    for i in range(3):
        io_callback(_note, None, number, x, i, ordered=True)
    return x + 1


@kind
def ordered_callback(r: Random) -> None:
    number, x = next(_numbers), vector(r, 1)[0]
    _seen[number] = []
    close(_call_ordered(np.int32(number), x), x + 1)
    mj.effects_barrier()
    close(_seen.pop(number), [x, x + 1, x + 2])


@mj.jit
@functools.partial(mj.vmap, in_axes=(None, 0))
def _shown(number: Any, x: Any) -> Any:
    mj.debug.callback(_note, number, x)
    return x * 2


@kind
def debug_callback(r: Random) -> None:
    number, x = next(_numbers), vector(r, 3)
    _seen[number] = []
    close(_shown(np.int32(number), x), x * 2)
    mj.effects_barrier()
    close(sorted(_seen.pop(number)), np.sort(x))


def _refuse(x: Any) -> Any:
    raise KeyError("the host says no")


_failing = mj.jit(lambda x: mj.pure_callback(_refuse, x, x) + 1)


@kind
def failing_callback(r: Random) -> None:
    try:
        np.asarray(_failing(vector(r)))
    except mj.errors.JaxRuntimeError as e:
        assert "the host says no" in str(e)
    else:
        raise AssertionError("the callback's exception was lost")


@mj.jit
@checkify.checkify
def _checked(x: Any) -> Any:
    checkify.check(x[0] > 0, "stress: {x} is not positive", x=x[0])
    return x * 2


@kind
def checks(r: Random) -> None:
    x = vector(r, 3)
    error, out = _checked(x)
    close(out, x * 2)
    assert (error.get() is None) == bool(x[0] > 0)
