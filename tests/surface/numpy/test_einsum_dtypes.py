"""einsum and products of Booleans, integers and mixed dtypes; labels that repeat.

Booleans are multiplied by `and`, and summed by `or`: NumPy's semantics of bool arrays.
"""

import numpy as np
import pytest
from against_numpy import close

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

A = np.array([[1, 0, 1], [0, 0, 1]], bool)
B = np.array([[0, 1, 0], [0, 1, 1]], bool)
SQUARE = np.array([[1, 0], [1, 1]], bool)
V = np.array([1, 0, 1], bool)
I8 = np.array([[100, 100]], np.int8)

LOGICAL = [
    ("ij,ij->ij", A, B),
    ("ij,ij->i", A, B),
    ("ij,ij->", A, B),
    ("ij,kj->ik", A, B),
    ("ij,kj->jk", A, B),
    ("ij,j->i", A, V),
    ("ij,ij->ji", A, B),
    ("i,j->ij", V, V),
    ("ij,kl->il", A, B),
    ("ij->j", A),
    ("ii", SQUARE),
    ("ii->i", SQUARE),
    ("i,i,i->", V, V, V),
    ("ii,ij->ij", SQUARE, A),
]


@pytest.mark.parametrize("case", LOGICAL, ids=lambda c: c[0])
def test_einsum_of_bools_is_logical(case):
    subscripts, *operands = case
    got = jnp.einsum(subscripts, *map(jnp.asarray, operands))
    expected = np.einsum(subscripts, *(x.astype(int) for x in operands)) > 0
    assert got.dtype == bool
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", ["outer", "kron", "inner", "dot", "matmul", "vdot"])
def test_products_of_bools_are_logical(name):
    got = getattr(jnp, name)(jnp.asarray(SQUARE), jnp.asarray(~SQUARE))
    expected = getattr(np, name)(SQUARE.astype(int), (~SQUARE).astype(int)) > 0
    assert got.dtype == bool
    np.testing.assert_array_equal(got, expected)
    if name not in ("matmul", "vdot"):
        assert getattr(jnp, name)(True, False).dtype == bool


def test_sums_are_in_the_dtype_of_the_result():
    for dtype in (np.int32, np.float32, np.complex64):
        got = jnp.einsum("ij->i", I8, preferred_element_type=dtype)
        assert got.dtype == dtype and got.tolist() == [200]
        got = jnp.einsum("ij->i", A, preferred_element_type=dtype)
        assert got.dtype == dtype and got.tolist() == [2, 1]
    ones = np.ones((2, 2), np.float32)
    close(jnp.einsum("ij,kl->il", A, ones), [[4, 4], [2, 2]])
    close(jnp.einsum("ij,kl->il", I8, ones), [[400, 400]])
    assert jnp.einsum("ij->i", I8).tolist() == [-56]  # as integers wrap


def test_too_narrow_sums_are_refused():
    for x, y, dtype in [
        ("complex64", "complex64", "bfloat16"),
        ("int32", "int32", "int8"),
        ("uint32", "uint32", "bfloat16"),
        ("complex64", "float32", "int8"),
    ]:
        for subscripts in ("i,i->i", "i,i->", "i,j->ij"):
            with pytest.raises(TypeError, match="must not be narrower"):
                jnp.einsum(
                    subscripts, jnp.ones(2, x), jnp.ones(2, y), preferred_element_type=dtype
                )
    assert jnp.einsum("i,i->i", V, V * 1.0, preferred_element_type=bool).dtype == bool


def test_repeated_labels_of_axes_of_different_sizes():
    """Recorded from JAX 0.10.2: NumPy refuses these."""
    row, weights = jnp.array([[1.0, 2.0, 3.0]]), jnp.array([2.0, 3.0, 4.0])
    assert jnp.einsum("ii->i", row).tolist() == [1, 0, 0]
    assert jnp.einsum("ii->i", row.T).tolist() == [1]
    assert jnp.einsum("ii,i->i", row, weights).tolist() == [2, 6, 12]
    wide = jnp.einsum("iij->ij", jnp.arange(6.0).reshape(1, 2, 3))
    assert wide.tolist() == [[0, 1, 2], [0, 0, 0]]
    slope = mj.grad(lambda x: (jnp.einsum("ii->i", x) * weights).sum())(row)
    assert slope.tolist() == [[2, 0, 0]]
    with pytest.raises(ValueError):
        jnp.einsum("ii", jnp.ones((2, 3)))
    close(jnp.einsum("i1", A * 1.0), (A * 1.0).T)  # labels in order; 1 is before i


def test_vectors_and_matrices_of_different_sizes():
    for name, shapes in [
        ("matvec", [(2, 3), (1,)]),
        ("vecmat", [(1,), (3, 2)]),
        ("matvec", [(2, 3), (0,)]),
    ]:
        with pytest.raises(ValueError, match="inconsistent size for core dimension"):
            getattr(jnp, name)(*map(jnp.ones, shapes))


@pytest.mark.parametrize("subscripts", ["a,a->a", "ab,ab->ba", "ab,b->ab", "a,a->"])
def test_a_product_of_the_users_is_called_for_each_pair(subscripts):
    calls = []

    def product(*args, **options):
        calls.append(args[2])
        return lax.dot_general(*args, **options)

    inputs = subscripts.partition("->")[0].split(",")
    xs = [np.arange(1.0, 1 + 2 ** len(s)).reshape((2,) * len(s)) for s in inputs]
    got = jnp.einsum(subscripts, *xs, _dot_general=product)
    close(got, np.einsum(subscripts, *xs))
    assert len(calls) == 1
