"""What functions of integers give at the ends of their ranges, as text, a line each.

    python tests/parity/integers.py jax > tests/parity/integers.txt   # records JAX 0.10.2

Every pair of a few numbers goes through each function of two, every number through each
of one: overflow, division by zero, shifts by the width and more, conversions.
"""

import importlib
import itertools
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

DTYPES = ("int8", "int32", "int64", "uint8", "uint32", "uint64", "bool")
KINDS = ("bool", "int8", "uint8", "int32", "uint32", "float32", "bfloat16", "complex64")
ONE = """
    lax.abs lax.sign lax.neg lax.bitwise_not lax.population_count lax.clz numpy.abs
    numpy.sign numpy.negative numpy.invert numpy.bitwise_count numpy.square numpy.sqrt
    numpy.positive numpy.logical_not numpy.reciprocal numpy.exp2 numpy.round
    numpy.isfinite numpy.signbit numpy.cumsum numpy.cumprod numpy.sum numpy.prod
    numpy.max numpy.argmin numpy.mean numpy.sort numpy.ptp numpy.diff
""".split()
TWO = """
    lax.add lax.sub lax.mul lax.div lax.rem lax.max lax.min lax.bitwise_and
    lax.bitwise_or lax.bitwise_xor lax.shift_left lax.shift_right_logical
    lax.shift_right_arithmetic numpy.add numpy.multiply numpy.floor_divide
    numpy.remainder numpy.fmod numpy.true_divide numpy.float_power numpy.power
    numpy.left_shift numpy.right_shift numpy.less numpy.heaviside numpy.hypot numpy.isclose
    numpy.logical_xor numpy.maximum numpy.copysign
    numpy.logaddexp numpy.arctan2 numpy.ldexp
""".split()
FLOATS = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.5,
    -1.5,
    127.5,
    128.0,
    -128.5,
    -129.0,
    255.5,
    256.0,
    2.0**31,
    -(2.0**31),
    2.0**32,
    2.0**63,
    -(2.0**63),
    2.0**64,
    np.inf,
    -np.inf,
    np.nan,
]


def numbers(dtype: str) -> np.ndarray[Any, Any]:
    """The numbers at which integers are tried."""
    if dtype == "bool":
        return np.array([False, True])
    low, high, width = (
        int(np.iinfo(dtype).min),
        int(np.iinfo(dtype).max),
        np.iinfo(dtype).bits,
    )
    few = {low, low + 1, -2, -1, 0, 1, 2, 3, width - 1, width, width + 1, high}
    return np.array(sorted(x for x in few if low <= x <= high), dtype)


def functions(jax: Any) -> dict[str, Callable[..., Any]]:
    """Name -> function of (each number, pairs' left, pairs' right)."""
    jnp, lax = jax.numpy, jax.lax
    by_name: dict[str, Callable[..., Any]] = {}
    for name in (*ONE, *TWO):
        fun = operator.attrgetter(name)(jax)
        if name in ONE:
            by_name[name] = lambda x, a, b, f=fun: f(x)
        else:
            by_name[name] = lambda x, a, b, f=fun: f(a, b)
    for kind in KINDS:
        by_name[f"to {kind}"] = lambda x, a, b, kind=kind: x.astype(kind)
    for name in ("gcd", "lcm"):  # of the least number JAX never finds one
        f = getattr(jnp, name)
        by_name[name] = lambda x, a, b, f=f: f(
            *(v if v.dtype.kind == "u" else jnp.maximum(v, -99) for v in (a, b))
        )
    by_name["cube"] = lambda x, a, b: lax.integer_pow(x, 3)
    by_name["round tens"] = lambda x, a, b: jnp.round(x, -1)
    by_name["clip"] = lambda x, a, b: jnp.clip(x, 1, 2)
    by_name["divmod"] = lambda x, a, b: jnp.stack(jnp.divmod(a, b))
    by_name["half"] = lambda x, a, b: (x + x.dtype.type(1)) // 2
    by_name["power of naturals"] = lambda x, a, b: a ** jnp.maximum(b, 0)
    return by_name


def results(jax: Any) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Function and dtype -> what it gives; those that refuse the dtype are left out."""
    for dtype in DTYPES:
        x = jax.numpy.asarray(numbers(dtype))
        pairs = zip(*itertools.product(numbers(dtype), numbers(dtype)), strict=True)
        a, b = (jax.numpy.asarray(np.array(v, dtype)) for v in pairs)
        usable = {}
        for name, fun in functions(jax).items():
            try:
                jax.eval_shape(fun, x, a, b)
            except (TypeError, ValueError, OverflowError, NotImplementedError):
                continue
            usable[name] = fun
        for i in range(0, len(usable), 12):
            names = list(usable)[i : i + 12]
            run = lambda *args, fs=[usable[n] for n in names]: [f(*args) for f in fs]
            for name, value in zip(names, jax.jit(run)(x, a, b), strict=True):
                yield f"{name} {dtype}", value
    for dtype in ("float32", "float16"):
        with np.errstate(over="ignore"):
            x = jax.numpy.asarray(np.array(FLOATS, dtype))
        kinds = [d for d in DTYPES if d != "bool"]
        converted = jax.jit(lambda x, kinds=kinds: [x.astype(k) for k in kinds])(x)
        for kind, value in zip(kinds, converted, strict=True):
            yield f"{dtype} to {kind}", value


def text(value: Any) -> str:
    """A result as text: dtype, then numbers; floats with as many digits as are sure."""
    flat = np.asarray(value).ravel()
    if flat.dtype.kind in "biu":
        return f"{value.dtype}: {' '.join(map(str, flat.astype(object).tolist()))}"
    wide = flat.astype(np.complex128 if flat.dtype.kind == "c" else np.float64)
    return f"{value.dtype}: {' '.join(f'{v:.5g}' for v in wide.tolist())}"


def lines(jax: Any) -> dict[str, str]:
    """Everything, with 64-bit types on."""
    with jax.enable_x64(True):
        return {name: text(value) for name, value in results(jax)}


if __name__ == "__main__":
    for name, line in lines(importlib.import_module(sys.argv[1])).items():
        print(f"{name} -> {line}")
