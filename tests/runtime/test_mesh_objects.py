"""Meshes, specs and shardings as objects: attributes, printing, rejected arguments."""

import pickle

import numpy as np
import pytest

import minijax as mj
from minijax import lax
from minijax.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    get_abstract_mesh,
    get_mesh,
    set_mesh,
    use_abstract_mesh,
)
from minijax.sharding import PartitionSpec as P

DEVICES = np.array(mj.devices())
MESH = Mesh(DEVICES.reshape(4, 2), ("x", "y"))
SCALAR = Mesh(mj.devices()[0], ())
SHAPES = AbstractMesh((4, 2), ("x", "y"))
EXPLICIT = (AxisType.Explicit,) * 2
ON_SHAPES = NamedSharding(SHAPES, P("x"))
VALUE = np.arange(32, dtype=np.float32).reshape(8, 4)


def over(*spec):
    return NamedSharding(MESH, P(*spec))


# Recorded from JAX 0.10.2.
REPRS = {
    "MESH": "Mesh(axis_sizes=(4, 2), axis_names=('x', 'y'), axis_types=(Auto, Auto))",
    "str(MESH)": "Mesh('x': 4, 'y': 2, axis_types=(Auto, Auto))",
    "MESH.shape": "OrderedDict([('x', 4), ('y', 2)])",
    "MESH.are_all_axes_auto, MESH.are_all_axes_explicit": "(True, False)",
    "MESH.is_scalar, SCALAR.is_scalar, SCALAR.size": "(False, True, 1)",
    "MESH.update(axis_types=EXPLICIT)": (
        "Mesh(axis_sizes=(4, 2), axis_names=('x', 'y'), axis_types=(Explicit, Explicit))"
    ),
    "get_mesh()": "Mesh(axis_sizes=(), axis_names=())",
    "str(get_mesh()), get_mesh().empty": "('Mesh()', True)",
    "get_abstract_mesh()": "AbstractMesh((), axis_types=())",
    "SHAPES.update_axis_types({'x': AxisType.Manual})": (
        "AbstractMesh('x': 4, 'y': 2, axis_types=(Manual, Auto))"
    ),
    "P('x', None, ('x', 'y')).partitions": "('x', None, ('x', 'y'))",
    "P('x') == ('x',), P() == ()": "(False, False)",
    "P('x', unreduced={'y'})": "P('x', unreduced={'y'})",
    "over('x').replicated_axes": "frozenset({'y'})",
    "over('x').has_addressable_devices": "True",
    "over('x').is_equivalent_to(over('x', None), 2)": "True",
    "ON_SHAPES.num_devices, ON_SHAPES.shard_shape((8,))": "(8, (2,))",
    "mj.sharding.make_single_device_sharding(DEVICES[1], memory_kind='pinned_host')": (
        "SingleDeviceSharding(device=CpuDevice(id=1), memory_kind=pinned_host)"
    ),
    "over(None, 'y').addressable_devices_indices_map((1, 2))[DEVICES[1]]": (
        "(slice(None, None, None), slice(1, 2, None))"
    ),
}


@pytest.mark.parametrize("text", REPRS)
def test_how_they_print(text):
    assert repr(eval(text)) == REPRS[text] or eval(text) == REPRS[text]


