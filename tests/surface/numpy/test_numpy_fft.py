"""Fourier transforms: values against NumPy's, laws, frequencies, errors."""

import numpy as np
import pytest
from against_numpy import check, close
from laws import obeys

import minijax.numpy as jnp
from minijax.surface.numpy import fft

X = np.sin(np.arange(24)).reshape(4, 6).astype(np.float32)
Z = (X + 1j * X[::-1]).astype(np.complex64)
NORMS = [None, "ortho", "forward"]


def same(name, x, **kw):
    return check(name, x, home=fft, ref=getattr(np.fft, name), tol=1e-4, **kw)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_axis(name):
    x = X if name in ("rfft", "ihfft") else Z
    for i, kw in enumerate(({}, {"n": 5, "axis": 0}, {"n": 9})):
        for norm in NORMS:
            same(name, x, norm=norm, jit=norm is None and i == 0, **kw)


@pytest.mark.parametrize(
    "name", ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "rfft2", "irfft2"]
)
def test_several_axes(name):
    x = X if name[0] == "r" else Z
    cube = np.stack([x, 2 * x])
    same(name, x)
    same(name, cube, axes=(0, 2), norm="ortho", jit=False)
    same(name, cube, s=(3, 8), axes=(2, 1), jit=False)
    if name[-1] == "n":
        same(name, np.ones((2, 2, 3, 2, 2), x.dtype), jit=False)


def test_laws():
    obeys(fft.fft, Z, exact=False, lanes=False)
    obeys(lambda x: fft.irfft(fft.rfft(x) * (1 + X[:, :4])), X, exact=False, lanes=False)
    close(fft.irfftn(fft.rfftn(X), s=X.shape), X)


def test_frequencies():
    for n in (5, 6):
        close(fft.fftfreq(n, 0.5), np.fft.fftfreq(n, 0.5))
        close(fft.rfftfreq(n, 0.5), np.fft.rfftfreq(n, 0.5))
    assert fft.fftfreq(4, dtype=jnp.float16).dtype == jnp.float16
    same("fftshift", X)
    same("fftshift", X, axes=1)
    same("ifftshift", X[:3], axes=(0,))


ERRORS = [
    ("fft(x, norm='zz')", "Invalid norm"),
    ("fft(x, n=0)", "Shape should be positive"),
    ("fft(x, axis=5)", "out of bounds"),
    ("fft(x, axis=(0, 1))", "does not support multiple axes"),
    ("rfft(x * 1j)", "only real valued inputs"),
    ("fftn(x, axes=(0, 0))", "repeated axes"),
    ("fftn(x, s=(2,), axes=(0, 1))", "different lengths"),
    ("fft2(x, axes=(0,))", "only supports 2 axes"),
]


@pytest.mark.parametrize("text, match", ERRORS)
def test_errors(text, match):
    with pytest.raises(ValueError, match=match):
        eval("fft." + text, {"fft": fft, "x": jnp.asarray(X)})
