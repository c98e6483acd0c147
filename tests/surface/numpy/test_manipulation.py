"""Shapes, joining, splitting, padding, moving: as in NumPy, with derivatives and vmap."""

import re

import numpy as np
import pytest
from laws import obeys

import minijax as mj
import minijax.numpy as jnp

M = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
N = np.arange(6, dtype=np.int32).reshape(2, 3)
V = np.arange(5.0, dtype=np.float32)


def check(name, *args, **kwargs):
    """Compare a function with NumPy's, eager and jitted, with one dtype."""
    x, *rest = args
    expected = getattr(np, name)(x, *rest, **kwargs)
    fun = getattr(jnp, name)
    for got in (
        fun(jnp.asarray(x), *rest, **kwargs),
        mj.jit(lambda x: fun(x, *rest, **kwargs))(x),
    ):
        if isinstance(expected, (list, tuple)):
            assert len(got) == len(expected)
        for a, b in zip(*map(listed, (got, expected)), strict=True):
            assert a.dtype == np.asarray(x).dtype
            np.testing.assert_array_equal(a, b)


def listed(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


# ------------------------------------------------------------------------ one operand

SAME = [
    ("reshape", (4, 6)),
    ("reshape", (-1,)),
    ("reshape", [3, -1]),
    ("reshape", 24),
    ("reshape", (2, 3, 4)),
    ("ravel",),
    ("transpose",),
    ("transpose", (2, 0, 1)),
    ("transpose", [-1, 0, 1]),
    ("swapaxes", 0, -1),
    ("swapaxes", 1, 1),
    ("moveaxis", 0, -1),
    ("moveaxis", (0, 1), (-1, 0)),
    ("moveaxis", 1, 1),
    ("rollaxis", 2),
    ("rollaxis", 0, 3),
    ("expand_dims", 0),
    ("expand_dims", (0, -1)),
    ("expand_dims", [1]),
    ("atleast_1d",),
    ("atleast_2d",),
    ("atleast_3d",),
    ("broadcast_to", (5, 2, 3, 4)),
    ("flip",),
    ("flip", 1),
    ("flip", (0, 2)),
    ("flipud",),
    ("fliplr",),
    ("rot90",),
    ("rot90", 2),
    ("rot90", -1),
    ("rot90", 3, (1, 2)),
    ("tile", 2),
    ("tile", (2, 1, 3)),
    ("tile", [2, 2, 1, 2]),
    ("tile", 0),
    ("repeat", 2),
    ("repeat", 3, 1),
    ("repeat", 0, 0),
    ("roll", 1),
    ("roll", -5, 1),
    ("roll", (1, 2), (0, 2)),
    ("roll", 2, (0, 1)),
    ("roll", 100, 0),
    ("resize", (3, 2)),
    ("resize", (5, 7)),
    ("resize", 0),
    ("split", 3, 1),
    ("split", [1, 2], 2),
    ("array_split", 3, 2),
    ("array_split", 5, 0),
    ("vsplit", 2),
    ("hsplit", 3),
    ("hsplit", [1]),
    ("dsplit", 2),
    ("append", M),
    ("append", M, 1),
    ("matrix_transpose",),
    ("unstack",),
]


@pytest.mark.parametrize("name, args", [(case[0], case[1:]) for case in SAME])
def test_like_numpy(name, args):
    check(name, M, *args)


@pytest.mark.parametrize(
    "name, args",
    [
        ("reshape", (1,)),
        ("ravel", ()),
        ("transpose", ()),
        ("squeeze", ()),
        ("tile", (3,)),
        ("repeat", (2,)),
        ("atleast_1d", ()),
        ("atleast_2d", ()),
        ("atleast_3d", ()),
        ("broadcast_to", (3,)),
        ("expand_dims", (0,)),
        ("flip", ()),
        ("roll", (1,)),
    ],
)
def test_scalars(name, args):
    check(name, np.float32(2.5), *args)
    out = getattr(jnp, name)(2.5, *args)
    assert out.weak_type and out.dtype == np.float32


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0, 1)])
def test_empty_arrays(shape):
    x = np.zeros(shape, np.int32)
    for name, *args in (
        ("ravel",),
        ("transpose",),
        ("flip",),
        ("tile", 2),
        ("repeat", 2),
        ("roll", 1),
        ("atleast_3d",),
        ("resize", (2,)),
        ("append", x),
    ):
        check(name, x, *args)
    assert jnp.reshape(jnp.zeros((0, 3)), (-1, 3)).shape == (0, 3)


