"""Cosine transforms against SciPy."""

import numpy as np
import pytest
import scipy.fft as scipy

import minijax as mj
from minijax.scipy import fft

X = np.sin(np.arange(60.0)).reshape(3, 4, 5)
ONE = [{"n": 3}, {"n": 8, "axis": 0}, {"norm": "ortho", "axis": 1}, {"n": 1}]
SEVERAL = [{"s": (2, 6)}, {"s": (4, 7), "axes": (2, 0), "norm": "ortho"}, {"s": 2}, {"axes": 1}]
CASES = [(name, kw) for name in ("dct", "idct") for kw in ONE]
CASES += [(name, kw) for name in ("dctn", "idctn") for kw in SEVERAL]


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex64"])
def test_values(dtype):
    with mj.enable_x64(dtype == "float64"):
        for name, kw in CASES if dtype == "float64" else CASES[::4]:
            x = X.astype(dtype) * (1 + 2j if dtype == "complex64" else 1)
            got = getattr(fft, name)(x.astype(dtype), **kw)
            expected = getattr(scipy, name)(x, **kw)
            assert (got.dtype, got.weak_type) == (dtype, False), (name, kw)
            tolerance = 1e-13 if dtype == "float64" else 2e-5
            np.testing.assert_allclose(got, expected, tolerance, tolerance)


def test_inverses_and_derivatives():
    x = X[0].astype("float32")
    for norm in (None, "ortho"):
        exists = fft.dctn(x, norm=norm)
        np.testing.assert_allclose(fft.idctn(exists, norm=norm), x, rtol=1e-5, atol=1e-6)
    # Orthogonal: the transpose of the derivative is the inverse.
    _, pull = mj.vjp(lambda x: fft.dct(x, norm="ortho"), x)
    np.testing.assert_allclose(pull(x)[0], fft.idct(x, norm="ortho"), atol=1e-6)
    lanes = mj.jit(mj.vmap(fft.dct, in_axes=1, out_axes=1))(x)
    np.testing.assert_allclose(lanes, fft.dct(x, axis=0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["int32", "bool", "float16", "bfloat16", "uint8"])
def test_dtypes(dtype):
    assert fft.dct(mj.numpy.ones(4, dtype)).dtype == "float32"
    assert fft.idctn(mj.numpy.ones((2, 2), dtype)).dtype == "float32"


ERRORS = [
    ("dct", (X,), {"type": 1}, NotImplementedError, "Only DCT type 2 is implemented"),
    ("idctn", (X,), {"type": 4}, NotImplementedError, "Only DCT type 2 is implemented"),
    ("dct", (X,), {"norm": "forward"}, ValueError, "norm='forward' is not implemented"),
    ("dct", (X,), {"axis": 3}, ValueError, "axis 3 is out of bounds"),
    ("dct", (1.0,), {}, ValueError, "axis -1 is out of bounds"),
    ("dct", (X,), {"axis": None}, TypeError, "cannot be interpreted as an integer"),
    ("dct", ([1.0],), {}, TypeError, "requires ndarray or scalar arguments"),
    ("dct", (X[:0],), {"axis": 0}, ValueError, "at least one number"),
    ("dctn", (X,), {"axes": (0, 0)}, ValueError, "repeated axis"),
    ("dctn", (X,), {"s": (1, 1, 1, 1)}, ValueError, "s must have at most x.ndim"),
    ("dctn", (X,), {"s": (1, 1), "axes": 0}, ValueError, "one size for each axis"),
]


@pytest.mark.parametrize(("name", "args", "kwargs", "kind", "match"), ERRORS)
def test_errors(name, args, kwargs, kind, match):
    with pytest.raises(kind, match=match):
        getattr(fft, name)(*args, **kwargs)
