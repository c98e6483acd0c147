"""Array functions on odd input: NaN, complex numbers, empty axes, numbers out of range.

Each row is a call and its result, as NumPy text: value (NaN is NaN, -0 is not 0), shape and
dtype are compared.  If NumPy has the function and agrees, the row's right side calls it;
the other results are recorded from JAX 0.10.2.
"""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax

nan, inf = np.nan, np.inf
C = np.array([1 + 1j, nan, complex(0, nan), 1 - 1j, complex(1, nan), 1 + 1j], "c8")
F = np.array([nan, 1, -0.0, 0, nan, inf, -inf, 1], "f4")
SORTED = np.array([complex(0, nan), 1 - 1j, 1 + 1j, 1 + 1j, complex(1, nan), nan], "c8")
KEYS = mj.random.split(mj.random.key(0), 3)
X = np.arange(4, dtype="f4")
NAMES = {
    "jnp": jnp,
    "lax": lax,
    "mj": mj,
    "np": np,
    "nan": nan,
    "inf": inf,
    "C": C,
    "F": F,
    "SORTED": SORTED,
    "KEYS": KEYS,
    "X": X,
    "x": jnp.asarray(X),
    "f": lambda *v: np.array(v, "f4"),
    "i": lambda *v: np.array(v, "i4"),
    "u": lambda *v: np.array(v, "u4"),
    "c": lambda *v: np.array(v, "c8"),
    "b": lambda *v: np.array(v, bool),
}


def exactly(got, expected):
    """Equal trees of arrays: values with signs of zeros, shapes, dtypes."""
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for g, w in zip(got, expected, strict=True):
            exactly(g, w)
        return
    assert isinstance(got, mj.Array), type(got)
    got, expected = np.asarray(got), np.asarray(expected)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    if got.dtype.kind in "fc":
        np.testing.assert_allclose(got, expected, rtol=2e-5)
        for part in (np.real, np.imag) if got.dtype.kind == "c" else (np.real,):
            zero = part(expected) == 0
            assert (np.signbit(part(got)) == np.signbit(part(expected)))[zero].all()
    else:
        np.testing.assert_array_equal(got, expected)


def table(text):
    """Parse rows `call = result`, one per line; indented lines continue a row."""
    rows = text.strip().replace("\n    ", " ").splitlines()
    return pytest.mark.parametrize("row", [r for r in rows if r and r[0] != "#"])


def run(row):
    call, expected = row.split(" = ")
    exactly(eval(call, NAMES), eval(expected, NAMES))


def raises(row):
    call, error = row.split(" = ")
    kind, _, text = error.partition(": ")
    with pytest.raises(eval(kind), match=text):
        eval(call, NAMES)


@table("""
jnp.piecewise(x, [x < 1, x >= 0], [lambda v: v + 10, lambda v: v * 2]) = f(0, 2, 4, 6)
jnp.piecewise(x, [x < 2, x < 1], [5, 6, 7]) = f(6, 5, 7, 7)
jnp.piecewise(c(1j, 2), [c(0, 2).real < 1, c(0, 2).real < 3],
    [1, lambda v: -v]) = c(complex(-0., -1), complex(-2, -0.))
""")
def test_piecewise_takes_the_last_condition(row):
    run(row)