def test_column_order():
    for shape in ((4, 6), (-1,), (3, 8)):
        check("reshape", M, shape, order="F")
    check("ravel", M, order="F")


def test_squeeze():
    x = np.ones((1, 3, 1), np.float32)
    for axis in (None, 0, (0, 2), -1):
        check("squeeze", x, *(() if axis is None else (axis,)))
    assert jnp.squeeze(x, [0, -1]).shape == (3,)


def test_identity_operations_add_no_equation():
    same = [
        lambda x: jnp.reshape(x, x.shape),
        lambda x: jnp.moveaxis(x, 0, 0),
        jnp.squeeze,
        lambda x: jnp.transpose(x, (0, 1, 2)),
        jnp.atleast_3d,
        lambda x: jnp.roll(x, 2, 0),
        lambda x: jnp.broadcast_to(x, x.shape),
        lambda x: jnp.concatenate([x]),
    ]
    for fun in same:
        assert not mj.make_jaxpr(fun)(M).eqns
    x = jnp.ones(3)
    assert jnp.reshape(x, (3,)) is x and jnp.squeeze(x) is x


def test_shape_queries():
    assert jnp.shape(M) == (2, 3, 4) and jnp.shape([[1], [2]]) == (2, 1)
    assert jnp.ndim(M) == 3 and jnp.ndim(1.0) == 0
    assert jnp.size(M) == 24 and jnp.size(M, 1) == 3 and jnp.size(M, (0, -1)) == 8
    assert jnp.size(mj.ShapeDtypeStruct((2,), int)) == 2
    assert jnp.broadcast_shapes((2, 1), 3, (1,)) == (2, 3)
    assert jnp.broadcast_shapes() == ()


# ------------------------------------------------------------------ several operands

JOINS = ["concatenate", "stack", "vstack", "hstack", "dstack", "column_stack"]


@pytest.mark.parametrize("name", JOINS)
def test_joins(name):
    for xs in ([V, V + 1], [N, N, N], (N, N * 2), N, M):
        if name == "column_stack" and np.ndim(xs[0]) > 2:
            continue
        expected = getattr(np, name)(xs)
        for got in (getattr(jnp, name)(xs), mj.jit(getattr(jnp, name))(xs)):
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, None])
def test_concatenate_along_axes(axis):
    xs = [M, M[:, :, :] + 1]
    np.testing.assert_array_equal(jnp.concatenate(xs, axis), np.concatenate(xs, axis))
    np.testing.assert_array_equal(jnp.concat(xs, axis=axis), np.concatenate(xs, axis))
    if axis is not None:
        np.testing.assert_array_equal(jnp.stack(xs, axis), np.stack(xs, axis))
        np.testing.assert_array_equal(
            jnp.stack(N, axis if axis < 2 else 1), np.stack(N, axis if axis < 2 else 1)
        )
        for a, b in zip(jnp.unstack(M, axis=axis), np.moveaxis(M, axis, 0), strict=True):
            np.testing.assert_array_equal(a, b)
    if axis in (0, 1):
        np.testing.assert_array_equal(jnp.concatenate(M, axis), np.concatenate(M, axis))


def test_dtypes_of_joins():
    assert jnp.concatenate([V, N[0], V > 1]).dtype == np.float32
    assert jnp.stack([jnp.int8(1), jnp.uint8(2)]).dtype == np.int16
    assert jnp.stack([1.0, 2]).weak_type and not jnp.stack([jnp.float32(1), 2]).weak_type
    assert jnp.concatenate([V, V], dtype=int).dtype == np.int32
    assert jnp.vstack([V, V], dtype="bfloat16").dtype == jnp.bfloat16
    assert jnp.append(jnp.array([1, 2]), 1.5).tolist() == [1, 2, 1.5]


def test_blocks():
    a, b = np.ones((2, 2)), np.zeros((2, 3))
    for blocks in ([[a, b], [b, a]], [a, a], a, [[1, 2], [3, 4]], [[[a]], [[a]]]):
        np.testing.assert_array_equal(jnp.block(blocks), np.block(blocks))


