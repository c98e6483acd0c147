"""Helpers of sizes, shapes and lists that libraries take from JAX's inside."""

import numpy as np
import pytest

import minijax as jax
from minijax import errors, export
from minijax.views import sizes, tools
from minijax.views.tools import HashablePartial

A, B = export.symbolic_shape("a, b")

VALUES = {
    "shape": (lambda: sizes.canonicalize_shape([2, A, True]), (2, A, 1)),
    "one size": (lambda: sizes.canonicalize_shape(3), (3,)),
    "equal": (lambda: sizes.definitely_equal_shape((A, 2), (A + 0, 2)), True),
    "not known to be": (lambda: sizes.definitely_equal_shape((A,), (B,)), False),
    "other rank": (lambda: sizes.definitely_equal_shape((2,), (2, 1)), False),
    "empty": (
        lambda: (sizes.is_empty_shape((2, 0)), sizes.is_empty_shape((A,))),
        (True, False),
    ),
    "quotient": (lambda: sizes.divide_shape_sizes((6, A), (A, 3)), 2),
    "of none": (lambda: sizes.divide_shape_sizes((), ()), 1),
    "dilated": (lambda: (sizes.dilate_dim(3, 2), sizes.dilate_dim(0, 2)), (5, 0)),
    "dilated unknown": (lambda: sizes.dilate_dim(A, 2), 2 * A - 1),
    "windows": (lambda: (sizes.stride_dim(10, 3, 2), sizes.stride_dim(2, 3, 2)), (4, 0)),
    "value": (lambda: sizes.dimension_as_value(3), 3),
    "axes": (lambda: sizes.canonicalize_axis_tuple((0, -1), 3), (0, 2)),
    "all axes": (lambda: sizes.canonicalize_axis_tuple(None, 2), (0, 1)),
    "lists": (lambda: tools.partition_list([True, False, True], [1, 2, 3]), ([2], [1, 3])),
    "merged": (lambda: tools.merge_lists([True, False, True], [2], [1, 3]), [1, 2, 3]),
    "tuples": (
        lambda: (
            tools.tuple_insert((1, 2), 1, 9),
            tools.tuple_delete((1, 2), 0),
            tools.tuple_update((1, 2), 0, 9),
        ),
        ((1, 9, 2), (2,), (9, 2)),
    ),
    "rounded up": (lambda: tools.ceil_of_ratio(7, 2), 4),
    "curried": (lambda: tools.curry(lambda a, b: a - b)(5)(2), 3),
    "once each": (lambda: list(tools.stable_unique([3, 1, 3])), [3, 1]),
    "joined": (lambda: tools.concatenate([(1,), [2, 3]]), [1, 2, 3]),
}


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    result, expected = VALUES[name]
    assert result() == expected


def test_invalid_sizes():
    with pytest.raises(TypeError, match="1D sequences of concrete values of integer"):
        sizes.canonicalize_shape((2.5,), "shape of x")
    with pytest.raises(errors.InconclusiveDimensionOperation, match="remainder 4"):
        sizes.divide_shape_sizes((6, 4), (5,))
    with pytest.raises(ValueError, match="repeated axis"):
        sizes.canonicalize_axis_tuple((0, -2), 2)


def test_partial_calls_are_equal_where_function_and_arguments_are():
    def f(*args, **kwargs):
        return args, kwargs

    call = HashablePartial(f, 1, k=2)
    assert call == HashablePartial(f, 1, k=2) != HashablePartial(f, 1)
    assert hash(call) == hash(HashablePartial(f, 1, k=2))
    assert call(3, z=4) == ((1, 3), {"k": 2, "z": 4})


def test_terms_of_a_symbolic_dimension():
    size = 2 * A * A + 3 * (B // 2) - 5
    terms = {str(term): (count, term) for term, count in size._sorted_terms}
    assert {text: count for text, (count, _) in terms.items()} == {
        "a^2": 2,
        "floordiv(b, 2)": 3,
        "": -5,
    }
    ((factor, power),) = terms["a^2"][1]._factors
    assert (factor.var, factor.operation, power) == ("a", None, 2)
    ((factor, _),) = terms["floordiv(b, 2)"][1]._factors
    assert (factor.var, factor.operation, factor.operands) == (None, "floordiv", (B, 2))
    assert size._sorted_terms[-1][0].is_constant and not terms["a^2"][1].is_constant
    assert size.get_vars() == {"a", "b"}


@pytest.mark.parametrize("size", (2.5, 2.0, "a", None, np.float32(2)))
def test_types_of_arrays_have_integer_sizes(size):
    with pytest.raises(TypeError, match="Shapes must be 1D sequences of concrete"):
        jax.core.ShapedArray((size,), np.float32)


def test_types_may_have_sizes_of_a_library():
    """An object with `dimension_as_value`, as jax2onnx has, is a size, as in JAX."""

    class Unknown:
        def dimension_as_value(self):
            return 3

    size = Unknown()
    assert jax.core.ShapedArray((size, np.int64(2)), np.float32).shape == (size, 2)
    assert jax.core.ShapedArray((np.array(3), True), np.float32).shape == (3, 1)