@table("""
jnp.unique(C) = c(1 - 1j, 1 + 1j, nan)
jnp.unique(C, True, True, True) = (c(1 - 1j, 1 + 1j, nan), i(3, 0, 1), i(1, 2, 2, 0, 2, 1),
    i(1, 2, 3))
jnp.unique(C, True, equal_nan=False) = (c(1 - 1j, 1 + 1j, nan, nan, nan), i(3, 0, 1, 2, 4))
jnp.unique(C, size=4, fill_value=9) = c(1 - 1j, 1 + 1j, nan, 9)
jnp.unique_counts(C) = (c(1 - 1j, 1 + 1j, nan, nan, nan), i(1, 2, 1, 1, 1))
jnp.unique(C[None, :3], axis=0) = c(1 + 1j, nan, nan)[None]
jnp.unique(F) = f(-inf, -0., 1, inf, nan)
jnp.unique_all(f(), size=2, fill_value=7) = (f(7, 7), i(), i(), i())
jnp.union1d(C, C[2:4]) = c(1 - 1j, 1 + 1j, nan)
jnp.intersect1d(C, C[2:4]) = c(1 - 1j)
jnp.setdiff1d(C, C[2:4]) = c(1 + 1j, nan)
jnp.setdiff1d(F, F[:2], size=6, fill_value=4) = f(-inf, -0., inf, nan, 4, 4)
jnp.setxor1d(F, f(nan, 2)) = f(-inf, -0., 1, 2, inf, nan, nan)
jnp.setxor1d(i(1, 2), i(2, 3), size=4, fill_value=2.5) = f(1, 3, 2.5, 2.5)
jnp.intersect1d(i(1, 2), i(2, 3), size=3, fill_value=2.5) = f(2, 2.5, 2.5)
jnp.intersect1d(i(), i(2), size=2, return_indices=True) = (i(0, 0), i(0, 0), i(1, 1))
jnp.isin(C, C[2:4], method="binary_search") = b(0, 0, 0, 1, 0, 0)
""")
def test_sets_count_nans_once(row):
    run(row)


@table("""
jnp.searchsorted(SORTED, SORTED) = i(0, 1, 2, 2, 4, 5)
jnp.searchsorted(SORTED, SORTED, "right") = i(1, 2, 4, 4, 5, 6)
jnp.searchsorted(SORTED, C, method="compare_all") = i(2, 5, 0, 1, 4, 2)
jnp.searchsorted(SORTED, C, method="sort") = i(2, 5, 0, 1, 4, 2)
jnp.digitize(f(-1, .5, nan), c(0, 1)) = i(0, 1, 2)
jnp.argsort(F, descending=True, stable=False) = i(4, 0, 5, 7, 1, 3, 2, 6)
jnp.argsort(F, descending=True) = i(0, 4, 5, 1, 7, 2, 3, 6)
jnp.maximum.accumulate(b(0, 1, 0)) = b(0, 1, 1)
jnp.minimum.accumulate(b(1, 0, 1)) = b(1, 0, 0)
""")
def test_order(row):
    run(row)


@table("""
jnp.geomspace(-3, 3, 3) = f(nan, nan, nan)
jnp.geomspace(-2., -8., 3) = f(-2, -4, -8)
jnp.geomspace(f(1, -2), 8, 4)[:, 0] = f(1, 2, 4, 8)
jnp.geomspace(1, -9, 3, dtype=int) = i(0, 0, 0)
jnp.geomspace(0, 1, 2) = f(nan, nan)
jnp.geomspace(2., 2, 1) = f(2)
jnp.geomspace(2., 2, 0) = f()
jnp.logspace(0, 2, 3, base=f(2, 3)[:, None]) = f(1, 2, 4, 1, 3, 9).reshape(2, 3)
jnp.logspace(f(0, 1), 2, 2, base=f(2, 3)) = f(1, 3, 4, 9).reshape(2, 2)
jnp.logspace(0, 3, 4, base=2, dtype="i4") = i(1, 2, 4, 8)
jnp.cov(np.zeros((2, 0), "f4")) = np.full((2, 2), nan, "f4")
jnp.cov(f()) = np.float32(nan)
jnp.cov(np.zeros((0, 2), "f4")) = np.zeros((0, 0), "f4")
jnp.cov(f(1, 2, 4)[None], rowvar=False) = np.full((3, 3), nan, "f4")
jnp.spacing(f(-1, 1e-45, -1e-45, -3.4e38)) = np.spacing(f(-1, 1e-45, -1e-45, -3.4e38))
jnp.spacing(f(-0., 0)) = f(-1e-45, 1e-45)
jnp.spacing(np.array([-1, 1, 0, -0., -inf], "f2")) = np.array(
    [2**-11, 2**-10, 2**-24, 2**-24, inf], "f2")
jnp.kaiser(5, f(1, 2)[:, None]) = np.stack([np.kaiser(5, 1), np.kaiser(5, 2)]).astype("f4")
jnp.kaiser(3, f(0, 1, 2)) = f(1 / np.i0(0), 1, 1 / np.i0(2))
jnp.var(i(0, 1, 2), dtype="float8_e4m3fn") = np.asarray(2 / 3, jnp.float8_e4m3fn)
mj.random.rademacher(mj.random.key(0), (4,), "u4") = u(2**32 - 1, 2**32 - 1, 1, 1)
jnp.matmul(jnp.ones(4, "int4"), np.ones(4, "f4"),
    preferred_element_type="u4") = np.uint32(4)
jnp.einsum("i,i", jnp.ones(4, "int4"), np.ones(4, "f4"),
    preferred_element_type="f4") = np.float32(4)
jnp.linspace(4, 0, 3, retstep=True, dtype="f2")[1] = np.float16(-2)
jnp.linspace(4, 0, 3, retstep=True, dtype="i4")[1] = np.float32(-2)
jnp.gradient(X.astype("f2"), X * 1.25) = np.gradient(X, X * 1.25)
jnp.gradient(X.reshape(2, 2).astype("i4"), 1j, np.float32(2)) = [
    np.full((2, 2), complex(0, -2), "c8"), np.full((2, 2), 0.5, "c8")]
jnp.nanmean(f(), dtype="i4") = np.int32(-1)
jnp.nanmean(np.zeros((0, 2), "f4"), axis=0, dtype="i4") = i(-1, -1)
jnp.median(np.float32(3), keepdims=True) = np.median(np.float32(3), keepdims=True)
jnp.quantile(np.float32(3), f(.5, .2), keepdims=True) = f(3, 3)
jnp.trace(np.eye(2, dtype="f4") * 2, dtype=bool) = np.bool_(True)
jnp.trace(np.zeros((2, 2), "f4"), jnp.int32(1), dtype=bool) = np.bool_(False)
""")
def test_ranges_and_statistics(row):
    run(row)


