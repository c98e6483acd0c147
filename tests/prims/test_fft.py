"""Fourier transforms: against NumPy, laws, empty ones, errors."""

import numpy as np
import pytest
from laws import obeys, same

import minijax as mj
from minijax import lax

RANDOM = np.random.default_rng(0)
NUMPY = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}
LENGTHS = [(6,), (5,), (1,), (7, 4), (4, 7), (2, 3, 4), (3, 2, 5)]


def random_input(kind, lengths, batch_shape, dtype):
    shape = (*batch_shape, *lengths)
    if kind == "IRFFT":
        shape = (*shape[:-1], lengths[-1] // 2 + 1)
    x = RANDOM.normal(size=shape)
    if kind != "RFFT":
        x = x + 1j * RANDOM.normal(size=shape)
        dtype = {"float32": "complex64", "float64": "complex128"}[dtype]
    return x.astype(dtype)


@pytest.mark.parametrize("kind", NUMPY)
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("batch_shape", [(), (2,), (2, 0)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values(kind, lengths, batch_shape, dtype):
    with mj.enable_x64(True):
        x = random_input(kind, lengths, batch_shape, dtype)
        got = np.asarray(lax.fft(x, kind, lengths))
    axes = tuple(range(-len(lengths), 0))
    expected = NUMPY[kind](x, lengths, axes)
    assert got.dtype == expected.astype(got.dtype).dtype
    assert got.dtype.itemsize == (8 if dtype == "float32" else 16) // (
        2 if kind == "IRFFT" else 1
    )
    tolerance = 100 * np.finfo(got.dtype).eps
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", NUMPY)
@pytest.mark.parametrize("lengths", LENGTHS)
def test_laws(kind, lengths):
    obeys(lambda x: lax.fft(x, kind, lengths), random_input(kind, lengths, (2,), "float64"))


def test_lane_axis_among_transformed_axes():
    x = random_input("FFT", (4, 6), (3,), "float32")
    for lane in range(3):
        got = mj.vmap(lambda x: lax.fft(x, "FFT", (4, 6)), lane)(np.moveaxis(x, 0, lane))
        np.testing.assert_allclose(got, np.fft.fft2(x), rtol=1e-4, atol=1e-4)


def test_kinds_and_conversions():
    x = np.arange(4)
    assert str(lax.FftType.RFFT) == "2"
    for kind in (lax.FftType.FFT, "FFT", "fft"):
        got = lax.fft(x, kind, (4,))
        assert got.dtype == np.complex64
        np.testing.assert_allclose(got, np.fft.fft(x), atol=1e-5)
    assert lax.fft(x, "RFFT", (4,)).dtype == np.complex64
    assert lax.fft(x.astype(np.float16), "IRFFT", (6,)).dtype == np.float32
    same(lax.fft(x.astype(np.complex64), "FFT", ()), x.astype(np.complex64))


def test_no_elements():
    for kind, shape in (("FFT", (2, 0)), ("RFFT", (2, 0)), ("IRFFT", (2, 0))):
        x = np.ones(shape, np.float32 if kind == "RFFT" else np.complex64)
        assert lax.fft(x, kind, (0,)).shape == (2, 0)
        out, back = mj.vjp(lambda x, k=kind: lax.fft(x, k, (0,)), x)
        assert back(np.ones_like(out))[0].shape == shape


C = np.ones((2, 4, 6), np.complex64)


@pytest.mark.parametrize(
    "x, kind, lengths, error, text",
    [
        (C, "RFFT", (6,), ValueError, "only real valued"),
        (C, "FFT", (5,), ValueError, "minor dimensions"),
        (C, "IRFFT", (6,), ValueError, "minor dimensions"),
        (C[0], "FFT", (2, 4, 6), ValueError, "at least as many"),
        (C[None], "FFT", (1, 2, 4, 6), ValueError, "at most three"),
        (C, "foo", (6,), ValueError, "Unknown FFT type"),
        (C, 0, (6,), TypeError, "Unknown FFT type"),
        (C.real.astype(np.float16), "RFFT", (6,), ValueError, "float32 or float64"),
    ],
)
def test_errors(x, kind, lengths, error, text):
    with pytest.raises(error, match=text):
        lax.fft(x, kind, lengths)
