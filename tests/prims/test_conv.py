"""Convolutions against NumPy: shapes, groups, dilations, derivatives, lanes, errors."""

import itertools

import numpy as np
import pytest

import minijax as mj
from minijax.prims.conv import conv_functions as convs
from minijax.prims.conv.general import ConvDimensionNumbers, conv_general_dilated
from minijax.prims.window_padding import padtype_to_pads

FIRST = {1: ("NCH", "OIH", "NCH"), 2: ("NCHW", "OIHW", "NCHW"), 0: ("NC", "OI", "NC")}


def data(shape, dtype="float32", seed=0):
    return np.random.RandomState(seed).randint(-4, 5, shape).astype(dtype)


def dilate(x, dilations):
    """`x` with zeros between its elements along the last axes."""
    shape = list(x.shape)
    for i, f in enumerate(dilations, 2):
        shape[i] = (shape[i] - 1) * f + 1 if shape[i] else 0
    out = np.zeros(shape, x.dtype)
    out[(..., *(slice(None, None, f) for f in dilations))] = x
    return out


def pad(x, pads):
    """Padding that may be negative."""
    x = np.pad(x, [(0, 0), (0, 0), *((max(lo, 0), max(hi, 0)) for lo, hi in pads)])
    inner_slices = [
        slice(max(-lo, 0), x.shape[i] - max(-hi, 0)) for i, (lo, hi) in enumerate(pads, 2)
    ]
    return x[(slice(None), slice(None), *inner_slices)]


