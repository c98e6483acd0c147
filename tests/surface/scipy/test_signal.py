"""Convolution, trends and spectra against SciPy; derivatives by differences."""

import warnings

import numpy as np
import pytest
import scipy.signal as scipy

import minijax as mj
import minijax.numpy as jnp
from minijax.scipy import signal
from minijax.surface.scipy.signal.windows import window_of
from minijax.test_util import check_grads

rng = np.random.default_rng(0)
MODES = ("full", "same", "valid")


def draw(*shape):
    z = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    return z.astype("complex64")


def close(got, expected, tol=3e-6, err_msg=""):
    np.testing.assert_allclose(got, expected, rtol=tol, atol=tol * 4, err_msg=err_msg)


def together(calls, *args):
    """Return the results of functions of `args`, in one compiled program."""
    return dict(zip(calls, mj.jit(lambda *a: [f(*a) for f in calls.values()])(*args)))


# ------------------------------------------------------------------------- convolution

SHAPES = [((6,), (3,)), ((6,), (4,)), ((4,), (6,)), ((4, 5), (2, 3)), ((2, 3), (4, 3))]


@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_overlaps(name):
    pairs = [(draw(*x), draw(*y)) for x, y in SHAPES]

    result = together(
        {
            (i, mode, method): lambda p, i=i, mode=mode, method=method: (
                getattr(signal, name + "2d")(*p[i], mode)
                if method == "2d"
                else getattr(signal, name)(*p[i], mode, method)
            )
            for i, (x, _) in enumerate(pairs)
            for mode in MODES
            for method in ("direct", "fft", "2d")[: 1 + x.ndim]
        },
        pairs,
    )
    for (i, mode, method), got in result.items():
        if method == "2d":
            expected = getattr(scipy, name + "2d")(*pairs[i], mode)
        else:
            expected = getattr(scipy, name)(*pairs[i], mode, method="direct")
        close(got, expected, err_msg=f"{SHAPES[i]} {mode} {method}")


def test_convolution_along_some_axes():
    x, y = draw(2, 5, 3), draw(2, 4, 3)
    calls = {
        (axes, mode): lambda x, y, axes=axes, mode=mode: (
            signal.fftconvolve(x, y, mode, axes),
            signal.fftconvolve(x.real, y.real, mode, axes),
        )
        for axes in (1, (0, 1), (-2,))
        for mode in MODES
    }
    for (axes, mode), (mixed, real) in together(calls, x, y).items():
        close(mixed, scipy.fftconvolve(x, y, mode, axes))
        close(real, scipy.fftconvolve(x.real, y.real, mode, axes))


def test_dtypes_of_convolutions():
    for dtype, result in (("int32", "float32"), ("bool", "float32"), ("float16",) * 2):
        out = signal.convolve(jnp.ones(4, dtype), jnp.ones(2, dtype))
        assert out.dtype == result and out.tolist() == [1, 2, 2, 2, 1]


def test_derivatives_of_convolution():
    with mj.enable_x64():
        x, y = draw(5).real.astype("float64"), draw(3).real.astype("float64")
        for method in ("direct", "fft"):
            f = lambda x, y, m=method: signal.correlate(x, y, "same", m) ** 2
            check_grads(f, (jnp.array(x), jnp.array(y)), 2, ["fwd", "rev"])


# ------------------------------------------------------------------------------- trends


ROWS = [
    {"axis": 0},
    {"axis": 1},
    {"axis": 1, "bp": [7, 3]},
    {"axis": 1, "bp": 5},
    {"axis": -2, "type": "constant"},
    {"axis": 1, "bp": np.array([1, 2])},
]


def test_trends():
    x = draw(3, 12, 2)
    calls = {i: lambda x, o=o: signal.detrend(x, **o) for i, o in enumerate(ROWS)}
    for i, got in together(calls, x).items():
        close(got, scipy.detrend(x, **ROWS[i]))
    assert signal.detrend(jnp.ones(1)).tolist() == [0]
    assert signal.detrend(jnp.ones(0)).shape == (0,)


# -------------------------------------------------------------------------------- spectra

