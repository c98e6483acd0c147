"""Jaxprs with mutable references: as arguments, closed over, made inside, in loops."""

from functools import partial

import numpy as np
from harness import Programs, b1, f32, i32

import minijax as mj
from minijax import jit, lax, make_jaxpr
from minijax import numpy as jnp

programs = Programs()
trace = partial(programs.traced, make_jaxpr)
r3 = mj.new_ref(np.zeros(3, "float32"))
r34 = mj.new_ref(np.zeros((3, 4), "float32"))


@trace(r3, f32[()])
def argument(r, x):
    r[0] = x
    return r[...].sum()


@trace(f32[()])
def closed_over(x):
    r3[0] = x
    return r3[...].sum()


@trace(r3, f32[()])
def operations(r, x):
    y = r[1]
    r[...] = r[...] * 2
    mj.ref.addupdate(r, 0, x)
    mj.ref.addupdate(r, None, jnp.ones(3))
    z = mj.ref.swap(r, None, jnp.ones(3))
    r[0] += 1.0
    return y, z


@trace(r34, f32[3], i32[()])
def subscripts(r, x, i):
    r[:, i] = x
    r[i, :]
    r[i]
    r[i, 1]
    r[1:3, i]
    r[..., i]
    r[:]
    r[:, jnp.arange(2)]
    r[-1]
    r[-1, -1]
    r[-2:]
    r[::2, 1:]
    r[0:2, i] = x[:2]
    r[:, i] += 1.0
    r.addupdate(x, (slice(None), i))
    return r[1:2]


@trace(f32[3])
def made_inside(x):
    r = mj.new_ref(x)
    r[0] = 1.0
    return mj.ref.freeze(r)


@trace()
def a_number():
    r = mj.new_ref(0)
    r[...] += 1
    return r[...]


@trace()
def empty_and_freed():
    r = mj.ref.empty_ref(mj.ShapeDtypeStruct((3,), "float32"))
    r[...] = jnp.ones(3)
    y = r[...]
    mj.ref.free_ref(r)
    return y


@trace(r3, f32[()])
def inner_jit(r, x):
    jit(lambda r, x: r.__setitem__(0, x))(r, x)
    return r[...]


@trace(r3, f32[()])
def inner_jit_closes_over(r, x):
    @jit
    def g(x):
        r[0] = x

    g(x)
    return r[...]


@trace(r3, f32[()])
def scan_closes_over(r, x):
    def body(c, i):
        r[i] = c
        return c + 1, None

    return lax.scan(body, x, jnp.arange(3))[0]


@trace(r3, f32[()])
def scan_over_rows(r, x):
    def body(c, row):
        row[...] = c
        return c + 1, None

    return lax.scan(body, x, r)[0]


@trace(r3, f32[()])
def fori(r, x):
    def body(i, c):
        r[i] = c
        return c + 1

    return lax.fori_loop(0, 3, body, x)


@trace(r3, f32[()])
def while_(r, x):
    def body(c):
        r[0] = c
        return c + 1

    return lax.while_loop(lambda c: r[0] < 10, body, x)


@trace(r3, b1[()], f32[()])
def cond(r, p, x):
    def yes(c):
        r[0] = c
        return c + 1

    return lax.cond(p, yes, lambda c: c, x)


@trace(r3, f32[()])
def checkpoint(r, x):
    return mj.checkpoint(lambda x: jnp.sin(x) * r[0])(x)


@trace(f32[()])
def checkpoint_makes_its_own(x):
    @mj.checkpoint
    def g(x):
        r = mj.new_ref(x)
        r[...] = jnp.sin(x)
        return r[...]

    return g(x)


@trace(r3, f32[()])
def custom_vjp(r, x):
    @mj.custom_vjp
    def stash(r, x):
        return x

    def fwd(r, x):
        return x, r

    def bwd(r, g):
        r[0] = g
        return None, g

    stash.defvjp(fwd, bwd)
    return stash(r, jnp.sin(x))
