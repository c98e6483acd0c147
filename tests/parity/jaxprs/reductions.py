"""Jaxprs of reductions, scans along an axis, sorting, windows."""

from functools import partial

import numpy as np
from harness import Programs, b1, bf16, c64, f32, i8, i32, u32

from minijax import grad, jvp, lax, make_jaxpr, vmap

programs = Programs()
trace = partial(programs.traced, make_jaxpr)


def op(name, function, *args):
    programs.add(name, lambda: make_jaxpr(function)(*args))


def rules(name, function, *args):
    """The operation, its derivative both ways, and a lane along the last axis."""

    def texts():
        def total(x):
            y = function(x)
            return lax.reduce_sum(lax.mul(y, y), tuple(range(y.ndim)))

        lanes = np.stack([args[0], args[0]], axis=-1)
        return [
            make_jaxpr(function)(*args),
            make_jaxpr(lambda x: jvp(function, (x,), (x,)))(*args),
            make_jaxpr(grad(total))(*args),
            make_jaxpr(vmap(function, in_axes=-1))(lanes),
        ]

    programs.add(name, texts)


for name in ["reduce_sum", "reduce_max", "reduce_min", "reduce_prod"]:
    rules(name, partial(getattr(lax, name), axes=(1,)), f32[2, 3])
    op(f"{name}_all", partial(getattr(lax, name), axes=(0, 1)), i32[2, 3])
for name in ["reduce_and", "reduce_or", "reduce_xor"]:
    op(name, partial(getattr(lax, name), axes=(0,)), b1[2, 3])
    op(f"{name}_vmap", vmap(partial(getattr(lax, name), axes=(0,)), 1), u32[2, 3])
op("reduce_sum_bf16", lambda x: lax.reduce_sum(x, (0,)), bf16[3])
op("reduce_sum_complex", lambda x: lax.reduce_sum(x, (0,)), c64[3])
op("reduce_no_axes", lambda x: lax.reduce_sum(x, ()), f32[3])
op("reduce_empty_axis", lambda x: lax.reduce_max(x, (0,)), f32[0, 3])
op("reduce_monoid_add", lambda x: lax.reduce(x, np.float32(0), lax.add, (0,)), f32[2, 3])
op("reduce_monoid_max", lambda x: lax.reduce(x, -np.inf, lax.max, (0, 1)), f32[2, 3])
op("reduce_monoid_init", lambda x: lax.reduce(x, np.float32(1), lax.add, (0,)), f32[2, 3])


@trace(f32[2, 3], i32[2, 3])
def reduce_two_operands(x, i):
    def larger(a, b):
        (ax, ai), (bx, bi) = a, b
        keep = lax.ge(ax, bx)
        return lax.select(keep, ax, bx), lax.select(keep, ai, bi)

    return lax.reduce((x, i), (np.float32(-np.inf), np.int32(0)), larger, (1,))


op("argmax", lambda x: lax.argmax(x, 1, np.int32), f32[2, 3])
op("argmin", lambda x: lax.argmin(x, 0, np.int32), f32[2, 3])
op("argmax_u32", lambda x: lax.argmax(x, 0, np.uint32), i8[3])
op("argmax_vmap", vmap(lambda x: lax.argmax(x, 0, np.int32), 1), f32[3, 2])

for name in ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"]:
    function = getattr(lax, name)
    op(name, function, f32[3, 2])
    op(f"{name}_reverse", partial(function, axis=1, reverse=True), f32[3, 2])
    op(f"{name}_vmap", vmap(function, 1), f32[3, 2])
rules("cumsum_rules", lax.cumsum, f32[3])

op("sort", lambda x: lax.sort(x), f32[2, 3])
op("sort_axis_0", lambda x: lax.sort(x, dimension=0, is_stable=False), i32[2, 3])
op("sort_several", lambda x, y: lax.sort((x, y), num_keys=1), f32[3], i32[3])
op("sort_two_keys", lambda x, y: lax.sort((x, y), num_keys=2), f32[3], i32[3])
op("sort_key_val", lax.sort_key_val, f32[3], i32[3])
op("sort_vmap", vmap(lambda x: lax.sort(x), 1), f32[3, 2])
op("sort_jvp", lambda x: jvp(lax.sort, (x,), (x,)), f32[3])
op("sort_grad", grad(lambda x: lax.reduce_sum(lax.mul(lax.sort(x), x), (0,))), f32[3])
op("top_k", lambda x: lax.top_k(x, 2), f32[4, 5])
op("top_k_axis", lambda x: lax.top_k(x, 2, axis=0), f32[4, 5])
op("top_k_vmap", vmap(lambda x: lax.top_k(x, 2), 1), f32[4, 5])
op("top_k_grad", grad(lambda x: lax.reduce_sum(lax.top_k(x, 2)[0], (0,))), f32[5])

op(
    "reduce_window_sum",
    lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), "VALID"),
    f32[4, 4],
)
op(
    "reduce_window_max",
    lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 3), (1, 2), "SAME"),
    f32[4, 7],
)
op(
    "reduce_window_min",
    lambda x: lax.reduce_window(x, np.inf, lax.min, (2,), (2,), [(1, 0)]),
    f32[5],
)
op(
    "reduce_window_dilated",
    lambda x: lax.reduce_window(
        x, 0.0, lax.add, (2,), (1,), [(0, 0)], base_dilation=(2,), window_dilation=(3,)
    ),
    f32[9],
)
op(
    "reduce_window_general",
    lambda x: lax.reduce_window(x, 1.0, lax.mul, (2,), (1,), "VALID"),
    f32[4],
)


@trace(f32[4, 4])
def reduce_window_sum_grad(x):
    def total(x):
        y = lax.reduce_window(x, 0.0, lax.add, (2, 2), (2, 2), "VALID")
        return lax.reduce_sum(lax.mul(y, y), (0, 1))

    return grad(total)(x)


@trace(f32[4, 4])
def reduce_window_max_grad(x):
    def total(x):
        y = lax.reduce_window(x, -np.inf, lax.max, (2, 2), (2, 2), "VALID")
        return lax.reduce_sum(y, (0, 1))

    return grad(total)(x)


op(
    "reduce_window_vmap",
    vmap(lambda x: lax.reduce_window(x, 0.0, lax.add, (2,), (1,), "VALID"), 1),
    f32[4, 3],
)


@trace(f32[2, 3])
def softmax(x):
    shifted = lax.sub(x, lax.broadcast_in_dim(lax.reduce_max(x, (1,)), (2, 3), (0,)))
    weights = lax.exp(shifted)
    total = lax.broadcast_in_dim(lax.reduce_sum(weights, (1,)), (2, 3), (0,))
    return lax.div(weights, total)


@trace(f32[3])
def logsumexp_grad(x):
    def f(x):
        top = lax.stop_gradient(lax.reduce_max(x, (0,)))
        return lax.add(
            lax.log(lax.reduce_sum(lax.exp(lax.sub(x, lax.broadcast(top, (3,)))), (0,))), top
        )

    return grad(f)(x)
