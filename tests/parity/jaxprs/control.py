"""Jaxprs of control flow: cond, switch, while, fori, scan, map and their rules."""

from functools import partial

import numpy as np
from harness import Programs, b1, f32, i32

from minijax import grad, jit, jvp, lax, linearize, make_jaxpr, vmap

programs = Programs()
trace = partial(programs.traced, make_jaxpr)


@trace(b1[()], f32[3])
def cond(p, x):
    return lax.cond(p, lax.sin, lax.cos, x)


@trace(f32[()], f32[3])
def cond_float_predicate(p, x):
    return lax.cond(p, lambda x: x, lambda x: lax.neg(x), x)


@trace(b1[()], f32[3], f32[3])
def cond_tuple_output(p, x, y):
    return lax.cond(p, lambda a, b: (a, b), lambda a, b: (b, a), x, y)


@trace(b1[()], f32[3], f32[2])
def cond_closure(p, x, y):
    return lax.cond(p, lambda: lax.reduce_sum(x, (0,)), lambda: lax.reduce_sum(y, (0,)))


@trace(b1[()], f32[3])
def cond_jvp(p, x):
    return jvp(lambda x: lax.cond(p, lax.sin, lax.exp, x), (x,), (x,))


@programs.may_be_leaner
@trace(b1[()], f32[()])
def cond_grad(p, x):
    return grad(lambda x: lax.cond(p, lax.sin, lambda x: lax.mul(x, x), x))(x)


@programs.may_be_leaner
@trace(b1[()], f32[()])
def cond_grad_one_constant_branch(p, x):
    return grad(lambda x: lax.cond(p, lambda x: 1.0, lambda x: lax.mul(x, 2.0), x))(x)


@trace(b1[()], f32[4, 3])
def cond_vmap_operand(p, x):
    return vmap(lambda x: lax.cond(p, lax.sin, lax.cos, x))(x)


@trace(b1[4], f32[4, 3])
def cond_vmap_predicate(p, x):
    return vmap(lambda p, x: lax.cond(p, lax.sin, lax.cos, x))(p, x)


@trace(i32[()], f32[3])
def switch(i, x):
    return lax.switch(i, [lax.sin, lax.cos, lambda x: lax.mul(x, 2.0)], x)


@trace(i32[4], f32[3])
def switch_vmap_index(i, x):
    return vmap(lambda i: lax.switch(i, [lax.sin, lax.cos, lax.exp], x))(i)


@programs.may_be_leaner
@trace(i32[()], f32[()])
def switch_grad(i, x):
    return grad(lambda x: lax.switch(i, [lax.sin, lax.cos, lax.exp], x))(x)


@trace(f32[()])
def while_loop(x):
    return lax.while_loop(lambda x: lax.lt(x, 10.0), lambda x: lax.mul(x, 2.0), x)


@trace(f32[()], f32[()])
def while_loop_closures(limit, step):
    def unfinished(carry):
        return lax.lt(carry[1], limit)

    def advance(carry):
        i, x = carry
        return lax.add(i, 1), lax.add(x, step)

    return lax.while_loop(unfinished, advance, (0, step))


@trace(f32[()])
def while_loop_jvp(x):
    def f(x):
        return lax.while_loop(lambda x: lax.lt(x, 10.0), lambda x: lax.mul(x, x), x)

    return jvp(f, (x,), (x,))


@trace(f32[3], f32[()])
def while_loop_vmap(x, step):
    def f(x):
        return lax.while_loop(lambda x: lax.lt(x, 10.0), lambda x: lax.add(x, step), x)

    return vmap(f)(x)


@trace(f32[3], f32[()])
def while_loop_vmap_body_only(step, limit):
    def f(step):
        def body(carry):
            return lax.add(carry[0], 1), lax.add(carry[1], step)

        return lax.while_loop(lambda c: lax.lt(c[0], 5), body, (0, step))

    return vmap(f)(step)


@trace(f32[3])
def fori_loop(x):
    return lax.fori_loop(0, 5, lambda i, x: lax.add(x, x), x)


@trace(i32[()], f32[3])
def fori_loop_dynamic(n, x):
    return lax.fori_loop(0, n, lambda i, x: lax.mul(x, 2.0), x)


@programs.may_be_leaner
@trace(i32[10])
def fori_loop_indexing(values):
    def body(i, total):
        return lax.add(total, lax.dynamic_index_in_dim(values, i, keepdims=False))

    return lax.fori_loop(0, 10, body, np.int32(0))


@trace(f32[()])
def fori_loop_grad(x):
    return grad(lambda x: lax.fori_loop(0, 5, lambda i, x: lax.sin(x), x))(x)


