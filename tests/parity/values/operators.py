"""Values of the operators among types, and of small mathematics."""

import operator

import numpy as np
from harness import Programs, attempt, show

import minijax as jax
from minijax import lax
from minijax import numpy as jnp

programs = Programs()

BINARY = (
    "add sub mul truediv floordiv mod pow and_ or_ xor lshift rshift eq ne lt le gt ge"
).split()
DTYPES = "bool uint8 int8 int32 uint32 bfloat16 float16 float32 complex64".split()
LEFT = {"bool": [1, 0, 1, 0]}
ARRAYS = {name: jnp.array(LEFT.get(name, [1, 2, 7, 5]), name) for name in DTYPES}
SIGNED = jnp.array([-7, -1, 3, 8], jnp.int32)
DIVISORS = jnp.array([2, -3, -2, 3], jnp.int32)


def outcome(function, *args):
    return show(attempt(lambda: function(*args)))


for name in BINARY:
    function = getattr(operator, name)
    for dtype in DTYPES:

        def same_type(f=function, x=ARRAYS[dtype]):
            return [outcome(jax.jit(f), x, x[::-1])]

        programs.add(f"{name}_{dtype}", same_type)

    def mixed_types(f=function):
        def row(a, b):
            return outcome(lambda: jax.eval_shape(f, ARRAYS[a], ARRAYS[b]))

        pairs = [(a, b) for a in DTYPES for b in DTYPES if a != b]
        return {f"{a} {b}": row(a, b) for a, b in pairs}

    def with_scalars(f=function):
        def row(x, s):
            left = outcome(lambda: jax.eval_shape(lambda x: f(x, s), x))
            return f"{left} {outcome(lambda: jax.eval_shape(lambda x: f(s, x), x))}"

        scalars = [True, 2, 2.0, 2j]
        kinds = DTYPES if f is not operator.pow else DTYPES[1:]
        return {f"{d} {s!r}": row(ARRAYS[d], s) for d in kinds for s in scalars}

    def eager_scalars(f=function):
        x = jnp.array([1, 2, 3], jnp.int32)
        y = jnp.array([0.5, 2.0, -1.0])
        return [outcome(f, x, 2), outcome(f, 2, x), outcome(f, y, 2), outcome(f, 2.0, y)]

    programs.add(f"{name}_mixed_types", mixed_types)
    programs.add(f"{name}_with_scalars", with_scalars)
    programs.add(f"{name}_eager_scalars", eager_scalars)


@programs
def signed_division():
    x, y = SIGNED, DIVISORS
    fx, fy = x.astype(jnp.float32), y.astype(jnp.float32)
    return [
        x // y,
        x % y,
        divmod(x, y),
        x / y,
        fx // fy,
        fx % fy,
        divmod(fx, fy),
        lax.div(x, y),
        lax.rem(x, y),
        lax.div(fx, fy),
        lax.rem(fx, fy),
        jnp.fmod(x, y),
        jnp.remainder(x, y),
    ]


