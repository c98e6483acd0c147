"""Operators, methods and properties, of arrays and of tracers."""

import operator

import numpy as np
import pytest
from against_numpy import close, same

import minijax as mj
import minijax.numpy as jnp

X = np.arange(1, 13, dtype=np.float32).reshape(4, 3)
K = np.arange(1, 13, dtype=np.int32).reshape(4, 3)

BINARY = "add sub mul truediv floordiv mod pow".split()
BITS = "and_ or_ xor lshift rshift".split()
COMPARE = "eq ne lt le gt ge".split()


@pytest.mark.parametrize("name", BINARY + COMPARE)
def test_operators(name):
    op = getattr(operator, name)
    x = jnp.asarray(X)
    for y in (X[::-1], X[0], np.float32(2), 2, 3.0, True):
        other = jnp.asarray(y) if isinstance(y, np.ndarray) else y
        with np.errstate(all="ignore"):
            forward, backward = op(X, y), op(y, X)
        for f, expected in (
            (lambda a, b: op(a, b), forward),
            (lambda a, b: op(b, a), backward),
        ):
            got, jitted = f(x, other), mj.jit(lambda a, f=f, o=other: f(a, o))(x)
            close(got, expected, 1e-4)
            close(jitted, expected, 1e-4)
            assert (got.dtype, got.weak_type) == (jitted.dtype, jitted.weak_type)


@pytest.mark.parametrize("name", BITS)
def test_bitwise_operators(name):
    op = getattr(operator, name)
    for y in (K[::-1] % 5, 3):
        close(op(jnp.asarray(K), y), op(K, y))
        close(op(y, jnp.asarray(K) % 5), op(y, K % 5))
    if name[-1] == "_" or name == "xor":
        close(op(jnp.asarray(K > 3), K > 5), op(K > 3, K > 5))


def test_unary_operators_and_rounding():
    x = jnp.asarray(X) / 3 - 1
    n = np.asarray(x)
    same([-x, +x, abs(x)], [-n, n, abs(n)])
    close(~jnp.asarray(K), ~K)
    assert round(x).dtype == jnp.int32
    close(round(x, 1), np.round(n, 1))
    same(divmod(jnp.asarray(K), 5), divmod(K, 5))
    close(jnp.asarray(X) @ X.T, X @ X.T)
    close(X.T @ jnp.asarray(X), X.T @ X)


def test_powers_by_int_are_part_of_the_program():
    (eqn,) = mj.make_jaxpr(lambda x: x**3)(X).eqns
    assert eqn.primitive.name == "integer_pow" and eqn.params["y"] == 3
    close(jnp.asarray(X) ** -1, 1 / X)
    with pytest.raises(TypeError, match="negative"):
        jnp.asarray(K) ** -1


class Overriding:
    """An operand that supports arrays, although arrays do not support it."""

    def __add__(self, other):
        return "left"

    def __radd__(self, other):
        return "right"


@pytest.mark.parametrize("x", [jnp.ones(2), None], ids=["array", "tracer"])
def test_declined_operands(x):
    def run(f):
        return f(x) if x is not None else mj.make_jaxpr(lambda v: _ignore(f(v)))(1.0)

    assert run(lambda v: v + Overriding()) == "right" if x is not None else True
    for bad in ("a", object(), None):
        with pytest.raises(TypeError):
            run(lambda v, bad=bad: v + bad)
    for bad in ([1], (1,), {}, {1}):
        for op in (operator.add, operator.eq, operator.matmul):
            with pytest.raises(TypeError, match="unsupported operand"):
                run(lambda v, bad=bad, op=op: op(v, bad))
    if x is not None:
        assert operator.eq(x, None) is False and (x != "a") is True


def _ignore(_):
    return 0.0


METHODS = [
    ("all", ()),
    ("any", (0,)),
    ("argmax", ()),
    ("argmin", (1,)),
    ("argsort", (0,)),
    ("astype", (np.int32,)),
    ("clip", (2, 5)),
    ("conj", ()),
    ("copy", ()),
    ("cumprod", (1,)),
    ("cumsum", ()),
    ("diagonal", ()),
    ("dot", (X.T,)),
    ("flatten", ()),
    ("max", ()),
    ("mean", (0,)),
    ("min", (1,)),
    ("prod", (1,)),
    ("ravel", ()),
    ("repeat", (2, 1)),
    ("reshape", (3, 4)),
    ("reshape", ((2, -1),)),
    ("round", (1,)),
    ("std", ()),
    ("sum", (0,)),
    ("swapaxes", (0, 1)),
    ("take", (np.array([0, 2]), 1)),
    ("trace", ()),
    ("transpose", ()),
    ("transpose", (1, 0)),
    ("transpose", ((1, 0),)),
    ("var", (1,)),
]


@pytest.mark.parametrize("name, args", METHODS, ids=lambda v: str(v)[:20])
def test_methods(name, args):
    expected = getattr(X, name)(*args)
    close(getattr(jnp.asarray(X), name)(*args), expected, 1e-4)
    close(mj.jit(lambda x: getattr(x, name)(*args))(X), expected, 1e-4)


def test_more_methods():
    x = jnp.asarray(X)
    close(x.sort(axis=0), np.sort(X, 0))
    close(x.ptp(), 11.0)
    close(x[None].squeeze(0), X)
    close(x[0].searchsorted(2.5), 2)
    same(x.nonzero(), X.nonzero())
    close(jnp.array([1, 0]).choose([X[0, :2], X[1, :2]]), [4, 2])
    close(x.compress(jnp.array([True, False, True]), axis=1), X[:, [0, 2]])
    close(x.argpartition(1).shape, X.shape)
    close(x.flatten(order="F"), X.flatten("F"))
    assert x.item(3) == 4.0 and x.to_device(mj.devices()[0]).shape == X.shape
    with pytest.raises(NotImplementedError, match=r"arr\.flat"):
        _ = x.flat


def test_properties():
    z = jnp.asarray(X + 1j * X)
    same([z.real, z.imag, z.T, z[None].mT[0]], [X, X, (X + 1j * X).T, (X + 1j * X).T])
    close(jnp.asarray(X).imag, np.zeros_like(X))
    assert z.nbytes == 96 and z.itemsize == 8
    seen = []
    mj.jit(lambda x: seen.append((x.nbytes, x.itemsize, x.T.shape)) or x)(X)
    assert seen == [(48, 4, (3, 4))]


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "int32", "complex64", "bool"])
def test_view(dtype):
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    expected = x.view(np.uint8) != 0 if dtype == "bool" else x.view(dtype)
    got = jnp.asarray(x).view(dtype)
    assert got.dtype == dtype
    np.testing.assert_array_equal(np.asarray(got), expected)
    close(jnp.asarray(x.view(np.complex64)).view(jnp.float32), x)
    with pytest.raises(ValueError, match="0d"):
        jnp.float32(1).view(jnp.int8)


def test_astype():
    x = jnp.asarray(X)
    assert x.astype(None).dtype == x.dtype and x.astype("bfloat16").dtype == jnp.bfloat16
    assert not jnp.asarray(2.0).astype(float).weak_type
    assert mj.make_jaxpr(lambda x: x.astype(jnp.float32))(X).eqns == []
    with pytest.warns(DeprecationWarning, match="complex to real dtypes will soon raise"):
        assert jnp.asarray(X + 1j).astype(float).dtype == jnp.float32
    close(jnp.astype(jnp.array([0.5, 0]), bool), [True, False])
