"""Jaxprs of the functions that the four seed notebooks show, and some like them."""

from functools import partial

import numpy as np
from harness import Programs, f32, i32

from minijax import grad, jit, make_jaxpr, vmap
from minijax import numpy as jnp

programs = Programs()
trace = partial(programs.traced, make_jaxpr)


def parabola(x):
    return 2 * x * x + 3 * x + 3


def extremes(x):
    return jnp.array([jnp.min(x), jnp.max(x)])


def sum_of_three(a, b, c):
    return a + b + c


def shifted_dot(x, y):
    return jnp.dot(x + 1, y + 1)


def op(name, function, *args):
    programs.add(name, lambda: make_jaxpr(function)(*args))


op("parabola_int", parabola, 3)
op("parabola_float", parabola, 3.0)
op("parabola_array", parabola, f32[3])
op("parabola_grad", grad(parabola), 3.0)
op("parabola_jit", jit(parabola), 3)
op("parabola_jit_grad", jit(grad(parabola)), 3.0)
op("parabola_second_grad", grad(grad(parabola)), 3.0)
op("extremes", extremes, np.arange(6).reshape(2, 3))
op("extremes_vmap", vmap(extremes), np.arange(24).reshape(4, 2, 3))
op("extremes_jit_vmap", jit(vmap(extremes)), np.arange(24).reshape(4, 2, 3))
op("sum_of_three_vmap", vmap(sum_of_three, in_axes=(0, None, 1)), i32[2, 3], 2, i32[3, 2])
op("shifted_dot", shifted_dot, np.ones((3, 4)), np.ones(4))
op("shifted_dot_matrices", shifted_dot, f32[2, 3], f32[3, 4])
op("square", lambda x: x**2, 4.0)
op("square_grad", grad(lambda x: x**2), 4.0)
op("power_and_sum", lambda x, y: x**2 + y, 2.0, 3.0)
op("mixed_arithmetic", lambda x, n: (x + n, x - 1, 2 - x, x / 2, -x, x * n), f32[3], 3)
op("comparisons", lambda x: (x > 0, x <= 1, x == 2, x != 3), i32[3])
op("matmul_and_bias", lambda x, w, b: x @ w + b, f32[2, 3], f32[3, 4], f32[2, 4])
op("logical", lambda x: ((x > 0) & (x < 5), (x > 0) | (x < 5), ~(x > 0)), f32[3])
