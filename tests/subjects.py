"""Functions (x, w) -> y of vectors, one a higher-order primitive, with references.

Each is a `Subject`: the traceable function, the same in NumPy with plain Python control
flow, and whether it has derivatives.
"""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

N = 3
CONST = np.array([0.4, -0.8, 1.2])


@dataclass(frozen=True)
class Subject:
    """`run` in minijax and `reference` in NumPy; both (x, w) -> y."""

    name: str
    run: Any
    reference: Any
    reverse: bool = True  # has reverse mode
    forward: bool = True  # has forward mode
    forward_of_reverse: bool = True  # where not: the forward rule has no forward mode
    unread: bool = True  # the gradient does not read what the forward rule computes
    lanes_of_branch: bool = True  # can be in a branch that differs from lane to lane

    def __repr__(self):
        return self.name


SUBJECTS: list[Subject] = []
# The forward rule of a `custom_vjp` calls the function itself.
NO_FORWARD = {"forward": False, "forward_of_reverse": False}


def subject(reference, **options):
    def register(run):
        SUBJECTS.append(Subject(run.__name__, run, reference, **options))
        return run

    return register


def smooth(x, w):
    return np.sin(x) * w + 0.5 * x * x


# ------------------------------------------------------------------------------- calls


@subject(lambda x, w: smooth(np.tanh(x * w), w) + CONST)
def jit(x, w):
    const = jnp.asarray(CONST)

    @mj.jit
    def inner(x, w):
        return jnp.sin(x) * w + 0.5 * x * x, const

    a, b = inner(jnp.tanh(x * w), w)
    return a + b


@subject(lambda x, w: np.sin(x * w) + x)
def jit_closure(x, w):
    return mj.jit(lambda x: mj.jit(lambda: jnp.sin(x * w) + x)())(x)


@subject(lambda x, w: np.sin(x * w) * x + w)
def jit_inline(x, w):
    inner = mj.jit(lambda x: jnp.sin(x * w) * x, inline=True)
    return mj.jit(lambda x, w: inner(x) + w, inline=True)(x, w)


# ---------------------------------------------------------------------------- branches


@subject(lambda x, w: x * x + w if x[0] > 0 else np.cos(x) * w)
def cond(x, w):
    return lax.cond(x[0] > 0, lambda x, w: x * x + w, lambda x, w: jnp.cos(x) * w, x, w)


@subject(lambda x, w: w * 2 if x[1] > 0 else np.exp(0.3 * x) * w)
def cond_closure(x, w):
    return lax.cond(x[1] > 0, lambda: w * 2, lambda: jnp.exp(0.3 * x) * w)


def which(x):
    return np.clip(np.floor(4 * x[0] + 0.4), 0, 2)


@subject(lambda x, w: [x * w, np.sin(x), w**3][int(which(x))])
def switch(x, w):
    index = jnp.floor(4 * lax.stop_gradient(x[0]) + 0.4).astype(int)
    branches = [lambda x, w: x * w, lambda x, w: jnp.sin(x), lambda x, w: w**3]
    return lax.switch(index, branches, x, w)


# ------------------------------------------------------------------------------- loops


def while_reference(x, w):
    i, c = 0, x
    while i < 3 and c[0] < 2.3:
        i, c = i + 1, c * c * 0.6 + w
    return c


def _while(x, w, **options):
    return lax.while_loop(
        lambda s: (s[0] < 3) & (s[1][0] < 2.3),
        lambda s: (s[0] + 1, s[1] * s[1] * 0.6 + w),
        (0, x),
        **options,
    )[1]


@subject(while_reference, reverse=False)
def while_loop(x, w):
    return _while(x, w)


@subject(while_reference)
def while_loop_max_steps(x, w):
    return _while(x, w, max_steps=5)


def fori_reference(x, w):
    for i in range(1, 4):
        x = np.sin(x) * w + i * x * 0.5
    return x


@subject(fori_reference)
def fori_loop(x, w):
    return lax.fori_loop(1, 4, lambda i, c: jnp.sin(c) * w + i * c * 0.5, x)


@subject(fori_reference, reverse=False)
def fori_loop_dynamic(x, w):
    step = lambda i, c: jnp.sin(c) * w + i * c * 0.5
    # Under jit the number of steps is not known, wherever x comes from.
    run = mj.jit(lambda x, stop: lax.fori_loop(1, stop, step, x))
    return run(x, jnp.where(x[0] > 100.0, 1, 4))


def scan_reference(x, w):
    c, n, out = x, 0, np.zeros(N)
    for row in np.stack([w, w * w, CONST]):
        c, n, y = np.tanh(c * row) + CONST * np.exp(w), n + 1, c * row[0]
        out = out + y * n
    return c + out + w


