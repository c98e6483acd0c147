"""The laws of programs that hold programs, for every primitive that does, nested twice.

A subject is `make(note) -> fun`, where `fun` takes three numbers and has three results,
of which each depends on operands of its own; on the way it takes note of something that
no result needs.
"""

import laws
import pytest
from region_laws import obeys_regions

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.control.calls import closed_call_p

ARGS = 0.7, -0.4, 1.3


def body(note):
    def f(a, b, c):
        note(a * c)
        return jnp.sin(a), b * c + b, c * c

    return f


def jit(inner):
    return lambda note: mj.jit(inner(note))


def closed_call(inner):
    def make(note):
        f = inner(note)

        def fun(*args):
            program = mj.make_jaxpr(f)(*args)
            return tuple(closed_call_p.bind(*args, call_jaxpr=program))

        return fun

    return make


def remat(inner):
    return lambda note: mj.checkpoint(inner(note))


def cond(inner):
    def make(note):
        other = lambda a, b, c: (a + 2.0, b - c, jnp.cos(c))
        first = inner(note)
        return lambda a, b, c: lax.switch(jnp.int32(0), [first, other, other], a, b, c)

    return make


def scan(inner):
    def make(note):
        f = inner(note)

        def step(carry, x):
            a, b, c = f(*carry)
            return (a, b, c), (a + x, x * x)

        def fun(a, b, c):
            (a, b, c), (y, z) = lax.scan(step, (a, b, c), jnp.stack([0.5, 1.5]))
            return a + y[1], b, c + z[0]

        return fun

    return make


def while_loop(inner):
    def make(note):
        f = inner(note)

        def fun(a, b, c):
            test = lambda s: s[0] < 2
            step = lambda s: (s[0] + 1, *f(*s[1:]))
            return lax.while_loop(test, step, (jnp.int32(0), a, b, c))[1:]

        return fun

    return make


def custom_jvp(inner):
    def make(note):
        f = mj.custom_jvp(inner(note))
        f.defjvp(lambda p, t: mj.jvp(inner(lambda x: None), p, t))
        return f

    return make


def custom_vjp(inner):
    def make(note):
        f = mj.custom_vjp(inner(note))
        f.defvjp(
            lambda *xs: mj.vjp(inner(lambda x: None), *xs), lambda pull, ct: pull(ct)
        )
        return f

    return make


def custom_vmap(inner):
    def make(note):
        f = mj.custom_batching.custom_vmap(inner(note))
        every = mj.vmap(inner(lambda x: None))

        @f.def_vmap
        def rule(size, batched, *xs):
            full = [x if b else jnp.stack([x] * size) for x, b in zip(xs, batched)]
            return every(*full), (True, True, True)

        return f

    return make


def pmap(inner):
    def make(note):
        f = mj.pmap(inner(note), axis_name="i", in_axes=(0, None, 0), out_axes=0)
        return lambda a, b, c: f(jnp.stack([a, 2 * a]), b, jnp.stack([c, -c]))

    return make


# The primitive, what holds it, whether its rules look inside, derivatives of both modes.
HOLDERS = {
    "jit": (jit, True, True),
    "closed_call": (closed_call, True, True),
    "remat2": (remat, True, True),
    "cond": (cond, True, True),
    "scan": (scan, True, True),
    "while": (while_loop, True, False),
    "custom_jvp_call": (custom_jvp, False, True),
    "custom_vjp_call": (custom_vjp, False, False),
    "custom_vmap_call": (custom_vmap, False, True),
    "xla_pmap": (pmap, True, True),
}


@pytest.mark.parametrize("prim", HOLDERS)
def test_prunes_and_tells_dependence(prim):
    hold, inside, _ = HOLDERS[prim]
    obeys_regions(prim, hold(body), *map(jnp.float32, ARGS), tight=inside)


# Every holder in every other: each rule then meets the others' equations.
NESTED = [
    (outer, inner)
    for outer in ("jit", "remat2", "cond", "scan", "while")
    for inner in HOLDERS
    if inner != "xla_pmap"
]


@pytest.mark.parametrize(("outer", "inner"), NESTED)
def test_nested_prunes_and_tells_dependence(outer, inner):
    hold, _, _ = HOLDERS[outer]
    within, inside, _ = HOLDERS[inner]
    obeys_regions(
        outer, hold(within(body)), *map(jnp.float32, ARGS), tight=inside, every=False
    )


def silent(prim):
    return HOLDERS[prim][0](body)(lambda x: None)


@pytest.mark.parametrize("prim", HOLDERS)
def test_derivatives_and_lanes(prim):
    forward = prim != "custom_vjp_call"
    if forward and HOLDERS[prim][2]:
        laws.obeys(silent(prim), *ARGS, exact=False)
    else:
        laws.obeys(silent(prim), *ARGS, derivatives=False, exact=False)


def test_what_ends_a_loop_moves_all_that_it_gives():
    def make(note):
        f = body(note)

        def fun(a, b, c):
            step = lambda s: (s[0] + 1.0, *f(*s[1:]))
            return lax.while_loop(lambda s: s[0] < 4 * a, step, (0.0, a, b, c))[1:]

        return fun

    obeys_regions("while", make, *map(jnp.float32, ARGS))


def test_branches_agree_on_what_moves():
    still = lambda a, b: (a, jnp.ones_like(b))
    moving = lambda a, b: (a * b, jnp.sin(b))
    for branches in ([still, moving], [moving, still]):
        for i in jnp.arange(2):
            laws.obeys(
                lambda a, b, i=i, bs=branches: lax.switch(i, bs, a, b), 0.7, -0.4
            )


def test_lanes_of_a_program_know_their_axis():
    """One program, mapped over the axis that it names and over another of that size."""
    named = mj.jit(lambda x: x - lax.psum(x, "i"))
    program = mj.make_jaxpr(named, axis_env=[("i", 2)])(1.0)
    run = lambda x: program(x)[0]
    inner = mj.vmap(mj.vmap(run), axis_name="i")
    assert inner(jnp.array([[1.0, 2.0], [3.0, 5.0]])).tolist() == [[-3, -5], [-1, -2]]
    assert mj.vmap(run, axis_name="i")(jnp.array([1.0, 2.0])).tolist() == [-2.0, -1.0]


def test_shares_the_cotangent_of_a_shared_result():
    f = mj.pmap(lambda x, w: lax.psum(x * w, "i"), axis_name="i",
                in_axes=(0, None), out_axes=None)  # fmt: skip
    x = jnp.array([1.0, 2.0])
    laws.obeys(lambda w: f(x, w), jnp.float32(3.0), lanes=False)