def test_broadcast_arrays():
    got = jnp.broadcast_arrays(V, 1, M[0, :, :1])
    for a, b in zip(got, np.broadcast_arrays(V, 1, M[0, :, :1]), strict=True):
        np.testing.assert_array_equal(a, b)
    assert got[1].weak_type and jnp.broadcast_arrays() == ()


def test_laws_of_moving():
    x, y = M.astype(float) / 7, np.linspace(0, 1, 3)
    obeys(lambda x: jnp.reshape(x, (4, 6), order="F"), x)
    obeys(lambda x: jnp.moveaxis(x, 0, 1), x)
    obeys(lambda x, y: jnp.concatenate([x[0, 0], y, y]), x, y)
    obeys(lambda x, y: jnp.stack([y, x[0, :, 0]], 1), x, y)
    obeys(lambda x: jnp.split(x, [1], 1), x)
    obeys(lambda x: jnp.roll(x, (1, -1), (0, 2)), x)
    obeys(lambda x: jnp.tile(x, (2, 1, 2)), x)
    obeys(lambda x: jnp.repeat(x, np.array([1, 2, 0]), 1), x)
    obeys(lambda x: jnp.rot90(x), x)
    obeys(lambda y: jnp.insert(y, np.array([1, 1, 3]), y), y)
    obeys(lambda y: jnp.delete(y, 1), y)
    obeys(lambda y: jnp.resize(y, (2, 4)), y)


# ---------------------------------------------------------------- repeat, roll, traced


def test_repeat_with_counts():
    counts = np.array([2, 0, 3])
    check("repeat", N, counts, 1)
    check("repeat", N[0], counts)
    got = mj.jit(lambda x, c: jnp.repeat(x, c, total_repeat_length=5))(N[0], counts)
    np.testing.assert_array_equal(got, np.repeat(N[0], counts))
    for total, expected in ((4, [0, 0, 2, 2]), (7, [0, 0, 2, 2, 2, 2, 2])):
        assert jnp.repeat(N[0], counts, total_repeat_length=total).tolist() == expected
    assert jnp.repeat(N[0], 2, total_repeat_length=4).tolist() == [0, 0, 1, 1]
    assert jnp.repeat(N[0], jnp.int32(2)).tolist() == [0, 0, 1, 1, 2, 2]


def test_traced_shifts():
    for shift in (0, 1, -2, 7):
        got = mj.jit(lambda x, s: jnp.roll(x, s, 1))(N, shift)
        np.testing.assert_array_equal(got, np.roll(N, shift, 1))
        np.testing.assert_array_equal(mj.jit(jnp.roll)(N, shift), np.roll(N, shift))
    got = mj.jit(lambda x, s: jnp.roll(x, s, (0, 1)))(N, jnp.array([1, 1]))
    np.testing.assert_array_equal(got, np.roll(N, (1, 1), (0, 1)))
    lanes = mj.vmap(jnp.roll, (None, 0))(V, jnp.arange(3))
    np.testing.assert_array_equal(lanes, [np.roll(V, i) for i in range(3)])


# -------------------------------------------------------------------- delete and insert

PLACES = [
    1,
    -1,
    np.array([0, 2]),
    np.array([], int),
    slice(0, 2),
    slice(None, None, 2),
    np.array([True, False, True]),
    np.array([1, 1]),
]


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_delete(place):
    np.testing.assert_array_equal(jnp.delete(N, place, 1), np.delete(N, place, 1))
    if not isinstance(place, slice) and np.asarray(place).dtype != bool:
        np.testing.assert_array_equal(jnp.delete(N, place), np.delete(N, place))


def test_delete_traced_positions():
    delete = mj.jit(lambda x, i: jnp.delete(x, i, assume_unique_indices=True))
    for places in ([1], [0, 4], [-1, 2], [3, 1, 0]):
        np.testing.assert_array_equal(delete(V, jnp.array(places)), np.delete(V, places))
    np.testing.assert_array_equal(delete(V, 3), np.delete(V, 3))