@table("""
jnp.full(2, 2**32 - 1, "u4") = u(2**32 - 1, 2**32 - 1)
jnp.full_like(u(1), 2**31) = u(2**31)
lax.full((1,), 2**40, np.float32) = f(2**40)
lax.full_like(u(1), -1) = u(2**32 - 1)
jnp.full(3, nan, int) = i(0, 0, 0)
jnp.full(1, 300.7, "u1") = np.array([255], "u1")
jnp.full(1, -inf, "i1") = np.array([-128], "i1")
mj.jit(lambda v: jnp.full_like(v, nan))(i(1, 2)) = i(0, 0)
jnp.full(1, 1j, bool) = b(1)
jnp.zeros(2, "u4").at[0].set(2**31) = u(2**31, 0)
jnp.zeros(2, "u4").at[0].add(2**32 - 1) = u(2**32 - 1, 0)
mj.random.key_data(jnp.full(2, 3, KEYS.dtype)) = np.full((2, 2), 3, "u4")
mj.random.key_data(jnp.full_like(KEYS, -1)) = np.full((3, 2), 2**32 - 1, "u4")
mj.random.key_data(jnp.zeros_like(KEYS)) = np.zeros((3, 2), "u4")
mj.random.key_data(jnp.ones((), KEYS.dtype)) = u(1, 1)
mj.random.key_data(jnp.empty(1, KEYS.dtype)) = np.zeros((1, 2), "u4")
mj.random.key_data(mj.jit(jnp.zeros_like)(KEYS[0])) = u(0, 0)
mj.random.key_data(KEYS.at[jnp.array([], int)].get(mode="fill")) = np.zeros((0, 2), "u4")
mj.random.key_data(KEYS.at[5].get(mode="fill", fill_value=9)) = u(9, 9)
jnp.arange(3).at[5].get(mode="fill", fill_value=nan) = np.int32(-(2**31))
jnp.arange(3, dtype="u1").at[i(5, 1)].get(mode="fill", fill_value=300
    ) = np.array([44, 1], "u1")
jnp.arange(3).at[5].get(fill_value=7) = np.int32(2)
""")
def test_filling(row):
    run(row)


def test_norms_of_integers_in_double_precision():
    with mj.enable_x64(True):
        exactly(jnp.linalg.vector_norm(np.array([3, 4], "i1")), np.float64(5))
        exactly(jnp.linalg.vector_norm(np.array([True, False]), ord=1), np.float64(1))
        assert lax.linalg.qdwh(jnp.eye(2))[2].dtype == "int64"  # how often it iterated


