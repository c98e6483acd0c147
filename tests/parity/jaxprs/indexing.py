"""Jaxprs of gather and scatter, and of what indexing with lax makes of them."""

from functools import partial

from harness import Programs, b1, f32, i32, u8

from minijax import grad, jvp, lax, make_jaxpr, vmap
from minijax.lax import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers

programs = Programs()
trace = partial(programs.traced, make_jaxpr)

ROWS = GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
PUT_ROWS = ScatterDimensionNumbers(
    update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
)
rows = partial(lax.gather, dimension_numbers=ROWS, slice_sizes=(1, 3))


def op(name, function, *args):
    programs.add(name, lambda: make_jaxpr(function)(*args))


op("gather", rows, f32[4, 3], i32[2, 1])
op("gather_clip", partial(rows, mode="clip"), f32[4, 3], i32[2, 1])
op("gather_fill", partial(rows, mode="fill", fill_value=-1.0), f32[4, 3], i32[2, 1])
op(
    "gather_promise",
    partial(rows, mode=GatherScatterMode.PROMISE_IN_BOUNDS, unique_indices=True),
    f32[4, 3],
    i32[2, 1],
)
op("gather_sorted", partial(rows, indices_are_sorted=True), f32[4, 3], i32[2, 1])
op("gather_u8", rows, f32[4, 3], u8[2, 1])
op("gather_jvp", lambda x, i: jvp(lambda x: rows(x, i), (x,), (x,)), f32[4, 3], i32[2, 1])
op("gather_vmap_operand", vmap(rows, (0, None)), f32[5, 4, 3], i32[2, 1])
op("gather_vmap_indices", vmap(rows, (None, 0)), f32[4, 3], i32[5, 2, 1])
op("gather_vmap_both", vmap(rows), f32[5, 4, 3], i32[5, 2, 1])


@trace(f32[4, 3], i32[2, 1])
def gather_grad(x, i):
    return grad(lambda x: lax.reduce_sum(lax.sin(rows(x, i)), (0, 1)))(x)


SCATTERS = [
    "scatter",
    "scatter_add",
    "scatter_sub",
    "scatter_mul",
    "scatter_min",
    "scatter_max",
]
for name in SCATTERS:
    put = partial(getattr(lax, name), dimension_numbers=PUT_ROWS)
    op(name, put, f32[4, 3], i32[2, 1], f32[2, 3])
    op(f"{name}_vmap", vmap(put), f32[5, 4, 3], i32[5, 2, 1], f32[5, 2, 3])

add_rows = partial(lax.scatter_add, dimension_numbers=PUT_ROWS)
put_rows = partial(lax.scatter, dimension_numbers=PUT_ROWS)
mul_rows = partial(lax.scatter_mul, dimension_numbers=PUT_ROWS)
op("scatter_add_clip", partial(add_rows, mode="clip"), f32[4, 3], i32[2, 1], f32[2, 3])
op(
    "scatter_add_unique",
    partial(add_rows, unique_indices=True, indices_are_sorted=True, mode="drop"),
    f32[4, 3],
    i32[2, 1],
    f32[2, 3],
)
op("scatter_bool", put_rows, b1[4, 3], i32[2, 1], b1[2, 3])
op("scatter_vmap_updates", vmap(put_rows, (None, None, 0)), f32[4, 3], i32[2, 1], f32[5, 2, 3])
op("scatter_vmap_indices", vmap(put_rows, (None, 0, None)), f32[4, 3], i32[5, 2, 1], f32[2, 3])


@trace(f32[4, 3], i32[2, 1], f32[2, 3])
def scatter_add_grad(x, i, u):
    def total(x, u):
        return lax.reduce_sum(lax.sin(add_rows(x, i, u)), (0, 1))

    return grad(total, (0, 1))(x, u)


@trace(f32[4, 3], i32[2, 1], f32[2, 3])
def scatter_unique_grad(x, i, u):
    def total(x, u):
        return lax.reduce_sum(lax.sin(put_rows(x, i, u, unique_indices=True)), (0, 1))

    return grad(total, (0, 1))(x, u)


@programs.may_be_leaner  # JAX fills an array of zeros once more
@trace(f32[4, 3], i32[2, 1], f32[2, 3])
def scatter_grad(x, i, u):
    def total(x, u):
        return lax.reduce_sum(lax.sin(put_rows(x, i, u)), (0, 1))

    return grad(total, (0, 1))(x, u)


@trace(f32[4, 3], i32[2, 1], f32[2, 3])
def scatter_mul_grad(x, i, u):
    def total(u):
        return lax.reduce_sum(mul_rows(x, i, u, unique_indices=True), (0, 1))

    return grad(total)(u)


op("index_take", lambda x, i: lax.index_take(x, (i,), (0,)), f32[4, 3], i32[2])
programs.leaner.add("index_take")  # JAX calls remainder, a program of its own


@trace(f32[4, 3], i32[2], i32[2])
def gather_points(x, i, j):
    dims = GatherDimensionNumbers((), (0, 1), (0, 1))
    where = lax.concatenate([lax.expand_dims(i, (1,)), lax.expand_dims(j, (1,))], 1)
    return lax.gather(x, where, dims, (1, 1))