@subject(scan_reference)
def scan(x, w):
    def step(carry, row):
        c, n, _ = carry
        new = jnp.tanh(c * row) + CONST * jnp.exp(w)
        return (new, n + 1, None), (c * row[0] * (n + 1), None)

    rows = jnp.stack([w, w * w, jnp.asarray(CONST)])
    (c, _, _), (ys, _) = lax.scan(step, (x, 0, None), rows)
    return c + ys.sum(0) + w


def scan_reverse_reference(x, w):
    c, ys = x, []
    for row in [x * w, w, x][::-1]:
        c = c * np.cos(row) + w
        ys.append(c)
    return c + ys[::-1][0] * ys[::-1][2]


@subject(scan_reverse_reference)
def scan_reverse(x, w):
    def step(c, row):
        c = c * jnp.cos(row) + w
        return c, c

    c, ys = lax.scan(step, x, jnp.stack([x * w, w, x]), reverse=True, unroll=2)
    return c + ys[0] * ys[2]


@subject(lambda x, w: np.stack([np.sin(a * w).sum() for a in x]))
def map_rows(x, w):
    return lax.map(lambda a: jnp.sin(a * w).sum(), x)


@subject(lambda x, w: np.stack([np.sin(a * w).sum() for a in x]))
def map_blocks(x, w):
    return lax.map(lambda a: jnp.sin(a * w).sum(), x, batch_size=2)


@subject(lambda x, w: np.cumprod(x) + np.cumprod(w[::-1])[::-1])
def associative_scan(x, w):
    up = lax.associative_scan(jnp.multiply, x)
    return up + lax.associative_scan(jnp.multiply, w, reverse=True)


# ------------------------------------------------------------------------ custom rules


@subject(smooth)
def custom_jvp(x, w):
    @mj.custom_jvp
    def f(x, w):
        return jnp.sin(x) * w + 0.5 * x * x

    @f.defjvp
    def rule(primals, tangents):
        (x, w), (tx, tw) = primals, tangents
        return f(x, w), (jnp.cos(x) * w + x) * tx + jnp.sin(x) * tw

    return f(x, w)


@subject(smooth)
def custom_jvps(x, w):
    @mj.custom_jvp
    def f(x, w):
        return jnp.sin(x) * w + 0.5 * x * x

    f.defjvps(
        lambda t, out, x, w: (jnp.cos(x) * w + x) * t, lambda t, out, x, w: jnp.sin(x) * t
    )
    return f(x, w)


@subject(lambda x, w: x**2 * w)
def custom_jvp_nondiff(x, w):
    @functools.partial(mj.custom_jvp, nondiff_argnums=(0, 2))
    def power(f, x, n):
        return f(x) ** n

    @power.defjvp
    def rule(f, n, primals, tangents):
        (x,), (t,) = primals, tangents
        y, dy = mj.jvp(f, (x,), (t,))
        return y**n, n * y ** (n - 1) * dy

    return power(lambda v: v, x, 2) * w


def _vjp_rule(**options):
    @mj.custom_vjp
    def f(x, w):
        return {"a": jnp.sin(x) * w, "b": 0.5 * x * x}

    def fwd(x, w):
        if options.get("symbolic_zeros"):
            x, w = x.value, w.value
        return f(x, w), (x, w)

    def bwd(res, ct):
        x, w = res
        a, b = ct["a"], ct["b"]
        if isinstance(b, mj.custom_derivatives.SymbolicZero):
            b = jnp.zeros(b.shape, b.dtype)
        if isinstance(a, mj.custom_derivatives.SymbolicZero):
            a = jnp.zeros(a.shape, a.dtype)
        return jnp.cos(x) * w * a + x * b, jnp.sin(x) * a

    f.defvjp(fwd, bwd, **options)
    return f


@subject(smooth, **NO_FORWARD)
def custom_vjp(x, w):
    out = _vjp_rule()(x, w)
    return out["a"] + out["b"]


@subject(lambda x, w: np.sin(x) * w, **NO_FORWARD)
def custom_vjp_symbolic(x, w):
    return _vjp_rule(symbolic_zeros=True)(x, w)["a"]


@subject(lambda x, w: np.sin(x * w) * w, **NO_FORWARD)
def custom_vjp_closure(x, w):
    @functools.partial(mj.custom_vjp, nondiff_argnums=(0,))
    def f(scale, x, w):
        return scale * jnp.sin(x * w) * w

    def fwd(scale, x, w):
        return f(scale, x, w), (x, w)

    def bwd(scale, res, ct):
        x, w = res
        dx = jnp.cos(x * w) * w * w
        dw = jnp.cos(x * w) * w * x + jnp.sin(x * w)
        return scale * dx * ct, scale * dw * ct

    f.defvjp(fwd, bwd)
    return f(1.0, x, w)


@subject(lambda x, w: x**3 * w, forward=False)
def custom_gradient(x, w):
    @mj.custom_gradient
    def f(x, w):
        return x**3 * w, lambda ct: (3 * x**2 * w * ct, x**3 * ct)

    return f(x, w)


