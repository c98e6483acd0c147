"""Dtypes that libraries make, with rules of their own: how they convert, add, and are zero.

The one here adds by maximum, as flax's of scales of float8 does.
"""

import dataclasses
from typing import Any

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from minijax import lax
from minijax.dtypes import extended, prng_key
from minijax.types.avals import shaped
from minijax.types.dtypes import ExtendedDType
from minijax.views.numbers import EArray

F32 = np.dtype(np.float32)


class Rules:
    @staticmethod
    def physical_element_aval(dtype):
        return shaped((), dtype.of)

    @staticmethod
    def convert_from(ours, other):
        return ours.of == other

    @staticmethod
    def convert_to(other, ours):
        return ours.of == other

    @staticmethod
    def add(dtype, x, y):
        return to(lax.max(number(x), number(y)))

    @staticmethod
    def zero(dtype):
        return to(np.float32(-np.inf))

    @staticmethod
    def tangent_dtype(dtype):
        return dtype

    @staticmethod
    def full(shape, value, dtype):
        return to(lax.full(shape, value, dtype.of))


class maximum(extended):
    pass


@dataclasses.dataclass(frozen=True)
class Maximum(ExtendedDType):
    of: Any
    _rules: type = Rules
    type: type = maximum
    name: str = "max32"

    def __repr__(self):
        return self.name


MAX = Maximum(F32)
X = jnp.array([1.0, -2.0, 3.0])
W = jnp.array([1.0, 2.0, 7.0])


def to(x):
    return lax.convert_element_type(x, MAX)


def number(x):
    return lax.convert_element_type(x, F32)


def test_arrays_of_a_dtype_that_a_library_made():
    x = to(X)
    assert (x.shape, x.dtype, x.dtype.itemsize) == ((3,), MAX, 4)
    assert str(jax.typeof(x)) == "max32[3]"
    assert isinstance(x, jax.Array) and isinstance(x, EArray)
    assert not isinstance(jax.random.key(0), EArray)
    assert number(EArray(jax.typeof(x), X)).tolist() == X.tolist()
    assert jnp.issubdtype(MAX, maximum) and not jnp.issubdtype(MAX, prng_key)
    with pytest.raises(TypeError, match="max32 cannot be converted to a NumPy"):
        np.asarray(x)


@pytest.mark.parametrize(
    ("fun", "expected"),
    [
        (lambda x: x, [1, -2, 3]),
        (lambda x: x[1:], [-2, 3]),
        (lambda x: x.reshape(3, 1), [[1], [-2], [3]]),
        (lambda x: jnp.where(X > 0, x, to(2 * X)), [1, -4, 3]),
        (lambda x: jnp.concatenate([x[:1], x]), [1, 1, -2, 3]),
        (lambda x: jax.vmap(lambda v: lax.full_like(v, 5.0))(x), [5, 5, 5]),
    ],
)
def test_operations_that_only_move_elements(fun, expected):
    assert number(jax.jit(fun)(to(X))).tolist() == expected


@pytest.mark.parametrize(("start", "dtype"), [(to(X), "int32"), (jnp.arange(3), MAX)])
def test_only_conversions_that_the_rules_allow(start, dtype):
    with pytest.raises(ValueError, match="Cannot convert_element_type from"):
        lax.convert_element_type(start, dtype)


def test_cotangents_are_added_by_the_rules():
    def twice(x):
        return (number(to(x)) * W).sum() + (number(to(x)) * 5).sum()

    def shared(x):
        m = to(x)
        return (number(m) * W).sum() + (number(m) * 5).sum()

    def steps(x):
        m = to(x)
        step = lambda c, k: (c + (number(m) * k).sum(), None)
        return lax.scan(step, 0.0, jnp.array([1.0, 7.0, 3.0]))[0]

    assert jax.grad(twice)(X).tolist() == [6, 7, 12]
    assert jax.grad(shared)(X).tolist() == [5, 5, 7]
    assert jax.jit(jax.grad(shared))(X).tolist() == [5, 5, 7]
    assert jax.grad(steps)(X).tolist() == [7, 7, 7]
    out, moved = jax.jvp(lambda x: number(to(x)) * 2, (X,), (W,))
    assert (out.tolist(), moved.tolist()) == ([2, -4, 6], [2, 4, 14])


def test_tangents_of_another_dtype():
    small = jax.experimental.primal_tangent_dtype("int8", "bfloat16")
    same = jax.experimental.primal_tangent_dtype(jnp.int8, jnp.bfloat16)
    assert small == same and repr(small) == "PrimalTangentDType{i8/bf16}"
    assert repr(jax.experimental.primal_tangent_dtype("int8", "float32", "q")) == "q"

    @jax.custom_vjp
    def f(q):
        return lax.convert_element_type(q, "int8").astype("bfloat16")

    f.defvjp(lambda q: (f(q), None), lambda _, ct: (ct * 2,))
    x = lax.convert_element_type(jnp.arange(3, dtype="int8"), small)
    out, back = jax.vjp(lambda q: f(q) * f(q), x)
    assert out.tolist() == [0, 1, 4]
    (ct,) = back(jnp.ones(3, "bfloat16"))
    assert (ct.dtype, ct.tolist()) == (jnp.bfloat16, [0, 4, 8])
    wide = jax.experimental.primal_tangent_dtype("float32", "bfloat16")
    through = lambda x: lax.convert_element_type(lax.convert_element_type(x, wide), F32)
    assert jax.grad(lambda x: (through(x) * W).sum())(X).tolist() == W.tolist()
    assert jax.jvp(through, (X,), (X * 1.001,))[1].tolist() == X.tolist()  # rounded