@trace(f32[()])
def fori_loop_jvp(x):
    return jvp(lambda x: lax.fori_loop(0, 5, lambda i, x: lax.sin(x), x), (x,), (x,))


@trace(f32[()], f32[5])
def scan(carry, xs):
    return lax.scan(lambda c, x: (lax.add(c, x), lax.mul(c, x)), carry, xs)


@trace(f32[()], f32[5])
def scan_reverse_unroll(carry, xs):
    def step(c, x):
        return lax.add(c, x), c

    return lax.scan(step, carry, xs, reverse=True, unroll=2)


@trace(f32[()])
def scan_length(carry):
    return lax.scan(lambda c, _: (lax.mul(c, 2.0), c), carry, None, length=4)


@trace({"h": f32[2], "n": i32[()]}, (f32[5, 2], f32[5]))
def scan_trees(carry, xs):
    def step(carry, xs):
        h = lax.add(carry["h"], xs[0])
        return {"h": h, "n": lax.add(carry["n"], 1)}, {"out": h, "x": xs[1]}

    return lax.scan(step, carry, xs)


@trace(f32[3, 3], f32[3], f32[5, 3])
def scan_closure(w, h, xs):
    def step(h, x):
        h = lax.tanh(lax.add(lax.dot(w, h), x))
        return h, h

    return lax.scan(step, h, xs)


@trace(f32[()], f32[5])
def scan_jvp(c, xs):
    def f(c, xs):
        return lax.scan(lambda c, x: (lax.mul(c, x), lax.sin(c)), c, xs)

    return jvp(f, (c, xs), (c, xs))


@trace(f32[()], f32[5])
def scan_grad(c, xs):
    def f(c, xs):
        c, ys = lax.scan(lambda c, x: (lax.mul(c, x), lax.sin(c)), c, xs)
        return lax.add(c, lax.reduce_sum(ys, (0,)))

    return grad(f, (0, 1))(c, xs)


@programs.may_be_leaner
@trace(f32[3, 3], f32[3], f32[5, 3])
def scan_grad_closure(w, h, xs):
    def loss(w):
        def step(h, x):
            h = lax.tanh(lax.add(lax.dot(w, h), x))
            return h, None

        return lax.reduce_sum(lax.scan(step, h, xs)[0], (0,))

    return grad(loss)(w)


@trace(f32[4], f32[4, 5])
def scan_vmap(c, xs):
    def f(c, xs):
        return lax.scan(lambda c, x: (lax.add(c, x), c), c, xs)

    return vmap(f)(c, xs)


@trace(f32[()], f32[4, 5])
def scan_vmap_xs_only(c, xs):
    def f(xs):
        return lax.scan(lambda c, x: (lax.add(c, x), c), c, xs)

    return vmap(f)(xs)


@trace(f32[()], f32[5])
def scan_linearize(c, xs):
    def f(c):
        return lax.scan(lambda c, x: (lax.mul(lax.sin(c), x), None), c, xs)[0]

    _, f_jvp = linearize(f, c)
    return f_jvp(c)


@trace(f32[5, 3])
def mapped(xs):
    return lax.map(lambda x: lax.reduce_sum(lax.sin(x), (0,)), xs)


@trace(f32[6, 3])
def map_batch_size(xs):
    return lax.map(lax.sin, xs, batch_size=3)


@trace(f32[5])
def map_grad(xs):
    return grad(lambda xs: lax.reduce_sum(lax.map(lax.sin, xs), (0,)))(xs)


@trace(b1[()], f32[()], f32[5])
def cond_in_scan_in_jit(p, c, xs):
    @jit
    def run(p, c, xs):
        def step(c, x):
            return lax.cond(p, lax.add, lax.mul, c, x), c

        return lax.scan(step, c, xs)

    return run(p, c, xs)


@trace(f32[3])
def nested_while(x):
    def first(y):
        return lax.lt(lax.index_in_dim(y, 0, keepdims=False), 3.0)

    def step(carry):
        i, x = carry
        return lax.add(i, 1), lax.while_loop(first, lambda y: lax.add(y, y), x)

    return lax.while_loop(lambda c: lax.lt(c[0], 4), step, (0, x))


@trace(f32[3])
def same_branch_twice(x):
    return lax.cond(True, lax.sin, lax.sin, x)


@programs.may_be_leaner
@trace(f32[5])
def associative_scan(x):
    return lax.associative_scan(lax.add, x)


@programs.may_be_leaner
@trace(f32[2, 2], f32[2])
def custom_linear_solve(a, b):
    def matvec(x):
        return lax.dot(a, x)

    def solve(matvec, b):
        return lax.mul(matvec(b), b)

    return lax.custom_linear_solve(matvec, b, solve, symmetric=True)