def test_parameters_decide_the_dtype_of_samples():
    """Recorded from JAX 0.10.2."""
    normal = lambda: mj.random.multivariate_normal(KEYS[0], X[:2], np.eye(2, dtype="f4"))
    single = normal()
    with mj.enable_x64(True):
        exactly(normal(), single)
    ints = np.array([3], "u1")
    assert mj.random.weibull_min(KEYS[0], ints, ints, dtype="f2").dtype == "float16"
    assert mj.random.generalized_normal(KEYS[0], ints, (1,), "f2").dtype == "float32"


def test_filling_unsigned_64():
    with mj.enable_x64(True):
        for made in (
            jnp.full(2, 2**64 - 1, "u8"),
            jnp.zeros(2, "u8").at[:].set(2**64 - 1),
            jnp.zeros(2, "u8").at[jnp.array([5, 6])].get(mode="fill"),
            jnp.take(jnp.zeros(2, "u8"), jnp.array([5, 6]), fill_value=2**64 - 1),
        ):
            exactly(made, np.full(2, 2**64 - 1, "u8"))


@table("""
jnp.take(f(), f()) = f()
jnp.take(f(), i(), mode="clip") = f()
jnp.take(np.zeros((0, 3), "f4"), i(), axis=0) = np.zeros((0, 3), "f4")
jnp.take(np.zeros((3, 0), "f4"), i(2, 0), axis=0) = np.zeros((2, 0), "f4")
jnp.take_along_axis(X, i(0, -1, 5), 0, mode="one_hot") = f(0, 3, 0)
jnp.take_along_axis(X.reshape(2, 2), i(0, -1).reshape(2, 1), 1,
    mode="one_hot") = f(0, 3).reshape(2, 1)
jnp.take_along_axis(b(1, 0), i(0, 1, 7), 0, mode="one_hot") = b(1, 0, 0)
jnp.take_along_axis(f(nan, 1), i(1), 0, mode="one_hot") = f(nan)
jnp.take_along_axis(X, i(1, -1), 0, mode="promise_in_bounds") = f(1, 0)
jnp.take_along_axis(f(), i(1, 2), None) = f(0, 0)
jnp.nonzero(i(1, 0, 2), size=4, fill_value=1.5) = (f(0, 2, 1.5, 1.5),)
jnp.nonzero(i(1, 0, 2), size=3, fill_value=nan) = (f(0, 2, nan),)
jnp.nonzero(i(1, 0, 2).reshape(1, 3), size=3, fill_value=(1.5, 2)) = (f(0, 0, 1.5),
    i(0, 2, 2))
jnp.argwhere(i(1, 0, 2).reshape(1, 3), size=3, fill_value=(1.5, 2)) = f(0, 0, 0, 2, 1.5,
    2).reshape(3, 2)
jnp.setdiff1d(i(1, 2, 3), 1, size=3, fill_value=2.5) = i(2, 3, 2)
jnp.ravel_multi_index((i(1, 5, -1), i(2, 0, 9)), (3, 4), mode="clip") = i(6, 8, 3)
jnp.ravel_multi_index((i(1, 5, -1), i(2, 0, 9)), (3, 4), mode="wrap") = i(6, 8, 9)
jnp.ravel_multi_index((1, 2), (3, 4), order="F") = np.int32(7)
jnp.unravel_index(np.array([255], "u1"), (30, 30)) = (np.array([8], "u1"),
    np.array([15], "u1"))
jnp.unravel_index(i(3), (2, 0, 3)) = (i(0), i(0), i(0))
x[:0][::-1] = f()
x[:0][::-3] = f()
x[-10:-20:-1] = f()
x[10:20:-1] = f()
mj.jit(lambda v: v[-10:-20:-2])(X) = f()
x[:0].at[::-1].set(1) = f()
x.at[-10:-20:-1].add(1) = X
jnp.zeros((2, 1, 3))[:, i(0), ..., 1] = np.zeros((2, 1, 3), "f4")[:, i(0), ..., 1]
jnp.zeros((2, 1, 3))[:, i(0), ..., i(1, 2)] = np.zeros((2, 2), "f4")
x[b(0, 0, 0, 0)] = f()
x[:0][b()] = f()
x[np.zeros((0, 4), bool).any(0)] = f()
""")
def test_positions(row):
    run(row)


