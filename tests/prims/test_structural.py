"""Shape, order, joining and cutting: against NumPy, laws, types, errors."""

import ml_dtypes
import numpy as np
import pytest
from laws import obeys, same

import minijax as mj
from minijax import lax

DTYPES = [
    np.dtype(d)
    for d in (
        "bool",
        "int8",
        "int32",
        "uint8",
        "uint32",
        "float16",
        "float32",
        "complex64",
        ml_dtypes.bfloat16,
        ml_dtypes.int4,
        ml_dtypes.uint4,
        ml_dtypes.float8_e4m3fn,
    )
]


def f32(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


def padded(x, value, config):
    """NumPy's view of lax.pad: spread, then add or take away at the ends."""
    for axis, (low, high, inside) in enumerate(config):
        n = x.shape[axis]
        size = n + inside * max(n - 1, 0)
        wide = np.full((*x.shape[:axis], size, *x.shape[axis + 1 :]), value, x.dtype)
        np.moveaxis(wide, axis, 0)[:: inside + 1] = np.moveaxis(x, axis, 0)
        add = [(0, 0)] * x.ndim
        add[axis] = (max(low, 0), max(high, 0))
        wide = np.pad(wide, add, constant_values=value)
        stop = wide.shape[axis] + min(high, 0)
        x = np.moveaxis(np.moveaxis(wide, axis, 0)[max(-low, 0) : stop], 0, axis)
    return x


CASES = {
    "broadcast": (
        lambda x: lax.broadcast(x, (2, 1)),
        lambda x: np.broadcast_to(x, (2, 1, *x.shape)),
        (3,),
    ),
    "broadcast_scalar": (
        lambda x: lax.broadcast(x, (2, 3)),
        lambda x: np.broadcast_to(x, (2, 3)),
        (),
    ),
    "broadcast_in_dim": (
        lambda x: lax.broadcast_in_dim(x, (2, 4, 3), (0, 2)),
        lambda x: np.broadcast_to(x[:, None], (2, 4, 3)),
        (2, 3),
    ),
    "broadcast_in_dim_size_1": (
        lambda x: lax.broadcast_in_dim(x, (2, 4, 3), (1, 2)),
        lambda x: np.broadcast_to(x, (2, 4, 3)),
        (4, 1),
    ),
    "broadcast_in_dim_turned": (
        lambda x: lax.broadcast_in_dim(x, (3, 2, 4), (1, 0)),
        lambda x: np.broadcast_to(x.T[..., None], (3, 2, 4)),
        (2, 3),
    ),
    "broadcast_in_dim_empty": (
        lambda x: lax.broadcast_in_dim(x, (0, 3), (1,)),
        lambda x: np.broadcast_to(x, (0, 3)),
        (3,),
    ),
    "reshape": (lambda x: lax.reshape(x, (3, 4)), lambda x: x.reshape(3, 4), (2, 6)),
    "reshape_to_scalar": (lambda x: lax.reshape(x, ()), lambda x: x.reshape(()), (1, 1)),
    "reshape_empty": (lambda x: lax.reshape(x, (3, 0)), lambda x: x.reshape(3, 0), (0, 2)),
    "reshape_order": (
        lambda x: lax.reshape(x, (4, 6), (2, 0, 1)),
        lambda x: x.transpose(2, 0, 1).reshape(4, 6),
        (2, 3, 4),
    ),
    "collapse": (lambda x: lax.collapse(x, 1, 3), lambda x: x.reshape(2, 12), (2, 3, 4)),
    "transpose": (
        lambda x: lax.transpose(x, (2, 0, 1)),
        lambda x: x.transpose(2, 0, 1),
        (2, 3, 4),
    ),
    "squeeze": (lambda x: lax.squeeze(x, (0, -1)), lambda x: x[0, ..., 0], (1, 3, 1)),
    "expand_dims": (
        lambda x: lax.expand_dims(x, (0, -1)),
        lambda x: x[None, ..., None],
        (2, 3),
    ),
    "rev": (lambda x: lax.rev(x, (0, 2)), lambda x: x[::-1, :, ::-1], (2, 3, 4)),
    "copy": (lambda x: lax.copy_p.bind(x), lambda x: x, (2, 3)),
    "tile": (lambda x: lax.tile(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3)), (2, 3, 1)),
    "tile_none": (lambda x: lax.tile(x, (0,)), lambda x: x[:0], (3,)),
    "split": (
        lambda x: lax.split(x, (1, 0, 3), 1),
        lambda x: np.split(x, [1, 1], axis=1),
        (2, 4),
    ),
    "split_part": (lambda x: lax.split(x, (1, 3), -1)[1], lambda x: x[:, 1:], (2, 4)),
    "unstack": (lambda x: lax.unstack(x, 1), lambda x: list(np.moveaxis(x, 1, 0)), (2, 3)),
    "unstack_part": (lambda x: lax.unstack(x, -1)[2], lambda x: x[:, 2], (2, 3)),
    "pad": (
        lambda x: lax.pad(x, lax.full_like(x, 2, shape=()), CONFIG),
        lambda x: padded(x, 2, CONFIG),
        (3, 4),
    ),
    "pad_empty": (
        lambda x: lax.pad(x, lax.full_like(x, 1, shape=()), [(1, 1, 2)]),
        lambda x: np.ones(2, x.dtype),
        (0,),
    ),
}
CONFIG = [(2, -1, 1), (-1, 3, 2)]


