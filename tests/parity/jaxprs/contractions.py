"""Jaxprs of dot products and convolutions."""

from functools import partial

import numpy as np
from harness import Programs, b1, bf16, c64, f16, f32, i8, i32

from minijax import grad, jvp, lax, make_jaxpr, vmap

programs = Programs()
trace = partial(programs.traced, make_jaxpr)


def op(name, function, *args):
    programs.add(name, lambda: make_jaxpr(function)(*args))


op("dot_matrix_matrix", lax.dot, f32[2, 3], f32[3, 4])
op("dot_vector_vector", lax.dot, f32[3], f32[3])
op("dot_matrix_vector", lax.dot, f32[2, 3], f32[3])
op("dot_precision", partial(lax.dot, precision="highest"), f32[2, 3], f32[3, 4])
op(
    "dot_precision_pair",
    partial(lax.dot, precision=(lax.Precision.HIGH, lax.Precision.DEFAULT)),
    f32[2, 3],
    f32[3],
)
op("dot_bf16", lax.dot, bf16[2, 3], bf16[3, 4])
op("dot_bf16_f32", partial(lax.dot, preferred_element_type=np.float32), bf16[2, 3], bf16[3])
op("dot_i8_i32", partial(lax.dot, preferred_element_type=np.int32), i8[2, 3], i8[3])
op("dot_complex", lax.dot, c64[2, 3], c64[3, 4])
op("dot_f16", lax.dot, f16[2, 3], f16[3])
op("dot_int", lax.dot, i32[2, 3], i32[3])
op("dot_bool", lax.dot, b1[2, 3], b1[3])
op("dot_empty", lax.dot, f32[2, 0], f32[0, 3])
op("batch_matmul", lax.batch_matmul, f32[5, 2, 3], f32[5, 3, 4])

GENERAL = partial(lax.dot_general, dimension_numbers=(((2,), (1,)), ((0,), (0,))))
op("dot_general_batch", GENERAL, f32[5, 2, 3], f32[5, 3, 4])
op(
    "dot_general_two_contractions",
    partial(lax.dot_general, dimension_numbers=(((0, 1), (1, 0)), ((), ()))),
    f32[2, 3, 4],
    f32[3, 2],
)
op(
    "dot_general_outer",
    partial(lax.dot_general, dimension_numbers=(((), ()), ((), ()))),
    f32[2],
    f32[3],
)
op(
    "dot_general_mixed_types",
    partial(
        lax.dot_general,
        dimension_numbers=(((1,), (0,)), ((), ())),
        preferred_element_type=np.float32,
    ),
    bf16[2, 3],
    f32[3, 4],
)


def squared_dot(x, y):
    z = lax.dot(x, y)
    return lax.reduce_sum(lax.mul(z, z), tuple(range(z.ndim)))


op("dot_grad", grad(squared_dot, (0, 1)), f32[2, 3], f32[3, 4])
op("dot_grad_left", grad(squared_dot), f32[2, 3], f32[3])
op("dot_grad_right", grad(squared_dot, 1), f32[2, 3], f32[3])
op("dot_grad_vectors", grad(squared_dot, (0, 1)), f32[3], f32[3])
op("dot_jvp", lambda x, y: jvp(lax.dot, (x, y), (x, y)), f32[2, 3], f32[3, 4])


@trace(f32[5, 2, 3], f32[5, 3, 4])
def dot_general_batch_grad(x, y):
    def total(x, y):
        return lax.reduce_sum(lax.sin(GENERAL(x, y)), (0, 1, 2))

    return grad(total, (0, 1))(x, y)


@trace(bf16[2, 3], bf16[3, 4])
def dot_preferred_type_grad(x, y):
    def total(x, y):
        z = lax.dot(x, y, preferred_element_type=np.float32)
        return lax.reduce_sum(z, (0, 1))

    return grad(total, (0, 1))(x, y)


op("dot_vmap_both", vmap(lax.dot), f32[5, 2, 3], f32[5, 3, 4])
op("dot_vmap_left", vmap(lax.dot, (0, None)), f32[5, 2, 3], f32[3, 4])
op("dot_vmap_right", vmap(lax.dot, (None, 0)), f32[2, 3], f32[5, 3, 4])
op("dot_vmap_inner_axes", vmap(lax.dot, (1, 2), 1), f32[2, 5, 3], f32[3, 4, 5])
op("dot_vmap_vectors", vmap(lax.dot), f32[5, 3], f32[5, 3])
op("dot_vmap_outer", vmap(vmap(lax.dot, (None, 0)), (0, None)), f32[5, 3], f32[4, 3])
op("dot_general_vmap", vmap(GENERAL, (1, None)), f32[5, 6, 2, 3], f32[5, 3, 4])
op("dot_vmap_grad", vmap(grad(squared_dot, (0, 1)), (None, 0)), f32[2, 3], f32[5, 3])

op(
    "conv_1d",
    lambda x, w: lax.conv_general_dilated(x, w, (1,), [(2, 2)]),
    f32[1, 1, 3],
    f32[1, 1, 10],
)
op("conv", lambda x, w: lax.conv(x, w, (2, 2), "SAME"), f32[1, 3, 8, 8], f32[4, 3, 3, 3])
op(
    "conv_with_padding",
    lambda x, w: lax.conv_with_general_padding(
        x, w, (1, 1), [(1, 2), (0, 0)], lhs_dilation=(2, 1), rhs_dilation=(1, 2)
    ),
    f32[1, 3, 8, 8],
    f32[4, 3, 3, 3],
)
op(
    "conv_nhwc",
    partial(
        lax.conv_general_dilated,
        window_strides=(1, 1),
        padding="VALID",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    ),
    f32[2, 8, 8, 3],
    f32[3, 3, 3, 4],
)
op(
    "conv_grouped",
    partial(
        lax.conv_general_dilated, window_strides=(1, 1), padding="SAME", feature_group_count=3
    ),
    f32[2, 3, 8, 8],
    f32[6, 1, 3, 3],
)
op(
    "conv_bf16_f32",
    partial(
        lax.conv_general_dilated,
        window_strides=(1,),
        padding="VALID",
        preferred_element_type=np.float32,
    ),
    bf16[2, 3, 8],
    bf16[4, 3, 3],
)
op(
    "conv_transpose",
    lambda x, w: lax.conv_transpose(x, w, (2,), "SAME"),
    f32[1, 4, 3],
    f32[3, 3, 2],
)


@trace(f32[2, 3, 8, 8], f32[4, 3, 3, 3])
def conv_grad(x, w):
    def total(x, w):
        y = lax.conv(x, w, (2, 2), "SAME")
        return lax.reduce_sum(lax.mul(y, y), (0, 1, 2, 3))

    return grad(total, (0, 1))(x, w)


CONV = partial(lax.conv, window_strides=(1,), padding="VALID")
op("conv_vmap_left", vmap(CONV, (0, None)), f32[5, 2, 3, 8], f32[4, 3, 3])
op("conv_vmap_right", vmap(CONV, (None, 0)), f32[2, 3, 8], f32[5, 4, 3, 3])
op("conv_vmap_both", vmap(CONV), f32[5, 2, 3, 8], f32[5, 4, 3, 3])


@trace({"w": f32[3, 4], "b": f32[4]}, f32[5, 3], f32[5, 4])
def linear_model_grad(params, x, y):
    def loss(params):
        error = lax.sub(lax.add(lax.dot(x, params["w"]), lax.broadcast(params["b"], (5,))), y)
        return lax.div(lax.reduce_sum(lax.mul(error, error), (0, 1)), 20.0)

    return grad(loss)(params)
