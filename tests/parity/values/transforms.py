"""Values of transformations, control flow and custom rules."""

from functools import partial

import numpy as np
from harness import Programs, attempt

import minijax as jax
from minijax import lax
from minijax import numpy as jnp

programs = Programs()
x = jnp.array([0.5, -1.0, 2.0])


def f(x):
    return jnp.sin(x) * x**2


def loss(w, v):
    return (jnp.tanh(w @ v) ** 2).sum()


w = jnp.arange(6.0).reshape(2, 3) / 10


@programs
def derivatives():
    return [
        jax.grad(f)(0.7),
        jax.grad(jax.grad(f))(0.7),
        jax.value_and_grad(f)(0.7),
        jax.jvp(f, (0.7,), (2.0,)),
        jax.grad(loss)(w, x),
        jax.grad(loss, 1)(w, x),
        jax.grad(loss, (0, 1))(w, x),
        jax.jacfwd(f)(x),
        jax.jacrev(f)(x),
        jax.hessian(f)(x),
        jax.hessian(loss, 1)(w, x),
        jax.jacfwd(loss, (0, 1))(w, x),
        jax.grad(lambda x: (x, "aux")[0], has_aux=False)(1.0),
        jax.grad(lambda x: (x * 2, x), has_aux=True)(jnp.float32(3)),
        jax.vjp(f, 0.7)[1](1.0),
        jax.linearize(f, 0.7)[1](2.0),
        jax.linear_transpose(lambda x: 3 * x, 1.0)(2.0),
        jax.grad(lambda z: z * z, holomorphic=True)(1 + 2j),
        jax.grad(lambda z: abs(z) ** 2)(jnp.complex64(1 + 2j)),
        jax.grad(lambda x: x.astype(int).sum() * 1.0)(x),
    ]


@programs
def derivative_types():
    return [
        jax.grad(f)(jnp.bfloat16(0.5)),
        jax.grad(f)(np.float32(0.5)),
        jax.grad(f)(0.5),
        jax.grad(lambda x, n: x * n, 0)(2.0, 3),
        jax.grad(lambda n: n * 2.0, allow_int=True)(3),
        jax.jvp(lambda x: x > 0, (x,), (x,)),
        jax.grad(lambda t: t["a"] ** 2)({"a": 3.0}),
    ]


@programs
def derivative_errors():
    calls = [
        lambda: jax.grad(f)(x),
        lambda: jax.grad(f)(3),
        lambda: jax.grad(lambda x: 3)(1.0),
        lambda: jax.grad(lambda x: (x, x))(1.0),
        lambda: jax.grad(f)("a"),
        lambda: jax.grad(f, 1)(1.0),
        lambda: jax.grad(f)(1 + 2j),
        lambda: jax.grad(f)(),
        lambda: jax.grad(lambda x: x > 0)(1.0),
        lambda: jax.jvp(f, (1.0,), (1,)),
        lambda: jax.jvp(f, 1.0, 1.0),
        lambda: jax.jvp(f, (x,), (x[:2],)),
        lambda: jax.vjp(f, 1.0)[1](x),
        lambda: jax.linearize(f, 1.0)[1](x),
        lambda: jax.grad(f, holomorphic=True)(1.0),
        lambda: jax.jacfwd(f)(3),
        lambda: jax.grad(lambda x: None)(1.0),
        lambda: jax.grad(3),
        lambda: jax.grad(lambda x: x, has_aux=True)(1.0),
    ]
    return [attempt(call) for call in calls]


@programs
def derivatives_at_special_points():
    points = jnp.array([0.0, -0.0, 1.0, -1.0])
    functions = {
        "abs": jnp.abs,
        "sqrt": jnp.sqrt,
        "max": lambda x: jnp.maximum(x, 0.0),
        "where": lambda x: jnp.where(x > 0, jnp.log(x), 0.0),
        "sign": jnp.sign,
        "log1p": jnp.log1p,
        "power": lambda x: x**3,
        "power0": lambda x: x**0,
        "powx": lambda x: (jnp.abs(x) + 1) ** x,
        "clip": lambda x: jnp.clip(x, -1, 1),
        "floor": jnp.floor,
        "arctan2": lambda x: jnp.arctan2(x, 1.0),
        "logaddexp": lambda x: jnp.logaddexp(x, 0.0),
        "tanh": jnp.tanh,
    }
    return {name: jax.vmap(jax.grad(g))(points) for name, g in functions.items()}


