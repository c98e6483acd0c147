"""Jaxprs of operations that move data about: shape, order, joining, cutting."""

from functools import partial

import numpy as np
from harness import Programs, b1, bf16, c64, f32, i32, u8

from minijax import grad, jvp, lax, make_jaxpr, vmap
from minijax import numpy as jnp

programs = Programs()
trace = partial(programs.traced, make_jaxpr)


def op(name, function, *args):
    programs.add(name, lambda: make_jaxpr(function)(*args))


def linear_op(name, function, *args):
    """The operation, its transpose (through grad) and a lane of it."""

    def texts():
        def total(*xs):
            y = function(*xs)
            return lax.reduce_sum(lax.mul(y, y), tuple(range(y.ndim)))

        lanes = [np.stack([arg, arg], axis=arg.ndim) for arg in args]
        everything = tuple(range(len(args)))
        return [
            make_jaxpr(function)(*args),
            make_jaxpr(grad(total, argnums=everything))(*args),
            make_jaxpr(vmap(function, in_axes=-1))(*lanes),
        ]

    programs.add(name, texts)


linear_op("broadcast", lambda x: lax.broadcast(x, (2, 3)), f32[4])
linear_op("broadcast_in_dim", lambda x: lax.broadcast_in_dim(x, (2, 3), (1,)), f32[3])
linear_op(
    "broadcast_in_dim_expands", lambda x: lax.broadcast_in_dim(x, (2, 3), (0, 1)), f32[2, 1]
)
op("broadcast_scalar", lambda x: lax.broadcast_in_dim(x, (2, 3), ()), f32[()])
op("broadcast_literal", lambda: lax.broadcast(2.0, (3,)))
linear_op("reshape", lambda x: lax.reshape(x, (3, 2)), f32[2, 3])
linear_op("reshape_flat", lambda x: lax.reshape(x, (6,)), f32[2, 3])
op("reshape_dimensions", lambda x: lax.reshape(x, (6,), dimensions=(1, 0)), f32[2, 3])
op("reshape_same", lambda x: lax.reshape(x, (2, 3)), f32[2, 3])
linear_op("transpose", lambda x: lax.transpose(x, (2, 0, 1)), f32[2, 3, 4])
op("transpose_identity", lambda x: lax.transpose(x, (0, 1)), f32[2, 3])
linear_op("squeeze", lambda x: lax.squeeze(x, (0, 2)), f32[1, 3, 1])
op("squeeze_negative", lambda x: lax.squeeze(x, (-1,)), f32[3, 1])
linear_op("expand_dims", lambda x: lax.expand_dims(x, (0, 2)), f32[3])
op("collapse", lambda x: lax.collapse(x, 0, 2), f32[2, 3, 4])
linear_op("rev", lambda x: lax.rev(x, (1,)), f32[2, 3])
linear_op("concatenate", lambda x, y: lax.concatenate([x, y], 0), f32[2, 3], f32[4, 3])
linear_op("concatenate_axis_1", lambda x, y: lax.concatenate([x, y], 1), f32[2, 3], f32[2, 1])
op("concatenate_many", lambda *xs: lax.concatenate(xs, 0), i32[2], i32[1], i32[3], i32[0])
op(
    "concatenate_unbatched_operand",
    vmap(lambda x, y: lax.concatenate([x, y], 0), (0, None)),
    f32[4, 2],
    f32[3],
)
linear_op("pad", lambda x: lax.pad(x, 0.0, [(1, 2, 0), (0, 0, 1)]), f32[2, 3])
linear_op("pad_value", lambda x, v: lax.pad(x, v, [(1, 1, 0)]), f32[3], f32[()])
op("pad_negative", lambda x: lax.pad(x, 0.0, [(-1, -1, 0)]), f32[5])
op("pad_int", lambda x: lax.pad(x, np.int32(7), [(0, 2, 0)]), i32[5])
linear_op("slice", lambda x: lax.slice(x, (0, 1), (2, 3)), f32[2, 4])
linear_op("slice_strides", lambda x: lax.slice(x, (1,), (8,), (3,)), f32[9])
op("slice_in_dim", lambda x: lax.slice_in_dim(x, 1, -1, axis=1), f32[2, 5])
op("index_in_dim", lambda x: lax.index_in_dim(x, -1, keepdims=False), f32[4, 3])
op("split", lambda x: lax.split(x, [2, 1, 3], axis=1), f32[2, 6])
linear_op("split_grad", lambda x: lax.split(x, [2, 1], 0)[0], f32[3])
op("tile", lambda x: lax.tile(x, (2, 3)), f32[4, 5])

