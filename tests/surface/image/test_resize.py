"""image.resize and scale_and_translate against kernels in NumPy, sampled in float64."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.test_util import check_grads

image = mj.image
rng = np.random.default_rng(0)
X = rng.normal(size=(5, 6)).astype("float32")


def keys(x, a):
    inner = (a + 2) * x**3 - (a + 3) * x**2 + 1
    return np.select([x < 1, x < 2], [inner, a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a])


KERNELS = {
    "linear": lambda x: np.maximum(1 - x, 0),
    "cubic": lambda x: keys(x, -0.5),
    "lanczos3": lambda x: np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0),
    "lanczos5": lambda x: np.where(x < 5, np.sinc(x) * np.sinc(x / 5), 0),
}
METHODS = [*KERNELS, "area", "cubic-pytorch"]


def weights(n, m, method, antialias, scale, shift):
    """Return the matrix of weights, pixel by pixel."""
    out = np.zeros((n, m))
    edges = method == "cubic-pytorch" and not antialias
    for j in range(m):
        middle = (j + 0.5 - shift) / scale
        low, high = (j - shift) / scale, (j + 1 - shift) / scale
        for i in range(-2, n + 2):
            if method == "area":
                value = max(0, min(high, i + 1) - max(low, i))
            else:
                x = abs(middle - i - 0.5) / (max(1, 1 / scale) if antialias else 1)
                kernel = KERNELS["cubic" if method == "cubic-pytorch" else method]
                value = keys(x, -0.75) if edges else kernel(x)
            if edges or 0 <= i < n:
                out[min(max(i, 0), n - 1), j] += value
        if not edges and not 0 <= middle <= n:
            out[:, j] = 0
        total = out[:, j].sum()
        out[:, j] = out[:, j] / total if abs(total) > 1.2e-4 else 0
    return out


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_sizes(method, antialias):
    for n, m in ((6, 4), (6, 9), (6, 1)):
        got = image.resize(X, (5, m), method, antialias)
        expected = X @ weights(n, m, method, antialias, m / n, 0.0)
        np.testing.assert_allclose(got, expected, atol=3e-6)


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_positions(method, antialias):
    scale, shift = (np.array([[1.5, 0.4], [1.0, 1.0]]), np.array([[0.3, -0.5], [2.0, 1.0]]))

    def move(s, t):
        return image.scale_and_translate(X, (4, 7), (0, -1), s, t, method, antialias)

    got = mj.vmap(move)(jnp.array(scale, "float32"), jnp.array(shift, "float32"))
    for out, s, t in zip(got, scale, shift, strict=True):
        rows = weights(5, 4, method, antialias, s[0], t[0])
        expected = rows.T @ X @ weights(6, 7, method, antialias, s[1], t[1])
        np.testing.assert_allclose(out, expected, atol=5e-6)
    if method != "cubic-pytorch" or antialias:  # integer shifts only move pixels
        np.testing.assert_allclose(got[1][2:, 1:], X[:2], atol=2e-6)
        assert not np.any(got[1][:2]) and not np.any(got[1][:, 0])


@pytest.mark.parametrize("method", METHODS)
def test_derivatives(method):
    with mj.enable_x64():
        x = jnp.array(X, "float64")[:3]

        def move(x, s, t):
            return image.scale_and_translate(x, (4, 6), (0,), s, t, method)

        s, t = jnp.array([1.31]), jnp.array([0.23])
        modes = ["fwd", "rev"]
        check_grads(move, (x, s, t), 1 if method in ("linear", "area") else 2, modes)


def test_nearest_takes_the_pixel_under_the_middle():
    x = np.arange(4097, dtype="int32")
    for m in (1, 2, 4095, 8194, 12291):
        expected = ((2 * np.arange(m) + 1) * 4097) // (2 * m)
        np.testing.assert_array_equal(image.resize(x, (m,), "nearest"), expected)


def test_methods_by_name():
    names = {
        "NEAREST": ["nearest"],
        "LINEAR": ["linear", "bilinear", "trilinear", "triangle"],
        "LANCZOS3": ["lanczos3"],
        "LANCZOS5": ["lanczos5"],
        "CUBIC": ["cubic", "bicubic", "tricubic"],
        "CUBIC_PYTORCH": ["cubic-pytorch", "bicubic-pytorch"],
        "AREA": ["area"],
    }
    assert [m.name for m in image.ResizeMethod] == list(names)
    assert [m.value for m in image.ResizeMethod] == list(range(7))
    for method, spelled in names.items():
        for name in spelled:
            result = image.ResizeMethod.from_string(name)
            assert result is image.ResizeMethod[method]


@pytest.mark.parametrize("dtype", ["uint8", "bool", "bfloat16", "float16", "complex64"])
def test_dtypes(dtype):
    x = jnp.asarray(X > 0).astype(dtype)
    assert image.resize(x, (2, 6), "nearest").dtype == dtype
    out = image.resize(x, (2, 6), "area")
    assert out.dtype == (dtype if x.dtype.kind in "cV" or "float" in dtype else "float32")
    expected = np.asarray(x, "complex64").T @ weights(5, 2, "area", True, 0.4, 0.0)
    tol = 3e-2 if "16" in dtype else 1e-6
    np.testing.assert_allclose(np.asarray(out, "complex64"), expected.T, atol=tol)


def test_empty():
    assert image.resize(X, (0, 3), "cubic").shape == (0, 3)
    assert not np.any(image.resize(X[:0], (2, 6), "linear"))
    assert image.resize(X, X.shape, "lanczos3").tolist() == X.tolist()


ONE = np.ones(1, "float32")
REFUSED = {
    "rank": (lambda: image.resize(X, (4,), "linear"), "shape must have length equal to"),
    "name": (lambda: image.resize(X, (4, 4), "hat"), 'Unknown resize method "hat"'),
    "nearest": (
        lambda: image.scale_and_translate(X, (4, 6), (0,), ONE, ONE, "nearest"),
        "Nearest neighbor resampling is not currently supported for scale_and_translate",
    ),
    "scale": (
        lambda: image.scale_and_translate(X, (4, 6), (0, 1), ONE, ONE, "linear"),
        "scale must have one number for each",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_messages(name):
    call, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        call()
