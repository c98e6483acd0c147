"""Windows: against NumPy, laws, chosen elements, any computation, dtypes, errors."""

import itertools

import numpy as np
import pytest
from laws import obeys

import minijax as mj
from minijax import lax
from minijax.ir.jaxpr import Jaxpr
from minijax.passes.stage import stage
from minijax.prims.math.logic import ge_p, le_p
from minijax.prims.reduce.over_axes import highest, lowest
from minijax.prims.reduce.window_reductions import _chosen_tangents
from minijax.types.avals import shaped

RANDOM = np.random.default_rng(0)


def f32(*shape):
    """Numbers that all differ, so that every choice is clear."""
    n = int(np.prod(shape))
    return (RANDOM.permutation(n).reshape(shape) - n // 2).astype(np.float32)


def windows(x, fill, window, strides, padding, base, apart):
    """Return for each window the list of its elements."""
    if not x.ndim:
        return x[None]
    dilated = np.full(
        [(n - 1) * b + 1 if n else 0 for n, b in zip(x.shape, base, strict=True)], fill
    )
    dilated = dilated.astype(x.dtype)
    dilated[tuple(slice(None, None, b) for b in base)] = x
    more = [(max(a, 0), max(b, 0)) for a, b in padding]
    dilated = np.pad(dilated, more, constant_values=fill)
    less = [(max(-a, 0), max(-b, 0)) for a, b in padding]
    amounts = zip(dilated.shape, less, strict=True)
    dilated = dilated[tuple(slice(a, n - b) for n, (a, b) in amounts)]
    reach = [(k - 1) * d + 1 for k, d in zip(window, apart, strict=True)]
    counts = [max(0, (n - r) // s + 1) for n, r, s in zip(dilated.shape, reach, strides)]
    out = np.zeros((*counts, int(np.prod(window))), x.dtype)
    for p in itertools.product(*map(range, counts)):
        amounts = tuple(
            slice(i * s, i * s + r, d) for i, s, r, d in zip(p, strides, reach, apart)
        )
        out[p] = dilated[amounts].reshape(-1)
    return out


CASES = {
    "plain": ((6,), (3,), (1,), ((0, 0),), (1,), (1,)),
    "strides": ((4, 6), (2, 3), (1, 2), ((0, 0), (0, 0)), (1, 1), (1, 1)),
    "padding": ((4, 6), (2, 3), (1, 2), ((1, 0), (2, 1)), (1, 1), (1, 1)),
    "cut": ((4, 6), (2, 3), (1, 1), ((-1, 0), (2, -2)), (1, 1), (1, 1)),
    "dilations": ((4, 6), (2, 3), (2, 1), ((1, 0), (0, 2)), (2, 1), (1, 2)),
    "apart": ((3, 5, 2), (2, 2, 3), (1, 2, 1), ((0, 1), (0, 0), (1, 0)), (1, 2, 3), (2, 1, 1)),
    "full": ((2, 3), (2, 3), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1)),
    "too wide": ((3,), (5,), (1,), ((0, 0),), (1,), (1,)),
    "empty": ((0, 3), (1, 2), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1)),
    "no axes": ((), (), (), (), (), ()),
}
every = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
POOLS = {
    "sum": (lax.add, 0.0, np.sum),
    "max": (lax.max, -np.inf, np.max),
    "min": (lax.min, np.inf, np.min),
}


def call(computation, init, case):
    _, window, strides, padding, base, apart = case

    def fun(x):
        start = np.asarray(init).astype(x.dtype)[()]
        return lax.reduce_window(x, start, computation, window, strides, padding, base, apart)

    return fun


@every
@pytest.mark.parametrize("pool", POOLS)
def test_pools(case, pool):
    computation, init, reduced = POOLS[pool]
    x = f32(*case[0])
    fun = call(computation, init, case)
    expected = reduced(windows(x, init, *case[1:]), -1, initial=init)
    np.testing.assert_array_equal(fun(x), expected)
    obeys(fun, x)


@every
def test_general_computation(case):
    """A product, and another computation; both modes of differentiation."""
    x = np.sign(f32(*case[0])) + f32(*case[0]) / 16
    fun = call(lax.mul, 1.0, case)
    expected = np.prod(windows(x, 1, *case[1:]), -1)
    np.testing.assert_allclose(fun(x), expected, rtol=1e-6)
    obeys(fun, x)


@pytest.mark.parametrize("case", ["padding", "cut", "dilations"])
def test_initial_value_counts_once_and_padding_does_not(case):
    """In values and in derivatives: windows of 2 x times x times ..."""
    case = CASES[case]
    x = 1 + f32(*case[0]) / 16
    seen = windows(x, 1, *case[1:])
    fun = call(lambda a, b: a * b, 2.0, case)
    got, moved = mj.jvp(fun, (x,), (x,))
    np.testing.assert_allclose(got, 2 * np.prod(seen, -1), rtol=1e-5)
    counts = windows(np.ones_like(x), 0, *case[1:]).sum(-1)  # Euler: degree times value
    np.testing.assert_allclose(moved, counts * got, rtol=1e-5)
    back = mj.grad(lambda x: fun(x).sum())(x)
    np.testing.assert_allclose((back * x).sum(), moved.sum(), rtol=1e-5)


def test_several_operands():
    x, i = f32(5, 4), np.arange(20, dtype=np.int32).reshape(5, 4)

    def best(a, b):
        """The larger value with where it is."""
        first = lax.ge(a["v"], b["v"])
        return {k: lax.select(first, a[k], b[k]) for k in a}

    got = lax.reduce_window(
        {"v": x, "i": i}, {"v": -np.inf, "i": np.int32(-1)}, best, (2, 3), (1, 2), "SAME"
    )
    seen = windows(x, -np.inf, (2, 3), (1, 2), ((0, 1), (0, 1)), (1, 1), (1, 1))
    at = windows(i, -1, (2, 3), (1, 2), ((0, 1), (0, 1)), (1, 1), (1, 1))
    chosen = np.argmax(seen, -1)[..., None]
    np.testing.assert_array_equal(got["v"], np.max(seen, -1))
    np.testing.assert_array_equal(got["i"], np.take_along_axis(at, chosen, -1)[..., 0])


def test_named_padding_and_defaults():
    x = f32(5, 4)
    for padding in ("SAME", "SAME_LOWER", "VALID", "same"):
        got = lax.reduce_window(x, 0.0, lax.add, (2, 3), (2, 1), padding, None, (2, 1))
        pads = lax.padtype_to_pads((5, 4), (3, 3), (2, 1), padding)
        expected = windows(x, 0, (2, 3), (2, 1), pads, (1, 1), (2, 1)).sum(-1)
        np.testing.assert_array_equal(got, expected)
    assert lax.reduce_window(x, 0.0, lax.add, (2, 2)).shape == (4, 3)
    assert lax.reduce_window_shape_tuple((5, 4), (2, 3), (2, 1), [(0, 0)] * 2) == (2, 2)


@pytest.mark.parametrize(
    "dtype",
    [
        "bool",
        "int4",
        "int8",
        "uint8",
        "int32",
        "bfloat16",
        "float16",
        "float8_e4m3fn",
        "complex64",
    ],
)
def test_dtypes(dtype):
    x = np.array([1, 0, 3, 2, 1]).astype(dtype)
    for name, (computation, _, reduced) in POOLS.items():
        if dtype == "bool" and name == "sum":
            continue
        init = {"sum": 0, "max": lowest(x.dtype), "min": highest(x.dtype)}[name]
        init = np.asarray(init).astype(x.dtype)[()]
        fun = lambda x, c=computation, i=init: lax.reduce_window(x, i, c, (2,))
        assert "reduce_window_" + name in str(mj.make_jaxpr(fun)(x))
        got = np.asarray(fun(x))
        assert got.dtype == x.dtype
        wide = x.astype(complex).real
        expected = reduced(windows(wide, 0, (2,), (1,), ((0, 0),), (1,), (1,)), -1)
        np.testing.assert_array_equal(got.astype(complex).real, expected)


# ------------------------------------------------------------------------ choosing


def test_the_first_of_equal_elements_is_chosen():
    x = np.array([1.0, 3, 3, 1, 3], np.float32)
    t = np.arange(5, dtype=np.float32)
    fun = lambda x: lax.reduce_window(x, -np.inf, lax.max, (3,))
    _, out_t = mj.jvp(fun, (x,), (t,))
    np.testing.assert_array_equal(out_t, [1, 1, 2])
    (back,) = mj.vjp(fun, x)[1](np.array([1.0, 10, 100], np.float32))
    np.testing.assert_array_equal(back, [0, 11, 100, 0, 0])


def test_slices_for_tpus():
    """The same choice without windows over pairs."""
    for case in CASES.values():
        x, t = f32(*case[0]), f32(*case[0])
        params = dict(
            zip(
                (
                    "window_dimensions",
                    "window_strides",
                    "padding",
                    "base_dilation",
                    "window_dilation",
                ),
                case[1:],
                strict=True,
            )
        )
        for prim in (ge_p, le_p):
            got = _chosen_tangents(t, x, select_prim=prim, **params)
            expected = lax.select_and_gather_add_p.bind(t, x, select_prim=prim, **params)
            np.testing.assert_array_equal(got, expected)


def test_second_derivative():
    x = f32(4, 6)
    pool = call(lax.max, -np.inf, CASES["padding"])
    obeys(lambda x: mj.grad(lambda x: lax.reduce_sum(lax.square(pool(x)), (0, 1)))(x), x)


def scalar_jaxpr(fun):
    jaxpr, consts = stage(lambda a, b: [fun(a, b)], [shaped((), np.dtype("f4"))] * 2)
    assert isinstance(jaxpr, Jaxpr) and not consts
    return jaxpr


def test_select_and_scatter():
    x, source = f32(4, 6), f32(2, 2)

    def scatter(x, source):
        return lax.select_and_scatter_p.bind(
            x,
            source,
            np.float32(1),
            select_jaxpr=scalar_jaxpr(lax.ge),
            select_consts=(),
            scatter_jaxpr=scalar_jaxpr(lax.mul),
            scatter_consts=(),
            window_dimensions=(2, 3),
            window_strides=(2, 3),
            padding=((0, 0), (0, 0)),
        )

    expected = np.ones_like(x)
    for i, j in itertools.product(range(2), range(2)):
        amounts = x[2 * i : 2 * i + 2, 3 * j : 3 * j + 3]
        r, c = np.unravel_index(np.argmax(amounts), amounts.shape)
        expected[2 * i + r, 3 * j + c] *= source[i, j]
    np.testing.assert_array_equal(scatter(x, source), expected)
    got = mj.vmap(scatter, (2, None))(np.stack([x, -x], 2), source)
    np.testing.assert_array_equal(got[0], expected)
    with pytest.raises(NotImplementedError, match="select_and_scatter"):
        mj.jvp(lambda x: scatter(x, source), (x,), (x,))


# -------------------------------------------------------------------------- errors

X = f32(4, 6)


@pytest.mark.parametrize(
    "args, error, text",
    [
        ((X, 0.0, lax.add, (2,)), TypeError, "wrong number of window_dimensions"),
        ((X, 0.0, lax.add, (2, 3), (1,)), TypeError, "inconsistent window_strides"),
        ((X, 0.0, lax.add, (2, -3)), TypeError, "window_dimensions must have every"),
        ((X, 0.0, lax.add, (2, 3), (0, 1)), TypeError, "window_strides must have every"),
        ((X, 0.0, lax.add, (2, 3), (1, 1), "foo"), RuntimeError, "padding type"),
        ((X, 0.0, lax.add, (2, 3), (1, 1), [(1, 1)]), ValueError, "for each of the 2"),
        ((X, np.int32(1), lax.mul, (2, 3)), TypeError, "inconsistent dtypes"),
        ((X, np.zeros(3, np.float32), lax.add, (2, 3)), TypeError, "to be scalars"),
        (((X, X), (0.0,), lax.add, (2, 3)), ValueError, "same tree structure"),
        (((), (), lax.add, (2, 3)), ValueError, "at least one operand"),
        (((X, X[:2]), (0.0, 0.0), lambda a, b: a, (2, 3)), TypeError, "one shape"),
        ((X, 0.0, lambda a, b: (a, b), (2, 3)), ValueError, "return a tree"),
        ((X > 0, False, lax.add, (2, 3)), TypeError, "reduce_window_sum"),
    ],
)
def test_errors(args, error, text):
    with pytest.raises(error, match=text):
        lax.reduce_window(*args)


def test_initial_values_have_no_lanes():
    with pytest.raises(NotImplementedError, match="initial values"):
        mj.vmap(lambda c: lax.reduce_window(X, c, lax.mul, (2, 3)))(np.ones(2, np.float32))
    with pytest.raises(TypeError, match="non-zero init_value_tangent"):
        mj.jvp(lambda c: lax.reduce_window(X, c, lax.mul, (2, 3)), (1.0,), (1.0,))
