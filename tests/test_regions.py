"""The laws of programs that hold programs, for every primitive that does, nested twice.

A subject is `make(note) -> fun`, where `fun` takes three numbers and has three results,
of which each depends on operands of its own; on the way it takes note of something that
no result needs.
"""

import laws
import numpy as np
import pytest
from region_laws import discharges, every_lane, obeys_regions

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.control.calls.jit_primitive import closed_call_p, jit_p
from minijax.experimental import jet
from minijax.ir.jaxpr import ClosedJaxpr

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


def composite(inner):
    return lambda note: lax.composite(inner(note), "my.inner")


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
        f.defvjp(lambda *xs: mj.vjp(inner(lambda x: None), *xs), lambda pull, ct: pull(ct))
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
    "composite": (composite, True, True),
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
    obeys_regions(outer, hold(within(body)), *map(jnp.float32, ARGS), tight=inside, every=False)


@pytest.mark.parametrize(("outer", "inner"), NESTED)
def test_nested_lanes(outer, inner):
    fun = HOLDERS[outer][0](HOLDERS[inner][0](body))(lambda x: None)
    every_lane(fun, *map(np.float32, ARGS))


def silent(prim):
    return HOLDERS[prim][0](body)(lambda x: None)


@pytest.mark.parametrize("prim", HOLDERS)
def test_derivatives_and_lanes(prim):
    forward = prim != "custom_vjp_call"
    if forward and HOLDERS[prim][2]:
        laws.obeys(silent(prim), *ARGS, exact=False)
    else:
        laws.obeys(silent(prim), *ARGS, derivatives=False, exact=False)


@pytest.mark.parametrize("prim", [p for p in HOLDERS if p != "custom_vjp_call"])
def test_series(prim):
    """What `jet` gives are the derivatives along a curve."""
    with mj.enable_x64(True):
        terms = [0.3, -0.2, 0.5], [1.1, 0.4, -0.3], [-0.6, 0.7, 0.2]
        curve = lambda t: [
            x + d[0] * t + d[1] * t**2 / 2 + d[2] * t**3 / 6
            for x, d in zip(ARGS, terms, strict=True)
        ]
        path = lambda t: laws.total(jnp.stack(silent(prim)(*curve(t))).ravel())
        fun = lambda *xs: laws.total(jnp.stack(silent(prim)(*xs)).ravel())
        slopes = [path]
        for _ in range(3):
            slopes.append(lambda t, f=slopes[-1]: mj.jvp(f, (t,), (1.0,))[1])
        value, terms_out = jet.jet(fun, ARGS, terms)
        laws.same([value, *terms_out], [f(0.0) for f in slopes], rtol=1e-8)


def test_a_carry_that_moves_ends_a_loop():
    """The test reads it as it is: no coefficient of it, one answer for each lane."""

    def fun(a, b):
        step = lambda s: (s[0] + 1.5, jnp.sin(s[1]) * s[0])
        return lax.while_loop(lambda s: s[0] < 4.0, step, (a, b))[1]

    with mj.enable_x64(True):
        laws.lanes_agree(fun, [0.7, 0.5])
        slope = lambda a, b: fun(a, b)
        for _ in range(3):
            slope = lambda a, b, f=slope: mj.jvp(f, (a, b), (1.0, 1.0))[1]
        terms = [1.0, 0.0, 0.0]
        terms_out = jet.jet(fun, (0.7, 0.5), (terms, terms))[1]
        np.testing.assert_allclose(terms_out[2], slope(0.7, 0.5), rtol=1e-8)


@pytest.mark.parametrize("loop", ["scan", "while"])
def test_a_carry_that_is_set_anew(loop):
    """It moves, or has lanes, before the first step alone."""

    def fun(a, b):
        step = lambda c: (jnp.float64(0.5), c[0] * c[1])
        if loop == "scan":
            return lax.scan(lambda c, _: (step(c), c[0]), (a, b), None, length=3)[0]
        turn = lambda s: (s[0] + 1, *step(s[1:]))
        return lax.while_loop(lambda s: s[0] < 3, turn, (0, a, b))[1:]

    laws.obeys(fun, 0.7, -0.4, derivatives=loop == "scan", exact=False)
    with mj.enable_x64(True):
        moved = mj.jvp(fun, (0.7, -0.4), (1.0, 0.0))[1][1]
        np.testing.assert_allclose(moved, -0.4 * 0.25, rtol=1e-8)


