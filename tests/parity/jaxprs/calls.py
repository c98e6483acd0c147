"""Jaxprs of functions called: jit, custom_jvp, custom_vjp, remat, closures, trees."""

from collections import OrderedDict, namedtuple
from functools import partial

import numpy as np
from harness import Programs, bf16, f32, f64, i32, i64

from minijax import (
    checkpoint,
    custom_jvp,
    custom_vjp,
    disable_jit,
    eval_shape,
    grad,
    jit,
    jvp,
    lax,
    linear_transpose,
    linearize,
    make_jaxpr,
    named_scope,
    remat,
    value_and_grad,
    vjp,
    vmap,
)
from minijax import numpy as jnp

programs = Programs()
trace = partial(programs.traced, make_jaxpr)


@jit
def double(x):
    return lax.mul(x, 2.0)


@jit
def sin_times(x, y):
    return lax.mul(lax.sin(x), y)


@trace(f32[3])
def jit_once(x):
    return double(x)


@trace(f32[3], f32[2])
def jit_twice_two_types(x, y):
    return double(x), double(y)


@trace(f32[3])
def jit_shared(x):
    return double(double(x))


@trace(f32[3])
def jit_shared_thrice_nested(x):
    @jit
    def outer(x):
        return lax.add(double(x), double(lax.neg(x)))

    return lax.mul(outer(x), double(outer(x)))


@trace(f32[3], f32[3])
def jit_two_arguments(x, y):
    return sin_times(x, y), sin_times(y, x)


@trace(f32[3])
def jit_literal_argument(x):
    return sin_times(x, 2.0)


@trace(f32[3])
def jit_lambda(x):
    return jit(lambda x: lax.neg(x))(x)


@trace(f32[3])
def jit_identity(x):
    return jit(lambda x: (x, x))(x)


@trace(f32[3], f32[2])
def jit_unused_argument(x, y):
    return jit(lambda x, y: lax.sin(x))(x, y)


@trace(f32[3], f32[2])
def jit_keep_unused(x, y):
    return jit(lambda x, y: lax.sin(x), keep_unused=True)(x, y)


@trace(f32[3])
def jit_inline(x):
    return jit(lambda x: lax.sin(x), inline=True)(x)


@trace(f32[3])
def jit_donated(x):
    return jit(lambda x, y: lax.add(x, y), donate_argnums=(0,))(x, x)


@trace(f32[3])
def jit_static(x):
    @partial(jit, static_argnums=(1,))
    def power(x, n):
        return lax.integer_pow(x, n)

    return power(x, 2), power(x, 3)


@trace(f32[3])
def jit_static_names(x):
    @partial(jit, static_argnames=("negate",))
    def f(x, negate=False):
        return lax.neg(x) if negate else x

    return f(x), f(x, negate=True)


@trace(f32[3])
def jit_keyword_arguments(x):
    @jit
    def f(x, *, scale):
        return lax.mul(x, scale)

    return f(x, scale=x)


@trace(f32[3])
def jit_no_arguments(x):
    return lax.add(x, jit(lambda: lax.full((3,), 1.0))())


@trace(f32[3])
def jit_constant_output(x):
    return jit(lambda x: 3.0)(x)


@trace(f32[3])
def jit_partial(x):
    def scaled(factor, x):
        return lax.mul(factor, x)

    return jit(partial(scaled, 3.0))(x)


@trace(f32[3])
def jit_of_jit(x):
    return jit(double)(x)


@trace(f32[3])
def jit_closure_over_tracer(x):
    return jit(lambda y: lax.add(x, y))(x)


@trace(f32[3])
def jit_closure_over_array(x):
    table = jnp.array([1.0, 2.0, 3.0])
    return jit(lambda y: lax.add(table, y))(x)


TABLE = np.array([1.0, 2.0, 3.0], np.float32)


@trace(f32[3])
def closure_over_numpy(x):
    return lax.add(x, TABLE), lax.mul(x, TABLE)


@trace(f32[3])
def closure_over_scalars(x):
    return (
        lax.mul(x, np.float32(2)),
        lax.add(x, jnp.float32(3)),
        x * np.array(4.0, np.float32),
    )