@programs
def vectorised():
    return [
        jax.vmap(f)(x),
        jax.vmap(jax.grad(f))(x),
        jax.vmap(jax.vmap(lambda a: a * 2))(w),
        jax.vmap(lambda a, b: a @ b, (None, 0))(w, jnp.eye(3)),
        jax.grad(lambda v: jax.vmap(f)(v).sum())(x),
        jax.vmap(lambda a: lax.psum(a, "i"), axis_name="i")(x),
        jax.vmap(lambda a: a / lax.pmean(a, "i"), axis_name="i")(x),
        jax.vmap(lambda a: lax.axis_index("i"), axis_name="i")(x),
        jax.vmap(lambda a: lax.ppermute(a, "i", [(0, 1), (1, 2), (2, 0)]), axis_name="i")(x),
        jax.vmap(lambda a: lax.all_gather(a, "i"), axis_name="i")(x),
        jax.vmap(lambda a: lax.pmax(a, "i") - lax.pmin(a, "i"), axis_name="i")(x),
        jax.vmap(lambda a: jnp.sort(a))(w),
        jax.vmap(lambda a: a[jnp.argmax(a)])(w),
    ]


@programs
def jitted():
    calls = []

    @partial(jax.jit, static_argnums=1, static_argnames="flip")
    def g(x, n, *, flip=False):
        calls.append((n, flip))
        return (-x if flip else x) * n

    out = [g(x, 2), g(x, 3), g(x, 2), g(x, 2, flip=True), g(1, 2), g(1.0, 2)]
    return [*out, calls]


@programs
def jit_types():
    identity = jax.jit(lambda x: x)
    values = [True, 1, 1.5, 1j, np.float64(2), np.int64(3), np.array([1, 2]), [1, 2], None, ()]
    return [identity(v) for v in values]


@programs
def jit_errors():
    @jax.jit
    def branches(x):
        return 1 if x > 0 else 2

    calls = [
        lambda: branches(1.0),
        lambda: jax.jit(lambda x: int(x))(1),
        lambda: jax.jit(float)(1.0),
        lambda: jax.jit(lambda x: np.sin(x))(1.0),
        lambda: jax.jit(lambda n: jnp.zeros(n))(3),
        lambda: jax.jit(lambda x: [1, 2][x])(1),
        lambda: jax.jit(lambda x: range(x))(3),
        lambda: jax.jit(lambda x: x, static_argnums=0)([1]),
        lambda: jax.jit(lambda x: x)("a"),
        lambda: jax.jit(lambda x: object())(1),
        lambda: jax.jit(3),
        lambda: jax.jit(f)(),
        lambda: jax.jit(f)(1, 2),
        lambda: jax.jit(lambda x: x, static_argnums=5)(1),
        lambda: jax.jit(lambda x: x.item())(1.0),
        lambda: jax.jit(lambda x: list(x))(1.0),
        lambda: jax.jit(lambda x: x if x.any() else -x)(x),
        lambda: jax.jit(lambda x: np.asarray(x))(x),
        lambda: jax.jit(lambda x: complex(x))(1.0),
        lambda: jax.jit(lambda x: x[x > 0])(x),
        lambda: jax.jit(lambda x: jnp.reshape(x, (x.sum(), 1)))(jnp.ones(2, int)),
        lambda: jax.jit(lambda x: bool(x))(True),
        lambda: jax.jit(lambda x: hash(x))(1),
        lambda: jax.jit(lambda x: jnp.arange(x))(3),
        lambda: jax.jit(lambda x: jnp.nonzero(x))(x),
    ]
    return [attempt(call) for call in calls]


@programs
def leaked_tracers():
    leaked = []
    jax.jit(lambda x: leaked.append(x) or x)(1.0)
    jax.grad(lambda x: leaked.append(x) or x)(1.0)
    jax.vmap(lambda x: leaked.append(x) or x)(x)
    return [attempt(lambda t=t: t + 1) for t in leaked[:1]]


@programs
def weak_types_of_derivatives():
    return [
        *(jax.grad(g)(1 + 2j) for g in (jnp.real, jnp.imag, jnp.abs, jnp.angle)),
        *(jax.jacrev(g)(1 + 2j) for g in (jnp.real, jnp.imag, jnp.abs)),
        jax.jvp(jnp.abs, (1 + 2j,), (1 + 0j,)),
        jax.grad(lambda z: (z * jnp.conj(z)).real)(1 + 2j),
        jax.grad(lambda x: jnp.real(lax.complex(x, x)))(1.0),
        jax.jacrev(lambda x: x * np.float32(2))(1.0),
        jax.jacrev(lambda x: x * 2, allow_int=False)(np.float32(1)),
    ]


