"""Memory layouts of arrays, requested in programs and reported by arrays."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.experimental import serialize_executable
from minijax.experimental.layout import Format, Layout, with_layout_constraint
from minijax.runtime.sharding.layouts import check_tiles

X = jnp.arange(6.0).reshape(2, 3)
COLUMN_MAJOR, ROW_MAJOR = Layout((1, 0)), Layout((0, 1))
DEVICE = X.sharding


def test_layouts_and_formats_are_values():
    assert Layout([1, 0]) == COLUMN_MAJOR != ROW_MAJOR and hash(Layout((1, 0))) == hash(
        COLUMN_MAJOR
    )
    assert (
        Format(COLUMN_MAJOR, DEVICE)
        == Format(Layout((1, 0)), DEVICE)
        != Format(ROW_MAJOR, DEVICE)
    )
    assert len({Format(), Format(None, None), Format(Layout.AUTO)}) == 2
    assert repr(Format(Layout.AUTO)) == "Format(layout=AUTO, sharding=None)"
    for wrong in ((3, None), (None, mj.devices()[0])):
        with pytest.raises(TypeError, match="Invalid value received for the"):
            Format(*wrong)
    with pytest.raises(ValueError, match="Sharding has to be concrete"):
        Format(COLUMN_MAJOR)


def test_arrays_have_a_format():
    assert X.format == Format(Layout((0, 1), ()), DEVICE)
    mesh = mj.make_mesh((2,), ("x",))
    sharded = mj.device_put(X, Format(ROW_MAJOR, mj.NamedSharding(mesh, mj.P("x"))))
    assert sharded.format.layout.major_to_minor == (0, 1)
    assert sharded.format.sharding.spec == mj.P("x") and sharded.tolist() == X.tolist()
    assert mj.device_put(X, X.format).tolist() == X.tolist()


def with_layout(x=X, order=COLUMN_MAJOR):
    return mj.device_put(x, Format(order, DEVICE))


def order(x):
    return x.format.layout.major_to_minor


CUBE = np.arange(24, dtype=np.int32).reshape(2, 3, 4)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "int4", "complex64"])
def test_arrays_with_custom_layouts(dtype):
    x = CUBE.astype(dtype)
    back = with_layout(x, Layout((1, 2, 0)))
    assert order(back) == (1, 2, 0) and back.committed and back.sharding == DEVICE
    assert np.asarray(back).tolist() == back.tolist() == x.tolist()
    assert repr(back) == repr(jnp.asarray(x))
    repeated = mj.device_put(back, back.format)
    assert repeated.unsafe_buffer_pointer() == back.unsafe_buffer_pointer()
    assert mj.device_put(back, DEVICE) is back
    converted = mj.device_put(back, Format(Layout((0, 1, 2)), DEVICE))
    assert order(converted) == (0, 1, 2) and converted.tolist() == x.tolist()


# Everything that reads the memory of an array must respect its layout.
READERS = {
    "operation": lambda x: x + 1,
    "two orders": lambda x: jnp.concatenate([X, x, X]),
    "numbers": lambda x: jnp.where(x > 2, x, 0.0),
    "row": lambda x: x[1],
    "rows": lambda x: [*x],
    "update": lambda x: x.at[0, 1].set(9.0),
    "copy": lambda x: x.copy(),
    "array": lambda x: jnp.array(x),
    "dot": lambda x: x.T @ x,
    "jit": mj.jit(lambda x: x * 3),
    "unread": mj.jit(lambda x: 1),
    "donated": lambda x: mj.jit(jnp.negative, donate_argnums=0)(x + 0),
    "grad": mj.grad(lambda x: (x**3).sum()),
    "vmap": mj.vmap(jnp.cumsum),
    "scan": lambda x: mj.lax.scan(lambda c, r: (c + r, r), jnp.zeros(3), x),
    "captured": lambda x: mj.jit(lambda y: x + y)(1.0),
    "reference": lambda x: mj.new_ref(x)[...],
    "callback": lambda x: mj.pure_callback(lambda x: x * 2, X, x),
    "mesh": lambda x: mj.device_put(x, mj.NamedSharding(MESH, mj.P("x"))) + 1,
    "on a mesh": lambda x: mj.device_put(X, mj.NamedSharding(MESH, mj.P())) + x,
    "other device": lambda x: mj.device_put(x, mj.devices()[-1]) * 2,
    "parts": lambda x: (
        mj.make_array_from_single_device_arrays((2, 3), mj.NamedSharding(MESH, mj.P()), [x]) + 1
    ),
    "dlpack": lambda x: jnp.from_dlpack(x) + 1,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "shards": lambda x: x.addressable_shards[0].data + 1,
    "pmap": lambda x: mj.pmap(jnp.negative)(x[:1]),
    "bytes": lambda x: np.frombuffer(x.tobytes(), np.float32),
    "host": lambda x: mj.device_get(x),
}
MESH = mj.make_mesh((1,), ("x",))


@pytest.mark.parametrize("name", READERS)
def test_readers_respect_the_layout(name):
    read = READERS[name]
    for _ in range(2):  # the second call takes the C++ fast path
        result, expected = read(with_layout()), read(X)
        assert mj.tree.map(np.shape, result) == mj.tree.map(np.shape, expected)
        for x, y in zip(mj.tree.leaves(result), mj.tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(x, y)


PAIR = mj.sharding.Mesh(np.array(mj.devices()[:2]), ("x",))
ONE_DEVICE = {"on a mesh", "parts", "dlpack", "shards"}  # for single-device arrays only


def over(spec, order=COLUMN_MAJOR, x=X):
    where = mj.NamedSharding(PAIR, mj.P(*spec))
    return mj.device_put(x, Format(order, where))


@pytest.mark.parametrize("name", [name for name in READERS if name not in ONE_DEVICE])
@pytest.mark.parametrize("spec", [("x",), ()], ids=["sharded", "replicated"])
def test_readers_respect_the_layout_over_a_mesh(name, spec):
    read = READERS[name]
    for _ in range(2):
        result, expected = read(over(spec)), read(X)
        for x, y in zip(mj.tree.leaves(result), mj.tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(x, y)


def test_arrays_with_custom_layouts_over_a_mesh():
    x = over(("x",))
    assert order(x) == (1, 0) and x.tolist() == X.tolist()
    assert repr(x) == repr(X) and x.sharding == mj.NamedSharding(PAIR, mj.P("x"))
    for part in x.addressable_shards:
        assert order(part.data) == (1, 0)
        assert part.data.tolist() == X[part.index].tolist()
    repeated = mj.device_put(x, x.format)
    assert [s.data.unsafe_buffer_pointer() for s in repeated.addressable_shards] == [
        s.data.unsafe_buffer_pointer() for s in x.addressable_shards
    ]
    assert order(mj.device_put(x, x.sharding)) == (1, 0)
    assert order(mj.device_put(x, mj.NamedSharding(PAIR, mj.P()))) == (0, 1)
    assert order(mj.device_put(x, Format(ROW_MAJOR, x.sharding))) == (0, 1)
    assert order(with_layout_constraint(over(("x",), ROW_MAJOR), COLUMN_MAJOR)) == (1, 0)
    made = mj.make_array_from_callback((2, 3), x.format, lambda at: np.asarray(X)[at])
    assert order(made) == (1, 0) and made.tolist() == X.tolist()
    key = mj.device_put(mj.random.split(mj.random.key(0)), Format(Layout((0,)), x.sharding))
    assert (
        mj.random.key_data(key).tolist()
        == mj.random.key_data(mj.random.split(mj.random.key(0))).tolist()
    )


def test_functions_take_and_return_custom_layouts_over_a_mesh():
    x = over(("x",))
    f = mj.jit(
        lambda x: (x + 1, x * 2), in_shardings=x.format, out_shardings=(x.format, x.sharding)
    )
    for operand in (x, X, x):
        more, twice = f(operand)
        assert order(more) == (1, 0) and order(twice) == (0, 1)
        np.testing.assert_array_equal(more, X + 1)
        np.testing.assert_array_equal(twice, X * 2)
    with pytest.raises(ValueError, match="Layout passed to jit does not match"):
        f(over(("x",), ROW_MAJOR))
    compiled = f.lower(x).compile()
    assert compiled.input_formats[0][0].layout.major_to_minor == (1, 0)
    assert order(compiled(x)[0]) == (1, 0)
    with pytest.raises(ValueError, match="compiled for input layouts that disagree"):
        compiled(over(("x",), ROW_MAJOR))
    auto = Format(Layout.AUTO, x.sharding)
    g = mj.jit(lambda x: x.T @ x, in_shardings=auto, out_shardings=Format(Layout.AUTO))
    g = g.lower(mj.ShapeDtypeStruct((2, 3), "float32")).compile()
    result = g(mj.device_put(X, g.input_formats[0][0]))
    np.testing.assert_array_equal(result, X.T @ X)


def test_rows_are_where_their_array_is():
    assert [x.committed for x in mj.device_put(X, DEVICE)] == [True, True]
    assert [x.committed for x in X] == [False, False]


BACK_HERE = Format(COLUMN_MAJOR, DEVICE)


def test_functions_take_and_return_custom_layouts():
    f = mj.jit(
        lambda x: (x + 1, x.sum()), in_shardings=BACK_HERE, out_shardings=(BACK_HERE, None)
    )
    for operand in (X, np.asarray(X), with_layout(), X):
        out, total = f(operand)
        assert order(out) == (1, 0) and out.tolist() == (X + 1).tolist()
        assert float(total) == 15 and order(f(out)[0]) == (1, 0)
    text = f.lower(X).as_text()
    assert text.count('mhlo.layout_mode = "{0,1}"') == 2
    wrong = mj.jit(lambda x: x, in_shardings=Format(ROW_MAJOR, DEVICE))
    with pytest.raises(ValueError, match="Layout passed to jit does not match the lay"):
        wrong(with_layout())
    with pytest.raises(ValueError, match="jit arguments with pytree key path x is inc"):
        mj.jit(lambda x: x, in_shardings=BACK_HERE)(X[0])
    with pytest.raises(ValueError, match="jit outputs with pytree key path result is "):
        mj.jit(lambda x: x[0], out_shardings=BACK_HERE)(X)
    made = mj.make_array_from_callback((2, 3), BACK_HERE, lambda at: np.asarray(X)[at])
    assert order(made) == (1, 0) and made.tolist() == X.tolist()


def test_programs_with_custom_layouts():
    auto = Format(Layout.AUTO)
    best = mj.jit(jnp.transpose, in_shardings=auto, out_shardings=auto).lower(X).compile()
    ((result,), _), out = best.input_formats, best.output_formats
    assert (result.layout.major_to_minor, out.layout.major_to_minor) == ((0, 1), (1, 0))
    array = best(mj.device_put(X, result))
    assert order(array) == (1, 0) and array.tolist() == X.T.tolist()
    of_type = mj.ShapeDtypeStruct((2, 3), "float32", sharding=BACK_HERE)
    assert of_type.format == BACK_HERE and of_type.sharding == DEVICE
    assert of_type == of_type.update() != of_type.update(sharding=DEVICE)
    for operand in (of_type, with_layout()):
        compiled = mj.jit(lambda x: x * 2).lower(operand).compile()
        assert compiled.input_formats[0][0].layout.major_to_minor == (1, 0)
        for x in (with_layout(), X):
            assert compiled(x).tolist() == (X * 2).tolist()
        with pytest.raises(ValueError, match="input layouts that disagree"):
            compiled(mj.device_put(X, DEVICE))
    read = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled))
    assert read(with_layout()).tolist() == (X * 2).tolist()
    converted = mj.jit(lambda x: x * 2).lower(X).compile()
    with pytest.raises(ValueError, match="input layouts that disagree"):
        converted(with_layout())
    with pytest.raises(TypeError, match="AUTO` cannot be used in place of"):
        mj.ShapeDtypeStruct((2, 3), "float32", sharding=auto)


def test_layouts_of_functions_with_unread_arguments_and_captured_arrays():
    captured = jnp.arange(6.0).reshape(2, 3)
    unread = jnp.ones((3, 2))

    def f(a, b):
        return b + captured

    jitted = mj.jit(f, in_shardings=(None, BACK_HERE))
    for operand in (X, with_layout(), np.asarray(X)):
        np.testing.assert_array_equal(jitted(unread, operand), X + captured)
    for lowered in (jitted.lower(unread, X), mj.jit(f).lower(unread, with_layout())):
        compiled = lowered.compile()
        first, second = compiled.input_formats[0]
        assert first is None and second.layout.major_to_minor == (1, 0)
        np.testing.assert_array_equal(compiled(unread, with_layout()), X + captured)


def test_layouts_of_keys():
    keys = mj.random.split(mj.random.key(0), (2, 3))
    back = with_layout(keys)
    assert order(back) == (1, 0, 2)
    bits = mj.vmap(mj.vmap(mj.random.bits))
    assert bits(back).tolist() == bits(keys).tolist()


def test_values_without_layouts():
    tiled = Layout((0, 1), ((8, 128),))
    check_tiles(tiled, mj.devices()[0], "f")
    tpu = SimpleNamespace(platform="tpu")  # its default layouts have tiles
    with pytest.raises(NotImplementedError, match=r"arrays of Layout\(.* are not"):
        check_tiles(tiled, tpu, "f")
    assert tiled.on(tpu) is None and tiled.on(mj.devices()[0]) == tiled
    with pytest.raises(ValueError, match="should be concrete"):
        mj.device_put(X, Format(Layout.AUTO, DEVICE))


@pytest.mark.parametrize("operand", [Format(Layout.AUTO), Format(ROW_MAJOR, DEVICE), Format()])
def test_programs_take_formats(operand):
    f = mj.jit(lambda x: x * 2, in_shardings=operand, out_shardings=operand)
    assert f(X).tolist() == (X * 2).tolist()
    compiled = f.lower(X).compile()
    ((result,), named), out = compiled.input_formats, compiled.output_formats
    assert result.layout.major_to_minor == out.layout.major_to_minor == (0, 1)
    assert not named and out.sharding == DEVICE


def test_layout_constraints_in_programs():
    f = lambda x: with_layout_constraint(x * 2, COLUMN_MAJOR)
    assert f(X).tolist() == mj.jit(f)(X).tolist() == (X * 2).tolist()
    text = mj.jit(f).lower(X).as_text()
    assert "@LayoutConstraint" in text and "dense<[0, 1]>" in text
    grad = mj.grad(lambda x: (f(x) ** 2).sum())
    assert np.allclose(grad(X), 8 * X) and np.allclose(mj.jit(grad)(X), 8 * X)
    assert mj.jvp(f, (X,), (X,))[1].tolist() == (X * 2).tolist()
    lanes = mj.make_jaxpr(mj.vmap(f, in_axes=1))(X[:, None])
    assert "major_to_minor=(0, 2, 1)" in str(lanes)
    tree = with_layout_constraint({"a": X, "b": (X,)}, {"a": COLUMN_MAJOR, "b": ROW_MAJOR})
    assert tree["a"].tolist() == X.tolist()
    assert (order(tree["a"]), order(tree["b"][0])) == ((1, 0), (0, 1))


def test_layouts_that_do_not_fit():
    with pytest.raises(ValueError, match="Length of major_to_minor and the rank"):
        with_layout_constraint(X, Layout((0, 1, 2)))
    with pytest.raises(ValueError, match="Length of major_to_minor and the rank"):
        mj.device_put(X, Format(Layout((0,)), DEVICE))
    with pytest.raises(TypeError, match="requires layouts"):
        with_layout_constraint(X, 3)


@pytest.mark.parametrize(
    "layout", [Layout((0, 1), ((2, 128),)), Layout((1, 0), ((4, 2), (2, 1)))]
)
def test_arrays_in_tiles(layout):
    tiled, mesh = with_layout(X, layout), mj.make_mesh((2,), ("x",))
    sharded = mj.device_put(X, Format(layout, mj.NamedSharding(mesh, mj.P("x"))))
    put = mj.jit(lambda x: x * 2, out_shardings=Format(layout, DEVICE))(tiled)
    for x in (tiled, sharded, put / 2, with_layout_constraint(X, layout)):
        assert x.tolist() == X.tolist() and (x + 1).tolist() == (X + 1).tolist()
    assert tiled.format.layout == layout
    assert tiled.format.layout == sharded.format.layout == put.format.layout
    compiled = (
        mj.jit(lambda x: x.T)
        .lower(mj.ShapeDtypeStruct(X.shape, X.dtype, sharding=tiled.format))
        .compile()
    )
    assert compiled(tiled).tolist() == X.T.tolist()
    with pytest.raises(ValueError, match="input layouts that disagree"):
        compiled(mj.device_put(X, DEVICE))


def test_results_keep_the_last_layout_in_the_program():
    f = mj.jit(lambda x: (with_layout_constraint(x * 2, COLUMN_MAJOR), x + 1))
    for _ in range(2):  # in Python, then in C++
        back, converted = f(X)
        assert (order(back), order(converted)) == ((1, 0), (0, 1))
        assert back.tolist() == (X * 2).tolist() and converted.tolist() == (X + 1).tolist()
    assert order(f(back)[0]) == (1, 0) and order(back + back) == (0, 1)
    pair = mj.jit(lambda x: with_layout_constraint(x, COLUMN_MAJOR) * 2)
    assert order(pair(X)) == (0, 1)
    assert order(f.lower(X).compile()(X)[0]) == (1, 0)


def test_a_format_is_a_constraint_to_its_sharding_and_its_layout():
    constrain = lambda x: mj.lax.with_sharding_constraint(x * 2, Format(COLUMN_MAJOR, DEVICE))
    assert mj.jit(constrain)(X).tolist() == constrain(X).tolist() == (X * 2).tolist()
    text = mj.jit(constrain).lower(X).as_text()
    assert "@LayoutConstraint" in text and "dense<[0, 1]>" in text
    assert mj.lax.with_sharding_constraint(X, Format(None, DEVICE)).sharding == DEVICE
    with pytest.raises(ValueError, match="Length of major_to_minor and the rank"):
        mj.lax.with_sharding_constraint(X, Format(Layout((0,)), DEVICE))


def test_flattened_calls_respect_the_layout():
    read = mj.jit(lambda tree, y: tree["a"] + y)
    array = mj.device_put(X, DEVICE)
    for x in (X, with_layout(), array, with_layout()):
        for tree, y in (({"a": x}, X), ({"a": X}, x)):
            assert read(mj.tree_util.flattened(tree), y).tolist() == (X + X).tolist()
