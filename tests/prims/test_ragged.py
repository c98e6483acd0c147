"""Ragged and scaled dot products: compared with NumPy, laws, lowering, errors."""

import numpy as np
import pytest
from laws import obeys

import minijax as mj
from minijax import lax
from minijax.lax import RaggedDotDimensionNumbers as Numbers
from minijax.passes.stage import stage_closed
from minijax.runtime.lowering.lower_jaxpr import lower_jaxpr
from minijax.types.avals import shaped

RANDOM = np.random.default_rng(0)


def f32(*shape):
    return RANDOM.integers(-4, 5, shape).astype(np.float32)


def groups_of(sizes, n):
    """The group of each row; -1 beyond the last."""
    return np.repeat([*range(len(sizes)), -1], [*sizes, n - sum(sizes)])


@pytest.mark.parametrize("sizes", [[3, 4], [0, 7], [2, 2], [0, 0], [1, 1]])
@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_ragged_dot(sizes, dtype):
    x, w, n = f32(7, 3), f32(2, 3, 4), np.array(sizes, dtype)
    which = groups_of(sizes, 7)
    expected = np.stack(
        [row @ w[g] if g >= 0 else 0 * (row @ w[0]) for row, g in zip(x, which, strict=True)]
    )
    np.testing.assert_array_equal(lax.ragged_dot(x, w, n), expected)
    obeys(lambda x, w: lax.ragged_dot(x, w, n), x, w)


def test_lanes_of_sizes():
    x, w = f32(3, 7, 3), f32(3, 2, 3, 4)
    n = np.array([[3, 4], [0, 5], [7, 0]], np.int32)
    expected = np.stack([lax.ragged_dot(*args) for args in zip(x, w, n, strict=True)])
    np.testing.assert_array_equal(mj.vmap(lax.ragged_dot)(x, w, n), expected)
    got = mj.vmap(lax.ragged_dot, (None, None, 1))(x[0], w[0], n.T)
    expected = np.stack([lax.ragged_dot(x[0], w[0], m) for m in n])
    np.testing.assert_array_equal(got, expected)
    # two maps, one of them over the sizes
    got = mj.vmap(lambda m: mj.vmap(lambda a, b: lax.ragged_dot(a, b, m))(x, w))(n)
    expected = np.stack(
        [[lax.ragged_dot(a, b, m) for a, b in zip(x, w, strict=True)] for m in n]
    )
    np.testing.assert_array_equal(got, expected)


MODES = {
    # lhs, rhs, numbers, einsum of one group (rows chosen along the ragged axis)
    "kept": ((7, 3), (2, 3, 4), Numbers((((1,), (1,)), ((), ())), (0,), (0,))),
    "kept, turned": ((3, 7), (4, 2, 3), Numbers((((0,), (2,)), ((), ())), (1,), (1,))),
    "kept, batch": ((5, 7, 3), (3, 2, 5, 4), Numbers((((2,), (0,)), ((0,), (2,))), (1,), (1,))),
    "kept among others": ((2, 7, 3), (2, 3, 4), Numbers((((2,), (1,)), ((), ())), (1,), (0,))),
    "summed": ((7, 3), (7, 4), Numbers((((0,), (0,)), ((), ())), (0,), ())),
    "summed, batch": ((5, 3, 7), (7, 4, 5), Numbers((((2,), (0,)), ((0,), (2,))), (2,), ())),
    "summed among others": (
        (7, 2, 3),
        (2, 7, 4),
        Numbers((((0, 1), (1, 0)), ((), ())), (0,), ()),
    ),
    "batch": ((7, 2, 3), (7, 3, 4), Numbers((((2,), (1,)), ((0,), (0,))), (0,), ())),
}


def reference(x, w, sizes, numbers):
    dims = numbers.dot_dimension_numbers
    (axis,), groups = numbers.lhs_ragged_dimensions, numbers.rhs_group_dimensions
    (lhs_contracting, rhs_contracting), (l_batch, _) = dims
    if axis in l_batch:
        return lax.dot_general(x, w, dims)
    which = groups_of(sizes, x.shape[axis])
    rest = [
        tuple(a - sum(g < a for g in groups) for a in side)
        for side in (rhs_contracting, dims[1][1])
    ]
    dims = ((lhs_contracting, rest[0]), (l_batch, rest[1]))
    group_results = []
    for g in range(len(sizes)):
        keep = (which == g).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
        own = np.take(w, g, groups[0]) if groups else w
        group_results.append(np.asarray(lax.dot_general(x * keep, own, dims)))
    return np.sum(group_results, 0) if groups else np.stack(group_results)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sizes", [[3, 4], [2, 3]])
def test_modes(mode, sizes):
    left, right, numbers = MODES[mode]
    x, w, n = f32(*left), f32(*right), np.array(sizes, np.int32)

    def fun(x, w):
        return lax.ragged_dot_general(x, w, n, numbers)

    np.testing.assert_array_equal(fun(x, w), reference(x, w, sizes, numbers))
    obeys(fun, x, w)