@table("""
jnp.r_["r", 1:3] = i(1, 2).reshape(1, 2)
jnp.r_["c", [1, 2], [3]] = i(1, 2, 3).reshape(3, 1)
jnp.c_["r", 1:4] = i(1, 2, 3).reshape(3, 1)
jnp.r_["0,2", [1, 2], [3, 4]] = i(1, 2, 3, 4).reshape(2, 2)
jnp.r_["1,2,0", [1, 2], [3, 4]] = i(1, 3, 2, 4).reshape(2, 2)
jnp.r_["1,3,0", [1, 2], [3, 4]] = i(1, 3, 2, 4).reshape(2, 2, 1)
jnp.r_["-1", np.ones((2, 2), "i4"), np.zeros((2, 1), "i4")] = i(1, 1, 0, 1, 1,
    0).reshape(2, 3)
jnp.r_[0:1:3j, 5] = f(0, .5, 1, 5)
jnp.r_[1:] = i(0)
jnp.r_[::2] = i()
jnp.mgrid[()] = i()
jnp.ogrid[()] = []
jnp.mgrid[0:1:3j] = f(0, .5, 1)
jnp.polyadd(np.ones((2, 2), "f4"), f(1)) = f(1, 1, 2, 2).reshape(2, 2)
jnp.polyadd(f(1, 2), f()) = f(1, 2)
jnp.polysub(i(1, 2), f(0, 0, 1)) = f(-0., 1, 1)
jnp.trim_zeros(3.) = np.float32(3)
jnp.cross(i(0, 1, 2), np.arange(6, dtype="i4").reshape(3, 2)) = i(-2, 0, 0, -6, 4, -2, -10,
    8, -4).reshape(3, 3)
jnp.cross(f(1, 2), np.ones((3, 2), "f4"), axis=0) = f(2, 2, -1, -1, -1,
    -1).reshape(3, 2)
""")
def test_joining_and_polynomials(row):
    run(row)


@table("""
jnp.insert(f(), i(), 7) = f()
jnp.insert(f(), 0, f()) = f()
jnp.insert(f(), 0, 7) = f(7)
jnp.delete(np.zeros((0, 3), "f4"), i()) = f()
jnp.delete(np.zeros((3, 0), "f4"), 1, axis=0) = np.zeros((2, 0), "f4")
jnp.repeat(f(), i()) = f()
jnp.compress(b(1, 0), X, size=2, fill_value=9) = f(0, 9)
jnp.histogramdd(np.ones((2, 2), "f4"), [f(0, 1, 2), f(0, 2)]) = (i(0, 2).reshape(2, 1),
    [f(0, 1, 2), f(0, 2)])
jnp.histogram2d(f(1, 2), f(1, 3), [2, f(0, 2, 4)])[0] = i(1, 0, 0, 1).reshape(2, 2)
""")
def test_empty_edits_and_bins_of_two_kinds(row):
    run(row)


EMPTY = np.zeros((2, 0), "f4")


@pytest.mark.parametrize(
    "name, dtype",
    [
        ("fft", "c8"),
        ("ifft", "c8"),
        ("irfft", "f4"),
        ("hfft", "f4"),
        ("fftn", "c8"),
        ("ifft2", "c8"),
        ("irfftn", "f4"),
    ],
)
def test_transforms_of_empty_arrays(name, dtype):
    for norm in (None, "ortho"):
        exactly(getattr(jnp.fft, name)(EMPTY, norm=norm), EMPTY.astype(dtype))
    with pytest.raises(ValueError, match="Shape should be positive"):
        getattr(jnp.fft, name)(EMPTY, *([(2, 0)] if name[-1] in "n2" else [0]))


@table("""
jnp.fft.irfft(f(1)) = f()
jnp.fft.rfft2(np.zeros((0, 2), "f4")) = np.zeros((0, 2), "c8")
mj.grad(lambda v: jnp.fft.irfft(v).sum())(f(1)) = f(0)
mj.grad(lambda v: jnp.fft.fft(v).real.sum())(f()) = f()
""")
def test_gradients_of_transforms_of_empty_arrays(row):
    run(row)


