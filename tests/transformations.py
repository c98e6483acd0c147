"""Transformations of functions (x, w) -> y of vectors, each with a reference.

All vectors have `N` elements.  A transformation takes such a function to another one, so
that they stack to any depth; its reference does the same with Python loops and finite
differences to an opaque function of NumPy arrays.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

N = 3
MIX = np.array([1.0, -0.5, 0.25])  # makes one number of a vector
PUSH = np.array([0.3, -1.0, 0.5]), np.array([-0.2, 0.4, 1.0])  # a tangent (x, w)
LANES = np.array([1.0, 0.7])  # factors that make two lanes of a vector
STEP = 1e-3
STENCIL = (1, 8 / 12), (-1, -8 / 12), (2, -1 / 12), (-2, 1 / 12)  # error: STEP ** 4


@dataclass(frozen=True)
class Transformation:
    """`apply` to a traceable function, `reference` to a NumPy one."""

    name: str
    apply: Any
    reference: Any
    forward: bool = False  # uses forward mode
    reverse: bool = False  # uses reverse mode
    lanes: bool = False  # x differs from lane to lane

    def __repr__(self):
        return self.name


def same(f):
    return f


# ------------------------------------------------------------------------ derivatives


def directional(f, x, w, tx, tw):
    """The derivative of `f` at (x, w) along (tx, tw), by differences of fourth order.

    With their wide steps, differences of differences keep nine digits in double precision.
    """
    return sum(c * f(x + k * STEP * tx, w + k * STEP * tw) for k, c in STENCIL) / STEP


def gradient_reference(f):
    def run(x, w):
        return np.array([MIX @ directional(f, x, w, e, 2 * e) for e in np.eye(N)])

    return run


def grad(f):
    def run(x, w):
        gx, gw = mj.grad(lambda x, w: MIX @ f(x, w), argnums=(0, 1))(x, w)
        return gx + 2.0 * gw

    return run


def vjp(f):
    def run(x, w):
        _, pull = mj.vjp(f, x, w)
        gx, gw = pull(jnp.asarray(MIX))
        return gx + 2.0 * gw

    return run


def jvp(f):
    return lambda x, w: mj.jvp(f, (x, w), PUSH)[1]


def linearize(f):
    def run(x, w):
        y, push = mj.linearize(f, x, w)
        return y + push(*PUSH)

    return run


def linearize_reference(f):
    return lambda x, w: f(x, w) + directional(f, x, w, *PUSH)


def jacfwd(f):
    return lambda x, w: mj.jacfwd(f)(x, w) @ PUSH[0]


def jacfwd_reference(f):
    return lambda x, w: directional(f, x, w, PUSH[0], np.zeros(N))


# ------------------------------------------------------------------------------ lanes


def vmap(f):
    def run(x, w):
        return LANES @ mj.vmap(f)(jnp.outer(LANES, x), jnp.outer(LANES, w))

    return run


def vmap_reference(f):
    return lambda x, w: sum(c * f(c * x, c * w) for c in LANES)


def vmap_shared(f):
    """x is mapped along its second axis, w is shared, results are columns."""

    def run(x, w):
        return mj.vmap(f, in_axes=(1, None), out_axes=1)(jnp.outer(x, LANES), w) @ LANES

    return run


def vmap_shared_reference(f):
    return lambda x, w: sum(c * f(c * x, w) for c in LANES)


def vmap_other(f):
    """w is mapped, x is shared; lanes one at a time."""

    def run(x, w):
        return LANES @ mj.vmap(f, in_axes=(None, 0), chunk=1)(x, jnp.outer(LANES, w))

    return run


def vmap_other_reference(f):
    return lambda x, w: sum(c * f(x, c * w) for c in LANES)


def pmap(f):
    """As `vmap_shared`, each lane on its device, with a sum over the devices inside."""

    def run(x, w):
        each = mj.pmap(
            lambda x, w: f(x, w) + lax.psum(0.1 * x, "i"), axis_name="i", in_axes=(0, None)
        )
        return LANES @ each(jnp.outer(LANES, x), w)

    return run


def pmap_reference(f):
    total = LANES.sum()
    return lambda x, w: sum(c * (f(c * x, w) + 0.1 * total * x) for c in LANES)


# ------------------------------------------------------------------------ control flow


def in_scan(f):
    """Two steps of c -> f(c, w) * row, with the carries handed out."""
    rows = np.array([[1.0, 0.5, -0.3], [0.2, 0.9, 1.1]])

    def run(x, w):
        last, seen = lax.scan(lambda c, row: (f(c, w) * row, c), x, rows)
        return last + seen.sum(0)

    return run


def in_scan_reference(f):
    rows = np.array([[1.0, 0.5, -0.3], [0.2, 0.9, 1.1]])

    def run(x, w):
        seen = np.zeros(N)
        for row in rows:
            seen, x = seen + x, f(x, w) * row
        return x + seen

    return run


def in_loop(f):
    return lambda x, w: lax.fori_loop(0, 2, lambda i, c: f(c, w) + i * c, x)


def in_loop_reference(f):
    return lambda x, w: f(f(x, w), w) + f(x, w)


def in_cond(f):
    def run(x, w):
        return lax.cond(x[0] > 0, lambda x: f(x, w), lambda x: x * f(w, x), x)

    return run


def in_cond_reference(f):
    return lambda x, w: f(x, w) if x[0] > 0 else x * f(w, x)


def in_map(f):
    def run(x, w):
        return lax.map(lambda c: f(c * x, w), LANES).sum(0)

    return run


def in_map_reference(f):
    return lambda x, w: sum(f(c * x, w) for c in LANES)


TRANSFORMATIONS = [
    Transformation("jit", mj.jit, same),
    Transformation("grad", grad, gradient_reference, reverse=True),
    Transformation("vjp", vjp, gradient_reference, reverse=True),
    Transformation(
        "jvp", jvp, lambda f: lambda x, w: directional(f, x, w, *PUSH), forward=True
    ),
    Transformation("linearize", linearize, linearize_reference, forward=True),
    Transformation("jacfwd", jacfwd, jacfwd_reference, forward=True),
    Transformation("vmap", vmap, vmap_reference, lanes=True),
    Transformation("vmap_shared", vmap_shared, vmap_shared_reference, lanes=True),
    Transformation("vmap_other", vmap_other, vmap_other_reference),
    Transformation("pmap", pmap, pmap_reference),
    Transformation("checkpoint", mj.checkpoint, same),
    Transformation("in_scan", in_scan, in_scan_reference),
    Transformation("in_loop", in_loop, in_loop_reference),
    Transformation("in_cond", in_cond, in_cond_reference),
    Transformation("in_map", in_map, in_map_reference),
]
BY_NAME = {t.name: t for t in TRANSFORMATIONS}