op("dynamic_slice", lambda x, i: lax.dynamic_slice(x, (i, 0), (2, 3)), f32[4, 3], i32[()])
op("dynamic_slice_literal", lambda x: lax.dynamic_slice(x, (1, 0), (2, 3)), f32[4, 3])
op("dynamic_slice_u8", lambda x, i: lax.dynamic_slice(x, (i,), (2,)), f32[4], u8[()])
op("dynamic_slice_python_int", lambda x, i: lax.dynamic_slice(x, (i,), (2,)), f32[4], 1)
op(
    "dynamic_slice_in_dim",
    lambda x, i: lax.dynamic_slice_in_dim(x, i, 2, axis=1),
    f32[4, 3],
    i32[()],
)
op(
    "dynamic_index_in_dim",
    lambda x, i: lax.dynamic_index_in_dim(x, i, keepdims=False),
    f32[4, 3],
    i32[()],
)
op(
    "dynamic_update_slice",
    lambda x, u, i: lax.dynamic_update_slice(x, u, (i, 0)),
    f32[4, 3],
    f32[2, 3],
    i32[()],
)
op(
    "dynamic_update_index",
    lambda x, u, i: lax.dynamic_update_index_in_dim(x, u, i, 0),
    f32[4, 3],
    f32[3],
    i32[()],
)


@trace(f32[4, 3], i32[()])
def dynamic_slice_grad(x, i):
    def total(x):
        return lax.reduce_sum(lax.dynamic_slice(x, (i, 1), (2, 2)), (0, 1))

    return grad(total)(x)


@trace(f32[4, 3], f32[2, 3], i32[()])
def dynamic_update_slice_grad(x, u, i):
    def total(x, u):
        y = lax.dynamic_update_slice(x, u, (i, 0))
        return lax.reduce_sum(lax.mul(y, y), (0, 1))

    return grad(total, (0, 1))(x, u)


op(
    "dynamic_slice_vmap_operand",
    vmap(lambda x, i: lax.dynamic_slice(x, (i,), (2,)), (0, None)),
    f32[5, 4],
    i32[()],
)
op(
    "dynamic_slice_vmap_index",
    vmap(lambda x, i: lax.dynamic_slice(x, (i,), (2,)), (None, 0)),
    f32[4],
    i32[5],
)
op(
    "dynamic_slice_vmap_both",
    vmap(lambda x, i: lax.dynamic_slice(x, (i,), (2,))),
    f32[5, 4],
    i32[5],
)
op(
    "dynamic_update_slice_vmap_operand",
    vmap(lambda x, u: lax.dynamic_update_slice(x, u, (1,))),
    f32[5, 4],
    f32[5, 2],
)
op(
    "dynamic_update_slice_vmap_index",
    vmap(lambda x, u, i: lax.dynamic_update_slice(x, u, (i,))),
    f32[5, 4],
    f32[5, 2],
    i32[5],
)

op("iota", lambda: lax.iota(np.int32, 5))
op("iota_f32", lambda: lax.iota(np.float32, 5))
op("broadcasted_iota", lambda: lax.broadcasted_iota(np.int32, (2, 3), 1))
op("full", lambda: (lax.full((2, 3), 1.5), lax.full((2,), 3, np.int32)))
op("full_like", lambda x: lax.full_like(x, 2), f32[2, 3])
op("full_like_bf16", lambda x: (lax.full_like(x, 2), lax.full_like(x, 0.1)), bf16[2])
op("zeros_and_ones", lambda: (jnp.zeros((2, 3)), jnp.ones(4, np.int32)))
op("zeros_complex", lambda x: lax.full_like(x, 1j), c64[2])
op("full_bool", lambda: lax.full((3,), True))
op("copy_of_input", lambda x: (x, x), f32[3])
op("broadcast_shapes", lambda x: lax.broadcast_to_rank(x, 3), f32[3])
op("optimization_barrier", lambda x, y: lax.optimization_barrier((x, y)), f32[3], i32[2])
programs.leaner |= {"dynamic_index_in_dim", "dynamic_update_index"}
op("stop_gradient", grad(lambda x: lax.mul(lax.stop_gradient(x), x)), f32[()])
op("reshape_empty", lambda x: lax.reshape(x, (3, 0)), f32[0, 3])
op("concatenate_empty", lambda x, y: lax.concatenate([x, y], 0), f32[0, 3], f32[2, 3])
op("slice_to_empty", lambda x: lax.slice(x, (2,), (2,)), f32[4])
op("transpose_bool", lambda x: lax.transpose(x, (1, 0)), b1[2, 3])


@trace(f32[2, 3])
def jvp_of_shape_chain(x):
    def f(x):
        y = lax.transpose(x, (1, 0))
        y = lax.reshape(y, (2, 3))
        return lax.concatenate([y, lax.rev(y, (0,))], 1)

    return jvp(f, (x,), (x,))


@trace(f32[5, 2, 3])
def vmap_of_vmap(x):
    return vmap(vmap(lambda v: lax.rev(v, (0,)), 1, 1), 2)(lax.reshape(x, (3, 2, 5)))
