"""Diagonals, and matrices with given ones: NumPy's, and the laws of linear operations."""

import ml_dtypes
import numpy as np
import pytest
from laws import obeys

import minijax as mj
import minijax.numpy as jnp
from minijax.prims.shape.diagonals import diagonal_of, matrix_of_diagonal
from minijax.sharding import AxisType, NamedSharding
from minijax.sharding import PartitionSpec as P

MESH = mj.make_mesh((8,), ("x",), (AxisType.Auto,))
X = np.random.default_rng(0).normal(size=(16, 24)).astype(np.float32)
X[3, 3], X[3, 5] = -0.0, np.nan
OFFSETS = [0, 2, -3, 23, -15, 40]


@pytest.mark.parametrize("offset", OFFSETS)
def test_laws(offset):
    x = np.nan_to_num(X[:4, :6]) if abs(offset) < 4 else np.nan_to_num(X)
    obeys(lambda x: diagonal_of(x, offset), x)
    k = np.diagonal(x, offset).size
    obeys(lambda v: matrix_of_diagonal(v, x.shape, offset), np.arange(k, dtype="f4"))


@pytest.mark.parametrize(
    "dtype",
    [
        "float32",
        "int32",
        "bool",
        "complex64",
        "int8",
        ml_dtypes.bfloat16,
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.int4,
    ],
)
def test_sharded_matrices_have_the_same_bits(dtype):
    x = (np.nan_to_num(X) if np.dtype(dtype).kind in "ibV" else X).astype(dtype)
    if dtype is not ml_dtypes.int4:
        x = X.astype(dtype) if np.dtype(dtype).kind not in "ib" else x
    sharded = mj.device_put(x, NamedSharding(MESH, P("x")))
    every = lambda x: [jnp.diagonal(x, k) for k in OFFSETS]
    diagonals = mj.jit(every)(sharded)
    for k, y in zip(OFFSETS, diagonals, strict=True):
        assert np.asarray(y).tobytes() == np.diagonal(x, k).copy().tobytes(), k
    v = np.ascontiguousarray(x[0, :16])
    sharded = mj.device_put(v, NamedSharding(MESH, P("x")))
    matrices = mj.jit(lambda v: [jnp.diag(v, k) for k in (0, 2, -3)])(sharded)
    for k, y in zip((0, 2, -3), matrices, strict=True):
        np.testing.assert_array_equal(np.asarray(y), np.diag(v, k))


def test_jaxpr_and_one_device():
    text = str(mj.make_jaxpr(jnp.diagonal)(X))
    assert text.count("=") == 2 and "diagonal[offset=0]" in text
    lowered = mj.jit(jnp.diagonal).lower(X).as_text()
    assert "stablehlo.slice" in lowered and "select" not in lowered