def test_preferred_type_and_precision():
    x, w, n = f32(7, 3), f32(2, 3, 4), np.array([3, 4], np.int32)
    half = mj.numpy.bfloat16
    out, back = mj.vjp(
        lambda x, w: lax.ragged_dot(
            x, w, n, precision="highest", preferred_element_type="float32"
        ),
        x.astype(half),
        w.astype(half),
    )
    np.testing.assert_array_equal(out, lax.ragged_dot(x, w, n))
    assert [ct.dtype for ct in back(np.ones_like(out))] == [half, half]


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
@pytest.mark.parametrize("mode", MODES)
def test_other_platforms_have_an_operation(mode, platform):
    left, right, numbers = MODES[mode]
    avals = [
        shaped(left, np.dtype("f4")),
        shaped(right, np.dtype("f4")),
        shaped((2,), np.dtype("i4")),
    ]
    closed = stage_closed(
        lambda x, w, n: [lax.ragged_dot_general(x, w, n, numbers, "high")], avals
    )
    module = lower_jaxpr(closed, "f", platform).module
    assert module.operation.verify() and "chlo.ragged_dot" in str(module)


def test_numbers():
    one = Numbers((([1], [1]), ([], [])), [0], [0])
    assert one == MODES["kept"][2] and hash(one) == hash(MODES["kept"][2])
    assert repr(one) == (
        "RaggedDotDimensionNumbers(dot_dimension_numbers=(((1,), (1,)), ((), ())),"
        " lhs_ragged_dimensions=(0,), rhs_group_dimensions=(0,))"
    )


@pytest.mark.parametrize(
    "args, error, text",
    [
        ((f32(7, 3), f32(2, 3, 4), np.ones(1, int)), TypeError, "to be 1, got 2"),
        ((f32(7, 3), f32(2, 2, 4), np.ones(2, int)), TypeError, "same shape"),
        ((f32(7, 3), f32(2, 3, 4), np.ones(2, "f4")), TypeError, "np.integer"),
        ((f32(7, 3), f32(2, 3, 4), np.ones((7, 2), int)), TypeError, "group_sizes to have"),
    ],
)
def test_errors(args, error, text):
    with pytest.raises(error, match=text):
        lax.ragged_dot(*args)


def test_wrong_numbers():
    x, n = f32(7, 3), np.array([3, 4], np.int32)
    dims = (((0,), (0,)), ((), ()))
    for numbers, text in (
        (Numbers(dims, (0, 1), ()), "exactly one"),
        (Numbers(dims, (0,), (1,)), "zero group dimensions in the rhs when lhs ragged"),
        (Numbers(dims, (5,), ()), "lhs ragged dimension numbers to be nonnegative and"),
        (Numbers(dims, (1,), (5,)), "rhs group dimension numbers to be nonnegative"),
        (Numbers(dims, (1,), (0,)), "to be distinct from contracting and batch dim"),
        (Numbers(dims, (1,), ()), "exactly one rhs group dimension when lhs ragged"),
    ):
        with pytest.raises(TypeError, match=text):
            lax.ragged_dot_general(x, x, n, numbers)
    with pytest.raises(NotImplementedError, match="group_offset"):
        lax.ragged_dot(x, f32(2, 3, 4), n, group_offset=np.array([0]))


# -------------------------------------------------------------------------- scaled_dot


def test_scaled_dot():
    x, w, s, t = f32(4, 8), f32(8, 3), f32(4, 2), f32(4, 3)
    expected = (x * np.repeat(s, 4, 1)) @ (w * np.repeat(t, 2, 0))

    def fun(x, w, s, t):
        return lax.scaled_dot(x, w, lhs_scale=s, rhs_scale=t, preferred_element_type="float32")

    np.testing.assert_array_equal(fun(x, w, s, t), expected)
    np.testing.assert_array_equal(lax.scaled_dot(x, w, preferred_element_type="float32"), x @ w)
    assert lax.scaled_dot(x, w).dtype.name == "bfloat16"
    got = mj.vmap(fun, (1, None, 0, None))(np.stack([x, 2 * x], 1), w, np.stack([s, s]), t)
    np.testing.assert_array_equal(got, [expected, 2 * expected])
    grads = mj.grad(lambda *a: lax.reduce_sum(fun(*a), (0, 1)), (0, 1, 2, 3))(x, w, s, t)
    wide = w * np.repeat(t, 2, 0)
    np.testing.assert_array_equal(grads[0], np.repeat(s, 4, 1) * wide.sum(1)[None])
    batch = lax.scaled_dot(x[None], w[None], preferred_element_type="float32")
    np.testing.assert_array_equal(batch[0], x @ w)


def test_scaled_dot_of_narrow_types():
    x = np.ones((2, 4), mj.numpy.float8_e4m3fn)
    s = np.full((2, 2), 2, mj.numpy.float8_e8m0fnu)
    got = lax.scaled_dot(x, x.T, lhs_scale=s)
    assert got.dtype.name == "bfloat16" and (np.asarray(got).astype(int) == 8).all()


def test_scaled_dot_errors():
    with pytest.raises(TypeError, match="cannot have a scale"):
        lax.scaled_dot(f32(4, 8), f32(8, 3), lhs_scale=f32(4, 3))
    with pytest.raises(TypeError, match="needs dimension_numbers"):
        lax.scaled_dot(f32(4), f32(4))
