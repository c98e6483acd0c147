"""BCSR, COO, CSR and CSC arrays, their constructors, and derivatives by all formats."""

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import minijax as mj
import minijax.numpy as jnp
from minijax.experimental import sparse
from minijax.experimental.sparse import BCOO, BCSR, COO, CSC, CSR

sys.path.insert(0, str(Path(__file__).parents[2]))
from laws import obeys

FORMATS = {"bcoo": BCOO, "bcsr": BCSR, "coo": COO, "csr": CSR, "csc": CSC}
M = np.array([[0.0, 1, 0, 4], [2, 0, 3, 0], [0, 0, 0, 0]], np.float32)
V, W = np.arange(1.0, 5), np.arange(8.0).reshape(4, 2)


def rebuilt(m, data):
    leaves, known = m.tree_flatten()
    return type(m).tree_unflatten(known, (data, *leaves[1:]))


@pytest.mark.parametrize("name", FORMATS)
def test_formats_agree_with_dense_arrays(name):
    m = FORMATS[name].fromdense(M)
    more = FORMATS[name].fromdense(M, nse=6)
    assert repr(m) == f"{name.upper()}(float32[3, 4], nse=4)"
    assert (m.shape, m.ndim, m.size, len(m), m.nse, more.nse) == ((3, 4), 2, 12, 3, 4, 6)
    both = mj.jit(lambda m, more: (m.todense(), more.todense(), m @ V, more @ W))
    full, repeated, vector, matrix = both(m, more)
    np.testing.assert_array_equal(full, M)
    np.testing.assert_array_equal(repeated, M)
    np.testing.assert_array_equal(vector, M @ V)
    np.testing.assert_array_equal(matrix, M @ W)
    np.testing.assert_array_equal(sparse.todense(m), M)
    if name != "bcsr":
        np.testing.assert_array_equal(m.T.todense(), M.T)


@pytest.mark.parametrize("name", ["bcsr", "coo", "csr"])
def test_transformations(name):
    """Derivatives by the data and the dense operand, and batches of both."""
    m = FORMATS[name].fromdense(M, nse=5)

    def fun(data, w):
        x = rebuilt(m, data)
        return sparse.todense(x), x @ w

    obeys(fun, np.asarray(m.data), W, exact=False)


def test_fromdense_is_linear():
    for cls in FORMATS.values():
        back = lambda x, cls=cls: (cls.fromdense(x, nse=5).todense() * W[:3, :1]).sum()
        slope = mj.grad(back)(jnp.asarray(M))
        np.testing.assert_array_equal(slope, np.where(M, W[:3, :1], 0))


def test_rows_are_batched_and_dense():
    x = np.stack([M, 2 * M[::-1]])
    m = BCSR.fromdense(x, n_batch=1)
    assert repr(m) == "BCSR(float32[2, 3, 4], nse=4, n_batch=1)"
    deep = BCSR.fromdense(x.transpose(1, 2, 0), n_dense=1)
    one = BCSR.fromdense(M)

    def run(m, deep, one):
        joined = sparse.bcsr_concatenate([one, one], dimension=1)
        wide = sparse.bcsr_broadcast_in_dim(one, shape=(2, 3, 4), broadcast_dimensions=(1, 2))
        return {
            "dense": (m.todense(), x),
            "product": (m @ V, x @ V),
            "lanes": (mj.vmap(lambda row: row @ V)(m), x @ V),
            "coordinates": (m.to_bcoo().todense(), x),
            "and back": (BCSR.from_bcoo(m.to_bcoo()).todense(), x),
            "dense axes": (deep.todense(), x.transpose(1, 2, 0)),
            "joined": (joined.todense(), np.concatenate([M, M], 1)),
            "broadcast": (wide.todense(), np.stack([M, M])),
        }

    for name, (result, expected) in mj.jit(run)(m, deep, one).items():
        np.testing.assert_array_equal(result, expected, err_msg=name)
    assert BCSR.fromdense(M, nse=6).sum_duplicates().nse == 4


