"""Jaxprs of elementwise operations: unary, binary, comparison, conversion."""

from functools import partial

import numpy as np
from harness import Programs, b1, bf16, c64, f16, f32, i8, i32, u8, u32

from minijax import grad, jvp, lax, linearize, make_jaxpr, vmap
from minijax import numpy as jnp

programs = Programs()
trace = partial(programs.traced, make_jaxpr)


def op(name, function, *args):
    programs.add(name, lambda: make_jaxpr(function)(*args))


def op_and_rules(name, function, *args):
    """The operation, its derivative forwards and backwards, and a lane of it."""

    def texts():
        lanes = [np.stack([arg, arg]) for arg in args]

        def total(*xs):
            return lax.reduce_sum(function(*xs), (0,))

        return [
            make_jaxpr(function)(*args),
            make_jaxpr(lambda *xs: jvp(function, xs, xs))(*args),
            make_jaxpr(grad(total, argnums=tuple(range(len(args)))))(*args),
            make_jaxpr(vmap(function))(*lanes),
        ]

    programs.add(name, texts)


SMOOTH = (
    "acos acosh asin asinh atan atanh bessel_i0e bessel_i1e cbrt cos cosh digamma erf "
    "erfc erf_inv exp exp2 expm1 lgamma log log1p logistic neg rsqrt sin sinh sqrt "
    "square tan tanh abs sign floor ceil round"
)
for name in SMOOTH.split():
    op_and_rules(name, getattr(lax, name), f32[3])

for name in ["add", "sub", "mul", "div", "pow", "atan2", "max", "min", "rem"]:
    op_and_rules(name, getattr(lax, name), f32[3], f32[3])

for power in [0, 1, 2, 3, -1, -2]:
    op_and_rules(f"integer_pow_{power}", lambda x, n=power: lax.integer_pow(x, n), f32[3])
op("pow_integer_exponent", lax.pow, f32[3], i32[3])
op("reciprocal", lax.reciprocal, f32[3])
op("is_finite", lax.is_finite, f32[3])
op("nextafter", lax.nextafter, f32[3], f32[3])
op("igamma", lax.igamma, f32[3], f32[3])
op("igammac", lax.igammac, f32[3], f32[3])
op("betainc", lax.betainc, f32[3], f32[3], f32[3])
op("polygamma", lax.polygamma, f32[3], f32[3])
op("zeta", lax.zeta, f32[3], f32[3])
op("round_to_even", lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), f32[3])
op("sin_bf16", lax.sin, bf16[2, 3])
op("exp_f16", lax.exp, f16[2])
op("sqrt_c64", lax.sqrt, c64[2])
op("tanh_empty", lax.tanh, f32[0, 3])

for name in ["eq", "ne", "lt", "le", "gt", "ge"]:
    op(name, getattr(lax, name), i32[3], i32[3])
op("eq_bool", lax.eq, b1[3], b1[3])
op("lt_scalar_literal", lambda x: lax.lt(x, 2.0), f32[()])

for name in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
    op(name, getattr(lax, name), u32[3], u32[3])
op("and_bool", lax.bitwise_and, b1[2], b1[2])
for name in ["bitwise_not", "population_count", "clz"]:
    op(name, getattr(lax, name), u8[3])
for name in ["shift_left", "shift_right_logical", "shift_right_arithmetic"]:
    op(name, getattr(lax, name), i32[3], i32[3])
op("mulhi", lax.mulhi, u32[3], u32[3])
op("sign_int", lax.sign, i8[3])
op("neg_int", lax.neg, i32[()])

op_and_rules("clamp", lambda x: lax.clamp(np.float32(-1), x, np.float32(1)), f32[3])
op("clamp_arrays", lax.clamp, f32[3], f32[3], f32[3])
op("clamp_scalar_bounds", lax.clamp, f32[()], f32[3], f32[()])
op("select", lax.select, b1[3], f32[3], f32[3])
op("select_n_bool", lax.select_n, b1[3], f32[3], f32[3])
op("select_n_scalar", lax.select_n, b1[()], f32[3], f32[3])
op("select_n_int", lax.select_n, i32[3], f32[3], f32[3], f32[3])
op("select_n_vmap_predicate", vmap(lax.select_n, (0, None, None)), b1[2], f32[3], f32[3])


@trace(b1[3], f32[3], f32[3])
def select_grad(p, x, y):
    def total(x, y):
        return lax.reduce_sum(lax.select(p, x, y), (0,))

    return grad(total, (0, 1))(x, y)


for name, new in [("f32", np.float32), ("i32", np.int32), ("bool", np.bool_)]:
    op(f"convert_to_{name}", partial(lax.convert_element_type, new_dtype=new), u8[3])