@pytest.mark.parametrize(
    "fun, lane",
    [
        (jnp.convolve, (5,)),
        (lambda v, w: jnp.convolve(v, X[:2]), (5,)),
        (lambda v, w: jnp.convolve(X[:2], w), (3,)),
        (lambda v, w: jnp.correlate(v, w, mode="valid"), (3,)),
        (lambda v, w: lax.conv(v[None, None], w[None, None], (1,), "SAME"), (1, 1, 4)),
        (lambda v, w: lax.reduce_window(v, 0.0, lax.add, (2,), (1,), "VALID"), (3,)),
    ],
)
def test_no_lanes(fun, lane):
    v, w = np.zeros((0, 4), "f4"), np.zeros((0, 2), "f4")
    exactly(mj.vmap(fun)(v, w), np.zeros((0, *lane), "f4"))
    loss = lambda v, w: mj.vmap(fun)(v, w).sum()
    exactly(mj.jit(mj.grad(loss, (0, 1)))(v, w), (v, w))


@table("""
jnp.take(f(), 0) = IndexError: non-empty jnp.take
jnp.nonzero(X, size=3, fill_value=X) = ValueError: scalar or a tuple of length 1
jnp.nonzero(X, size=3, fill_value=[7]) = ValueError: scalar or a tuple of length 1
jnp.polyval(2., X) = TypeError: len.. of unsized object
jnp.polymul(X, 2.) = TypeError: len.. of unsized object
jnp.polydiv(X, 2.) = TypeError: len.. of unsized object
jnp.polyder(2.) = TypeError: len.. of unsized object
jnp.polyint(2.) = TypeError: len.. of unsized object
jnp.logaddexp(X, X[:3]) = TypeError: max got incompatible shapes for broadcasting
jnp.logaddexp2(X, X[:3]) = TypeError: max got incompatible shapes for broadcasting
lax.scatter(X, i(1).reshape(1, 1), X[:1], None) = TypeError: ScatterDimensionNumbers
lax.gather(X, i(1).reshape(1, 1), ((0,), (0,)), (1,)) = TypeError: GatherDimensionNumbers
lax.conv(np.ones((1, 1, 3)), np.ones((1, 1, 3)), (1,), 2.5) = ValueError: string or a seq
lax.dynamic_slice(X, (-1,), (1,), allow_negative_indices=False) = ValueError: Index -1 is
    out of bounds for dimension 4
lax.dynamic_slice_in_dim(X, -1, 1, allow_negative_indices=False) = ValueError: Index -1
mj.random.choice(KEYS[0], X, p=X * 1j) = ValueError: p must be of a float dtype
jnp.searchsorted(X[None], 1, sorter=0) = ValueError: a should be 1-dimensional
jnp.polyfit(1.0, 2.0, 1) = TypeError: expected 1D vector for x
jnp.polyfit(X, X[:3], 1) = TypeError: expected x and y to have same length
jnp.unwrap(X, axis=1) = ValueError: axis 1 is out of bounds
mj.jit(lambda v: jnp.setdiff1d(v, v, True))(X) = mj.errors.ConcretizationTypeError: size
mj.jit(jnp.setxor1d)(X, X) = mj.errors.ConcretizationTypeError: needs a size
mj.jit(lambda v: jnp.roll(v, 1, v.astype(int)))(X) = mj.errors.JAXTypeError: __index__
lax.conv(np.ones((1, 1, 3)), np.ones((1, 1, 3)), 1, [(1, 1)]) = TypeError: window_strides
lax.ragged_dot_general(X, X, X, None) = TypeError: requires RaggedDotDimensionNumbers
jnp.setdiff1d(i(1), i(2), size=3, fill_value=1j) = TypeError: not 'complex'
jnp.fft.fftfreq(2.5) = ValueError: n argument
jnp.fft.rfftfreq(2.5) = ValueError: n argument
jnp.fft.fftfreq(3, 1j) = TypeError: must be real
jnp.linspace(2, 1, axis=1) = ValueError: axis 1 is out of bounds for array of dimension 1
jnp.linspace(2, 1, axis=-2) = ValueError: axis -2 is out of bounds
jnp.logspace(2, 1, axis=1) = ValueError: axis 1 is out of bounds
jnp.geomspace(2, f(1, 2), axis=2) = ValueError: axis 2 is out of bounds
jnp.geomspace(2, f(1, 2), axis=-3) = ValueError: axis -3 is out of bounds
jnp.quantile(X, 1j) = TypeError: does not accept dtype complex64
jnp.nanpercentile(X, c(1j)) = TypeError: does not accept dtype complex64
jnp.kaiser(3, 1j) = ValueError: Unsupported input type to jax.numpy.i0
jnp.asarray(np.ma.array(X, mask=X)) = ValueError: masked arrays are not supported
jnp.asarray(np.ma.masked) = ValueError: masked arrays are not supported
jnp.full(1, 1j, int) = TypeError: not 'complex'
jnp.full(1, 1j, float) = TypeError: not 'complex'
lax.full((1,), 1j, np.float32) = TypeError: not 'complex'
jnp.full(1, 2**31) = OverflowError: 2147483648
jnp.cov(X, fweights=np.ones((2, 2), int)) = RuntimeError: multidimensional fweights
jnp.cov(X, aweights=X[:2]) = RuntimeError: incompatible numbers of samples and aweights
jnp.cov(X, dtype=int) = ValueError: dtype must be a subclass of float or complex
jnp.ravel_multi_index((i(1),), (2, 3)) = AssertionError: =1 != len.dims.=2
jnp.ravel_multi_index((b(1), 0), (2, 3)) = TypeError: only int indices permitted
jnp.ravel_multi_index((1, 1), (2**16, 2**16)) = ValueError: not large enough
jnp.ravel_multi_index((1, 1), (2, 3), dtype=float) = ValueError: is not an integer type
jnp.cross(np.ones((2, 3)), np.ones((3, 3))) = TypeError: incompatible shapes
jnp.delete(X, 1.5) = ValueError: must be integer or bool
jnp.compress(b(1), X, size=2) = ValueError: not greater than the size of the array axis
jnp.extract(b(1, 1), X, size=3) = ValueError: not greater than the size of the array axis
jnp.put(X, 0, 9, mode="raise", inplace=False) = NotImplementedError: 'raise' mode
jnp.repeat(X, i(1, 2), total_repeat_length=3) = ValueError: of different sizes: 2 and 4
jnp.matvec(np.ones((2, 3)), X) = ValueError: core dimension 'm'.* 4 vs 3
jnp.vecmat(X, np.ones((3, 2))) = ValueError: core dimension 'n'.* 3 vs 4
jnp.ldexp(X, i(1, 2)) = TypeError: incompatible shapes for broadcasting
jnp.r_[1:3, "r"] = ValueError: string directive must be placed at the beginning
jnp.bitwise_or.reduce(X) = ValueError: integer argument required
x.at[0].get(mode="fill", fill_value=X) = ValueError: must be a scalar
""")
def test_refused(row):
    raises(row)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: jnp.vstack(x, y),
        lambda x, y: jnp.zeros_like(x, y),
        lambda x, y: jnp.array(x, y),
        lambda x, y: x.astype(y),
        lambda x, y: mj.lax.convert_element_type(x, y),
    ],
)
def test_arrays_are_not_dtypes(call):
    x = jnp.ones((2, 3))
    with pytest.raises(ValueError, match="Passing an array as a dtype argument"):
        call(x, jnp.ones(3, "int32"))
    with pytest.raises(ValueError, match="Passing an array as a dtype argument"):
        mj.jit(call)(x, x)
    with pytest.raises(TypeError, match="Cannot construct a dtype from an array"):
        call(x, np.ones(3, "int32"))
    assert jnp.zeros(2, np.int8(1)).dtype == jnp.zeros(2, jnp.int8).dtype == "int8"
    assert jnp.zeros(2, mj.ShapeDtypeStruct((), "int8")).dtype == "int8"


