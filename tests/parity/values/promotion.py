"""Which types meet in which: the promotion lattice, in all its modes.

A program is one row: the left type; its results are those with every right type.
"""

import itertools

import ml_dtypes
import numpy as np
from harness import Programs, attempt, show

import minijax as jax
from minijax import numpy as jnp

programs = Programs()

NARROW = "int2 int4 uint2 uint4 float8_e4m3fn float8_e5m2".split()
DTYPES = (
    "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 "
    "bfloat16 float16 float32 float64 complex64 complex128"
).split()
SCALARS = [True, 1, 1.0, 1j]


def dtype(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def operands(names):
    arrays = {name: jax.ShapeDtypeStruct((2,), dtype(name)) for name in names}
    return arrays | {f"python {type(x).__name__}": x for x in SCALARS}


def outcome(call):
    result = attempt(call)
    return show(result) if isinstance(result, Exception) else text_of_type(result)


def text_of_type(x):
    return f"{'~' if getattr(x, 'weak_type', False) else ''}{x.dtype}"


def row(left, right, function):
    return ", ".join(
        f"{name} {outcome(lambda y=y: jax.eval_shape(function, left, y))}"
        for name, y in right.items()
    )


for x64, mode in itertools.product([False, True], ["standard", "strict"]):
    for name, left in operands([*DTYPES, *NARROW]).items():

        def add_to_all(left=left, x64=x64, mode=mode, name=name):
            with jax.enable_x64(x64), jax.numpy_dtype_promotion(mode):
                return row(left, operands(DTYPES + NARROW), jnp.add)

        bits = 64 if x64 else 32
        programs.add(f"add_{mode}_{bits}_{name.replace(' ', '_')}", add_to_all)


for name in DTYPES + NARROW:

    def promote_types(left=name):
        def common(right):
            return show(attempt(lambda: str(jnp.promote_types(dtype(left), dtype(right)))))

        return ", ".join(f"{right} {common(right)}" for right in DTYPES + NARROW)

    def unary(name=name):
        x = jax.ShapeDtypeStruct((2,), dtype(name))
        functions = (
            "negative positive absolute sin sqrt exp log1p floor sign square invert "
            "logical_not isnan real imag conj reciprocal cbrt"
        )
        return ", ".join(
            f"{f} {outcome(lambda f=f: jax.eval_shape(getattr(jnp, f), x))}"
            for f in functions.split()
        )

    def reductions(name=name):
        x = jax.ShapeDtypeStruct((2,), dtype(name))
        functions = "sum prod max min mean any all cumsum argmax std var"
        return ", ".join(
            f"{f} {outcome(lambda f=f: jax.eval_shape(getattr(jnp, f), x))}"
            for f in functions.split()
        )

    programs.add(f"promote_types_{name}", promote_types)
    if "int2" not in name and "int4" not in name:  # many of which fail in JAX
        programs.add(f"unary_{name}", unary)
        programs.add(f"reductions_{name}", reductions)


@programs
def result_types():
    arguments = [
        (1, 2.0),
        (1, np.float16(1)),
        (np.int8(1), 1.5),
        (jnp.float32(1), 1j),
        (True, 1),
        (np.zeros(2, np.int64), 1.0),
        (jnp.zeros(2, jnp.bfloat16), jnp.ones(2, jnp.float16)),
        (jnp.asarray(1), jnp.asarray(2.0)),
        ("int8", "uint8"),
        (jnp.int32, float),
        (bool, int, complex),
        (jnp.bfloat16, 3),
    ]
    return [str(jnp.result_type(*a)) for a in arguments] + [
        str(jnp.promote_types(a, b)) for a, b in [("i4", "u4"), ("f2", "i8"), ("?", "i1")]
    ]


@programs
def scalars_become_arrays():
    values = [True, 1, 1.0, 1j, np.float32(1), np.float64(1), np.int8(3), np.bool_(True)]
    return [jnp.asarray(v) for v in values] + [jnp.array(v) for v in values[:4]]


@programs
def lists_become_arrays():
    values = [[1, 2], [1, 2.5], [True, False], [1, 2j], [], [[]], [[1], [2]], [1, True]]
    return [jnp.array(v) for v in values] + [jnp.asarray(v) for v in values]


@programs
def explicit_dtypes():
    kinds = [int, float, bool, complex, "int8", jnp.uint8, np.float16, jnp.bfloat16]
    return [jnp.array([0, 1], k) for k in kinds] + [jnp.zeros(1, k) for k in kinds]


@programs
def conversions():
    x = jnp.array([-1.5, 0.0, 2.7])
    kinds = [int, "int8", bool, "float16", jnp.bfloat16, complex, "int4"]
    return [x.astype(k) for k in kinds]


@programs
def canonical_dtypes():
    kinds = ["int64", "uint64", "float64", "complex128", "int32", float, int]
    names = [str(jax.dtypes.canonicalize_dtype(k)) for k in kinds]
    with jax.enable_x64(True):
        names += [str(jax.dtypes.canonicalize_dtype(k)) for k in kinds]
        names += [str(jnp.arange(3).dtype), str(jnp.ones(2).dtype), str(jnp.array(1).dtype)]
    return names


@programs
def type_questions():
    kinds = [jnp.bfloat16, jnp.int4, np.float32, jnp.complex64, bool, jnp.uint8]
    families = [np.floating, np.integer, np.inexact, np.number, np.complexfloating]
    return [[bool(jnp.issubdtype(k, f)) for f in families] for k in kinds]


@programs
def type_limits():
    floats = [jnp.bfloat16, jnp.float16, jnp.float32, jnp.float8_e4m3fn]
    ints = [jnp.int8, jnp.uint16, jnp.int32, jnp.int4]
    return [float(getattr(jnp.finfo(k), n)) for k in floats for n in ("max", "eps")] + [
        int(getattr(jnp.iinfo(k), n)) for k in ints for n in ("min", "max")
    ]
