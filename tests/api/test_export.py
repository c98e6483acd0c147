"""Exported programs: called, differentiated, told as bytes; those that JAX wrote, read.

`exported_by_jax.txt` is recorded from JAX 0.10.2: `export(jit(f))(...).serialize()` of the
functions that each test names.
"""

import base64
import collections
import pathlib
import zlib

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import export, ffi
from minijax.base import flatbuffers
from minijax.sharding import AxisType, Mesh, NamedSharding
from minijax.sharding import PartitionSpec as P

F4 = np.dtype("float32")
X = np.arange(6, dtype=F4).reshape(2, 3)
Pair = collections.namedtuple("Pair", "a b")
export.register_namedtuple_serialization(Pair, serialized_name="test_export.Pair")


@pytest.fixture(scope="module")
def of_jax():
    text = (pathlib.Path(__file__).parent / "exported_by_jax.txt").read_text()
    rows = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {name: zlib.decompress(base64.b85decode(data)) for name, data in rows}


def again(exported, vjp_order=0):
    return export.deserialize(exported.serialize(vjp_order))


def sine(x, n):
    return jnp.sin(x) * n, n + 1


# ------------------------------------------------------------------------ call and vjp


@pytest.fixture(scope="module")
def exported():
    return export.export(mj.jit(sine))(X, np.int32(2))


@pytest.mark.parametrize("how", ["made here", "read", "of JAX"])
def test_call_and_cotangents(exported, of_jax, how):
    """sine: x, n -> (sin(x) n, n + 1), with one order of cotangents."""
    if how == "read":
        exported = again(exported, 1)
    elif how == "of JAX":
        exported = export.deserialize(of_jax["sine"])
        assert exported.fun_name == "<lambda>"
    y, n = exported.call(X, np.int32(2))
    np.testing.assert_allclose(y, 2 * np.sin(X), rtol=1e-6)
    assert n == 3 and n.dtype == np.int32
    inside = mj.jit(lambda x: exported.call(x, 2)[0] + 1)
    np.testing.assert_allclose(inside(X), 2 * np.sin(X) + 1, rtol=1e-6)
    slope = mj.grad(lambda x: exported.call(x, 2)[0].sum())
    np.testing.assert_allclose(slope(X), 2 * np.cos(X), rtol=1e-6)
    types = "float32[2,3] int32[] float32[2,3] float0[]"
    assert " ".join(a.str_short(False) for a in exported.vjp().in_avals) == types
    if how != "made here":  # one order was written
        with pytest.raises(ValueError, match="No VJP is available"):
            mj.grad(lambda x: slope(x).sum())(X)
    else:
        second = mj.grad(lambda x: slope(x).sum())(X)
        np.testing.assert_allclose(second, -2 * np.sin(X), rtol=1e-6)


def test_attributes(exported):
    assert str(exported) == "Exported(fun_name=sine, ...)"
    assert exported.platforms == (export.default_export_platform(),)
    assert exported.module_kept_var_idx == (0, 1) and exported.nr_devices == 1
    assert exported.calling_convention_version == 10
    assert not exported.uses_global_constants and exported.has_vjp()
    assert not again(exported).has_vjp()
    assert exported.in_shardings_jax(None) == (None, None)
    text = exported.mlir_module()
    assert (
        "jax.uses_shape_polymorphism = false" in text
        and 'jax.result_info = "result[0]"' in text
    )
    assert "stablehlo.sine" in str(exported.mlir_module(serialized=False))
    unused = export.export(mj.jit(lambda x, y: y))(X, X)
    assert unused.module_kept_var_idx == (1,)
    np.testing.assert_array_equal(again(unused).call(X, X + 1), X + 1)