@pytest.mark.parametrize("name", CASES)
def test_laws(name):
    fun, expected, shape = CASES[name]
    x = f32(*shape)
    same(fun(x), expected(x))
    obeys(fun, x)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_dtypes(name, dtype):
    fun, expected, shape = CASES[name]
    x = (np.arange(np.prod(shape, dtype=int)) % 3).reshape(shape).astype(dtype)
    same(fun(x), expected(x))


JOINED = [((2, 3), (4, 3)), ((2, 3), (0, 3)), ((1, 3), (2, 3), (3, 3))]


@pytest.mark.parametrize("shapes", JOINED, ids=str)
def test_concatenate(shapes):
    xs = [f32(*s) for s in shapes]
    same(lax.concatenate(xs, 0), np.concatenate(xs, 0))
    obeys(lambda *xs: lax.concatenate(xs, 0), *xs)
    transposed = [x.T for x in xs]
    obeys(lambda *xs: lax.concatenate(xs, 1), *transposed)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_stack(axis):
    xs = [f32(2, 3), f32(2, 3) + 1]
    same(lax.stack(xs, axis), np.stack(xs, axis))
    obeys(lambda *xs: lax.stack(xs, axis), *xs)


@pytest.mark.parametrize("config", [[(1, 2, 0)], [(-1, 0, 3)], [(2, -3, 1)], [(0, 0, 0)]])
def test_derivative_of_the_padding_value(config):
    x, value = f32(4), f32()
    same(lax.pad(x, value, config), padded(x, value, config))
    obeys(lambda x, v: lax.pad(x, v, config), x, value)


def test_optimization_barrier():
    tree = {"a": f32(2), "b": (f32(3, 1), np.arange(2, dtype=np.int32))}
    same(lax.optimization_barrier(tree), tree)
    obeys(lambda x, y: lax.optimization_barrier((x, y)), f32(2), f32(3, 1))
    text = mj.jit(lax.optimization_barrier).lower(tree).as_text()
    assert "stablehlo.optimization_barrier" in text


def test_arrays_without_operands():
    same(lax.iota(np.int8, 3), np.arange(3, dtype=np.int8))
    same(lax.iota(np.complex64, 2), np.arange(2).astype(np.complex64))
    expected = np.broadcast_to(np.arange(3, dtype=np.float32)[:, None], (2, 3, 4))
    same(lax.broadcasted_iota(np.float32, (2, 3, 4), 1), expected)
    uninitialized = lax.empty((2, 3), ml_dtypes.bfloat16)
    assert uninitialized.shape == (2, 3) and uninitialized.dtype == ml_dtypes.bfloat16