INSERTS = [
    (V, 1, 9, None),
    (V, -1, 9, None),
    (V, 5, 9, None),
    (N, 2, 7, None),
    (N, 1, 9, 1),
    (N, 1, [7, 8, 9], 0),
    (N, np.array([1]), [[7], [8]], 1),
    (N, np.array([0, 2]), 9, 1),
    (N, np.array([2, 0, 2]), [5, 6, 7], 1),
    (V, slice(0, 2), 9, None),
    (N, 0, [[4, 5, 6]] * 2, 0),
    (V, np.array([], int), [], None),
    (N, 1, [[7, 8], [9, 6]], 1),
]


@pytest.mark.parametrize("x, place, values, axis", INSERTS)
def test_insert(x, place, values, axis):
    expected = np.insert(x, place, values, axis)
    values = np.asarray(values)
    np.testing.assert_array_equal(jnp.insert(x, place, values, axis), expected)
    if not isinstance(place, slice):
        insert = mj.jit(lambda x, i, v: jnp.insert(x, i, v, axis))
        np.testing.assert_array_equal(insert(x, place, values), expected)


def test_insert_converts_to_the_array():
    assert jnp.insert(jnp.array([1, 2]), 1, 2.7).tolist() == [1, 2, 2]


def test_trim_zeros():
    x = np.array([0, 0, 1, 0, 2, 0])
    for trim in ("fb", "f", "B"):
        np.testing.assert_array_equal(jnp.trim_zeros(x, trim), np.trim_zeros(x, trim))
    assert jnp.trim_zeros(jnp.zeros(3)).shape == (0,)
    m = np.zeros((3, 4))
    m[1, 2] = 1
    assert jnp.trim_zeros(m).shape == (1, 1)
    assert jnp.trim_zeros(m, axis=1).shape == (3, 1)


# ---------------------------------------------------------------------------------- pad

MODES = [
    "constant",
    "edge",
    "reflect",
    "symmetric",
    "wrap",
    "linear_ramp",
    "maximum",
    "mean",
    "median",
    "minimum",
]
WIDTHS = [1, (2, 1), ((0, 2), (3, 0)), ((1, 1),), 0, (7, 9)]