@programs
def weak_types_of_branches():
    strong = np.float32(2)

    def pick(p, yes, no):
        return lax.cond(p, lambda: yes, lambda: no)

    return [
        *(pick(p, strong, 1.0) for p in (True, False)),
        *(pick(p, 1.0, strong) for p in (True, False)),
        [lax.switch(i, [lambda: 1.0, lambda: strong]) for i in (0, 1)],
        [lax.switch(i, [lambda: strong, lambda: 1.0]) for i in (0, 1)],
        lax.cond(True, lambda x: x * strong, lambda x: x, 1.0),
        jax.grad(lambda x: lax.cond(True, lambda: x * strong, lambda: x))(1.0),
        jax.vmap(lambda p: pick(p, strong, 1.0))(np.array([True, False])),
    ]


@programs
def conditionals():
    def pick(p):
        return lax.cond(p, lambda x: x * 2, lambda x: x - 1, 5.0)

    def choose(i):
        return lax.switch(i, [lambda x: x, lambda x: -x, lambda x: x * x], 3.0)

    return [
        pick(True),
        pick(False),
        jax.jit(pick)(1 > 2),
        jax.vmap(pick)(jnp.array([True, False])),
        [choose(i) for i in (-5, 0, 1, 2, 9)],
        jax.vmap(choose)(jnp.arange(4)),
        jax.grad(lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x))(0.3),
        lax.cond(True, lambda: 1, lambda: 2),
        lax.cond(0.0, lambda: 1.0, lambda: 2.0),
    ]


@programs
def conditional_errors():
    calls = [
        lambda: lax.cond(True, lambda x: x, lambda x: 1, 2.0),
        lambda: lax.cond(True, lambda x: x, lambda x: (x, x), 2.0),
        lambda: lax.cond(x, lambda: 1, lambda: 2),
        lambda: lax.cond(True, 1, 2),
        lambda: lax.switch(0, [], 1.0),
        lambda: lax.switch(1.5, [jnp.sin], 1.0),
        lambda: lax.cond("a", lambda: 1, lambda: 2),
        lambda: lax.switch(x, [jnp.sin, jnp.cos], 1.0),
        lambda: lax.cond(True, lambda x: x, lambda x, y: x, 2.0),
    ]
    return [attempt(call) for call in calls]