def test_elements_after_the_last_row_are_padding():
    parts = jnp.ones(3), jnp.array([0, 1, 2]), jnp.array([0, 1, 1])
    assert BCSR(parts, shape=(2, 3)).todense().tolist() == [[1, 0, 0], [0, 0, 0]]
    assert CSR(parts, shape=(2, 3)).todense().tolist() == [[1, 0, 0], [0, 0, 0]]


def test_conversions():
    for k in (-1, 0, 2):
        for name in FORMATS:
            m = sparse.eye(3, 4, k, sparse_format=name)
            np.testing.assert_array_equal(m.todense(), np.eye(3, 4, k))
        for n_batch, n_dense in ((0, 1), (0, 2), (1, 0), (1, 1), (2, 0)):
            m = sparse.eye(3, 4, k, n_batch=n_batch, n_dense=n_dense)
            assert (m.n_batch, m.n_dense) == (n_batch, n_dense)
            np.testing.assert_array_equal(m.todense(), np.eye(3, 4, k))
    for name in FORMATS:
        m = sparse.empty((2, 3), "int16", sparse_format=name)
        assert m.nse == 0 and m.dtype == np.int16
        assert not m.todense().any()
    with pytest.raises(ValueError, match="sparse_format='csx' not recognized"):
        sparse.eye(3, sparse_format="csx")
    s = scipy.sparse.csr_matrix(M)
    for cls in (BCOO, BCSR):
        np.testing.assert_array_equal(cls.from_scipy_sparse(s).todense(), M)


def test_random():
    """The bits were recorded from JAX 0.10.2."""
    key = mj.random.key(0)
    m = sparse.random_bcoo(key, (4, 5), nse=3, dtype="float32", indices_dtype="int16")
    assert m.indices.tolist() == [[0, 0], [0, 3], [1, 4]] and m.indices.dtype == np.int16
    np.testing.assert_allclose(m.data, [0.84231412, 0.18237865, 0.2271781], rtol=1e-6)
    m = sparse.random_bcoo(
        key, (2, 3, 2), nse=0.5, n_batch=1, n_dense=1, sorted_indices=True, dtype="float32"
    )
    assert m.indices.tolist() == [[[0], [1]]] * 2 and m.data.shape == (2, 2, 2)
    with pytest.raises(ValueError, match="expected to be between 0 and 6"):
        sparse.random_bcoo(key, (2, 3), nse=7)


@pytest.mark.parametrize("name", FORMATS)
def test_derivatives_by_sparse_arguments(name):
    m = FORMATS[name].fromdense(M)
    fun = lambda m, v: ((m @ v) ** 2).sum()
    value, (by_m, by_v) = sparse.value_and_grad(fun, (0, 1))(m, V.astype(np.float32))
    slope, other = mj.grad(fun, (0, 1))(jnp.asarray(M), V.astype(np.float32))
    np.testing.assert_allclose(value, ((M @ V) ** 2).sum(), rtol=1e-6)
    assert type(by_m) is FORMATS[name] and by_m.nse == m.nse
    np.testing.assert_allclose(by_m.todense(), np.where(M, slope, 0), rtol=1e-6)
    np.testing.assert_allclose(by_v, other, rtol=1e-6)
    out = {"a": jnp.asarray(V, np.float32), "b": m}
    for jac in (sparse.jacfwd, sparse.jacrev):
        result = jac(lambda d: d["b"] @ d["a"])(out)
        # d (M v)_i / d M_jk = v_k where i = j, of stored elements.
        expected = np.einsum("ij,k,jk->ijk", np.eye(3), V, M != 0)
        np.testing.assert_allclose(result["b"].todense(), expected)
        np.testing.assert_allclose(result["a"], M)
    with pytest.raises(TypeError, match="needs dense results"):
        sparse.jacrev(lambda m: m)(m)


def test_auxiliary_results():
    m = BCOO.fromdense(M)
    slope, aux = sparse.grad(lambda m: ((m @ V).sum(), "text"), has_aux=True)(m)
    np.testing.assert_array_equal(slope.todense(), np.where(M, V, 0))
    assert aux == "text"
    with pytest.raises(ValueError, match="got only 1 positional arguments"):
        sparse.grad(lambda m: m.sum(), argnums=1)(m)