def test_what_ends_a_loop_moves_all_that_it_gives():
    def make(note):
        f = body(note)

        def fun(a, b, c):
            step = lambda s: (s[0] + 1.0, *f(*s[1:]))
            return lax.while_loop(lambda s: s[0] < 4 * a, step, (0.0, a, b, c))[1:]

        return fun

    obeys_regions("while", make, *map(jnp.float32, ARGS))


def test_branches_agree_on_what_moves():
    one_depends = lambda a, b: (a, jnp.ones_like(b))
    both_depend = lambda a, b: (a * b, jnp.sin(b))
    for branches in ([one_depends, both_depend], [both_depend, one_depends]):
        for i in jnp.arange(2):
            laws.obeys(lambda a, b, i=i, bs=branches: lax.switch(i, bs, a, b), 0.7, -0.4)


# -------------------------------------------------------------------------- references

once = lambda f: f


def twice(f):
    """What `scan` and `while_loop` above do, in Python."""
    return lambda *xs: f(*f(*xs))


# What a primitive does with the function that it holds.
IN_PYTHON = {"jit": once, "closed_call": once, "remat2": once, "cond": once, "while": twice}


def touching(hold):
    """A function that makes a reference, and has what holds programs read and write it."""

    def fun(a, b, c):
        ref = mj.new_ref(b)

        def f(a, b, c):
            ref[...] = ref[...] * c + a
            return jnp.sin(a), b + ref[...], c * c

        return *hold(f)(a, b, c), ref[...]

    return fun


def holder(prim):
    return lambda f: HOLDERS[prim][0](lambda note: f)(None)


@pytest.mark.parametrize("prim", IN_PYTHON)
def test_references_in_what_is_held(prim):
    discharges(
        touching(holder(prim)), *map(np.float32, ARGS), reference=touching(IN_PYTHON[prim])
    )


@pytest.mark.parametrize("outer", IN_PYTHON)
@pytest.mark.parametrize("inner", IN_PYTHON)
def test_references_in_what_is_held_twice(outer, inner):
    discharges(
        touching(lambda f: holder(outer)(holder(inner)(f))),
        *map(np.float32, ARGS),
        reference=touching(lambda f: IN_PYTHON[outer](IN_PYTHON[inner](f))),
    )


def test_references_that_a_scan_touches_or_steps_along():
    def fun(a, b, c, scan=lax.scan):
        total, rows = mj.new_ref(a), mj.new_ref(jnp.stack([b, c]))

        def step(x, row):
            total[...] += x * row[...]
            old = row[...]
            row[...] = old * a
            return x + old, total[...]

        x, y = scan(step, b, rows)
        return x, y, total[...], rows[...]

    def in_python(step, x, rows):
        ys = []
        for i in range(2):
            row = mj.new_ref(rows[i])
            x, y = step(x, row)
            rows[i] = row[...]
            ys.append(y)
        return x, jnp.stack(ys)

    discharges(fun, *map(np.float32, ARGS), reference=lambda *xs: fun(*xs, scan=in_python))


@pytest.mark.parametrize("writes", [False, True])
def test_references_in_the_test_of_a_loop(writes):
    def fun(a, b, c, loop=lax.while_loop):
        ref = mj.new_ref(a)

        def test(x):
            if writes:
                ref[...] = ref[...] + x * x
            return ref[...] < 4.0

        def step(x):
            ref[...] = ref[...] + 1.0
            return x + b

        return loop(test, step, c), ref[...]

    def in_python(test, step, x):
        while bool(test(x)):
            x = step(x)
        return x

    args = map(np.float32, ARGS)
    discharges(fun, *args, reference=lambda *xs: fun(*xs, loop=in_python))


# ------------------------------------------------------------------------------- memos

JIT = {
    "name": "f",
    "donated_invars": (False,),
    "keep_unused": False,
    "inline": False,
    "device": None,
    "compiler_options_kvs": (),
}
SCAN = {
    "num_consts": 0,
    "num_carry": 1,
    "length": 2,
    "reverse": False,
    "unroll": 1,
    "_split_transpose": False,
}