def test_trees(of_jax):
    """{'o': t, 'l': [t[0].a, (3, None)]} of a named tuple, dicts, and an ordered one."""
    ordered = collections.OrderedDict(z=F4.type(4), a=F4.type(5))
    inputs = (Pair(F4.type(1), [F4.type(2)]), {"b": F4.type(3), "a": None}, ordered)
    fun = mj.jit(lambda t: {"o": t, "l": [t[0].a, (3, None)]})
    expected = fun(inputs)
    for read in (again(export.export(fun)(inputs)), export.deserialize(of_jax["tree"])):
        got = read.call(inputs)
        assert mj.tree.structure(got) == mj.tree.structure(expected)
        assert mj.tree.leaves(got) == mj.tree.leaves(expected)
        assert list(got["o"][2]) == ["z", "a"] and type(got["o"][0]) is Pair


def test_nodes_of_ones_own():
    class Box:
        def __init__(self, inside, label):
            self.inside, self.label = inside, label

    mj.tree_util.register_pytree_node(
        Box, lambda b: ((b.inside,), b.label), lambda label, xs: Box(*xs, label)
    )
    made = export.export(mj.jit(lambda x: Box(x, "out")))(X)
    with pytest.raises(ValueError, match=r"unregistered type .*Box"):
        made.serialize()
    functions = dict(serialize_auxdata=str.encode, deserialize_auxdata=bytes.decode)
    export.register_pytree_node_serialization(Box, serialized_name="test.Box", **functions)
    result = again(made).call(X)
    assert type(result) is Box and result.label == "out"
    register = export.register_pytree_node_serialization
    for kind, name, text in (
        (Box, "test.Box2", "Duplicate serialization registration for type"),
        (int, "test.Box", "Duplicate serialization registration for serialized_name"),
        (int, "test.int", "must call first`jax.tree_util.register_pytree_node`"),
    ):
        with pytest.raises(ValueError, match=text):
            register(kind, serialized_name=name, **functions)
    with pytest.raises(ValueError, match=r"types other than `collections.namedtuple`"):
        export.register_namedtuple_serialization(Box, serialized_name="test.Box3")
    with pytest.raises(TypeError, match="only for dictionaries with string keys"):
        export.export(mj.jit(lambda x: {1: x}))(X).serialize()


DTYPES = (
    "bool int4 int8 uint8 int16 uint16 int32 uint32 float16 bfloat16 complex64"
    " float8_e4m3fn float8_e5m2"
)


def test_dtypes():
    """All in one program; keys are told by their implementation."""
    ones = [np.ones(2).astype(jnp.dtype(name)) for name in DTYPES.split()]
    key = mj.random.key(3)
    read = again(export.export(mj.jit(lambda xs, k: (xs, mj.random.split(k))))(ones, key))
    result, keys = read.call(ones, key)
    assert [str(x.dtype) for x in result] == DTYPES.split()
    assert all(np.asarray(x).tolist() == y.tolist() for x, y in zip(result, ones, strict=True))
    assert (keys == mj.random.split(key)).all()


def test_keys_of_jax(of_jax):
    """k -> (split(k), key_data(k))."""
    key = mj.random.key(5)
    keys, data = export.deserialize(of_jax["keys"]).call(key)
    assert (keys == mj.random.split(key)).all() and data.tolist() == [0, 5]


# --------------------------------------------------------------------------- platforms


def test_platforms(of_jax):
    """platform_dependent(x, tpu=sin, default=cos), for tpu and cpu."""
    fun = mj.jit(lambda x: mj.lax.platform_dependent(x, tpu=jnp.sin, default=jnp.cos))
    made = export.export(fun, platforms=["tpu", "cpu"])(X)
    text = made.mlir_module()
    assert 'jax.global_constant = "_platform_index"' in text
    assert "stablehlo.sine" in text and "stablehlo.cosine" in text
    for read in (made, again(made), export.deserialize(of_jax["platforms"])):
        assert read.platforms == ("tpu", "cpu") and read.uses_global_constants
        np.testing.assert_allclose(read.call(X), np.cos(X), rtol=1e-6)
    nested = export.export(mj.jit(lambda x: 2 * made.call(x)), platforms=["cpu", "tpu"])(X)
    np.testing.assert_allclose(again(nested).call(X), 2 * np.cos(X), rtol=1e-6)
    same = export.export(mj.jit(jnp.sin), platforms=["tpu", "cpu"])(X).mlir_module()
    assert "stablehlo.case" not in same  # what is equal stands once
    lowered = fun.trace(X).lower(lowering_platforms=("tpu",)).as_text()
    assert "sine" in lowered and "cosine" not in lowered