@table("""
jnp.unravel_index(f(1.5, 99, -2.5), (2, 3)) = (f(0, 1, 1), f(1.5, 2, .5))
jnp.unravel_index(b(1, 0), (2, 3)) = (i(0, 0), i(1, 0))
mj.jit(jnp.unravel_index)(i(0, 5, -1, 99, -99), i(2, 3)) = (i(0, 1, 1, 1, 0),
    i(0, 2, 2, 2, 0))
mj.jit(jnp.unravel_index)(np.int8(100), (20, 30)) = (np.int8(3), np.int8(10))
jnp.unravel_index(np.array([1, 1], "i1"), (2.0, 3)) = (f(0, 0), np.array([1, 1], "i1"))
jnp.unravel_index(1.5, ()) = ()
jnp.ravel_multi_index((i(2, -1), i(0, 1)), (2, 3), mode="ignore") = i(6, -2)
jnp.ravel_multi_index((), ()) = np.int32(0)
jnp.piecewise(x, [0, 1], [1., 2.]) = f(2, 2, 2, 2)
jnp.piecewise(2., X > 1, [1., 2., 3., 4., 5.]) = np.float32(4)
jnp.piecewise(x, [X[:2, None] > 0], [1.]) = f(0, 0, 0, 0, 1, 1, 1, 1).reshape(2, 4)
jnp.hanning(3.7) = f(0, 1, 0)
jnp.rot90(np.eye(2, 3, dtype="f4"), np.True_) = np.rot90(np.eye(2, 3, dtype="f4"))
jnp.polyfit(f(0, 1, 2), f(1, 3, 5), 1.0).round(3) = f(2, 1)
jnp.einsum("i,i", X, X, optimize=None) = np.float32(14)
jnp.frombuffer(np.ones(2).tobytes(), None) = f(1, 1)
jnp.trapezoid(f(1, 2, 3), dx=[1., 2.]) = np.float32(6.5)
jnp.roll(x, range(1)) = X
jnp.zeros_like(2**40) = np.int32(0)
lax.dynamic_slice_in_dim(x, -1, 1, allow_negative_indices=1) = f(3)
mj.scipy.ndimage.map_coordinates([0., 2.], [[0.5]], 1) = f(1)
mj.scipy.stats.norm.cdf(10**12) = np.float32(1)
mj.scipy.special.gammaln(10**12) = np.float32(2.6631021e13)
""")
def test_objects_accepted_as_numbers_and_shapes(row):
    run(row)