@programs
def division_by_zero():
    zero, one = jnp.array([0, 0], jnp.int32), jnp.array([1, -1], jnp.int32)
    return [one / zero, one // zero, one % zero, 1.0 / jnp.array([0.0, -0.0])]


@programs
def powers():
    x = jnp.array([-2.0, 0.0, 3.0])
    n = jnp.array([2, 0, 3])
    return [
        x**2,
        x**0,
        x**-1,
        x**0.5,
        x**n,
        n**2,
        n**n,
        2**n,
        2.0**n,
        x**2.0,
        jnp.power(2, 3),
        jnp.power(2.0, 3),
        lax.integer_pow(x, 3),
        lax.pow(x, n),
        outcome(lambda: n**-1),
        outcome(lambda: jnp.float_power(n, 2)),
    ]


@programs
def unary_operators():
    x = jnp.array([-1, 0, 2])
    b = jnp.array([True, False])
    return [-x, +x, abs(x), ~x, ~b, abs(jnp.array([3 + 4j])), round(jnp.array(2.567), 2)]


@programs
def reflected_operators_with_numpy():
    x = jnp.array([1.0, 2.0])
    y = np.array([3, 4], np.int8)
    return [x + y, y + x, y * x, y - x, y @ x, np.float32(2) * x, x / np.int64(3), y < x]


@programs
def matmul_shapes():
    def shape(a, b):
        return outcome(lambda: jax.eval_shape(jnp.matmul, jnp.zeros(a), jnp.zeros(b)))

    return [
        shape(*pair)
        for pair in [
            ((3,), (3,)),
            ((2, 3), (3,)),
            ((3,), (3, 4)),
            ((5, 2, 3), (3, 4)),
            ((5, 2, 3), (5, 3, 4)),
            ((1, 2, 3), (5, 3, 4)),
            ((2, 3), (2, 3)),
            ((), (3,)),
        ]
    ]


@programs
def in_place_operators_make_new_arrays():
    x = jnp.array([1.0, 2.0])
    y = x
    y += 1
    y *= 2
    return x, y


@programs
def comparisons_of_odd_values():
    x = jnp.array([np.nan, np.inf, -0.0, 1.0])
    y = jnp.array([np.nan, 1.0, 0.0, 1.0])
    return [x == y, x != y, x < y, x >= y, jnp.maximum(x, y), jnp.minimum(x, y), lax.max(x, y)]


@programs
def elementwise_functions():
    x = jnp.array([-1.5, -0.2, 0.0, 0.7, 3.0])
    names = (
        "abs ceil floor sign sin cos tan tanh sinh cosh asinh atan exp exp2 expm1 "
        "logistic erf erfc cbrt square neg lgamma digamma round is_finite bessel_i0e"
    )
    return {name: getattr(lax, name)(x) for name in names.split()}


@programs
def elementwise_functions_of_positive_numbers():
    x = jnp.array([0.1, 0.5, 0.99])
    names = "log log1p sqrt rsqrt acos asin atanh erf_inv reciprocal"
    return {name: getattr(lax, name)(x) for name in names.split()}


@programs
def elementwise_functions_of_bfloat16():
    x = jnp.array([0.1, 0.5, 0.99], jnp.bfloat16)
    names = "log sqrt rsqrt sin exp tanh erf logistic square neg expm1"
    return {name: getattr(lax, name)(x) for name in names.split()}


@programs
def two_argument_functions():
    x, y = jnp.array([0.5, 2.0, -1.0]), jnp.array([1.5, 0.25, 3.0])
    names = "add sub mul div rem max min atan2 nextafter pow"
    return {name: getattr(lax, name)(x, y) for name in names.split()}


@programs
def special_functions():
    x, y = jnp.array([0.5, 2.0, 1.0]), jnp.array([1.5, 0.25, 3.0])
    return [
        lax.igamma(x, y),
        lax.igammac(x, y),
        lax.betainc(x, y, jnp.full(3, 0.3)),
        lax.polygamma(jnp.ones(3), y),
        lax.zeta(x + 1, y),
    ]


@programs
def bit_functions():
    x = jnp.array([0, 1, 250, 77], jnp.uint8)
    y = jnp.array([-8, 3, 127], jnp.int8)
    one = jnp.full(3, 1, jnp.int8)
    return [
        lax.population_count(x),
        lax.clz(x),
        lax.bitwise_not(x),
        lax.shift_left(y, one),
        lax.shift_right_arithmetic(y, one),
        lax.shift_right_logical(y, one),
        lax.bitcast_convert_type(jnp.float32(1.0), jnp.int32),
        lax.mulhi(x, x),
        lax.bitcast_convert_type(jnp.arange(4, dtype=jnp.uint8), jnp.uint32),
    ]


@programs
def complex_functions():
    z = jnp.array([3 + 4j, -1j, 2.0])
    return [
        jnp.real(z),
        jnp.imag(z),
        jnp.conj(z),
        jnp.abs(z),
        jnp.angle(z),
        z.real,
        z.imag,
        jnp.exp(z),
        jnp.sqrt(z),
        z * z,
        z / (1 + z),
        jnp.sign(z),
        z == 2,
        lax.complex(1.0, 2.0),
    ]


@programs
def selection():
    x, y = jnp.arange(4.0), -jnp.arange(4.0)
    p = x > 1
    return [
        jnp.where(p, x, y),
        jnp.where(p, 1, 0),
        jnp.where(p, x, 0),
        jnp.where(True, x, y),
        jnp.clip(x, 1, 2),
        jnp.clip(x, min=2),
        lax.clamp(1.0, x, 2.0),
        lax.select(p, x, y),
        jnp.where(p, x.astype(jnp.bfloat16), 2),
        jnp.where(p, 1.5, jnp.arange(4)),
    ]