def test_broadcast_shapes():
    assert lax.broadcast_shapes((2, 1), (3,), ()) == (2, 3)
    assert lax.broadcast_shapes((0, 1), (1, 4)) == (0, 4)
    assert lax.broadcast_to_rank(np.ones(3), 3).shape == (1, 1, 3)
    assert lax.broadcast_like(np.ones(3), np.ones((2, 3))).shape == (2, 3)
    with pytest.raises(ValueError, match="Incompatible shapes for broadcasting"):
        lax.broadcast_shapes((2, 3), (2, 4))


def test_no_ops_add_no_equation():
    def nothing(x):
        x = lax.reshape(lax.transpose(x, (0, 1)), (2, 3), (0, 1))
        x = lax.broadcast_in_dim(lax.broadcast(x, ()), (2, 3), (0, 1))
        x = lax.expand_dims(lax.squeeze(x, ()), ())
        return lax.concatenate([lax.collapse(x, 1, 2)], 0)

    assert not mj.make_jaxpr(nothing)(f32(2, 3)).eqns


WEAK = {
    "broadcast": lambda x: lax.broadcast(x, (2,)),
    "pad": lambda x: lax.pad(lax.broadcast(x, (2,)), x, [(1, 0, 0)]),
    "concatenate": lambda x: lax.concatenate([lax.broadcast(x, (2,))] * 2, 0),
    "stack": lambda x: lax.stack([x, x]),
    "tile": lambda x: lax.tile(lax.broadcast(x, (2,)), (2,)),
    "reshape": lambda x: lax.reshape(x, (1,)),
}


@pytest.mark.parametrize("name", WEAK)
def test_weak_types(name):
    assert WEAK[name](1.0).weak_type
    assert not WEAK[name](np.float32(1)).weak_type


def test_joining_weak_and_strong_is_strong():
    weak, strong = lax.broadcast(1.0, (2,)), f32(2)
    assert not lax.concatenate([weak, strong], 0).weak_type
    assert not lax.stack([weak, strong]).weak_type
    assert not lax.pad(weak, np.float32(0), [(1, 0, 0)]).weak_type


def test_key_arrays():
    keys = mj.random.split(mj.random.key(0), 6)
    data = np.asarray(mj.random.key_data(keys))
    moved = lax.transpose(lax.reshape(keys, (2, 3)), (1, 0))
    got = np.asarray(mj.random.key_data(lax.concatenate([moved, lax.rev(moved, (0,))], 0)))
    expected = data.reshape(2, 3, 2).transpose(1, 0, 2)
    np.testing.assert_array_equal(got, np.concatenate([expected, expected[::-1]]))
    assert lax.empty((2, 3), keys.dtype).shape == (2, 3)