@pytest.mark.parametrize("width", WIDTHS, ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_pad(mode, width):
    for x in (N.astype(np.float32), N * 5):
        expected = np.pad(x, width, mode)
        got = jnp.pad(x, width, mode)
        assert got.dtype == x.dtype
        if mode == "linear_ramp" and x.dtype.kind == "i":
            assert got.shape == expected.shape  # integers round down: see test below
        else:
            np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_pad_with_values():
    for value in (7, (1, 2), ((1, 2), (3, 4)), np.float32(2.5)):
        np.testing.assert_array_equal(
            jnp.pad(N, 1, constant_values=value), np.pad(N, 1, constant_values=value)
        )
        np.testing.assert_allclose(
            jnp.pad(N / 2, 2, "linear_ramp", end_values=value),
            np.pad(N / 2, 2, "linear_ramp", end_values=value),
            rtol=1e-6,
        )
    assert jnp.pad(jnp.array([1, 3, 2]), (2, 4), "linear_ramp").tolist() == [
        0,
        0,
        1,
        3,
        2,
        1,
        1,
        0,
        0,
    ]
    for length in (1, 2, ((1, 2), (3, 1))):
        np.testing.assert_allclose(
            jnp.pad(N / 2, 2, "mean", stat_length=length),
            np.pad(N / 2, 2, "mean", stat_length=length),
            rtol=1e-6,
        )
    for mode in ("reflect", "symmetric"):
        np.testing.assert_allclose(
            jnp.pad(V, (3, 9), mode, reflect_type="odd"),
            np.pad(V, (3, 9), mode, reflect_type="odd"),
        )
    assert jnp.pad(V, 1, "empty").shape == (7,)


def test_pad_by_a_function():
    def ends(row, width, axis, kwargs):
        return row.at[: width[0]].set(7.0).at[len(row) - width[1] :].set(kwargs["end"])

    def ends_in_place(row, width, axis, kwargs):
        row[: width[0]] = 7.0
        row[len(row) - width[1] :] = kwargs["end"]

    x = N.astype(np.float32)
    np.testing.assert_array_equal(
        jnp.pad(x, (1, 2), ends, end=8.0), np.pad(x, (1, 2), ends_in_place, end=8.0)
    )


@pytest.mark.parametrize("mode", [*MODES, "empty"])
def test_pad_laws(mode):
    obeys(lambda x: jnp.pad(x, ((1, 2), (3, 0)), mode), N / 3 + np.eye(2, 3), exact=False)


# --------------------------------------------------------------------------------- bits


@pytest.mark.parametrize("order", ["big", "little"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_bits(axis, order):
    bits = np.random.default_rng(0).integers(0, 2, (3, 11))
    packed = np.packbits(bits, axis, order)
    for x in (bits, bits.astype(bool)):
        np.testing.assert_array_equal(jnp.packbits(x, axis, order), packed)
    for count in (None, 5, -3, 40):
        np.testing.assert_array_equal(
            jnp.unpackbits(packed, axis, count, order),
            np.unpackbits(packed, axis, count, order),
        )


# ------------------------------------------------------------ functions of functions


def test_apply_along_axis():
    for axis in (0, 1, 2, -1):
        for fun, ref in (
            (jnp.sum, np.sum),
            (lambda v: v * 2, lambda v: v * 2),
            (lambda v: v[:2, None] * v, lambda v: v[:2, None] * v),
        ):
            np.testing.assert_allclose(
                jnp.apply_along_axis(fun, axis, M), np.apply_along_axis(ref, axis, M)
            )
    got = jnp.apply_along_axis(lambda v, a, b=0: v.sum() * a + b, -1, M, 2, b=3)
    np.testing.assert_allclose(got, M.sum(-1) * 2 + 3)
    np.testing.assert_array_equal(
        jnp.apply_over_axes(jnp.sum, M, [0, 2]), np.apply_over_axes(np.sum, M, [0, 2])
    )


def test_vectorize():
    add = jnp.vectorize(lambda a, b: a + b)
    np.testing.assert_array_equal(add(V[:3], M[0, :, :3]), V[:3] + M[0, :, :3])
    dot = jnp.vectorize(jnp.dot, signature="(n),(n)->()")
    np.testing.assert_allclose(dot(M, M[0]), np.sum(M * M[0], -1))
    np.testing.assert_allclose(dot(M[:, :1], M[0]), np.sum(M[:, :1] * M[0], -1))
    product = jnp.vectorize(jnp.matmul, signature="(m,n),(n)->(m)")
    np.testing.assert_allclose(product(M, M[0, 0]), M @ M[0, 0])
    two = jnp.vectorize(lambda a: (a, a + 1), signature="()->(),()")
    assert [x.tolist() for x in two(jnp.arange(2))] == [[0, 1], [1, 2]]
    power = jnp.vectorize(lambda a, n: a**n, excluded={1})
    assert power(jnp.arange(3), 2).tolist() == [0, 1, 4]
    assert (
        jnp.vectorize(lambda a, b: a * b, excluded={"b"})(V, b=2).tolist() == (V * 2).tolist()
    )
    assert jnp.vectorize(lambda a, b: a if b is None else b)(V, None).tolist() == V.tolist()
    grown = jnp.vectorize(lambda a: jnp.zeros(2) + a, signature="()->(k)")
    assert grown(V).shape == (5, 2)

    @jnp.vectorize
    def documented(a):
        """About it."""
        return a

    assert documented.__name__ == "documented" and documented.__doc__ == "About it."


# ---------------------------------------------------------------------------- messages

MISTAKES = [
    (
        lambda: jnp.reshape(N, 4),
        TypeError,
        "cannot reshape array of shape (2, 3) (size 6) into shape 4 (size 4)",
    ),
    (lambda: jnp.reshape(N, (4, -1)), TypeError, "does not evenly divide 6"),
    (lambda: jnp.reshape(N, (-1, -1)), TypeError, "can only specify one unknown axis"),
    (lambda: jnp.reshape(N, (2.0, 3)), TypeError, "Shapes must be 1D sequences"),
    (lambda: jnp.reshape(N, 6, order="A"), NotImplementedError, "order=A"),
    (lambda: jnp.reshape(N, 6, order="Z"), ValueError, "Unexpected value for 'order'"),
    (lambda: jnp.reshape([1], 1), TypeError, "reshape requires ndarray or scalar"),
    (lambda: jnp.ravel(N, "K"), NotImplementedError, "order='K'"),
    (lambda: jnp.transpose(N, (0, 0)), TypeError, "isn't a permutation"),
    (lambda: jnp.matrix_transpose(V), ValueError, "must be at least two-dimensional"),
    (lambda: jnp.moveaxis(N, 0, 5), ValueError, "axis 5 is out of bounds"),
    (lambda: jnp.moveaxis(N, (0, 1), 0), ValueError, "Inconsistent number of elements"),
    (lambda: jnp.rollaxis(N, 0, 9), ValueError, "start=9 must satisfy -2<=start<=2"),
    (lambda: jnp.squeeze(N, 0), ValueError, "size not equal to one"),
    (lambda: jnp.expand_dims(N, (0, 0)), ValueError, "repeated axis"),
    (lambda: jnp.broadcast_to(N, 3), ValueError, "fewer dimensions"),
    (lambda: jnp.broadcast_to(N, (2, 2)), ValueError, "Incompatible types for broadc"),
    (lambda: jnp.broadcast_to(V, (-1, 5)), TypeError, "every element be nonnegative"),
    (lambda: jnp.broadcast_shapes((2,), (3,)), ValueError, "Incompatible shapes for"),
    (lambda: jnp.concatenate([]), ValueError, "Need at least one array to concatenate"),
    (lambda: jnp.concatenate([1, 2]), ValueError, "Zero-dimensional arrays cannot be"),
    (lambda: jnp.concatenate([[1], [2]]), TypeError, "got <class 'list'> at position 0"),
    (lambda: jnp.concatenate([V, N]), TypeError, "different numbers of dimensions"),
    (lambda: jnp.concatenate([V, V], 1), ValueError, "axis 1 is out of bounds"),
    (lambda: jnp.concatenate(3.0), TypeError, "takes a sequence of arrays"),
    (lambda: jnp.stack([]), ValueError, "Need at least one array to stack"),
    (lambda: jnp.stack([V, V[:2]]), ValueError, "must have the same shape"),
    (lambda: jnp.stack([V, 1.0]), ValueError, "different numbers of dimensions"),
    (lambda: jnp.stack([V], out=V), NotImplementedError, "The 'out' argument"),
    (lambda: jnp.hstack([]), ValueError, "need at least one array"),
    (lambda: jnp.block([[V], V]), ValueError, "Mismatched list depths"),
    (lambda: jnp.block([]), ValueError, "does not allow empty list arguments"),
    (lambda: jnp.block((V, V)), ValueError, "does not allow tuples"),
    (lambda: jnp.split(V, 2), ValueError, "does not result in an equal division"),
    (lambda: jnp.split(V, [3, 1]), ValueError, "Sizes passed to split must be nonnegative"),
    (lambda: mj.jit(jnp.split)(V, 5), TypeError, "`indices_or_sections`"),
    (lambda: jnp.tile(V, -1), TypeError, "every element be nonnegative"),
    (lambda: jnp.repeat(V, [1]), TypeError, "repeat requires ndarray or scalar"),
    (lambda: jnp.repeat(V, np.array([1, 2])), ValueError, "of different sizes: 2 and 5"),
    (lambda: jnp.repeat(V, 1.5), TypeError, "repeats must be integers"),
    (lambda: mj.jit(jnp.repeat)(V, 2), TypeError, "total number of repeats must be static"),
    (lambda: jnp.roll(N, (1, 2, 3), (0, 1)), ValueError, "do not broadcast together"),
    (lambda: jnp.roll(N, 1, 3), ValueError, "axis 3 is out of bounds"),
    (lambda: jnp.rot90(V), ValueError, "ndim at least two"),
    (lambda: jnp.rot90(N, 1, (0, 0)), ValueError, "Axes must be different"),
    (lambda: jnp.flip(N, 3), ValueError, "axis 3 is out of bounds"),
    (lambda: jnp.resize(V, -1), ValueError, "must be non-negative"),
    (lambda: jnp.packbits(V), TypeError, "integer or boolean data type"),
    (lambda: jnp.unpackbits(N), TypeError, "unsigned byte data type"),
    (lambda: jnp.packbits(N, bitorder="x"), ValueError, "'little' or 'big'"),
    (lambda: jnp.delete(V, 5), ValueError, "5 is out of bounds"),
    (lambda: jnp.delete(V, np.array([7])), IndexError, "out of bounds"),
    (lambda: mj.jit(jnp.delete)(V, 1), TypeError, "'obj' array argument of jnp.delete"),
    (lambda: jnp.insert(V, V > 1, 1), ValueError, "index array must be integer typed"),
    (lambda: mj.jit(jnp.trim_zeros)(V), TypeError, "`filt` argument of trim_zeros"),
    (lambda: jnp.pad(V, 1.5), TypeError, "`pad_width` must be of integral type"),
    (lambda: jnp.pad(V, -1), ValueError, "can't contain negative values"),
    (lambda: jnp.pad(N, ((1, 1),) * 3), ValueError, "has unsupported shape (3, 2)"),
    (lambda: jnp.pad(V, 1, "foo"), NotImplementedError, "Unimplemented padding mode 'foo'"),
    (lambda: jnp.pad(V, 1, foo=1), ValueError, "unsupported keyword arguments for mode"),
    (lambda: jnp.pad(V[:0], 1, "reflect"), ValueError, "'reflect' padding to empty axis"),
    (lambda: jnp.pad(V, 1, "mean", stat_length=0), ValueError, "stat_length of 0"),
    (lambda: jnp.pad(V, 1, "reflect", reflect_type="x"), ValueError, "'even' or 'odd'"),
    (lambda: jnp.vectorize(abs, signature="foo"), ValueError, "not a valid gufunc signa"),
    (lambda: jnp.vectorize(abs, excluded={-1}), ValueError, "contains negative numbers"),
    (
        lambda: jnp.vectorize(lambda a: a, signature="(n)->(n)")(1.0),
        ValueError,
        "does not have enough dimensions",
    ),
    (
        lambda: jnp.vectorize(lambda a: a, signature="(n)->()")(V),
        ValueError,
        "output shape (5,) does not match core dimensions ()",
    ),
    (
        lambda: jnp.vectorize(lambda a, b: a, signature="(n),(n)->()")(V, N),
        ValueError,
        "inconsistent size for core dimension 'n': 3 vs 5",
    ),
    (
        lambda: jnp.vectorize(lambda a, b: a, signature="(),()->()")(V),
        TypeError,
        "wrong number of positional arguments: expected 2, got 1",
    ),
    (lambda: jnp.apply_along_axis(jnp.sum, 5, V), ValueError, "axis 5 is out of bounds"),
    (
        lambda: jnp.apply_over_axes(lambda a, i: a.sum(), M, [0]),
        ValueError,
        "not returning an array of the correct shape",
    ),
]


@pytest.mark.parametrize("fun, error, text", MISTAKES)
def test_messages(fun, error, text):
    with pytest.raises(error, match=re.escape(text)):
        fun()


@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (3, 2), (3,), (0,), (0, 0)])
@pytest.mark.parametrize("k", [0, 1, -1])
def test_diag_keeps_weak_types_as_diagonal_does(shape, k):
    x = mj.lax.full(shape, 1.0)
    square = len(shape) == 2 and shape[0] == shape[1] and k == 0
    assert jnp.diag(x, k).weak_type is not square


@pytest.mark.parametrize("within", [mj.jit, mj.vmap, mj.grad])
def test_reshaped_numpy_arrays_stay_concrete(within):
    rows = np.arange(6.0)

    def f(x):
        table = jnp.reshape(rows, (2, -1))
        assert type(table) is np.ndarray and table.all(axis=1).tolist() == [False, True]
        by_columns = jnp.reshape(rows > 2, (2, 3), order="F")
        assert by_columns.tolist() == [[False, False, True], [False, True, True]]
        assert isinstance(jnp.reshape(jnp.arange(4), (2, 2)), mj.Array)
        return (table[1, 0] * x).sum()

    assert within(f)(jnp.ones((1,)) if within is mj.vmap else 1.0) == 3.0


def test_numpy_arrays_are_reshaped_to_arrays_outside_of_traces():
    assert isinstance(jnp.reshape(np.arange(6.0), (2, 3)), mj.Array)