def reference(
    x,
    w,
    strides,
    pads,
    lhs_dilation=None,
    rhs_dilation=None,
    dimension_numbers=None,
    feature_group_count=1,
    batch_group_count=1,
):
    n = x.ndim - 2
    numbers = convs.conv_dimension_numbers(x.shape, w.shape, dimension_numbers)
    x, w = x.transpose(numbers.lhs_spec), w.transpose(numbers.rhs_spec)
    wide = x.astype(np.result_type(x.dtype, np.float64)) if x.dtype != bool else x
    x = pad(dilate(wide, lhs_dilation or (1,) * n), pads)
    w = dilate(w.astype(x.dtype), rhs_dilation or (1,) * n)
    groups = max(feature_group_count, batch_group_count)
    group_results = []
    for g in range(groups):
        kernel = np.split(w, groups, 0)[g]
        if feature_group_count > 1:
            group = np.split(x, groups, 1)[g]
        else:
            group = np.split(x, groups, 0)[g]
        sizes = [
            max(0, (group.shape[i + 2] - kernel.shape[i + 2]) // strides[i] + 1)
            for i in range(n)
        ]
        out = np.zeros((group.shape[0], kernel.shape[0], *sizes), x.dtype)
        for p in itertools.product(*map(range, sizes)):
            window = tuple(
                slice(i * s, i * s + k)
                for i, s, k in zip(p, strides, kernel.shape[2:], strict=True)
            )
            out[(slice(None), slice(None), *p)] = np.tensordot(
                group[(slice(None), slice(None), *window)],
                kernel,
                (range(1, n + 2), range(1, n + 2)),
            )
        group_results.append(out)
    return np.concatenate(group_results, 1).transpose(np.argsort(numbers.out_spec))


NHWC = ("NHWC", "HWIO", "NHWC")
CASES = {
    "plain": ((2, 3, 6, 5), (4, 3, 3, 2), (1, 1), ((0, 0), (0, 0)), {}),
    "one axis": ((2, 3, 7), (4, 3, 3), (2,), ((1, 2),), {}),
    "no axis": ((2, 3), (4, 3), (), (), {}),
    "strides": ((2, 3, 6, 5), (4, 3, 3, 2), (2, 3), ((1, 2), (0, 1)), {}),
    "dilations": (
        (2, 3, 6, 5),
        (4, 3, 3, 2),
        (2, 1),
        ((1, 2), (3, 1)),
        {"lhs_dilation": (2, 3), "rhs_dilation": (1, 2)},
    ),
    "negative padding": ((2, 3, 6, 5), (4, 3, 3, 2), (1, 1), ((-1, 2), (0, -2)), {}),
    "channels last": (
        (2, 6, 5, 3),
        (3, 2, 3, 4),
        (2, 1),
        ((1, 2), (0, 1)),
        {"dimension_numbers": NHWC},
    ),
    "mixed numbers": (
        (3, 6, 2, 5),
        (3, 4, 2, 3),
        (2, 1),
        ((1, 2), (0, 1)),
        {"dimension_numbers": ("CHNW", "HOWI", "WNHC"), "rhs_dilation": (2, 1)},
    ),
    "feature groups": (
        (2, 6, 6, 5),
        (4, 3, 3, 2),
        (2, 1),
        ((1, 2), (0, 1)),
        {"feature_group_count": 2, "lhs_dilation": (1, 2)},
    ),
    "depthwise, last": (
        (2, 6, 5, 3),
        (3, 2, 1, 6),
        (1, 2),
        ((1, 1), (0, 1)),
        {"feature_group_count": 3, "dimension_numbers": NHWC},
    ),
    "batch groups": (
        (6, 3, 6, 5),
        (4, 3, 3, 2),
        (2, 1),
        ((1, 2), (0, 1)),
        {"batch_group_count": 2, "rhs_dilation": (2, 1)},
    ),
    "batch groups, last": (
        (4, 6, 5, 3),
        (3, 2, 3, 4),
        (1, 1),
        ((1, 1), (0, 1)),
        {"batch_group_count": 4, "dimension_numbers": NHWC},
    ),
    "empty batch": ((0, 3, 6), (4, 3, 2), (1,), ((0, 0),), {}),
    "empty result": ((2, 3, 2), (4, 3, 3), (1,), ((0, 0),), {}),
    "no features": ((2, 0, 6), (4, 0, 3), (1,), ((0, 0),), {}),
}
every = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
LANES = [c for n, c in CASES.items() if not n.startswith(("empty", "no f"))]


def call(case):
    _, _, strides, pads, more = case
    return lambda x, w: conv_general_dilated(x, w, strides, pads, **more)


@every
def test_values(case):
    x, w = data(case[0]), data(case[1], seed=1)
    got = np.asarray(mj.jit(call(case))(x, w))
    np.testing.assert_array_equal(got, reference(x, w, *case[2:4], **case[4]))


@pytest.mark.parametrize(
    "dtype", ["bool", "int4", "int8", "uint8", "int32", "bfloat16", "float16", "complex64"]
)
def test_dtypes(dtype):
    x, w = data((2, 3, 6), "int32"), data((4, 3, 2), "int32", 1)
    x, w = (v % 2 for v in (x, w)) if dtype == "int4" else (x, w)
    if dtype == "complex64":
        x, w = x + 1j * data(x.shape, seed=2), w - 2j * data(w.shape, seed=3)
    x, w = x.astype(dtype), w.astype(dtype)
    got = np.asarray(conv_general_dilated(x, w, (1,), ((1, 0),)))
    assert got.dtype == x.dtype
    if dtype == "bool":
        wide = reference(x.astype(int), w.astype(int), (1,), ((1, 0),))
        np.testing.assert_array_equal(got, wide > 0)
    else:
        kind = np.complex128 if dtype == "complex64" else np.float64
        wide = reference(x.astype(kind), w.astype(kind), (1,), ((1, 0),))
        np.testing.assert_array_equal(got, wide.astype(dtype))


@pytest.mark.parametrize(
    "dtype, preferred",
    [("int8", "int32"), ("int8", "float32"), ("bfloat16", "float32"), ("float16", "float32")],
)
def test_preferred_element_type(dtype, preferred):
    x, w = data((2, 3, 6), dtype), data((4, 3, 2), dtype, 1)
    got = np.asarray(
        conv_general_dilated(x, w, (1,), "VALID", preferred_element_type=preferred)
    )
    assert got.dtype == preferred
    kind = np.float64
    expected = reference(x.astype(kind), w.astype(kind), (1,), ((0, 0),))
    np.testing.assert_array_equal(got, expected)


def test_precision_does_not_change_the_meaning():
    x, w = data((2, 3, 6)), data((4, 3, 2), seed=1)
    for p in ("highest", ("high", "default"), "F32_F32_F32"):
        got = conv_general_dilated(x, w, (1,), "VALID", precision=p)
        np.testing.assert_array_equal(got, reference(x, w, (1,), ((0, 0),)))


# ------------------------------------------------------------------------ derivatives


@every
def test_transpose_by_inner_product(case):
    x, w = data(case[0]), data(case[1], seed=1)

    def pull(x, w, ct):
        out, back = mj.vjp(call(case), x, w)
        return out, *back(ct)

    ct = data(call(case)(x, w).shape, seed=2)
    out, x_ct, w_ct = map(np.asarray, mj.jit(pull)(x, w, ct))
    assert x_ct.shape == x.shape and w_ct.shape == w.shape
    expected = np.vdot(ct, out)
    np.testing.assert_allclose(np.vdot(x_ct, x), expected, rtol=1e-6)
    np.testing.assert_allclose(np.vdot(w_ct, w), expected, rtol=1e-6)


@every
def test_jvp(case):
    x, w = data(case[0]), data(case[1], seed=1)
    tx, tw = data(case[0], seed=2), data(case[1], seed=3)
    f = call(case)
    _, tangent = mj.jit(lambda *a: mj.jvp(f, a[:2], a[2:]))(x, w, tx, tw)
    expected = reference(tx, w, *case[2:4], **case[4]) + reference(x, tw, *case[2:4], **case[4])
    np.testing.assert_array_equal(tangent, expected)


def test_derivative_with_preferred_type_has_the_operands_dtypes():
    x, w = data((2, 3, 6), "bfloat16"), data((4, 3, 2), "bfloat16", 1)
    out, back = mj.vjp(
        lambda x, w: conv_general_dilated(
            x, w, (1,), "VALID", preferred_element_type="float32"
        ),
        x,
        w,
    )
    x_ct, w_ct = back(np.ones(out.shape, np.float32))
    assert x_ct.dtype == w_ct.dtype == x.dtype


# ------------------------------------------------------------------------------ lanes


@pytest.mark.parametrize("case", LANES)
@pytest.mark.parametrize("dims", [(0, 0), (1, 2), (-1, 1), (1, None), (None, 1), (-1, None)])
def test_lanes(case, dims):
    xs = [data(case[0], seed=k) for k in range(3)]
    ws = [data(case[1], seed=9 + k) for k in range(3)]
    if dims[0] is None:
        xs = [xs[0]] * 3
    if dims[1] is None:
        ws = [ws[0]] * 3
    x = xs[0] if dims[0] is None else np.stack(xs, dims[0])
    w = ws[0] if dims[1] is None else np.stack(ws, dims[1])
    got = mj.jit(mj.vmap(call(case), in_axes=dims))(x, w)
    expected = [reference(a, b, *case[2:4], **case[4]) for a, b in zip(xs, ws, strict=True)]
    np.testing.assert_array_equal(got, np.stack(expected))


# ------------------------------------------------------------ padding, other functions


@pytest.mark.parametrize(
    "n, k, s", list(itertools.product(range(1, 9), range(1, 5), (1, 2, 3)))
)
def test_named_padding(n, k, s):
    (same,) = padtype_to_pads((n,), (k,), (s,), "SAME")
    (lower,) = padtype_to_pads((n,), (k,), (s,), "SAME_LOWER")
    assert same == lower[::-1] and 0 <= same[1] - same[0] <= 1
    assert (n + sum(same) - k) // s + 1 == -(-n // s)
    assert padtype_to_pads((n,), (k,), (s,), "valid") == [(0, 0)]


def test_short_forms():
    x, w = data((2, 3, 8)), data((4, 3, 3), seed=1)
    np.testing.assert_array_equal(
        convs.conv(x, w, (2,), "SAME"), reference(x, w, (2,), ((0, 1),))
    )
    np.testing.assert_array_equal(
        convs.conv_with_general_padding(x, w, (2,), [(1, 1)], (2,), (3,)),
        reference(x, w, (2,), ((1, 1),), (2,), (3,)),
    )


@pytest.mark.parametrize("stride", [1, 2, 4])
@pytest.mark.parametrize("padding", ["SAME", "VALID", [(1, 2)]])
@pytest.mark.parametrize("size", [1, 3, 4])
def test_conv_transpose_is_the_transpose_of_a_convolution(stride, padding, size):
    """With the kernel transposed, and padding as of the convolution."""
    w = data((size, 5, 3), seed=1)  # H, I, O of the convolution
    numbers = ("NHC", "HIO", "NHC")
    y = data((2, 4, 3), seed=2)
    got = convs.conv_transpose(
        y, w, (stride,), padding, transpose_kernel=True, use_consistent_padding=True
    )
    n = got.shape[1]
    x = data((2, n, 5))
    # The convolution whose result has y's shape and whose transpose has x's.
    forward = {"SAME": "SAME", "VALID": "VALID"}.get(
        padding if isinstance(padding, str) else "", padding
    )

    def conv(v):
        return conv_general_dilated(v, w, (stride,), forward, dimension_numbers=numbers)

    assert conv(x).shape == y.shape
    (expected,) = mj.vjp(conv, x)[1](y)
    np.testing.assert_array_equal(got, expected)


def test_conv_transpose_sizes():
    x, w = data((1, 4, 3)), data((3, 3, 7))
    assert convs.conv_transpose(x, w, (2,), "SAME").shape == (1, 8, 7)
    assert convs.conv_transpose(x, w, (2,), "VALID").shape == (1, 9, 7)
    assert convs.conv_transpose(x, w, (2,), [(1, 1)]).shape == (1, 7, 7)
    assert convs.conv_transpose(x, w, (2,), "VALID", rhs_dilation=(2,)).shape == (1, 11, 7)
    spec = ("NHC", "HIO", "NHC")
    assert convs.conv_transpose_shape_tuple(x.shape, w.shape, (2,), "SAME", spec) == (1, 8, 7)
    assert convs.conv_transpose_shape_tuple(x.shape, w.shape, (2,), "VALID", spec) == (1, 9, 7)


@pytest.mark.parametrize("case", LANES)
def test_shape_functions(case):
    x, w, strides, pads, more = case
    if more.keys() - {"dimension_numbers"}:
        return
    spec = more.get("dimension_numbers", FIRST[len(strides)])
    expected = call(case)(data(x), data(w)).shape
    assert convs.conv_general_shape_tuple(x, w, strides, pads, spec) == expected


@pytest.mark.parametrize("numbers", [None, NHWC, ("CHNW", "HOWI", "WNHC")])
def test_patches(numbers):
    spec = convs.conv_dimension_numbers((1,) * 4, (1,) * 4, numbers)
    x = data((2, 3, 6, 5))
    lhs_in_layout = x.transpose(np.argsort(spec.lhs_spec))
    got = convs.conv_general_dilated_patches(
        lhs_in_layout, (3, 2), (2, 1), [(1, 0), (0, 1)], dimension_numbers=numbers
    )
    got = np.asarray(got).transpose(spec.out_spec)
    padded = pad(x, [(1, 0), (0, 1)])
    for i, j in itertools.product(*map(range, got.shape[2:])):
        window = padded[:, :, 2 * i : 2 * i + 3, j : j + 2]
        np.testing.assert_array_equal(got[:, :, i, j], window.reshape(2, -1))


@pytest.mark.parametrize("numbers", [None, NHWC])
def test_unshared_kernels(numbers):
    spec = convs.conv_dimension_numbers((1,) * 4, (1,) * 4, numbers)
    x, w = data((2, 3, 5, 6)), data((4, 3 * 3 * 2, 3, 5), seed=1)
    got = convs.conv_general_dilated_local(
        x.transpose(np.argsort(spec.lhs_spec)),
        w.transpose(np.argsort(spec.rhs_spec)),
        (1, 1),
        "VALID",
        (3, 2),
        dimension_numbers=numbers,
        precision="highest",
    )
    got = np.asarray(got).transpose(spec.out_spec)
    for i, j in itertools.product(range(3), range(5)):
        window = x[:, :, i : i + 3, j : j + 2].reshape(2, -1)
        np.testing.assert_array_equal(got[:, :, i, j], window @ w[:, :, i, j].T)


# ------------------------------------------------------------------------------ errors

X, W = np.ones((2, 6, 8, 9), np.float32), np.ones((4, 3, 3, 3), np.float32)
Y, ONE = X[:, :3], (1, 1)


@pytest.mark.parametrize(
    "args, more, error, text",
    [
        ((Y, W, (1,), "SAME"), {}, ValueError, "but got 2 and 1"),
        ((Y, W, (1, 1), [(1, 1)]), {}, TypeError, "expected 2, got 1"),
        ((Y, W, (1, 1), "foo"), {}, RuntimeError, "padding type"),
        ((X, W, ONE, "SAME"), {}, ValueError, "6 // 1 != 3"),
        ((X, W, ONE, "SAME"), {"feature_group_count": 3}, ValueError, "6 // 3 != 3"),
        ((X, W, ONE, "SAME"), {"feature_group_count": 0}, ValueError, "positive"),
        ((Y, W, ONE, "SAME"), {"batch_group_count": 3}, ValueError, "not a multiple"),
        ((Y[:1], W, ONE, "SAME"), {"batch_group_count": 2}, ValueError, "not divide 1"),
        (
            (X, W, ONE, "SAME"),
            {"batch_group_count": 2, "feature_group_count": 2},
            ValueError,
            "At most one",
        ),
        ((Y, W, (0, 1), "VALID"), {}, ValueError, "must be positive"),
        ((Y, W, (1, 1), [(-9, 0), (0, 0)]), {}, ValueError, "removes more"),
        ((Y, W.astype("float16"), (1, 1), "SAME"), {}, TypeError, "same dtypes"),
        ((Y, W[0], (1, 1), "SAME"), {}, TypeError, "ndim to be equal"),
        ((Y, W, ONE, "SAME"), {"lhs_dilation": (2, 1)}, ValueError, "String padding"),
        (
            (Y, W, ONE, "SAME"),
            {"dimension_numbers": ("NHWC", "HWII", "NHWC")},
            TypeError,
            "exactly once, got HWII",
        ),
        (
            (Y, W, ONE, "SAME"),
            {"dimension_numbers": ("NHWC", "HWI", "NHWC")},
            TypeError,
            "len equal to the ndim",
        ),
        (
            (Y, W, ONE, "SAME"),
            {"dimension_numbers": ("NHWC", "HXIO", "NHWC")},
            TypeError,
            "same set of spatial",
        ),
        ((Y, W, ONE, "SAME"), {"dimension_numbers": 3}, TypeError, "must be tuple/list"),
        ((Y, W, ONE, "SAME"), {"preferred_element_type": "int32"}, TypeError, "floats"),
        ((Y, W, ONE, "SAME"), {"preferred_element_type": "float16"}, TypeError, "narrower"),
        (
            (Y.astype("int8"), W.astype("int8"), (1, 1), "SAME"),
            {"preferred_element_type": "uint32"},
            TypeError,
            "signedness",
        ),
        ((Y, W, ONE, "SAME"), {"precision": "best"}, ValueError, "Precision argument"),
        ((Y, W, ONE, "SAME"), {"out_sharding": 3}, TypeError, "out_sharding"),
    ],
)
def test_errors(args, more, error, text):
    with pytest.raises(error, match=text):
        conv_general_dilated(*args, **more)


def test_dimension_numbers():
    numbers = convs.conv_dimension_numbers((1,) * 4, (1,) * 4, NHWC)
    assert numbers == ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    assert convs.conv_dimension_numbers((1,) * 4, (1,) * 4, numbers) == numbers
    assert convs.conv_general_permutations(NHWC) == tuple(numbers)


def test_patches_of_another_rank():
    for f in (
        lambda x: convs.conv_general_dilated_patches(x, (1,), (1,), "SAME"),
        lambda x: convs.conv_general_dilated_local(x, x, (1,), "SAME", (1,)),
    ):
        with pytest.raises(TypeError, match="lhs and rhs ndim to be equal, got 1 and 3"):
            f(np.ones(2, np.float32))