@programs
def loops():
    def collatz(n):
        return lax.while_loop(
            lambda c: c[0] != 1,
            lambda c: (jnp.where(c[0] % 2 == 0, c[0] // 2, 3 * c[0] + 1), c[1] + 1),
            (n, 0),
        )[1]

    return [
        collatz(27),
        jax.vmap(collatz)(jnp.array([1, 2, 7, 27])),
        lax.fori_loop(0, 5, lambda i, s: s + i, 0),
        lax.fori_loop(3, 1, lambda i, s: s + i, 7),
        jax.jit(lambda n: lax.fori_loop(0, n, lambda i, s: s * 2.0, 1.0))(10),
        jax.jvp(lambda x: lax.while_loop(lambda y: y < 10, lambda y: y * x, x), (2.0,), (1.0,)),
        jax.grad(lambda x: lax.fori_loop(0, 3, lambda i, y: y * x, 1.0))(2.0),
        lax.fori_loop(0, 3, lambda i, t: (t[1], t[0] + 1), (0, 10)),
    ]


@programs
def loop_errors():
    calls = [
        lambda: lax.while_loop(lambda x: x, lambda x: x, 1.0),
        lambda: lax.while_loop(lambda x: x < 3, lambda x: (x, x), 1.0),
        lambda: lax.while_loop(lambda x: x < 3, lambda x: x * 1.0, 1),
        lambda: lax.fori_loop(0, 3, lambda i, x: jnp.ones(2), 1.0),
        lambda: lax.scan(lambda c, x: (c, x), 0, x, length=5),
        lambda: lax.scan(lambda c, x: c, 0, x),
        lambda: lax.scan(lambda c, x: (c + x, x), 0, x),
        lambda: lax.scan(lambda c, x: (c, x), 0, None),
        lambda: lax.scan(lambda c, t: (c, t), 0, (x, x[:2])),
        lambda: lax.fori_loop(0, 2.5, lambda i, x: x, 0),
        lambda: jax.grad(lambda x: lax.while_loop(lambda y: y < 3, lambda y: y * x, x))(2.0),
        lambda: lax.fori_loop(0, x, lambda i, y: y, 0),
        lambda: lax.map(lambda x: x, 1.0),
    ]
    return [attempt(call) for call in calls]


@programs
def scans():
    def step(carry, value):
        return carry + value, carry * value

    return [
        lax.scan(step, 0.0, x),
        lax.scan(step, 0.0, x, reverse=True),
        lax.scan(step, 0.0, x, unroll=2),
        lax.scan(lambda c, _: (c * 2, c), 1, None, length=4),
        jax.jit(lambda v: lax.scan(step, 0.0, v))(x),
        jax.vmap(lambda c: lax.scan(step, c, x))(jnp.arange(2.0)),
        jax.jvp(lambda v: lax.scan(step, 1.0, v)[1], (x,), (x,)),
        jax.grad(lambda v: lax.scan(step, 1.0, v)[1].sum())(x),
        lax.map(f, x),
        lax.map(f, x, batch_size=2),
        jax.hessian(lambda v: lax.scan(step, 1.0, v)[1].sum())(x),
        lax.scan(lambda c, t: (c, t["a"] + t["b"]), None, {"a": x, "b": x}),
        lax.scan(step, 0.0, x[:0]),
    ]


@jax.custom_jvp
def shifted_log(x):
    return jnp.log(x + 1)


@shifted_log.defjvp
def shifted_log_jvp(primals, tangents):
    return shifted_log(*primals), 10.0 * tangents[0]


@jax.custom_vjp
def saturating(x, y):
    return x * y


saturating.defvjp(lambda x, y: (x * y, (x, y)), lambda r, ct: (ct * 100.0, ct * r[0]))


@programs
def custom_rules():
    return [
        shifted_log(x + 2),
        jax.grad(shifted_log)(1.0),
        jax.vmap(jax.grad(shifted_log))(x),
        jax.jit(jax.grad(shifted_log))(1.0),
        jax.jvp(shifted_log, (x + 2,), (x,)),
        jax.grad(saturating, (0, 1))(2.0, 3.0),
        jax.vmap(jax.grad(saturating))(x, x),
        jax.jit(saturating)(2.0, 3.0),
        attempt(lambda: jax.jvp(saturating, (1.0, 1.0), (1.0, 1.0))),
        jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))))(0.5),
        jax.grad(lambda x: lax.stop_gradient(x) * x)(3.0),
        jax.hessian(jax.checkpoint(f))(0.3),
        jax.jit(jax.checkpoint(f))(0.3),
    ]


@programs
def custom_rule_errors():
    without_rule = jax.custom_jvp(lambda x: x)
    unfinished = jax.custom_vjp(lambda x: x)
    wrong = jax.custom_vjp(lambda x: x)
    wrong.defvjp(lambda x: (x, None), lambda r, ct: (ct, ct))
    calls = [
        lambda: jax.grad(without_rule)(1.0),
        lambda: jax.grad(unfinished)(1.0),
        lambda: jax.grad(wrong)(1.0),
        lambda: without_rule(1.0),
        lambda: lax.add(1, 2.0),
        lambda: lax.add(x, x[:2]),
        lambda: lax.add("a", 1),
        lambda: lax.sin(1),
        lambda: lax.dot(x, x[:2]),
        lambda: lax.concatenate([x, w], 0),
        lambda: lax.psum(x, "nowhere"),
        lambda: jax.vmap(lambda a: lax.psum(a, "j"), axis_name="i")(x),
        lambda: lax.select(x > 0, x, 1),
        lambda: lax.transpose(w, (0, 0)),
        lambda: lax.slice(x, (0,), (9,)),
        lambda: lax.squeeze(w, (0,)),
        lambda: lax.reduce_sum(x, (3,)),
        lambda: lax.iota(jnp.int32, -1),
        lambda: lax.dynamic_slice(x, (0,), (9,)),
        lambda: lax.broadcast_in_dim(x, (2,), (0,)),
        lambda: lax.clamp(0, x, 1),
        lambda: lax.pad(x, 0.0, [(0, 0, -1)]),
        lambda: lax.rev(x, (1,)),
        lambda: lax.sort(jnp.float32(1)),
        lambda: lax.top_k(x, 9),
        lambda: lax.conv(w, w, (1,), "SAME"),
        lambda: lax.cumsum(x, 2),
        lambda: lax.population_count(x),
        lambda: lax.argmax(x, 3, int),
    ]
    return [attempt(call) for call in calls]