@programs
def closure_over_jax_arrays():
    w, b = jnp.array([1.0, 2.0, 3.0]), jnp.array(1)

    def f(x):
        return lax.add(x, w), lax.mul(lax.neg(w), x), b

    return make_jaxpr(f)(f32[3])


@trace(f32[3])
def jit_shared_closure(x):
    table = jnp.array([1.0, 2.0, 3.0])
    f = jit(lambda y: lax.add(table, y))
    return f(f(x))


@trace(f32[3])
def jit_disabled(x):
    with disable_jit():
        return double(x)


@programs
def jit_itself():
    return make_jaxpr(double)(f32[3])


@trace(f32[3], f32[3])
def jit_jvp(x, y):
    return jvp(sin_times, (x, y), (y, x))


@trace(f32[()], f32[()])
def jit_grad(x, y):
    return grad(sin_times, (0, 1))(x, y)


@trace(f32[()], f32[()])
def jit_grad_one_argument(x, y):
    return grad(sin_times)(x, y)


@trace(f32[()])
def grad_inside_jit(x):
    return jit(grad(lax.sin))(x)


@trace(f32[4, 3], f32[3])
def jit_vmap(x, y):
    return vmap(sin_times, (0, None))(x, y)


@trace(f32[4])
def jit_vmap_grad(x):
    return vmap(grad(lambda x: double(lax.sin(x))))(x)


@trace(f32[()])
def jit_second_grad(x):
    return grad(grad(lambda x: double(lax.sin(x))))(x)


@trace(f32[3])
def value_and_gradient(x):
    return value_and_grad(lambda x: lax.reduce_sum(lax.sin(x), (0,)))(x)


@trace(f32[3])
def value_and_gradient_aux(x):
    def f(x):
        y = lax.sin(x)
        return lax.reduce_sum(y, (0,)), y

    return value_and_grad(f, has_aux=True)(x)


@trace(f32[3], f32[3])
def vjp_pull(x, ct):
    y, pull = vjp(lambda x: lax.mul(lax.sin(x), x), x)
    return y, pull(ct)


@trace(f32[3])
def transpose_of_linear(x):
    return linear_transpose(lambda x: lax.mul(2.0, lax.neg(x)), x)(x)


@trace(f32[3])
def linearize_jit(x):
    y, f_jvp = linearize(lambda x: double(lax.sin(x)), x)
    return y, f_jvp(x)


@trace(f32[3])
def scoped(x):
    with named_scope("layer"):
        return lax.sin(x)


@custom_jvp
def soft(x):
    return lax.log1p(lax.exp(x))


@soft.defjvp
def soft_jvp(primals, tangents):
    (x,), (x_t,) = primals, tangents
    return soft(x), lax.mul(lax.logistic(x), x_t)


@custom_vjp
def clipped(x, y):
    return lax.mul(x, y)


def clipped_fwd(x, y):
    return lax.mul(x, y), (x, y)


def clipped_bwd(residuals, ct):
    x, y = residuals
    return lax.clamp(-1.0, lax.mul(ct, y), 1.0), lax.mul(ct, x)


clipped.defvjp(clipped_fwd, clipped_bwd)


@trace(f32[3])
def custom_jvp_call(x):
    return soft(x)


@trace(f32[3])
def custom_jvp_jvp(x):
    return jvp(soft, (x,), (x,))


@trace(f32[()])
def custom_jvp_grad(x):
    return grad(soft)(x)


@trace(f32[4])
def custom_jvp_vmap(x):
    return vmap(soft)(x)


@trace(f32[4])
def custom_jvp_vmap_grad(x):
    return vmap(grad(soft))(x)


@trace(f32[3])
def custom_jvp_in_jit(x):
    return jit(soft)(x)


@trace(f32[()])
def custom_jvp_nondiff(x):
    @partial(custom_jvp, nondiff_argnums=(0,))
    def apply(f, x):
        return f(x)

    @apply.defjvp
    def _(f, primals, tangents):
        return f(primals[0]), lax.mul(2.0, tangents[0])

    return apply(lax.sin, x), grad(apply, 1)(lax.sin, x)


