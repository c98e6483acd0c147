"""Values between pixels and on grids, and nearest codes, against SciPy and loops."""

import itertools

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.interpolate
import scipy.ndimage

import minijax as mj
import minijax.numpy as jnp
from minijax.scipy import integrate
from minijax.scipy.cluster.vq import vq
from minijax.scipy.interpolate import RegularGridInterpolator
from minijax.scipy.ndimage import map_coordinates
from minijax.test_util import check_grads

rng = np.random.default_rng(0)

# --------------------------------------------------------------------- map_coordinates

X = rng.normal(size=(4, 5)).astype("float32")
AT = rng.uniform(-7, 12, size=(2, 200)).astype("float32")
# SciPy's names of the modes.
MODES = {
    "constant": "constant",
    "nearest": "nearest",
    "wrap": "grid-wrap",
    "mirror": "mirror",
    "reflect": "reflect",
}


@pytest.mark.parametrize("order", [0, 1])
def test_positions_between_pixels(order):
    full = np.round(30 * X).astype("int32")

    @mj.jit
    def run(x, y, at):
        return [
            [map_coordinates(a, at, order, mode, cval=2.5) for a in (x, 1j * x, y)]
            for mode in MODES
        ]

    for mode, (real, imaginary, rounded) in zip(MODES, run(X, full, AT), strict=True):
        expected = scipy.ndimage.map_coordinates(
            X.astype("float64"), AT, order=order, mode=MODES[mode], cval=2.5
        )
        np.testing.assert_allclose(real, expected, atol=2e-5, err_msg=mode)
        if mode != "constant":
            np.testing.assert_allclose(imaginary, 1j * expected, atol=2e-5)
        assert rounded.dtype == "int32"
        exact = map_coordinates(full.astype("float32"), AT, order, mode, 2)
        np.testing.assert_array_equal(rounded, np.copysign(np.floor(abs(exact) + 0.5), exact))


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_halves_quarters_and_positions_beyond_the_edges(n):
    line, at = np.arange(n) ** 2.0, np.arange(-2 * n - 2, 3 * n + 2, 0.25)
    run = mj.jit(map_coordinates, static_argnums=(2, 3))
    for order in (0, 1):
        for mode, name in MODES.items():
            result = run(line, [at], order, mode, -7.0)
            expected = scipy.ndimage.map_coordinates(
                line, [at], order=order, mode=name, cval=-7
            )
            np.testing.assert_allclose(result, expected, 1e-5, 1e-5, err_msg=(mode, order))


def test_an_axis_of_one_pixel():
    at = [jnp.array([-2.0, 0.25, 3.0])]
    for mode in MODES:
        out = map_coordinates(jnp.array([7.0]), at, 1, mode)
        assert out.tolist() == ([0, 0, 0] if mode == "constant" else [7] * 3)
    assert map_coordinates(jnp.float32(3), [], 1) == 3


def test_derivatives_between_pixels():
    with mj.enable_x64():
        at = jnp.array(np.floor(AT[:, :9]) + rng.uniform(0.1, 0.9, (2, 9)))
        f = mj.jit(lambda x, at: map_coordinates(x, at, 1, "reflect") ** 2)
        check_grads(f, (jnp.array(X, "float64"), at), 1, ["fwd", "rev"])


# ----------------------------------------------------------------------------- grids

LINES = (np.array([0.0, 1, 3, 4]), np.array([1.0, 2, 5]))
VALUES = rng.normal(size=(4, 3, 2))
PLACES = np.concatenate(
    [rng.uniform(-1, 6, (40, 2)), [*itertools.product(*LINES)], [[0.5, 1.5], [2, 3.5]]]
)


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_positions_on_grids(method):
    def run(lines, values, places):
        f = RegularGridInterpolator(lines, values, method, fill_value=-3.0)
        back = RegularGridInterpolator([x[::-1] for x in lines], values[::-1, ::-1], method)
        beyond = RegularGridInterpolator(lines, values, method, fill_value=None)
        shaped = f(places[:6].reshape(2, 3, 2))
        return f(places), back(places), beyond(places), shaped, f((places[:, 0], 2.0))

    with mj.enable_x64():
        got = mj.jit(run)(LINES, VALUES, PLACES)
    make = scipy.interpolate.RegularGridInterpolator
    options = {"method": method, "bounds_error": False}
    expected = make(LINES, VALUES, fill_value=-3.0, **options)
    at_two = np.stack([PLACES[:, 0], np.full(len(PLACES), 2.0)], -1)
    back = make([x[::-1] for x in LINES], VALUES[::-1, ::-1], **options)
    beyond = make(LINES, VALUES, fill_value=None, **options)
    inside = np.isfinite(back(PLACES)[:, 0])
    np.testing.assert_array_equal(np.isfinite(got[1][:, 0]), inside)
    if method == "linear":  # a half is equally near to two lines
        np.testing.assert_allclose(got[1][inside], back(PLACES)[inside])
        np.testing.assert_allclose(got[2], beyond(PLACES))
    np.testing.assert_allclose(got[0], expected(PLACES))
    np.testing.assert_allclose(got[3], expected(PLACES[:6]).reshape(2, 3, 2))
    np.testing.assert_allclose(got[4], expected(at_two))