x = f32(2, 3)
ERRORS = {
    "reshape_size": (lambda: lax.reshape(x, (5,)), TypeError, "total size"),
    "reshape_negative": (lambda: lax.reshape(x, (-1,)), TypeError, "must all be positive"),
    "reshape_float": (lambda: lax.reshape(x, (6.0,)), TypeError, "integer type"),
    "reshape_order": (lambda: lax.reshape(x, (6,), (0, 0)), TypeError, "permutation"),
    "broadcast_size": (lambda: lax.broadcast_in_dim(x, (4, 3), (0, 1)), TypeError, "sizes"),
    "broadcast_rank": (lambda: lax.broadcast_in_dim(x, (2, 3), (0,)), TypeError, "ndim"),
    "broadcast_range": (lambda: lax.broadcast_in_dim(x, (2, 3), (0, 2)), TypeError, "subset"),
    "broadcast_twice": (
        lambda: lax.broadcast_in_dim(x, (2, 3), (0, 0)),
        TypeError,
        "sizes must either be 1, or be equal to their corresponding dimensions in the",
    ),
    "broadcast_same": (
        lambda: lax.broadcast_in_dim(np.ones((3, 3)), (3, 3), (0, 0)),
        TypeError,
        "must not contain duplicates, got",
    ),
    "broadcast_fewer": (
        lambda: lax.broadcast_in_dim(x, (3,), (0,)),
        TypeError,
        "target broadcast shape must have equal or higher rank to the operand shape; got"
        " operand ndim 2 and target broadcast ndim 1",
    ),
    "broadcast_shapes": (
        lambda: lax.broadcast_shapes((2, -3), (1,)),
        TypeError,
        "Only non-negative indices are allowed when broadcasting static shapes, but got",
    ),
    "collapse": (
        lambda: lax.collapse(x, 2, 1),
        ValueError,
        "Invalid dimension range passed to collapse",
    ),
    "broadcast_negative": (lambda: lax.broadcast(x, (-1,)), TypeError, "nonnegative"),
    "transpose": (lambda: lax.transpose(x, (0, 0)), TypeError, "isn't a permutation"),
    "squeeze_size": (lambda: lax.squeeze(x, (0,)), ValueError, "size not equal to one"),
    "squeeze_twice": (lambda: lax.squeeze(x[:1], (0, -2)), ValueError, "not unique"),
    "squeeze_range": (lambda: lax.squeeze(x, (2,)), ValueError, "out of bounds"),
    "expand_twice": (lambda: lax.expand_dims(x, (0, 0)), ValueError, "repeated axis"),
    "rev_twice": (lambda: lax.rev(x, (0, 0)), TypeError, "must be unique"),
    "rev_range": (lambda: lax.rev(x, (2,)), TypeError, "must all be less than oper"),
    "iota_bool": (lambda: lax.iota(bool, 3), TypeError, "does not accept dtype bool"),
    "iota_axis": (lambda: lax.broadcasted_iota(int, (2,), 1), ValueError, "dimension"),
    "iota_negative": (lambda: lax.iota(int, -1), TypeError, "nonnegative"),
    "concatenate_none": (lambda: lax.concatenate([], 0), ValueError, "non-empty"),
    "concatenate_rank": (
        lambda: lax.concatenate([x, x[0]], 0),
        TypeError,
        "different numbers of dimensions",
    ),
    "concatenate_shape": (lambda: lax.concatenate([x, x.T], 0), TypeError, "differ in"),
    "concatenate_axis": (lambda: lax.concatenate([x, x], -1), TypeError, "out of bounds"),
    "concatenate_dtype": (
        lambda: lax.concatenate([x, x.astype(int)], 0),
        TypeError,
        "same dtypes",
    ),
    "stack_shape": (lambda: lax.stack([x, x.T]), ValueError, "same shape"),
    "stack_none": (lambda: lax.stack([]), ValueError, "non-empty"),
    "stack_axis": (lambda: lax.stack([x], 3), ValueError, "out of bounds"),
    "unstack_axis": (lambda: lax.unstack(x, 2), ValueError, "out of bounds"),
    "split_sum": (lambda: lax.split(x, (1, 1), 1), ValueError, "Sum of sizes 2"),
    "split_negative": (lambda: lax.split(x, (-1, 4), 1), ValueError, "nonnegative"),
    "tile_rank": (lambda: lax.tile(x, (2,)), TypeError, "reps length"),
    "tile_negative": (lambda: lax.tile(x, (2, -1)), TypeError, "nonnegative"),
    "pad_dtype": (lambda: lax.pad(x, 0, [(0, 0, 0)] * 2), TypeError, "same dtype"),
    "pad_scalar": (lambda: lax.pad(x, x, [(0, 0, 0)] * 2), ValueError, "scalar"),
    "pad_length": (lambda: lax.pad(x, 0.0, [(0, 0, 0)]), ValueError, "length"),
    "pad_interior": (lambda: lax.pad(x, 0.0, [(0, 0, -1)] * 2), ValueError, "interior"),
    "pad_nothing_left": (
        lambda: lax.pad(x, 0.0, [(-2, -1, 0)] * 2),
        ValueError,
        "not at least 0",
    ),
    "list": (lambda: lax.transpose([1, 2], (0,)), TypeError, "list"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, error, text = ERRORS[name]
    with pytest.raises(error, match=text):
        call()


def test_a_traced_shape_raises():
    with pytest.raises(TypeError, match="1D sequences of concrete values"):
        mj.jit(lambda n: lax.broadcast(1.0, (n,)))(3)