op("convert_to_same", partial(lax.convert_element_type, new_dtype=np.float32), f32[3])
op("convert_to_bf16", lambda x: lax.convert_element_type(x, jnp.bfloat16), f32[3])
op("convert_to_python_float", lambda x: lax.convert_element_type(x, float), i32[3])
op("convert_to_python_int", lambda x: lax.convert_element_type(x, int), f32[3])
op("convert_weak", lambda x: lax.convert_element_type(x, np.float32), 1.0)
op("convert_complex", lambda x: lax.convert_element_type(x, np.complex64), f32[3])
op("bitcast_same_width", partial(lax.bitcast_convert_type, new_dtype=np.int32), f32[3])
op("bitcast_narrower", partial(lax.bitcast_convert_type, new_dtype=np.uint8), f32[3])
op("bitcast_wider", partial(lax.bitcast_convert_type, new_dtype=np.uint32), u8[3, 4])
op("reduce_precision", lambda x: lax.reduce_precision(x, 8, 7), f32[3])


@trace(f32[3])
def convert_grad(x):
    def total(x):
        return lax.reduce_sum(lax.convert_element_type(x, jnp.bfloat16), (0,))

    return grad(lambda x: lax.convert_element_type(total(x), np.float32))(x)


for name in ["real", "imag", "conj", "abs", "neg", "sign", "exp", "log"]:
    op(f"{name}_complex", getattr(lax, name), c64[3])
op("complex", lax.complex, f32[3], f32[3])
op("conj_of_real", lax.conj, f32[3])


@trace(f32[3])
def complex_grad(x):
    def energy(x):
        z = lax.complex(x, lax.sin(x))
        return lax.reduce_sum(lax.real(lax.mul(z, lax.conj(z))), (0,))

    return grad(energy)(x)


@trace(c64[3])
def complex_holomorphic_grad(z):
    def total(z):
        return lax.reduce_sum(lax.mul(lax.exp(z), z), (0,))

    return grad(total, holomorphic=True)(z)


@trace(2.0, 3)
def weak_scalars(x, n):
    return lax.add(x, 1.0), lax.mul(n, 2), lax.neg(x)


@trace(f32[3], 2.0)
def scalar_meets_array(x, y):
    return lax.add(x, y), lax.mul(2.0, x)


@trace(i32[3])
def literals_of_many_kinds(x):
    y = lax.add(x, 7)
    z = lax.convert_element_type(y, np.float32)
    z = lax.mul(z, 0.1)
    z = lax.add(z, 1e10)
    z = lax.sub(z, -3.0)
    z = lax.max(z, -np.inf)
    z = lax.min(z, np.inf)
    w = lax.mul(z, np.float32(1e-7))
    return w, lax.eq(y, -1), lax.bitwise_and(lax.gt(y, 0), True)


@trace(bf16[2], f16[2], c64[2])
def literals_of_narrow_types(x, y, z):
    return x * 1.5, y + 0.1, z * 1j, z + 2.0


@trace(f32[3])
def same_operand_twice(x):
    return lax.mul(x, x), lax.add(x, x)


@trace(f32[3])
def second_derivative(x):
    def total(x):
        return lax.reduce_sum(lax.mul(lax.sin(x), lax.exp(x)), (0,))

    return jvp(grad(total), (x,), (x,))


@trace(f32[()])
def third_derivative(x):
    return grad(grad(grad(lambda x: lax.mul(lax.sin(x), x))))(x)


@trace(f32[()])
def grad_of_square(x):
    return grad(lambda x: lax.integer_pow(x, 4))(x)


@programs
def linearized():
    def f(x, y):
        return lax.mul(lax.sin(x), y)

    _, f_jvp = linearize(f, f32[3] + 1, f32[3] + 2)
    return make_jaxpr(f_jvp)(f32[3], f32[3])


@trace(f32[3])
def linearized_inside(x):
    y, tangents = linearize(lambda x: lax.exp(lax.sin(x)), x)
    return y, tangents(x)


@trace(f32[4, 3], f32[3])
def vmap_mixed_operands(x, y):
    return vmap(lax.add, (0, None))(x, y), vmap(lax.mul, (None, 0))(y[:1][0], x)


@trace(f32[4, 3], f32[3, 4])
def vmap_different_axes(x, y):
    return vmap(lax.add, (0, 1))(x, y), vmap(lax.add, (1, 0), 1)(x, y)


@trace(f32[4], f32[3])
def vmap_outer(x, y):
    return vmap(lambda a: vmap(lambda b: lax.mul(a, b))(y))(x)


@trace(f32[4])
def vmap_literal(x):
    return vmap(lambda a: lax.mul(2.0, lax.add(a, 1.0)))(x)


@trace(f32[4])
def vmap_unbatched_output(x):
    return vmap(lambda a: (a, np.float32(3.0)))(x)


@trace(f32[4, 3])
def vmap_of_grad(x):
    return vmap(grad(lambda row: lax.reduce_sum(lax.tanh(row), (0,))))(x)


# JAX leaves a zero behind that nothing reads.
programs.leaner.update(("integer_pow_0", "select_grad"))

# Slopes that neither cancel nor leave the range where their values do not.
programs.leaner.update(
    (
        "acos",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "bessel_i0e",
        "bessel_i1e",
        "div",
        "expm1",
        "integer_pow_-1",
        "logistic",
        "pow",
        "tanh",
        "vmap_of_grad",
    )
)
programs.longer.update({"acosh": 4, "cbrt": 2, "integer_pow_-2": 2})