@table("""
jnp.zeros({}) = TypeError: Shapes must be
jnp.ones(b"ab") = TypeError: Shapes must be
jnp.reshape(x[:1], "") = TypeError: Shapes must be
mj.random.normal(KEYS[0], {2}) = TypeError: Shapes must be
jnp.eye((2,)) = TypeError: Shapes must be
jnp.tril_indices((2,)) = TypeError: Shapes must be
jnp.tril_indices_from([[1, 2], [3, 4]]) = TypeError: tril_indices_from requires ndarray
jnp.indices(5) = TypeError: not iterable
jnp.arange([3]) = TypeError: arange requires ndarray
jnp.stack(np.zeros((0, 2))) = ValueError: Need at least one array
jnp.concatenate(np.zeros((0, 2))) = ValueError: Need at least one array
jnp.trace(np.eye(2), offset=1.0) = ValueError: k must be a scalar integer
jnp.linalg.norm(x, 1j) = TypeError: real number
mj.eval_shape(jnp.floor, KEYS) = TypeError: floor does not accept dtype key
jnp.iscomplex(KEYS) = TypeError: iscomplex does not accept dtype key
jnp.isreal(KEYS) = TypeError: isreal does not accept dtype key
jnp.unravel_index(1j, 3) = TypeError: does not accept dtype complex
""")
def test_objects_refused_as_numbers_and_shapes(row):
    raises(row)


@pytest.mark.parametrize("k", (np.array(1), np.int64(1), jnp.array(1)), ids=type)
def test_diagonals_may_be_counted_by_arrays_without_axes(k):
    x = np.arange(9.0).reshape(3, 3)
    assert jnp.diag(x, k).tolist() == np.diag(x, 1).tolist()
    assert jnp.diag(x[0], k=k).tolist() == np.diag(x[0], 1).tolist()
    assert jnp.diagflat(x, k).tolist() == np.diagflat(x, 1).tolist()
    assert mj.jit(lambda x: jnp.diag(x, k))(x).tolist() == np.diag(x, 1).tolist()
    with pytest.raises(TypeError):
        jnp.diag(x, 1.0)