def test_a_grid_is_a_tree():
    f = RegularGridInterpolator([jnp.arange(3.0)], jnp.array([0.0, 1.0, 4.0]))
    assert [x.shape for x in mj.tree.leaves(f)] == [(3,), (3,), ()]

    @mj.jit
    def run(f):
        slopes = mj.grad(lambda f: f(jnp.array([1.25]))[0])(f)
        both = mj.vmap(lambda s: mj.tree.map(lambda x: x * s, f))(jnp.array([1.0, 2.0]))
        return slopes, mj.vmap(lambda f, x: f(x))(both, jnp.array([[0.5], [0.5]]))

    slopes, out = run(f)
    assert slopes.values.tolist() == [0, 0.75, 0.25]
    assert out.tolist() == [[0.5], [0.5]]
    assert f(jnp.array([1.4]), method="nearest") == 1
    assert RegularGridInterpolator([jnp.arange(2)], jnp.arange(2)).values.dtype == "float32"


# ------------------------------------------------------------------------------- codes


def test_nearest_codes():
    x, book = rng.normal(size=(9, 3)), rng.normal(size=(4, 3))
    with mj.enable_x64():
        codes, distances = vq(x, book)
        check_grads(lambda *a: vq(*a)[1], (jnp.array(x), jnp.array(book)), 1)
    expected = scipy.cluster.vq.vq(x, book)
    np.testing.assert_array_equal(codes, expected[0])
    np.testing.assert_allclose(distances, expected[1])
    codes, distances = vq(np.arange(3), np.array([2, 0]))
    assert codes.tolist() == [1, 0, 0] and distances.tolist() == [0, 1, 0]


def test_trapezoids():
    y = rng.normal(size=(4, 5)).astype("float32")
    got = integrate.trapezoid(y, x=np.arange(4.0) ** 2, axis=0)
    np.testing.assert_allclose(got, np.trapezoid(y, np.arange(4.0) ** 2, axis=0), 1e-5)


GRID = ([jnp.arange(2.0)], jnp.ones(2))
REFUSED = {
    "coordinates": (
        lambda: map_coordinates(X, [X], 1),
        ValueError,
        "sequence of length input.ndim",
    ),
    "order": (lambda: map_coordinates(X, AT, 2), NotImplementedError, "order<=1"),
    "mode": (lambda: map_coordinates(X, AT, 1, "x"), NotImplementedError, "mode x"),
    "method": (lambda: RegularGridInterpolator(*GRID, "cubic"), ValueError, "not defined"),
    "bounds": (
        lambda: RegularGridInterpolator(*GRID, bounds_error=True),
        NotImplementedError,
        "takes no effect under JIT",
    ),
    "points": (
        lambda: RegularGridInterpolator(GRID[0] * 2, GRID[1]),
        ValueError,
        "2 point arrays, but values has 1",
    ),
    "fill": (
        lambda: RegularGridInterpolator(*GRID, fill_value=1j),
        ValueError,
        "type compatible with values",
    ),
    "places": (
        lambda: RegularGridInterpolator(*GRID)(jnp.ones((2, 2))),
        ValueError,
        "requested sample points xi have dimension",
    ),
    "ranks": (lambda: vq(X, X[0]), ValueError, "should have the same rank"),
    "rank": (lambda: vq(X[None], X[None]), ValueError, "ndim different than 1 or 2"),
    "sizes": (lambda: vq(X, X[:, :2]), TypeError, "incompatible shapes"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_messages(name):
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        call()