@subject(lambda x, w: CONST * (x * w) + x)
def linear_call(x, w):
    return x + mj.custom_derivatives.linear_call(
        lambda r, v: r * v, lambda r, ct: r * ct, jnp.asarray(CONST), x * w
    )


MATRIX = np.array([[2.0, 0.3, 0.1], [-0.4, 3.0, 0.2], [0.1, 0.5, 2.5]])


@subject(lambda x, w: np.linalg.solve(MATRIX * w[:, None], x))
def custom_linear_solve(x, w):
    a = MATRIX * w[:, None]
    inverse = jnp.asarray(np.linalg.inv(MATRIX))
    return lax.custom_linear_solve(
        lambda v: a @ v,
        x,
        lambda matvec, b: inverse @ (b / w),
        lambda vecmat, b: (inverse.T @ b) / w,
    )


@subject(lambda x, w: x / (2.0 + w))
def custom_linear_solve_symmetric(x, w):
    d = 2.0 + w
    return lax.custom_linear_solve(lambda v: d * v, x, lambda matvec, b: b / d, symmetric=True)


@subject(lambda x, w: np.cbrt(x * x + np.exp(w)))
def custom_root(x, w):
    target = x * x + jnp.exp(w)

    def solve(f, guess):
        slope = lambda z: 3 * z * z
        return lax.fori_loop(0, 40, lambda _, z: z - f(z) / slope(z), guess)

    def tangent_solve(g, y):
        return y / g(jnp.ones_like(y))

    return lax.custom_root(
        lambda z: z**3 - target, 1.0 + lax.stop_gradient(x * x), solve, tangent_solve
    )


@subject(lambda x, w: x * np.sin(w))
def custom_vmap(x, w):
    @mj.custom_batching.custom_vmap
    def f(x, w):
        return x * jnp.sin(w)

    @f.def_vmap
    def rule(axis_size, in_batched, x, w):
        bx, bw = in_batched
        if bx and bw:
            return x * jnp.sin(w), True
        return (x * jnp.sin(w)[None] if bx else x[None] * jnp.sin(w)), True

    return f(x, w)


@subject(lambda x, w: x * np.sin(w))
def sequential_vmap(x, w):
    return mj.custom_batching.sequential_vmap(lambda x, w: x * jnp.sin(w))(x, w)


# ------------------------------------------------------------------------------- remat


@subject(lambda x, w: np.sin(np.sin(x * w)) * w)
def checkpoint(x, w):
    return mj.checkpoint(lambda x: jnp.sin(jnp.sin(x * w)) * w)(x)


@subject(lambda x, w: np.sin(MATRIX @ np.sin(x * w)) * w)
def checkpoint_policy(x, w):
    policy = mj.checkpoint_policies.dots_saveable

    def f(x, w):
        return jnp.sin(MATRIX @ jnp.sin(x * w)) * w

    return mj.checkpoint(f, policy=policy)(x, w)


# ----------------------------------------------------------------------------- devices


def pmap_reference(x, w):
    rows = [np.sin(c * x) * w for c in (1.0, 2.0)]
    return rows[0] * 3 + rows[1] + 2 * sum(rows)


@subject(pmap_reference)
def pmap(x, w):
    each = mj.pmap(
        lambda x, w: (jnp.sin(x) * w, lax.psum(jnp.sin(x) * w, "d")),
        axis_name="d",
        in_axes=(1, None),
        out_axes=(0, 0),
    )
    a, b = each(jnp.stack([x, 2 * x], 1), w)
    return a[0] * 3 + a[1] + b[0] + b[1]


def psum_reference(x, w):
    rows = [np.sin(c * x) * w for c in (1.0, 2.0)]
    return sum(r * sum(rows) for r in rows)


@subject(psum_reference)
def psum_lanes(x, w):
    def lane(x):
        y = jnp.sin(x) * w
        return y * lax.psum(y, "lane")

    return mj.vmap(lane, axis_name="lane")(jnp.stack([x, 2 * x])).sum(0)


# ------------------------------------------------------------------------------ effects


@subject(lambda x, w: np.sin(x) * w, reverse=False, forward=False)
def pure_callback(x, w):
    return mj.pure_callback(lambda x, w: np.sin(x) * w, x, x, w, vmap_method="sequential")


@subject(smooth)
def debug_callback(x, w):
    y = jnp.sin(x) * w
    mj.debug.callback(lambda v: None, y)
    return y + 0.5 * x * x


@subject(lambda x, w: np.sin(x) * w * x)
def barrier(x, w):
    a, b = lax.optimization_barrier((jnp.sin(x), w))
    return a * b * x


@subject(lambda x, w: np.sin(x) * w)
def platform_dependent(x, w):
    return lax.platform_dependent(
        x, w, cpu=lambda x, w: jnp.sin(x) * w, default=lambda x, w: jnp.sin(x) * w
    )
