"""`sparsify`: functions of dense arrays applied to sparse ones."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.experimental import sparse
from minijax.experimental.sparse import BCOO, BCSR, sparsify

M = np.array([[0.0, 1, 0], [2, 0, 3]], np.float32)
V = np.arange(1.0, 4, dtype=np.float32)


def steps(m):
    return lax.fori_loop(0, 3, lambda i, c: c * 2.0, m)


def until(m):
    return lax.while_loop(lambda c: c.sum() < 100, lambda c: 2 * c, m)


def rows(m):
    return lax.scan(lambda c, x: (c * x, c.sum()), m, V)


def sparse_rows(m):
    return lax.scan(lambda c, row: (c + row.sum(), 2 * row), 0.0, m)


def chosen(m):
    return lax.cond(m.sum() > 3, lambda c: c * 2.0, lambda c: -c, m)


@mj.custom_jvp
def doubled(x):
    return x * 2


doubled.defjvps(lambda t, out, x: 2 * t)


def to_dense(x):
    return sparse.todense(x) if isinstance(x, BCOO) else x


ROWS = {
    "product": lambda m: 2 * m.T @ (m @ V),
    "rule of a call": mj.jit(lambda m: (m @ V, m.T, jnp.sin(m))),
    "remat": mj.checkpoint(lambda m: jnp.tanh(m) * 3),
    "own derivative": doubled,
    "loop": steps,
    "until": until,
    "scan over dense rows": rows,
    "choice": chosen,
    "tree": lambda m: {"a": [m, m * 2.0], "b": 3.0},
    "joined": lambda m: jnp.concatenate([m, m + m]),
    "stacked": lambda m: jnp.stack([m, -m], 1),
    "mean": lambda m: m.mean(0),
    "einsum": lambda m: jnp.einsum("ij,j->i", m, V),
    "made dense": lambda m: sparse.todense(m) + 1,
    "rounded": lambda m: jnp.floor(m / 2),
}


@pytest.mark.parametrize("use_tracer", [False, True])
def test_sparse_and_dense_agree(use_tracer):
    m = BCOO((jnp.array([1.0, 2, 3]), jnp.array([[0, 1], [1, 0], [1, 2]])), shape=(2, 3))

    def both(m, x):
        lifted = {n: sparsify(f, use_tracer)(m) for n, f in ROWS.items()}
        is_sparse = lambda y: isinstance(y, BCOO)
        result = mj.tree.map(sparse.todense, lifted, is_leaf=is_sparse)
        return result, {n: f(x) for n, f in ROWS.items()}

    result, expected = mj.jit(both)(m, M)
    assert mj.tree.structure(result) == mj.tree.structure(expected)
    for (path, a), b in zip(
        mj.tree.leaves_with_path(result), mj.tree.leaves(expected), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-6, err_msg=mj.tree_util.keystr(path))


def test_eager_calls_and_gradients():
    m = BCOO.fromdense(M)
    total = sparsify(lambda m, v: (jnp.sin(m) @ v).sum())
    slope = sparse.grad(total)(m, V)
    expected = mj.grad(lambda x: (jnp.sin(x) @ V).sum())(M)
    np.testing.assert_allclose(slope.todense(), np.where(M, expected, 0), rtol=1e-6)
    batch = BCOO.fromdense(np.stack([M, 2 * M]), n_batch=1)
    lanes = mj.vmap(total, (0, None))(batch, V)
    np.testing.assert_allclose(lanes, (np.sin(np.stack([M, 2 * M])) @ V).sum(1), rtol=1e-6)


def test_rows_of_a_batch_are_scanned():
    batch = BCOO.fromdense(np.stack([M, 2 * M]), n_batch=1)
    total, doubled = sparsify(sparse_rows)(batch)
    assert total == 18 and doubled.n_batch == 1
    np.testing.assert_array_equal(doubled.todense(), 2 * np.stack([M, 2 * M]))


def test_by_rows():
    m = BCSR.fromdense(M)
    out = sparsify(lambda m: (m @ V, jnp.abs(-m), jnp.concatenate([m, m]), m**2))(m)
    dense = [x if isinstance(x, mj.Array) else x.todense() for x in out]
    for a, b in zip(dense, [M @ V, M, np.concatenate([M, M]), M**2], strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(NotImplementedError, match="sparse rule for add is not implemented"):
        sparsify(lambda m: m + m)(m)


def test_dense_arguments_are_concrete_with_use_tracer():
    m = BCOO.fromdense(M)
    fun = lambda m, k: m * k if k > 0 else m
    np.testing.assert_array_equal(sparsify(fun, use_tracer=True)(m, 2.0).todense(), 2 * M)
    with pytest.raises(mj.errors.TracerBoolConversionError):
        sparsify(fun)(m, 2.0)
    with pytest.raises(mj.errors.TracerBoolConversionError):
        sparsify(lambda m: 1 if m.sum(0)[0] else 2)(m)


def test_bools():
    x, y = M > 0, M > 1
    m, n = BCOO.fromdense(x), BCOO.fromdense(y)
    run = mj.jit(lambda m, n: [to_dense(z) for z in (m * n, m + n, m * m, m + m, m * y, m + y)])
    expected = [x & y, x | y, x, x, x & y, x | y]
    for result, expected_values in zip(run(m, n), expected, strict=True):
        assert result.dtype == bool
        np.testing.assert_array_equal(result, expected_values)
    with pytest.raises(NotImplementedError, match="sparse rule for and is not"):
        sparsify(jnp.bitwise_and)(BCOO.fromdense(M.astype(int)), 1)


@pytest.mark.parametrize(
    ("fun", "text"),
    [
        (jnp.cos, "sparse rule for cos is not implemented because it would"),
        (lambda m: m**-2, "with non-positive exponent -2"),
        (lambda m: jnp.sort(m), "sparse rule for sort is not implemented"),
        (lambda m: m + m[0], "different shapes"),
    ],
)
def test_dense_results_raise(fun, text):
    with pytest.raises(NotImplementedError, match=text):
        sparsify(fun)(BCOO.fromdense(M))


def test_loops_and_branches_preserve_layouts():
    m = BCOO.fromdense(M)
    with pytest.raises(TypeError, match="stored in the same way"):
        sparsify(lambda m: lax.fori_loop(0, 2, lambda i, c: c[::-1] + m, m))(m)
    with pytest.raises(TypeError, match="branches to have the same layout"):
        sparsify(lambda m: lax.cond(True, lambda c: c * 2.0, lambda c: c[::-1] + c, m))(m)