@trace(f32[()], f32[()])
def custom_vjp_grad(x, y):
    return grad(clipped, (0, 1))(x, y)


@trace(f32[4], f32[4])
def custom_vjp_vmap_grad(x, y):
    return vmap(grad(clipped))(x, y)


@trace(f32[()], f32[()])
def custom_vjp_in_jit_grad(x, y):
    return jit(grad(lambda x: clipped(x, y)))(x)


@trace(f32[()])
def remat_call(x):
    return checkpoint(lambda x: lax.sin(lax.sin(x)))(x)


@trace(f32[()])
def remat_grad(x):
    return grad(remat(lambda x: lax.sin(lax.sin(x))))(x)


@trace(f32[4])
def remat_vmap(x):
    return vmap(remat(lambda x: lax.exp(lax.sin(x))))(x)


@trace(f32[()], f32[5])
def remat_scan_grad(c, xs):
    def f(c):
        step = remat(lambda c, x: (lax.mul(lax.sin(c), x), None))
        return lax.scan(step, c, xs)[0]

    return grad(f)(c)


Point = namedtuple("Point", ["x", "y"])


@trace(
    {"b": f32[2], "a": (i32[()], [f32[1], None])},
    Point(f32[3], y=OrderedDict([("z", bf16[1]), ("c", f32[2])])),
)
def trees(tree, point):
    return Point(point.y, lax.neg(tree["b"])), {"k": tree["a"], "j": None}


@programs.may_be_leaner  # tanh
@trace({"w": f32[3, 2], "b": f32[2]}, f32[3])
def tree_grad(params, x):
    def loss(params):
        return lax.reduce_sum(lax.tanh(lax.add(lax.dot(x, params["w"]), params["b"])), (0,))

    return value_and_grad(loss)(params)


@trace(f64[3], i64[2], 1, 2.0, True, 1j)
def arguments_of_many_kinds(a, b, c, d, e, f):
    return a, b, c, d, e, f


@trace()
def no_arguments_no_equations():
    return ()


@trace(f32[3])
def dead_code(x):
    lax.sin(x)
    y, _ = lax.cos(x), lax.exp(x)
    return y


@programs
def many_variables():
    def f(x):
        for _ in range(60):
            x = lax.sin(x)
        return x

    return make_jaxpr(f)(f32[()])


@programs
def many_arguments():
    return make_jaxpr(lambda *xs: list(xs[::-1]))(*[f32[2, 3]] * 40)


@programs
def long_result_line():
    def f(x):
        return [lax.add(x, float(i)) for i in range(30)]

    return make_jaxpr(f)(f32[123, 4567])


@programs
def wide_line_at_the_margin():
    parts = []
    for n in range(1, 14):
        parts.append(make_jaxpr(lambda *xs: xs[0])(*[f32[10, 10]] * n))
        parts.append(make_jaxpr(lambda *xs: lax.concatenate(xs, 0))(*[f32[10, 10]] * n))
    return parts


@programs
def parameters_at_the_margin():
    return [
        make_jaxpr(lambda x: lax.pad(x, 0.0, [(1, 1, 1)] * x.ndim))(f32[(2,) * n])
        for n in range(1, 9)
    ]


@programs
def shapes_from_eval_shape():
    spec = eval_shape(lambda x: lax.dot(x, x), f32[3, 3])
    return make_jaxpr(double)(spec)


@programs
def static_argument_of_make_jaxpr():
    def f(x, n):
        return lax.integer_pow(x, n)

    return make_jaxpr(f, static_argnums=1)(f32[3], 3)


@programs
def returned_shapes():
    jaxpr, shapes = make_jaxpr(
        lambda x: (x, {"a": lax.reduce_sum(x, (0,))}), return_shape=True
    )(f32[3])
    return jaxpr, shapes


@programs
def jaxpr_without_consts():
    closed = make_jaxpr(lambda x: lax.add(lax.sin(x), 1.0))(f32[3])
    return [closed.jaxpr, *closed.eqns, closed.out_avals, closed.in_avals]
