"""Types, weak types and values of control flow: carries, bounds, predicates, nesting."""

import numpy as np
from harness import Programs, attempt

import minijax as jax
from minijax import lax
from minijax import numpy as jnp

programs = Programs()
tolerance = 2e-5
x = jnp.float32(2.0)
v = jnp.arange(4.0) + 0.5
f32 = np.float32


def add(c, r):
    return c + r, c


CARRIES = {
    "int": (0, v),
    "float": (0.0, jnp.arange(4)),
    "int8 rows": (0, jnp.arange(4, dtype=jnp.int8)),
    "bfloat16 rows": (1, jnp.arange(4, dtype=jnp.bfloat16)),
    "complex rows": (0.0, v * 1j),
    "bool": (True, jnp.arange(3)),
    "numpy": (f32(1), np.arange(3, dtype=f32)),
    "double": (np.float64(1), np.arange(3.0)),
    "no rows": (x, v[:0]),
}


@programs
def carries():
    return {name: attempt(lambda a=args: lax.scan(add, *a)) for name, args in CARRIES.items()}


@programs
def carries_with_64_bits():
    with jax.enable_x64(True):
        return {
            name: attempt(lambda a=args: lax.scan(add, *a)) for name, args in CARRIES.items()
        }


@programs
def weak_carries_of_while():
    return [
        lax.while_loop(lambda c: c < 10, lambda c: c + jnp.float32(3), 0),
        lax.while_loop(lambda c: c < 10, lambda c: c + 3, 0.0),
        lax.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + 3, c[1] * c[0]), (0, 1.0)),
        lax.fori_loop(0, 3, lambda i, c: c + i, 0.0),
        lax.fori_loop(0, 3, lambda i, c: c + jnp.float16(1), 0),
    ]


def index_of(low, high, jit):
    seen = []

    def run(low, high):
        return lax.fori_loop(low, high, lambda i, c: (seen.append(i), c + 1)[1], 0)

    n = (jax.jit(run) if jit else run)(low, high)
    return str(seen[-1].dtype), bool(seen[-1].weak_type), int(n)


BOUNDS = {
    "python": (0, 3),
    "int8": (np.int8(0), np.int8(3)),
    "uint8": (np.uint8(0), np.uint8(3)),
    "array": (jnp.uint32(0), jnp.uint32(3)),
    "python, int8": (0, jnp.int8(3)),
    "int8, python": (np.int8(0), 3),
    "0d": (np.array(0, np.int16), np.array(3, np.int16)),
    "float": (0.5, 3.0),
    "float16": (np.float16(0), np.float16(3)),
}


@programs
def index_of_static_bounds():
    return {name: index_of(*bounds, False) for name, bounds in BOUNDS.items()}


@programs
def index_of_traced_bounds():
    return {name: index_of(*bounds, True) for name, bounds in BOUNDS.items()}


@programs
def unroll_of_traced_bounds():
    def run(unroll):
        return jax.jit(lambda n: lax.fori_loop(0, n, add_index, x, unroll=unroll))(3)

    def add_index(i, c):
        return c + i

    return [attempt(lambda u=u: run(u)) for u in (None, False, True, 0, 1, 2)]


@programs
def predicates():
    numbers = (3, 0.0, float("nan"), np.bool_(True), np.uint8(0), np.float16(2), np.array(0.0))
    run = lambda p: lax.cond(p, lambda: 1, lambda: 2)
    return [(run(p), jax.jit(run)(p), jax.vmap(run)(jnp.stack([p, p]))) for p in numbers]


@programs
def what_is_no_predicate():
    return [
        attempt(lambda p=p: lax.cond(p, lambda: 1, lambda: 2))
        for p in (None, "a", (True,), 1j, v, jnp.array([True]))
    ]


@programs
def weak_types_of_branches():
    return [
        lax.cond(True, lambda: 1.0, lambda: 2.0),
        lax.cond(True, lambda: 1.0, lambda: jnp.float32(2)),
        lax.cond(False, lambda: 1, lambda: jnp.int32(2)),
        lax.cond(True, lambda c: (c, 1.0), lambda c: (c * 2, c), x),
        attempt(lambda: lax.cond(True, lambda: 1, lambda: 2.0)),
    ]


@programs
def indices_of_switch():
    branches = [lambda: 1, lambda: 2, lambda: 3]
    return [
        *(lax.switch(i, branches) for i in (-1, 1, 9, np.int8(-3), np.uint32(2**31 + 5))),
        jax.vmap(lambda i: lax.switch(i, branches))(jnp.array([-1, 0, 1, 2, 5])),
        *(attempt(lambda i=i: lax.switch(i, branches)) for i in (0.0, True, None, v)),
    ]


@programs
def call_forms():
    up, down = (lambda a: a + 1), (lambda a: a - 1)
    return [
        lax.cond(True, up, down, operand=x),
        lax.cond(True, lambda _: 1.0, lambda _: 2.0, operand=None),
        lax.cond(False, x, up, 3 * x, down),
        lax.cond(False, (x, v), lambda t: t[0], {"a": 3 * x}, lambda d: d["a"]),
        lax.switch(1, [up, down], operand=x),
        attempt(lambda: lax.cond(True, up, down, x, operand=x)),
        attempt(lambda: lax.cond(True, up, down, x, linear=(False,))),
        lax.scan(lambda c, r: [c + r, c], x, v),
    ]