def test_another_platform():
    made = export.export(mj.jit(jnp.sin), platforms=["tpu"])(X)
    with pytest.raises(ValueError, match=r"exported for platforms '\('tpu',\)' but it is"):
        made.call(X)
    lax = export.DisabledSafetyCheck.platform()
    made = export.export(mj.jit(jnp.sin), platforms=["tpu"], disabled_checks=[lax])(X)
    assert again(made).disabled_safety_checks == (lax,)
    np.testing.assert_allclose(again(made).call(X), np.sin(X), rtol=1e-6)
    with pytest.raises(RuntimeError, match="Unknown backend: 'gpu' requested"):
        export.export(mj.jit(jnp.sin), platforms=["gpu"])(X)


# ----------------------------------------------------------------------------- devices


def test_over_devices(of_jax):
    """x -> x @ x.T over a 2 by 2 mesh: P('x', 'y') -> P('x')."""
    mesh = Mesh(np.array(mj.devices()[:4]).reshape(2, 2), ("x", "y"))
    over = lambda *spec: NamedSharding(mesh, P(*spec))
    fun = mj.jit(lambda x: x @ x.T, in_shardings=over("x", "y"), out_shardings=over("x"))
    x = np.arange(32, dtype=F4).reshape(4, 8)
    for read in (again(export.export(fun)(x)), export.deserialize(of_jax["sharded"])):
        assert read.nr_devices == 4
        (sharding,) = read.in_shardings_jax(mesh)
        assert sharding == over("x", "y") and read.out_shardings_jax(mesh) == (over("x"),)
        result = read.call(mj.device_put(x, sharding))
        assert result.sharding == over("x")
        np.testing.assert_allclose(result, x @ x.T, rtol=1e-6)
        with pytest.raises(ValueError, match="was exported for 4 devices and is called in a"):
            read.call(x)
        with pytest.raises(ValueError, match="does not match the mesh used for export"):
            read.in_shardings_jax(Mesh(np.array(mj.devices()[:4]), ("x",)))


