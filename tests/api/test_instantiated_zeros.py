"""Zeros that transformations make are arrays where a user's function meets them.

Inside programs they may be numbers of Python or NumPy.  These lack an array's attributes,
and in NumPy bfloat16 times a number is float32.
"""

import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import custom_jvp, custom_vjp
from minijax.custom_batching import custom_vmap

SEEN = []


def halved(*xs):
    """What a user may do with arrays of any dtype, and with numbers of NumPy may not."""
    SEEN.extend(x.aval.shape for x in xs)
    return tuple([x * 0.5 for x in xs])


@custom_jvp
def with_jvp(x, y):
    return x * y


@with_jvp.defjvp
def _(primals, tangents):
    return with_jvp(*primals), sum(halved(*tangents))


@custom_vjp
def with_vjp(x, y):
    return x * y, x + y


with_vjp.defvjp(lambda x, y: (with_vjp(x, y), None), lambda _, cts: halved(*cts))


@custom_vmap
def with_rule(x, y):
    return x * y


@with_rule.def_vmap
def _(axis_size, in_batched, x, y):
    return x * halved(y)[0], True


TWO = jnp.bfloat16(2)
PROGRAMS = {
    "grad of a constant": lambda x: halved(mj.grad(lambda y: x * 2)(x)),
    "vjp of a constant": lambda x: halved(mj.vjp(lambda y: x * 2, x)[1](x)[0]),
    "jvp of a constant": lambda x: halved(mj.jvp(lambda y: x * 2, (x,), (x,))[1]),
    "linearize": lambda x: halved(mj.linearize(lambda y: x * 2, x)[1](x)),
    "hessian": lambda x: halved(mj.hessian(lambda y: y * 2)(x)),
    "custom_jvp": lambda x: mj.grad(lambda x: with_jvp(x, TWO))(x),
    "custom_vjp": lambda x: mj.grad(lambda x: with_vjp(x, TWO)[0])(x),
    "custom_vmap": lambda x: mj.vmap(lambda x: with_rule(x, TWO))(x[None]),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("through", [lambda f: f, mj.jit, mj.checkpoint])
def test_zeros_are_arrays(program, through):
    SEEN.clear()
    f = PROGRAMS[program]
    out = through(lambda x: f(x))(jnp.bfloat16(1))  # traced anew
    assert SEEN
    assert all(x.dtype == jnp.bfloat16 for x in mj.tree.leaves(out))