@programs
def unrolled_both_ways():
    def run(x, unroll, reverse):
        return lax.scan(lambda c, r: (jnp.sin(c * 2) + r, c + r), x, v, None, reverse, unroll)

    def last(x, unroll, reverse):
        return run(x, unroll, reverse)[1].sum()

    return [
        (run(x, unroll, reverse), jax.grad(last)(x, unroll, reverse))
        for unroll in (0, 1, 2, 3, 4, 9, True, False)
        for reverse in (False, True)
    ]


def inner(c, r):
    step = lambda d, q: (jnp.tanh(d * q), None)
    return c - 0.1 * jax.grad(lambda c: lax.scan(step, c, v)[0] * r)(c), None


def outer(x):
    return lax.scan(inner, x, v)[0]


@programs
def gradients_inside_and_around():
    return [
        outer(x),
        jax.grad(outer)(x),
        jax.hessian(outer)(x),
        jax.vmap(jax.hessian(outer))(v),
        jax.jit(jax.grad(lambda x: jax.jvp(outer, (x,), (x,))[1]))(x),
    ]


@programs
def third_derivatives():
    third = lambda f: jax.grad(jax.grad(jax.grad(f)))
    forward = lambda f: jax.jacfwd(jax.jacfwd(jax.jacfwd(f)))
    return [
        third(lambda x: lax.scan(lambda c, r: (jnp.sin(c) * r, None), x, v)[0])(x),
        jax.vmap(third(lambda x: lax.cond(x > 2, jnp.sin, lambda x: x**4, x)))(v),
        forward(
            lambda x: lax.while_loop(
                lambda c: c[0] < 3, lambda c: (c[0] + 1, jnp.sin(c[1]) * x), (0, x)
            )[1]
        )(x),
    ]


@programs
def transposes():
    transposed = lambda f, at, ct: jax.linear_transpose(f, at)(ct)
    return [
        transposed(lambda x: lax.scan(lambda c, r: (c * 2 + r, c), x, v * x)[1], x, v),
        transposed(lambda xs: lax.scan(lambda c, r: (c * 2 + r, c + r), 0.0, xs), v, (x, v)),
        transposed(lambda x: lax.cond(True, lambda x: x * 2, lambda x: x * 3, x), x, x),
        transposed(lambda x: lax.fori_loop(0, 3, lambda i, c: c * 2, x), x, x),
        transposed(lambda x: lax.map(lambda r: r * 2, x), v, v),
        transposed(lambda x: lax.associative_scan(jnp.add, x), v, v),
        transposed(
            lambda x: lax.scan(
                lambda c, _: ((c[0] + 1, c[1] * c[0]), None), (1.0, x), None, length=3
            )[0][1],
            x,
            x,
        ),
    ]


@programs
def lanes_that_stop_apart():
    return [
        jax.vmap(lambda n: lax.while_loop(lambda c: c < n, lambda c: c + 1, 0))(v),
        jax.vmap(lambda n: lax.fori_loop(0, n, lambda i, c: c + i, 0))(jnp.arange(5)),
        jax.vmap(
            lambda n, m: lax.while_loop(
                lambda c: c[0] < n, lambda c: (c[0] + 1, m, c[2] * 2), (0, m, 1)
            ),
            (0, None),
        )(jnp.arange(4), 7),
        jax.vmap(
            lambda x: lax.scan(
                lambda c, r: (lax.while_loop(lambda d: d < x * 3, lambda d: d + r, c), c),
                0.0,
                v,
            )
        )(v),
    ]


@programs
def collectives_in_loops():
    named = lambda f: jax.vmap(f, axis_name="i")(v)
    return [
        named(
            lambda x: lax.scan(
                lambda c, _: (c + lax.psum(c, "i"), lax.axis_index("i")), x, None, length=2
            )
        ),
        named(lambda x: lax.cond(x > 1, lambda x: lax.psum(x, "i"), lambda x: x, x)),
        named(lambda x: lax.while_loop(lambda c: lax.psum(c, "i") < 30, lambda c: c + 1, x)),
        named(
            jax.grad(
                lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) * lax.pmean(c, "i"), x)
            )
        ),
    ]


@programs
def implicit_derivatives():
    def cube_root(a):
        def solve(f, z):
            return lax.fori_loop(0, 30, lambda i, z: z - f(z) / (3 * z * z + 0 * a), z)

        return lax.custom_root(lambda z: z**3 - a, a, solve, lambda g, y: y / g(1.0))

    def halve(b):
        return lax.custom_linear_solve(
            lambda x: 2 * x, b, lambda mv, b: b / 2, lambda mv, b: b / 3, symmetric=True
        )

    return [
        cube_root(5.0),
        jax.grad(cube_root)(5.0),
        jax.grad(jax.grad(cube_root))(5.0),
        jax.vmap(jax.grad(cube_root))(v),
        halve(x),
        jax.grad(halve)(x),
    ]


@programs
def without_jit():
    with jax.disable_jit():
        return [
            lax.scan(add, 0.0, v, reverse=True),
            attempt(lambda: lax.scan(add, 0.0, v[:0])),
            lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, 1.0)),
            lax.fori_loop(0, 3, lambda i, c: c + i, 0),
            jax.grad(lambda x: lax.while_loop(lambda c: c < 30, lambda c: c * c, x))(x),
            jax.vmap(lambda x: lax.cond(x > 1, lambda a: a + 1, lambda a: a * 5, x))(v),
        ]
