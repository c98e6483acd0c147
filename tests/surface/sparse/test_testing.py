"""The test case for sparse arrays accepts equal arrays and reports differences."""

import numpy as np
import pytest

import minijax.numpy as jnp
from minijax.experimental import sparse
from minijax.experimental.sparse import test_util

# A subclass: pytest would also collect `SparseTestCase` if it were imported by name.
Case = type("Case", (test_util.SparseTestCase,), {"runTest": lambda self: None})


@pytest.mark.parametrize("maker", [test_util.rand_bcoo, test_util.rand_bcsr])
def test_products_pass_and_others_fail(maker):
    case = Case()
    rng = np.random.RandomState(0)
    make, vector = maker(rng, nse=4), test_util.rand_sparse(rng, 2)
    args = lambda: [make((3, 4), np.float32), vector((4,), np.float32)]
    product = sparse.sparsify(lambda m, v: m @ v)
    case._CheckAgainstDense(jnp.matmul, product, args, tol=1e-5)
    case._CheckGradsSparse(jnp.matmul, product, args, rtol=1e-5, atol=1e-5)
    case._CheckBatchingSparse(jnp.matmul, product, args, tol=1e-5, bdims=[0, 1])
    with pytest.raises(AssertionError):
        case._CheckAgainstDense(lambda m, v: 2 * (m @ v), product, args)
    with pytest.raises(AssertionError):
        case._CheckGradsSparse(lambda m, v: m @ v + m @ v, product, args)
    a, b = args()[0], args()[0]
    case.assertSparseArraysEquivalent(a, a)
    with pytest.raises(AssertionError):
        case.assertSparseArraysEquivalent(a, b)


def test_layouts():
    layouts = list(test_util.iter_sparse_layouts((2, 3), min_n_batch=1))
    assert layouts == [(1, 0, 1), (1, 1, 0), (2, 0, 0)]
    for layout in test_util.iter_bcsr_layouts((2, 3, 4)):
        m = test_util.rand_bcsr(
            np.random.RandomState(0), n_batch=layout.n_batch, n_dense=layout.n_dense
        )((2, 3, 4), np.complex64)
        assert (m.n_batch, m.n_dense, m.dtype) == (*layout[:2], np.complex64)
    with pytest.raises(ValueError, match="must have 2 sparse dimensions; 3"):
        test_util.rand_bcsr(np.random.RandomState(0))((2, 3, 4), np.float32)