# Key sentences of JAX 0.10.2.
REFUSED = {
    "types": (lambda: Mesh(DEVICES, "x", axis_types=("a",)), TypeError,
              "axis_types passed to Mesh must be of type `jax.sharding.AxisType`"),
    "number of types": (lambda: Mesh(DEVICES, "x", EXPLICIT), ValueError,
                        "Number of axis names should match the number of axis_types"),
    "no devices": (lambda: SHAPES.devices, ValueError, "does not implement devices"),
    "no ids": (lambda: SHAPES.device_ids, ValueError, "does not implement device_ids"),
    "set": (lambda: ON_SHAPES.device_set, ValueError, "not implemented for `jax.sharding"),
    "here": (lambda: ON_SHAPES.is_fully_addressable, ValueError, "is not implemented for"),
    "map": (lambda: ON_SHAPES.devices_indices_map((8,)), ValueError, "not implemented"),
    "put": (lambda: mj.device_put(VALUE, ON_SHAPES), ValueError,
            "which requires the input passed should be a `jax.Array`"),
    "put anyhow": (lambda: mj.device_put(VALUE, over(P.UNCONSTRAINED)), ValueError,
                   "Unconstrained dims are not allowed"),
    "in_shardings": (lambda: mj.jit(abs, in_shardings=ON_SHAPES), ValueError,
                     "AbstractMesh` have no devices"),
    "sums of no set": (lambda: P("x", unreduced="y"), TypeError, "`frozenset` or `set`"),
    "sums of None": (lambda: P("x", reduced={None}), ValueError, "cannot contain None"),
    "sums twice": (lambda: P(unreduced={"y"}, reduced={"y"}), ValueError, "cannot overlap"),
    "sums of cuts": (lambda: P("x", unreduced={"x"}), ValueError,
                     "partitions cannot overlap with unreduced axes"),
    "no mesh": (lambda: set_mesh(3), ValueError, "Got <class 'int'>"),
    "set inside": (lambda: mj.jit(lambda x: set_mesh(MESH) and x)(1.0), ValueError,
                   "`set_mesh` can only be used outside of `jax.jit`"),
    "get inside": (lambda: mj.jit(lambda x: get_mesh() and x)(1.0), ValueError,
                   "`get_mesh` can only be used outside of `jax.jit`"),
    "abstract": (lambda: use_abstract_mesh(MESH), ValueError, "sharding.AbstractMesh`"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_rejected_arguments(name):
    call, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        call()


def test_meshes_without_axes_and_without_devices():
    replicated = NamedSharding(SCALAR, P())
    x = mj.device_put(VALUE, replicated)
    assert x.sharding == replicated
    np.testing.assert_array_equal(mj.jit(lambda x: x + 1)(x), VALUE + 1)
    assert pickle.loads(pickle.dumps(replicated)) == replicated
    y = mj.device_put(VALUE, over("x"))
    # An abstract mesh takes the devices of the value, or those of the current mesh.
    to = NamedSharding(SHAPES, P("y"))
    for f in (lambda v: mj.device_put(v, to), lambda v: lax.with_sharding_constraint(v, to)):
        assert f(y).sharding == over("y")
        assert mj.jit(f)(y).sharding == over("y")
        with set_mesh(MESH):
            assert mj.jit(f)(VALUE).sharding == over("y")


def test_the_current_mesh_can_be_changed_back():
    set_mesh(MESH)
    try:
        assert get_mesh() == MESH and get_abstract_mesh() == MESH.abstract_mesh
        small = AbstractMesh((2,), ("z",))
        with pytest.raises(ValueError, match="cannot change the size of the mesh"):
            use_abstract_mesh(small).__enter__()
    finally:
        set_mesh(None)
    assert get_mesh().empty
    with use_abstract_mesh(small):
        assert get_abstract_mesh() == small and get_mesh().empty


def test_meshes_without_devices_are_empty():
    for none in (np.empty((), dtype=object), np.empty(0, dtype=object), None):
        mesh = Mesh(none, ())
        assert mesh.empty and mesh.size == 0 and str(mesh) == "Mesh()"
        assert mesh.abstract_mesh.empty and mesh.local_mesh == mesh


def test_rolled_rows_stay_sharded():
    mesh = Mesh(np.array(mj.devices()).reshape(4, 2), ("x", "y"))
    x = mj.device_put(np.arange(8.0, dtype="f"), mj.NamedSharding(mesh, mj.P("x")))
    out = mj.numpy.roll(x, 3)
    assert out.sharding.spec == mj.P("x") and out.tolist() == np.roll(x, 3).tolist()


@pytest.mark.parametrize("spec, shape", [((None,), ()), (("x", None), (8,))])
@pytest.mark.parametrize("types", [(AxisType.Auto,) * 2, EXPLICIT])
def test_specs_may_end_in_nones_beyond_the_rank(spec, shape, types):
    s = NamedSharding(Mesh(DEVICES.reshape(4, 2), ("x", "y"), types), P(*spec))
    short = NamedSharding(s.mesh, P(*spec[: len(shape)]))
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    assert s.shard_shape(shape) == short.shard_shape(shape)
    assert s.devices_indices_map(shape) == short.devices_indices_map(shape)
    made = mj.make_array_from_callback(shape, s, lambda at: np.asarray(x)[at])
    assert made.tolist() == x.tolist()
    assert made.sharding == s
    parts = [p.data for p in made.addressable_shards]
    assembled = mj.make_array_from_single_device_arrays(shape, s, parts)
    assert assembled.tolist() == x.tolist()
    arrays = [mj.numpy.full(shape, 2.0, device=s), lax.full(shape, 2.0, sharding=s)]
    if types is EXPLICIT:
        arrays += [mj.reshard(mj.numpy.asarray(x), s)]
        arrays += [mj.jit(lambda x: mj.reshard(x, s))(mj.device_put(x, short))]
        arrays += [mj.numpy.zeros(shape, out_sharding=s)]
        with set_mesh(s.mesh):
            arrays += [mj.random.normal(mj.random.key(0), shape, out_sharding=s.spec)]
    for y in arrays:
        assert y.sharding.is_equivalent_to(short, len(shape))


@pytest.mark.parametrize(
    "f",
    [
        lambda x, s: mj.device_put(x, s),
        lambda x, s: mj.jit(lambda x: x, in_shardings=s)(x),
        lambda x, s: mj.jit(lambda x: x, out_shardings=s)(x),
        lambda x, s: lax.with_sharding_constraint(x, s),
        lambda x, s: mj.ShapeDtypeStruct(x.shape, x.dtype, sharding=s),
        lambda x, s: mj.shard_map(lambda x: x, mesh=MESH, in_specs=s.spec, out_specs=P())(x),
        lambda x, s: s.for_rank(1).check_compatible_aval((8, 4)[:0]),
        lambda x, s: over(None, "x").shard_shape((8,)),
    ],
)
def test_longer_specs_are_otherwise_rejected(f):
    with pytest.raises(ValueError, match=r"rank|too long"):
        f(VALUE[0], over("x", None))