N, SIZE = 50, 12
X, Z = draw(2, N).real, draw(2, N)
SAME = [
    {},
    {"noverlap": 3},
    {"nfft": 15, "detrend": "linear"},
    {"detrend": False},
    {"return_onesided": False, "fs": 10.0},
    {"window": ("tukey", 0.3), "nperseg": 11},
    {"window": np.hanning(9), "nperseg": None, "noverlap": 0},
    {"detrend": lambda x: x - 2 * x.mean(-1, keepdims=True)},
]
POWERS = [{"scaling": "spectrum"}, {"average": "median"}, {"average": "median", "noverlap": 9}]
PIECES = [
    {"boundary": b, "padded": p}
    for b in ("even", "odd", "constant", None)
    for p in (True, False)
]


def compare(name, rows, *args):
    """All rows of options agree with SciPy, for real and complex signals."""
    rows = [{"nperseg": SIZE, **row} for row in rows]
    calls = {
        i: lambda *a, row=row: getattr(signal, name)(*a, **row) for i, row in enumerate(rows)
    }
    for i, got in together(calls, *args).items():
        for actual, its in zip(got, getattr(scipy, name)(*args, **rows[i]), strict=True):
            close(actual, its, err_msg=str(rows[i]))


@pytest.mark.filterwarnings("ignore:.*complex.*return_onesided:UserWarning")
def test_densities():
    compare("welch", [*SAME, *POWERS], X)
    compare("csd", [*SAME, *POWERS], X, X[::-1, :40] * 2 + 1)
    some = [SAME[0], SAME[2], POWERS[2]]
    compare("csd", some, Z, Z[::-1] * 2 + 1)
    compare("welch", some, Z)


@pytest.mark.filterwarnings("ignore:.*complex.*return_onesided:UserWarning")
def test_segments():
    compare("stft", [*SAME, *PIECES], X)
    compare("stft", SAME[:3], Z)


def test_time_axes():
    columns = np.moveaxis(np.stack([X, 2 * X]), -1, 1)
    for name in ("welch", "stft"):
        got = getattr(signal, name)(columns, nperseg=SIZE, axis=1)
        for actual, its in zip(
            got, getattr(scipy, name)(columns, nperseg=SIZE, axis=1), strict=True
        ):
            close(actual, its)


INVERSES = [
    {},
    {"noverlap": 0},
    {"noverlap": SIZE - 1},
    {"noverlap": 5},
    {"nperseg": SIZE + 1},
    {"window": "hamming", "fs": 4.0},
    {"boundary": False},
    {"nfft": 20},
]