# (program, x) -> what a primitive gives that holds the program, a closed jaxpr.
BIND = {
    "jit": lambda p, x: jit_p.bind(x, jaxpr=p, **JIT),
    "closed_call": lambda p, x: closed_call_p.bind(x, call_jaxpr=p),
    "cond": lambda p, x: lax.cond_p.bind(np.int32(0), x, branches=(p, p)),
    "scan": lambda p, x: lax.scan_p.bind(x, jaxpr=p, **SCAN),
}
TWICE = ("scan",)
TRANSFORMS = {
    "jvp": lambda f: lambda x: mj.jvp(f, (x,), (jnp.ones_like(x),)),
    "grad": lambda f: mj.grad(lambda x: f(x).sum()),
    "vmap": mj.vmap,
    "vmap of grad": lambda f: mj.vmap(mj.grad(lambda x: f(x).sum())),
    "jet": lambda f: lambda x: jet.jet(f, (x,), ((jnp.ones(3), jnp.ones(3)),)),
    "checkify": lambda f: (
        lambda x: mj.experimental.checkify.checkify(f, mj.experimental.checkify.nan_checks)(x)[
            1
        ]
    ),
}


@pytest.mark.parametrize("prim", BIND)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_what_is_derived_is_of_the_constants(prim, transform):
    program = mj.make_jaxpr(lambda x: jnp.sin(x) * np.array([2.0, 3.0, 5.0]))(jnp.ones(3))
    n = 2 if prim in TWICE else 1
    for k in (np.array([2.0, 3.0, 5.0]), np.array([-1.0, 0.5, 4.0])):
        k = jnp.asarray(k)
        held = ClosedJaxpr(program.jaxpr, [k])

        def fun(x, held=held):
            return BIND[prim](held, x)[0]

        def plain(x, k=k):
            for _ in range(n):
                x = jnp.sin(x) * k
            return x

        over = TRANSFORMS[transform]
        x = jnp.array([0.3, -0.7, 1.1])
        x = jnp.stack([x, 2 * x]) if "vmap" in transform else x
        laws.same(over(fun)(x), over(plain)(x), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("prim", BIND)
def test_lanes_of_a_program_know_their_axis(prim):
    """One program, mapped over the axis that it names and over another of that size."""
    program = mj.make_jaxpr(lambda x: x - lax.psum(x, "i"), axis_env=[("i", 2)])(1.0)
    run = lambda x: BIND[prim](program, x)[0]

    def plain(x):
        for _ in range(2 if prim in TWICE else 1):
            x = x - lax.psum(x, "i")
        return x

    for f in (run, plain):
        inner = mj.vmap(mj.vmap(f), axis_name="i")(jnp.array([[1.0, 2.0], [3.0, 5.0]]))
        named = mj.vmap(f, axis_name="i")(jnp.array([1.0, 2.0]))
        if f is run:
            names = inner, named
    laws.same(names, (inner, named))


@pytest.mark.parametrize("prim", BIND)
@pytest.mark.parametrize("transform", ["jvp", "grad"])
def test_what_is_derived_is_of_the_axes_in_scope(prim, transform):
    """A rule may ask how large an axis is: one program, over axes of two sizes."""

    @mj.custom_jvp
    def f(x):
        return x

    f.defjvp(lambda p, t: (f(*p), t[0] * lax.psum(1, "i")))
    program = mj.make_jaxpr(f, axis_env=[("i", 2)])(1.0)
    slope = TRANSFORMS[transform](lambda x: BIND[prim](program, x)[0])
    for n in (2, 3):
        out = mj.vmap(slope, axis_name="i")(jnp.ones(n))
        out = out[1] if transform == "jvp" else out
        expected = n * n if prim in TWICE else n
        assert out.tolist() == [expected] * n


def test_lanes_keep_donation_and_derivatives_forget_it():
    """Residuals may be operands: these must not be taken."""
    f = mj.jit(lambda x: x * x, donate_argnums=0)
    donated = lambda fun, *xs: [
        e.params["donated_invars"] for e in mj.make_jaxpr(fun)(*xs).eqns if e.primitive is jit_p
    ]
    x = jnp.ones(3)
    assert donated(mj.vmap(f), x) == [(True,)]
    assert donated(lambda x: mj.jvp(f, (x,), (x,)), x) == [(False, False)]
    for flags in donated(mj.grad(lambda x: f(x).sum()), x):
        assert not any(flags)


def test_shares_the_cotangent_of_a_shared_result():
    f = mj.pmap(
        lambda x, w: lax.psum(x * w, "i"), axis_name="i", in_axes=(0, None), out_axes=None
    )
    x = jnp.array([1.0, 2.0])
    laws.obeys(lambda w: f(x, w), jnp.float32(3.0), lanes=False)