def test_explicit_axes():
    """Types that say how values lie are told, too."""
    mesh = mj.make_mesh((2, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    x = np.arange(32, dtype=F4).reshape(4, 8)
    with mj.set_mesh(mesh):
        x = mj.device_put(x, NamedSharding(mesh, P("x", "y")))
        read = again(export.export(mj.jit(lambda x: 2 * x))(x))
        assert str(read.in_avals[0]) == "float32[4@x,8@y]"
        result = read.call(x)
        assert result.sharding == x.sharding and (result == 2 * x).all()


# ------------------------------------------------------------------------------ errors

# fmt: off
ERRORS = [
    (lambda e: e.call(X[0], 2), ValueError,
     r"Rank mismatch for args\[0\]: expected \(2, 3\) and called with \(3,\)"),
    (lambda e: e.call(X.T, 2), ValueError,
     r"Shape mismatch for args\[0\].shape\[0\] \(expected same constant\): expected \(2, 3\)"),
    (lambda e: e.call(X.astype(int), 2), ValueError,
     r"Dtype mismatch for args\[0\]: expected float32 and called with int32"),
    (lambda e: e.call(X), ValueError,
     "must have the same pytree structure as when the function 'sine' was exported"),
    (lambda e: mj.vmap(e.call)(X[None], np.ones(1, int)), NotImplementedError,
     "Batching rule for 'call_exported' not implemented"),
    (lambda e: mj.jvp(lambda x: e.call(x, 2)[0], (X,), (X,)), TypeError,
     r"can't apply forward-mode autodiff \(jvp\) to a custom_vjp function"),
    (lambda e: export.export(sine), ValueError,
     "Function to be exported must be the result of `jit` but is"),
    (lambda e: export.export(mj.jit(lambda x: mj.pure_callback(np.sin, x, x)))(X),
     NotImplementedError, "serialization of host_callbacks is not yet implemented"),
    (lambda e: export.export(mj.jit(lambda x: ffi.ffi_call("mine", x)(x)))(X), ValueError,
     "Cannot serialize code with custom calls whose targets have no compatibility"),
    (lambda e: export.deserialize(b"abc"), ValueError, "these bytes are not an exported program"),
    (lambda e: export.deserialize(e.serialize()[:90]), ValueError, "are not an exported program"),
    (lambda e: export.deserialize(flatbuffers.write({0: ("H", 99)})), ValueError,
     "The program is of version 99 of the format"),
]
# fmt: on


@pytest.mark.parametrize("fun, kind, text", ERRORS, ids=[t for _, _, t in ERRORS])
def test_errors(exported, fun, kind, text):
    with pytest.raises(kind, match=text):
        fun(exported)


def test_foreign_functions_that_are_allowed():
    check = export.DisabledSafetyCheck.custom_call("mine")
    assert check.is_custom_call() == "mine" and str(check) == "custom_call:mine"
    fun = mj.jit(lambda x: ffi.ffi_call("mine", x, has_side_effect=True)(x))
    made = again(export.export(fun, disabled_checks=[check])(X))
    assert made.disabled_safety_checks == (check,) and len(made.unordered_effects) == 1
    assert "@mine" in made.mlir_module()


def test_flatbuffers():
    """Fields of every kind, some missing, at offsets that need filling."""
    fields = {
        0: ("b", -3),
        2: ("?", True),
        3: ("H", 65535),
        5: ("I", 1 << 31),
        6: ("text", "häus"),
        7: ("bytes", b"\0\1"),
        8: ("[H", (1, 2, 3)),
        9: ("table", {1: ("b", 4)}),
        10: ("[table", [{}, {0: ("text", "")}]),
        11: ("[text", ["a", "bc", ""]),
    }
    table = flatbuffers.read(flatbuffers.write(fields))
    assert [
        table.number(i, k) for i, k in ((0, "b"), (1, "b"), (2, "?"), (3, "H"), (5, "I"))
    ] == [-3, 0, True, 65535, 1 << 31]
    assert table.text(6) == "häus" and table.bytes(7) == b"\0\1" and table.text(12) == ""
    assert table.numbers(8, "H") == (1, 2, 3) and table.numbers(1, "H") == ()
    assert table.table(9).number(1, "b") == 4 and table.table(4) is None
    starts = [t.start for t in (table, table.table(9), *table.tables(10))]
    assert all(start % 4 == 0 for start in starts)  # as readers in C++ need
    for count in range(1, 6):
        row = flatbuffers.read(flatbuffers.write({count: ("I", 7)}))
        assert row.start % 4 == 0 and row.number(count, "I") == 7
    assert [t.text(0) for t in table.tables(10)] == ["", ""]
    assert table.texts(11) == ("a", "bc", "")


@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
def test_cotangents_are_sharded_as_values(kind):
    mesh = mj.make_mesh((4, 2), ("x", "y"), (kind,) * 2)
    rows, columns = NamedSharding(mesh, P("x")), NamedSharding(mesh, P(None, "y"))
    x = mj.device_put(np.arange(32, dtype=F4).reshape(8, 4) / 32, rows)
    w = mj.device_put(np.arange(16, dtype=F4).reshape(4, 4) / 16, columns)
    f = lambda x, w: jnp.sin(x @ w)
    exported = export.export(mj.jit(f))(x, w)
    for program in (exported.vjp(), again(exported, 1).vjp()):
        assert program.in_shardings_jax(mesh)[:2] == (rows, columns)
        assert program.out_shardings_jax(mesh) == (rows, columns)
        y = mj.jit(exported.call)(x, w)
        result = mj.jit(program.call)(x, w, y)
        for got, like in zip(result, (x, w), strict=True):
            assert got.sharding.is_equivalent_to(like.sharding, 2)
            assert mj.typeof(got) == mj.typeof(like)
        expected = mj.vjp(f, np.asarray(x), np.asarray(w))[1](np.asarray(y))
        for got, to in zip(result, expected, strict=True):
            np.testing.assert_allclose(got, to, rtol=1e-5)