def test_signals_from_spectra():
    z = draw(SIZE // 2 + 1, 5)
    calls = {i: lambda z, o=o: signal.istft(z, **o) for i, o in enumerate(INVERSES)}
    for i, got in together(calls, z).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that windows do not overlap enough
            expected = scipy.istft(z, **INVERSES[i])
        for actual, its in zip(got, expected, strict=True):
            close(actual, its, 2e-5, str(INVERSES[i]))


@pytest.mark.parametrize("onesided", [True, False])
def test_round_trips(onesided):
    x = X.T if onesided else Z.T
    options = {"nperseg": 9, "noverlap": 6, "fs": 2.0}
    z = signal.stft(x, axis=0, return_onesided=onesided, **options)[2]
    where = {"freq_axis": 0, "time_axis": -1}
    t, back = signal.istft(z, input_onesided=onesided, **options, **where)
    close(np.moveaxis(np.asarray(back), -1, 0)[:N], x)
    close(t, np.arange(len(t)) / 2)
    assert len(t) == back.shape[-1]


def test_derivatives_of_spectra():
    with mj.enable_x64():
        x = jnp.array(X[0, :20], "float64")

        @mj.jit
        def f(x, fs):
            power = signal.welch(x, fs, nperseg=8)[1]
            back = signal.istft(signal.stft(x, nperseg=8)[2] ** 2, nperseg=8)[1]
            return jnp.sum(power**2), back

        check_grads(f, (x, jnp.float64(2.0)), 1, ["fwd", "rev"])
    lanes = mj.vmap(lambda x: signal.stft(x, nperseg=SIZE)[2])(X)
    close(lanes, scipy.stft(X, nperseg=SIZE)[2])


@pytest.mark.parametrize("window", [
    "hann", "hamming", "blackman", "blackmanharris", "nuttall", "flattop", "boxcar",
    "triang", "bartlett", "parzen", "bohman", "barthann", "cosine", "lanczos",
    "exponential", "tukey", ("exponential", None, 3.0), ("tukey", 0.2), ("tukey", 0),
    ("kaiser", 4.0), ("gaussian", 3.0), ("general_gaussian", 1.5, 3.0),
    ("general_cosine", [0.6, 0.3, 0.1]), ("general_hamming", 0.6), "rect", "han",
])  # fmt: skip
def test_windows(window):
    for size in (1, 2, 7, 8):
        expected = scipy.get_window(window, size)
        np.testing.assert_allclose(window_of(window, size), expected, atol=1e-14)


def test_fewer_samples_than_a_segment():
    with pytest.warns(UserWarning, match="nperseg=256 is greater than input_length=50"):
        signal.welch(X, nperseg=256)
    _, p = signal.welch(X)  # by default as many as there are, without a warning
    close(p, scipy.welch(X, nperseg=N)[1])
    assert signal.welch(jnp.zeros((0, 8)), nperseg=4)[1].shape == (0, 8)


ONE = jnp.ones(4)
REFUSED = {
    "mode": (lambda: signal.convolve(ONE, ONE, "most"), "mode must be one of"),
    "method": (lambda: signal.correlate(ONE, ONE, method="x"), "expected 'auto', 'fft'"),
    "ranks": (lambda: signal.convolve(ONE, ONE[None]), "same number of dimensions"),
    "rank": (lambda: signal.convolve2d(ONE, ONE), "only supports 2-dimensional inputs"),
    "empty": (lambda: signal.convolve(ONE, ONE[:0]), "zero-size arrays not supported"),
    "fit": (
        lambda: signal.convolve(jnp.ones((2, 3)), jnp.ones((3, 2))),
        "smaller than the other in every dimension",
    ),
    "axes": (
        lambda: signal.fftconvolve(jnp.ones((2, 3)), jnp.ones((3, 3)), axes=1),
        "mapped axes must have same shape",
    ),
    "trend": (lambda: signal.detrend(ONE, type="square"), "must be 'linear' or 'constant'"),
    "breaks": (lambda: signal.detrend(ONE, bp=5), "Breakpoints must be non-negative"),
    "overlap": (lambda: signal.welch(ONE, nperseg=2, noverlap=2), "noverlap must be less"),
    "points": (lambda: signal.welch(ONE, nperseg=4, nfft=2), "nfft must be greater"),
    "size": (lambda: signal.stft(ONE, nperseg=0), "nperseg must be a positive"),
    "window": (lambda: signal.stft(ONE, window=jnp.ones(5)), "longer than input"),
    "name": (lambda: signal.stft(ONE, window="door", nperseg=2), "Unknown window type"),
    "number": (lambda: signal.stft(ONE, window="kaiser", nperseg=2), "needs one or more"),
    "ends": (lambda: signal.stft(ONE, nperseg=2, boundary="x"), "Unknown boundary"),
    "scale": (lambda: signal.welch(ONE, nperseg=2, scaling="x"), "Unknown scaling"),
    "average": (lambda: signal.welch(ONE, nperseg=2, average="x"), "average must be"),
    "pair": (lambda: signal.csd(jnp.ones((2, 4)), jnp.ones((3, 4))), "broadcast together"),
    "inverse": (lambda: signal.istft(ONE), "at least 2d"),
    "place": (lambda: signal.istft(jnp.ones((3, 3)), time_axis=-2), "differing time"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_messages(name):
    call, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        call()
    with pytest.raises(NotImplementedError, match="only supports boundary='fill'"):
        signal.correlate2d(jnp.ones((2, 2)), jnp.ones((2, 2)), boundary="wrap")
