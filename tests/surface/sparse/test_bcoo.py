"""Operations on BCOO arrays agree with dense arrays, under all transformations.

All operations on one layout are one compiled program.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.experimental import sparse
from minijax.experimental.sparse import BCOO

sys.path.insert(0, str(Path(__file__).parents[2]))
from laws import obeys

# (shape, number of batch axes, number of dense axes)
LAYOUTS = [((2, 3, 4), 1, 0), ((3, 4, 2), 0, 1)]
EDGES = [
    ((3, 4), 0, 0),
    ((2, 3, 4, 2), 1, 1),
    ((3, 4), 0, 2),
    ((3, 4), 2, 0),
    ((3, 4), 1, 1),
    ((0, 4), 0, 0),
    ((3,), 0, 0),
]


def buffers(shape, n_batch, n_dense, nse=5, seed=0):
    """Return data and unsorted indices, with duplicates and padding."""
    rng = np.random.default_rng(seed)
    n_sparse = len(shape) - n_batch - n_dense
    batch, sizes = shape[:n_batch], shape[n_batch : n_batch + n_sparse]
    index = np.stack(
        [rng.integers(0, max(n, 1), (*batch, nse)) for n in sizes] or [np.zeros((*batch, nse))],
        -1,
    )[..., :n_sparse].astype(np.int32)
    if n_sparse and nse > 3:
        index[..., 0, :] = index[..., 2, :]
        index[..., 1, :] = sizes
    return rng.normal(size=(*batch, nse, *shape[n_batch + n_sparse :])), index


def dense(data, index, shape):
    """Return the dense array, by a loop over the elements."""
    n_batch, nse = index.ndim - 2, index.shape[-2]
    out = np.zeros(shape, data.dtype)
    for batch in np.ndindex(*shape[:n_batch]):
        for i in range(nse):
            at = tuple(index[(*batch, i)])
            if all(a < n for a, n in zip(at, shape[n_batch:], strict=False)):
                out[(*batch, *at)] += data[(*batch, i)]
    return out


def to_dense(x):
    return sparse.todense(x) if isinstance(x, sparse.JAXSparse) else x


def rows(shape, n, n_dense):
    """Return a dict: name -> (function of a sparse array, function of a dense array)."""
    rank, k = len(shape), len(shape) - n - n_dense
    rng = np.random.default_rng(1)
    draw = lambda *s: rng.normal(size=s)
    axes = tuple(range(n))
    order = (*axes, *range(n + k - 1, n - 1, -1), *range(n + k, rank))
    full, last = draw(*shape), draw(*shape[-1:])
    parts = buffers(shape, n, n_dense, seed=2)
    other, same = BCOO(parts, shape=shape), dense(*parts, shape)
    flat = (*shape[:n], 12, *shape[n + k :])
    starts, steps = [1] * rank, [1] * (rank - 1) + [2]
    sizes = [1] * n + [2] * k + [1] * n_dense
    table = {
        "sorted": (sparse.bcoo_sort_indices, lambda x: x),
        "summed": (lambda m: sparse.bcoo_sum_duplicates(m, nse=m.nse), lambda x: x),
        "transposed": (
            lambda m: sparse.bcoo_transpose(m, permutation=order),
            lambda x: x.transpose(order),
        ),
        "all sparse": (lambda m: m.update_layout(n_batch=0, n_dense=0), lambda x: x),
        "more batches": (
            lambda m: m.update_layout(n_batch=n + 1, on_inefficient=None),
            lambda x: x,
        ),
        "more dense": (
            lambda m: m.update_layout(n_dense=n_dense + 1, on_inefficient=None),
            lambda x: x,
        ),
        "slice": (
            lambda m: sparse.bcoo_slice(
                m, start_indices=starts, limit_indices=shape, strides=steps
            ),
            lambda x: lax.slice(x, starts, shape, steps),
        ),
        "dynamic slice": (
            lambda m: sparse.bcoo_dynamic_slice(m, starts, sizes),
            lambda x: lax.dynamic_slice(x, starts, sizes),
        ),
        "times dense": (lambda m: m * full, lambda x: x * full),
        "times a row": (lambda m: last * m, lambda x: x * last),
        "over dense": (lambda m: m / full, lambda x: x / full),
        "times sparse": (lambda m: m * other, lambda x: x * same),
        "sum": (lambda m: m + other, lambda x: x + same),
        "plus dense": (lambda m: m + full, lambda x: x + full),
        "difference": (lambda m: m - other, lambda x: x - same),
        "cube": (lambda m: m**3, lambda x: x**3),
        "root": (lambda m: abs(m) ** 1, abs),
        "reshaped": (lambda m: m.reshape(flat), lambda x: x.reshape(flat)),
        "broadcast": (
            lambda m: sparse.bcoo_broadcast_in_dim(
                m, shape=(2, *shape), broadcast_dimensions=range(1, rank + 1)
            ),
            lambda x: jnp.broadcast_to(x, (2, *shape)),
        ),
        "total": (lambda m: m.sum(), lambda x: x.sum()),
    }
    for a in range(rank):
        table[f"sum over {a}"] = (lambda m, a=a: m.sum(a), lambda x, a=a: x.sum(a))
        table[f"reverse {a}"] = (
            lambda m, a=a: sparse.bcoo_rev(m, (a,)),
            lambda x, a=a: jnp.flip(x, a),
        )
        if a < n + k:
            table[f"joined along {a}"] = (
                lambda m, a=a: sparse.bcoo_concatenate([m, other], dimension=a),
                lambda x, a=a: jnp.concatenate([x, same], a),
            )
    for a in range(n, n + k):
        w = draw(*shape[:n], shape[a], 5)
        dims = (((a,), (n,)), (axes, axes))
        back = (((n,), (a,)), (axes, axes))
        table[f"product over {a}"] = (
            lambda m, w=w, dims=dims: sparse.bcoo_dot_general(m, w, dimension_numbers=dims),
            lambda x, w=w, dims=dims: lax.dot_general(x, w, dims),
        )
        table[f"product from the left over {a}"] = (
            lambda m, w=w, dims=back: sparse.bcoo_dot_general(w, m, dimension_numbers=dims),
            lambda x, w=w, dims=back: lax.dot_general(w, x, dims),
        )
    return table | products(shape, n, n_dense, draw)


def products(shape, n, n_dense, draw):
    k = len(shape) - n - n_dense
    axes, every = tuple(range(n)), tuple(range(n + k))
    w = draw(*shape[: n + k], 2)
    table = {
        "product over all": (
            lambda m: sparse.bcoo_dot_general(
                m, w, dimension_numbers=((every, every), ((), ()))
            ),
            lambda x: lax.dot_general(x, w, ((every, every), ((), ()))),
        )
    }
    if n_dense:
        return table
    parts = buffers((*shape[:n], 4, 3), n, 0, seed=3)
    other, same = (BCOO(parts, shape=(*shape[:n], 4, 3)), dense(*parts, (*shape[:n], 4, 3)))
    one = (((n + 1,), (n,)), (axes, axes))
    two = (((n, n + 1), (n + 1, n)), (axes, axes))
    for name, dims in (("one", one), ("two", two)):
        table[f"sparse product over {name}"] = (
            lambda m, dims=dims: sparse.bcoo_dot_general(m, other, dimension_numbers=dims),
            lambda x, dims=dims: lax.dot_general(x, same, dims),
        )
    a, b = draw(*shape[:n], 3, 2), draw(*shape[:n], 2, 4)
    table["sampled"] = (
        lambda m: BCOO(
            (
                m.data
                * sparse.bcoo_dot_general_sampled(a, b, m.indices, dimension_numbers=one),
                m.indices,
            ),
            shape=shape,
        ),
        lambda x: x * lax.dot_general(a, b, one),
    )
    return table


@pytest.mark.parametrize(("shape", "n_batch", "n_dense"), LAYOUTS)
def test_sparse_and_dense_agree(shape, n_batch, n_dense):
    with mj.enable_x64(True):
        table = rows(shape, n_batch, n_dense)
        data, index = buffers(shape, n_batch, n_dense)
        full = jnp.asarray(dense(data, index, shape))
        result = mj.jit(
            lambda d: {
                name: to_dense(fun(BCOO((d, jnp.asarray(index)), shape=shape)))
                for name, (fun, _) in table.items()
            }
        )(data)
        expected = mj.jit(lambda x: {name: fun(x) for name, (_, fun) in table.items()})(full)
    for name in table:
        assert result[name].dtype == expected[name].dtype, name
        np.testing.assert_allclose(
            result[name], expected[name], rtol=1e-12, atol=1e-12, err_msg=name
        )


@pytest.mark.parametrize(("shape", "n_batch", "n_dense"), [*LAYOUTS, *EDGES])
def test_round_trips_through_dense_arrays(shape, n_batch, n_dense):
    data, index = buffers(shape, n_batch, n_dense, nse=0 if 0 in shape else 5)
    data = data.astype(np.float32)
    m = BCOO((data, index), shape=shape)
    expected = dense(data, index, shape)
    np.testing.assert_allclose(m.todense(), expected, rtol=1e-6)
    back = BCOO.fromdense(expected, n_batch=n_batch, n_dense=n_dense)
    assert (back.n_batch, back.n_dense, back.n_sparse) == (
        n_batch,
        n_dense,
        len(shape) - n_batch - n_dense,
    )
    assert back.indices_sorted and back.unique_indices
    np.testing.assert_array_equal(back.todense(), expected)


PROGRAMS = {
    "there and back": lambda m: m.todense(),
    "sorted sums": lambda m: m.sort_indices().sum_duplicates(nse=3, remove_zeros=False),
    "parts": lambda m: m[1:, ::2] * jnp.array([[2.0, 3.0], [4.0, 5.0]]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_transformations(name):
    """Check jit, jvp, transpose and vmap, by the data and over batches of indices."""
    data, index = buffers((3, 4), 0, 0)

    def fun(data, index):
        return to_dense(PROGRAMS[name](BCOO((data, index), shape=(3, 4))))

    obeys(fun, data, index, exact=False)


def test_sparse_products():
    data, index = buffers((3, 4), 0, 0)

    def fun(data):
        m = BCOO((data, jnp.asarray(index)), shape=(3, 4))
        return to_dense(m.T @ m)

    obeys(fun, data, exact=False, lanes=False)


def test_products_by_both_operands():
    data, index = buffers((2, 3, 4), 1, 0)
    dims = (((2,), (1,)), ((0,), (0,)))

    def fun(data, w):
        m = BCOO((data, jnp.asarray(index)), shape=(2, 3, 4))
        return sparse.bcoo_dot_general(m, w, dimension_numbers=dims)

    obeys(fun, data, np.random.default_rng(4).normal(size=(2, 4, 3)), exact=False)


def test_batches_are_mapped_over():
    """A lane has one batch axis less, whichever axis is mapped."""
    shape = (2, 3, 4, 5)
    data, index = buffers(shape, 2, 0)
    m = BCOO((data.astype(np.float32), index), shape=shape)
    v = jnp.arange(5.0)
    once = mj.vmap(lambda x: x @ v)(m)
    np.testing.assert_allclose(once, m.todense() @ v, rtol=1e-5)
    lanes = mj.vmap(mj.vmap(lambda x: (x.T, x.todense())), in_axes=1, out_axes=(1, 0))
    transposed, full = lanes(m)
    assert transposed.shape == (2, 3, 5, 4) and transposed.n_batch == 2
    np.testing.assert_allclose(transposed.todense(), m.todense().swapaxes(2, 3))
    np.testing.assert_allclose(full, m.todense().swapaxes(0, 1))
    shared = mj.vmap(lambda x, y: (x, y @ v), in_axes=(None, 0), out_axes=(None, 0))
    assert shared(m, m)[0].shape == shape
    with pytest.raises(ValueError, match="Cannot map in_axis=2 for BCOO array"):
        mj.vmap(lambda x: x.todense(), in_axes=2)(m)
    with pytest.raises(ValueError, match="BCOO: cannot add out_axis=2"):
        mj.vmap(lambda x: x, out_axes=2)(m)


INDEXED = [
    1,
    -1,
    (1, 2),
    slice(1, None),
    (slice(None), slice(None, None, 2)),
    (..., 3),
    (None, 1),
    slice(None, None, -1),
    np.array([2, 0]),
    (slice(None), np.array([1, 3])),
    slice(0, 0),
]


def test_indexing():
    data, index = buffers((3, 4), 0, 0)
    m = BCOO((data.astype(np.float32), index), shape=(3, 4))
    x = m.todense()
    result = mj.jit(lambda m: [m[i].todense() for i in INDEXED])(m)
    for i, part in zip(INDEXED, result, strict=True):
        np.testing.assert_array_equal(part, x[i], err_msg=str(i))
    assert [part.shape for part in m] == [(4,)] * 3
    np.testing.assert_array_equal(m[2].todense(), x[2])


def test_duplicates_and_padding():
    m = BCOO((jnp.array([1.0, 2.0, 4.0, 0.0]), jnp.array([[2], [0], [2], [1]])), shape=(3,))
    once = m.sum_duplicates()
    assert once.nse == 2 and once.unique_indices and once.indices_sorted
    assert once.indices.tolist() == [[0], [2]] and once.data.tolist() == [2.0, 5.0]
    assert m.sum_duplicates(remove_zeros=False).nse == 3
    more = m.sum_duplicates(nse=5)
    assert more.indices.tolist() == [[0], [2], [3], [3], [3]]
    # What is not linear adds them up before.
    np.testing.assert_array_equal((m**2).todense(), m.todense() ** 2)
    assert sparse.bcoo_extract(m, jnp.array([5.0, 6.0, 7.0])).todense().tolist() == [
        5.0,
        6.0,
        7.0,
    ]
    shared = m + m
    assert shared.nse == m.nse and shared.indices is m.indices


def test_sums_of_bools_and_small_dtypes():
    index = jnp.array([[0], [2], [2]], jnp.int8)
    for dtype in (bool, np.int8, jnp.bfloat16, np.complex64):
        m = BCOO((jnp.ones(3, dtype), index), shape=(3,))
        assert m.dtype == m.todense().dtype == jnp.dtype(dtype)
        expected = np.array([1, 0, 2]).astype(bool).astype(int) if dtype is bool else [1, 0, 2]
        np.testing.assert_array_equal(np.asarray(m.todense()).astype(complex).real, expected)


def test_convolution():
    a, b = np.array([1.0, 0, 2, 0, 3]), np.array([0.0, 4, 5])
    x, w = (BCOO.fromdense(jnp.array(v)[None, None]) for v in (a, b))
    out = sparse.bcoo_conv_general_dilated(x, w, window_strides=(1,), padding=[(2, 2)])
    np.testing.assert_array_equal(out.todense()[0, 0], np.convolve(a, b[::-1]))


def zeros(*shape):
    return jnp.zeros(shape, int)


# (class, text, function of a vector and a sparse one)
ERRORS = [
    (
        ValueError,
        r"Invalid data.shape=\(3,\) for nse=4",
        lambda x, m: BCOO((x, zeros(4, 2)), shape=(2, 3)),
    ),
    (
        ValueError,
        "indices batch dimensions not compatible",
        lambda x, m: BCOO((jnp.ones((2, 3)), zeros(4, 3, 1)), shape=(2, 2)),
    ),
    (
        TypeError,
        "indices must be integers",
        lambda x, m: BCOO((x, jnp.ones((3, 2))), shape=(2, 3)),
    ),
    (
        ValueError,
        "Invalid n_batch=2, n_dense=1",
        lambda x, m: BCOO.fromdense(jnp.ones((2, 2)), n_batch=2, n_dense=1),
    ),
    (
        NotImplementedError,
        "cannot permute batch axes with non-batch",
        lambda x, m: BCOO.fromdense(jnp.ones((2, 2)), n_batch=1).T,
    ),
    (NotImplementedError, "Subtraction between sparse and dense", lambda x, m: m - x),
    (NotImplementedError, "Division by a sparse array", lambda x, m: x / m),
    (NotImplementedError, "would result in dense output", lambda x, m: m > 0),
    (NotImplementedError, "larger than Y.shape", lambda x, m: m + 1.0),
    (
        sparse.SparseEfficiencyError,
        "inefficient storage",
        lambda x, m: m.reshape(3, 1).update_layout(n_batch=1),
    ),
    (
        mj.errors.ConcretizationTypeError,
        "nse argument of bcoo_fromdense",
        lambda x, m: mj.jit(BCOO.fromdense)(x),
    ),
    (ValueError, "nse must be specified", lambda x, m: mj.jit(sparse.bcoo_sum_duplicates)(m)),
    (
        ValueError,
        "bcoo_slice: invalid indices",
        lambda x, m: sparse.bcoo_slice(m, start_indices=[1], limit_indices=[4]),
    ),
    (TypeError, "unhashable", lambda x, m: hash(m)),
]


@pytest.mark.parametrize(("kind", "text", "fun"), ERRORS, ids=[t for _, t, _ in ERRORS])
def test_errors(kind, text, fun):
    x = jnp.ones(3)
    with pytest.raises(kind, match=text):
        fun(x, BCOO((x, zeros(3, 1)), shape=(3,)))
