"""Exported programs as bytes: FlatBuffers in the format that JAX writes and reads.

Equal types, meshes and shardings are stored once; leaves refer to them by number.  Sizes of
axes are stored as texts, trees as their nodes.  A node type that a user registered is stored
by the name that the user registered in this module.

The numbers of fields and kinds come from JAX 0.10.2's schema, its version 11; programs from
version 2 on can be read.  Next: exported.py.
"""

from __future__ import annotations

import json
import struct
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from jaxlib import _jax

from ...base import errors, tree
from ...base.flatbuffers import Fields, Table, read, write
from ...base.tree_nodes import USER, is_tree_node
from ...control.effects import effects
from ...prims.random.implementations import impls
from ...runtime.backends.jaxlib_compat import HloSharding
from ...runtime.sharding.mesh import AbstractDevice, AbstractMesh, AxisType
from ...runtime.sharding.partition_spec import PartitionSpec
from ...runtime.sharding.shardings import NamedSharding, aval_with_sharding
from ...types import dtypes
from ...types.avals import MemorySpace, ShapedArray, shaped

if TYPE_CHECKING:
    from ...types.aliases import Aval, DType, PyTree
    from .exported import Exported

__all__ = (
    "from_bytes",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
    "to_bytes",
)

VERSION = 11
_OLDEST = 2

_DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"
    " complex64 complex128 bfloat16 int4 uint4 float8_e4m3b11fnuz float8_e4m3fn"
    " float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float0 float8_e4m3 float8_e3m4"
    " float8_e8m0fnu float4_e2m1fn key<fry> key<rbg> key<urbg>"
).split()
_LEAF, _NONE, _TUPLE, _LIST, _DICT, _CUSTOM = range(6)
_SPACES = (MemorySpace.Device, MemorySpace.Device, MemorySpace.Host, MemorySpace.Any)
_AXIS_TYPES = (None, AxisType.Auto, AxisType.Explicit, AxisType.Manual)
_EFFECTS = {"<class 'jax._src.ffi.FfiEffect'>": effects.io_effect}


# ----------------------------------------------------------------------------- nodes

_by_type: dict[type, tuple[str, Callable[[Any], Any]]] = {}
_by_name: dict[str, tuple[type, Callable[[bytes], Any], Callable[..., Any]]] = {}


def register_pytree_node_serialization(
    nodetype: type,
    *,
    serialized_name: str,
    serialize_auxdata: Callable[[Any], bytes],
    deserialize_auxdata: Callable[[bytes], Any],
    from_children: Callable[[Any, Sequence[Any]], Any] | None = None,
) -> type:
    """Register how nodes of a type in an exported program's trees are stored.

    Args:
      nodetype: the type, a pytree node.
      serialized_name: the name of the type in the bytes.
      serialize_auxdata: a function that returns the node's metadata as bytes.
      deserialize_auxdata: its inverse, from bytes to metadata.
      from_children: `(metadata, children)` -> a node; default: the registered function.

    Returns:
      The type.

    Raises:
      ValueError: the type or the name is registered already, or the type is not a node.

    Example:
      >>> class Pair:
      ...     def __init__(self, a, b): self.a, self.b = a, b
      >>> import minijax as mj
      >>> mj.tree_util.register_pytree_node(
      ...     Pair, lambda p: ((p.a, p.b), None), lambda _, xs: Pair(*xs))
      >>> kind = register_pytree_node_serialization(
      ...     Pair, serialized_name='docs.Pair', serialize_auxdata=lambda aux: b'',
      ...     deserialize_auxdata=lambda data: None)
    """
    if nodetype in _by_type:
        raise errors.value_error(
            f"Duplicate serialization registration for type `{nodetype}`. Previous"
            f" registration was with serialized_name `{_by_type[nodetype][0]}`."
        )
    if serialized_name in _by_name:
        raise errors.value_error(
            f"Duplicate serialization registration for serialized_name `{serialized_name}`."
            f" Previous registration was for type `{_by_name[serialized_name][0]}`.",
            tries=["a name that includes the module's name"],
        )
    if from_children is None:
        if not is_tree_node(nodetype):
            raise errors.value_error(
                "If `from_children` is not present, you must call first"
                f"`jax.tree_util.register_pytree_node` for `{nodetype}`"
            )
        from_children = lambda aux, children: _node(nodetype, aux, children)
    _by_type[nodetype] = serialized_name, serialize_auxdata
    _by_name[serialized_name] = nodetype, deserialize_auxdata, from_children
    return nodetype


def register_namedtuple_serialization(nodetype: type, *, serialized_name: str) -> type:
    """Register the name of a type of named tuples for the bytes of an exported program.

    Args:
      nodetype: a type from `collections.namedtuple`, or a `NamedTuple`.
      serialized_name: its name in the bytes.

    Returns:
      The type.

    Raises:
      ValueError: the type or the name is registered already, or it is another kind of type.

    Example:
      >>> import collections
      >>> Point = collections.namedtuple('Point', 'x y')
      >>> register_namedtuple_serialization(Point, serialized_name='docs.Point').__name__
      'Point'
    """
    fields = getattr(nodetype, "_fields", None)
    if not (issubclass(nodetype, tuple) and isinstance(fields, tuple)):
        raise errors.value_error(
            "Use `jax.export.register_pytree_node_serialization` for types other than"
            " `collections.namedtuple`.",
            which=str(nodetype),
        )
    make: Any = nodetype
    return register_pytree_node_serialization(
        nodetype,
        serialized_name=serialized_name,
        serialize_auxdata=lambda _: json.dumps(fields).encode(),
        deserialize_auxdata=json.loads,
        from_children=lambda names, xs: make(**dict(zip(names, xs, strict=True))),
    )


def _node(nodetype: Any, aux: Any, children: Sequence[Any]) -> Any:
    leaf = tree.structure(0)
    treedef = _jax.pytree.PyTreeDef.from_node_data_and_children(
        USER, (nodetype, aux), [leaf] * len(children)
    )
    return treedef.unflatten(list(children))


def _ordered_keys(keys: Any) -> bytes:
    if not all(isinstance(k, str) for k in keys):
        raise errors.error(
            NotImplementedError,
            "Serialization of collections.OrderedDict is supported only when the keys are"
            f" strings. Found keys: {keys}.",
        )
    return json.dumps(tuple(keys)).encode()


register_pytree_node_serialization(
    OrderedDict,
    serialized_name="collections.OrderedDict",
    serialize_auxdata=_ordered_keys,
    deserialize_auxdata=json.loads,
    from_children=lambda keys, xs: OrderedDict(zip(keys, xs, strict=True)),
)


def _tree_fields(treedef: Any) -> Fields:
    data = treedef.node_data()
    if data is None:
        return {0: ("b", _LEAF)}
    kind, aux = data
    builtin_kinds = {type(None): _NONE, tuple: _TUPLE, list: _LIST, dict: _DICT}
    fields: Fields = {0: ("b", builtin_kinds.get(kind, _CUSTOM))}
    if kind is dict:
        for key in aux:
            if not isinstance(key, str):
                raise errors.type_error(
                    "Serialization is supported only for dictionaries with string keys."
                    f" Found key {key} of type {type(key)}."
                )
        fields[2] = "[text", list(aux)
    elif kind not in builtin_kinds:
        if kind not in _by_type:
            raise errors.value_error(
                f"Cannot serialize PyTreeDef containing an unregistered type `{kind}`. Use"
                " `export.register_pytree_node_serialization` or"
                " `export.register_namedtuple_serialization`."
            )
        name, serialize_aux = _by_type[kind]
        aux_bytes = serialize_aux(aux)
        if not isinstance(aux_bytes, (bytes, bytearray)):
            raise errors.value_error(
                f"The custom serialization function for `{kind}` must return a `bytes`"
                f" object. It returned a {type(aux_bytes)}."
            )
        fields[3], fields[4] = ("text", name), ("bytes", bytes(aux_bytes))
    children = treedef.children()
    if children:
        fields[1] = "[table", list(map(_tree_fields, children))
    return fields


def _tree(table: Table | None) -> PyTree:
    """Build a tree with the structure in a table."""
    if table is None:
        return 0
    kind = table.number(0, "b")
    children = list(map(_tree, table.tables(1)))
    if kind == _NONE:
        return None
    if kind == _TUPLE:
        return tuple(children)
    if kind == _LIST:
        return children
    if kind == _DICT:
        return dict(zip(table.texts(2), children, strict=True))
    if kind == _CUSTOM:
        name = table.text(3)
        if name not in _by_name:
            raise errors.value_error(
                "Cannot deserialize a PyTreeDef containing an unregistered type"
                f" `{name}`. Use `export.register_pytree_node_serialization` or"
                " `export.register_namedtuple_serialization`."
            )
        _, aux, make = _by_name[name]
        return make(aux(table.bytes(4)), children)
    return 0


# --------------------------------------------------------------- types and shardings


class _Pool:
    """Distinct values, numbered and stored once."""

    def __init__(self, to_fields: Callable[[Any], Fields]) -> None:
        self.numbers: dict[Any, int] = {}
        self.to_fields = to_fields

    def number(self, x: Any) -> int:
        return self.numbers.setdefault(x, len(self.numbers))

    def fields(self) -> tuple[str, list[Fields]]:
        return "[table", [self.to_fields(x) for x in list(self.numbers)]


def _aval_fields(aval: Any) -> Fields:
    name = "float0" if aval.dtype == dtypes.float0 else str(aval.dtype)
    if not isinstance(aval, ShapedArray) or name not in _DTYPES:
        raise errors.type_error(f"export: arrays of dtype {name} cannot be serialized.")
    return {
        0: ("b", 0),
        1: ("[text", [str(d) for d in aval.shape]),
        2: ("b", _DTYPES.index(name)),
        3: ("b", _SPACES.index(aval.memory_space, 1)),
    }


def _dtype(name: str) -> DType:
    if name == "float0":
        return dtypes.float0
    if name.startswith("key<"):
        return dtypes.KeyTy(next(p for p in impls.values() if f"key<{p.tag}>" == name))
    return dtypes.as_dtype(name)


def _aval(table: Table, shape_of: Callable[[Sequence[str]], Any]) -> Aval:
    dtype = _dtype(_DTYPES[table.number(2, "b")])
    space = _SPACES[table.number(3, "b")]
    return shaped(tuple(shape_of(table.texts(1))), dtype, False, space)


def _mesh_fields(mesh: AbstractMesh) -> Fields:
    fields: Fields = {
        0: ("[I", mesh.axis_sizes),
        1: ("[text", mesh.axis_names),
        2: ("[b", [_AXIS_TYPES.index(t) for t in mesh.axis_types]),
    }
    device = mesh.abstract_device
    if device is not None:
        device_fields: Fields = {0: ("text", device.device_kind)}
        if device.num_cores is not None:
            device_fields[1] = "I", device.num_cores
        if device.platform is not None:
            device_fields[2] = "text", device.platform
        fields[3] = "table", device_fields
    return fields


def _mesh(table: Table) -> AbstractMesh:
    types: Any = tuple(_AXIS_TYPES[t] for t in table.numbers(2, "b"))
    device_table, device = table.table(3), None
    if device_table is not None:
        cores = device_table.number(1, "I") or None
        device = AbstractDevice(device_table.text(0), cores, device_table.text(2) or None)
    return AbstractMesh(table.numbers(0, "I"), table.texts(1), types, abstract_device=device)


def _spec_fields(spec: Any) -> Fields:
    entries: list[Fields] = []
    for entry in spec:
        axes = () if entry is None else (entry,) if isinstance(entry, str) else entry
        entries.append({0: ("[text", list(axes))})
    return {
        0: ("[table", entries),
        1: ("[text", sorted(spec.reduced)),
        2: ("[text", sorted(spec.unreduced)),
    }


def _spec(table: Table | None) -> PartitionSpec:
    assert table is not None
    entries = []
    for row in table.tables(0):
        axes = row.texts(0)
        entries.append(None if not axes else axes[0] if len(axes) == 1 else axes)
    reduced, unreduced = map(frozenset, (table.texts(1), table.texts(2)))
    return PartitionSpec(*entries, reduced=reduced, unreduced=unreduced)


def _sharding_fields(meshes: _Pool, sharding: Any) -> Fields:
    fields: Fields = {
        1: ("table", _spec_fields(sharding.spec)),
        3: ("I", meshes.number(sharding.mesh)),
    }
    if sharding.memory_kind is not None:
        fields[2] = "text", sharding.memory_kind
    return fields


def _sharding(table: Table, meshes: Sequence[AbstractMesh]) -> NamedSharding | None:
    own = table.table(0)  # before version 10 each sharding contained its mesh
    mesh = meshes[table.number(3, "I")] if own is None else _mesh(own)
    return NamedSharding(mesh, _spec(table.table(1)), memory_kind=table.text(2) or None)


def _legacy_sharding(table: Table, meshes: Sequence[AbstractMesh]) -> Any:
    """Return the sharding in a leaf's own field: before version 10."""
    named = table.table(2)
    if named is not None:
        return _sharding(named, meshes)
    if table.bytes(1):
        proto = _jax.OpSharding()
        proto.ParseFromString(table.bytes(1))
        return HloSharding.from_proto(proto)
    return None


# --------------------------------------------------------------------------- program


def _effect_fields(effects: Iterable[Any]) -> tuple[str, list[Fields]]:
    tables: list[Fields] = []
    names = {effect: name for name, effect in _EFFECTS.items()}
    for effect in effects:
        if effect not in names:
            raise errors.error(
                NotImplementedError,
                f"Effect {effect} must have a nullary constructor to be serializable",
                why="the reader could not reconstruct the effect.",
            )
        tables.append({0: ("text", names[effect])})
    return "[table", tables


def _effects(tables: Iterable[Table]) -> tuple[Any, ...]:
    result = []
    for table in tables:
        name = table.text(0)
        if name not in _EFFECTS:
            raise errors.error(NotImplementedError, f"cannot deserialize effect type {name}")
        result.append(_EFFECTS[name])
    return tuple(result)


def _check_fields(check: Any) -> Fields:
    target = check.is_custom_call()
    if target is not None:
        return {0: ("b", 1), 1: ("text", target)}
    return {0: ("b", 0)}


def _fields(exported: Any, vjp_order: int) -> Fields:
    avals, meshes = _Pool(_aval_fields), _Pool(_mesh_fields)
    shardings = _Pool(lambda s: _sharding_fields(meshes, s))
    number = lambda s: 0 if s is None else 1 + shardings.number(s)
    fields: Fields = {
        0: ("H", VERSION),
        1: ("text", exported.fun_name),
        2: ("table", _tree_fields(exported.in_tree)),
        4: ("table", _tree_fields(exported.out_tree)),
        9: ("[text", exported.platforms),
        10: _effect_fields(exported.ordered_effects),
        11: _effect_fields(exported.unordered_effects),
        12: ("[table", list(map(_check_fields, exported.disabled_safety_checks))),
        13: ("bytes", exported.mlir_module_serialized),
        14: ("H", exported.calling_convention_version),
        15: ("[H", exported.module_kept_var_idx),
        16: ("?", exported.uses_global_constants),
        18: ("I", exported.nr_devices),
        22: ("[I", list(map(avals.number, exported.in_avals))),
        23: ("[I", list(map(avals.number, exported.out_avals))),
        24: ("[I", list(map(number, exported._in_named_shardings))),
        25: ("[I", list(map(number, exported._out_named_shardings))),
    }
    fields[19] = avals.fields()
    fields[21] = shardings.fields()  # numbers the meshes, so it must come before them
    fields[20] = meshes.fields()
    if vjp_order > 0 and exported.has_vjp():
        fields[17] = "table", _fields(exported.vjp(), vjp_order - 1)
    return fields


def to_bytes(exported: Any, vjp_order: int) -> bytearray:
    """Return an exported program as bytes, with its derivatives up to an order."""
    return write(_fields(exported, vjp_order))


def _exported_fields(table: Table, shape_of: Callable[[Sequence[str]], Any]) -> dict[str, Any]:
    version = table.number(0, "H")
    if not _OLDEST <= version <= VERSION:
        raise errors.value_error(
            f"The program is of version {version} of the format; versions {_OLDEST} to"
            f" {VERSION} can be read."
        )
    avals = [_aval(t, shape_of) for t in table.tables(19)]
    meshes = list(map(_mesh, table.tables(20)))
    pool = [None, *(_sharding(t, meshes) for t in table.tables(21))]

    def types(field: int, legacy_field: int) -> tuple[Any, ...]:
        own = tuple(_aval(t, shape_of) for t in table.tables(legacy_field))
        return own or tuple(avals[i] for i in table.numbers(field, "I"))

    def shardings_of(field: int, legacy_field: int, count: int) -> tuple[Any, ...]:
        own = tuple(_legacy_sharding(t, meshes) for t in table.tables(legacy_field))
        own = own or tuple(pool[i] for i in table.numbers(field, "I"))
        return own or (None,) * count

    ins, outs = types(22, 3), types(23, 5)
    in_shardings, out_shardings = shardings_of(24, 7, len(ins)), shardings_of(25, 8, len(outs))
    old = any(isinstance(s, HloSharding) for s in (*in_shardings, *out_shardings))
    named = lambda row: (None,) * len(row) if old else row
    hlo = lambda row: row if old else (None,) * len(row)
    if not old:
        ins, outs = (
            tuple(
                a if s is None else aval_with_sharding(a, s) for a, s in zip(*row, strict=True)
            )
            for row in ((ins, in_shardings), (outs, out_shardings))
        )
    return {
        "fun_name": table.text(1),
        "in_tree": tree.structure(_tree(table.table(2))),
        "in_avals": ins,
        "out_tree": tree.structure(_tree(table.table(4))),
        "out_avals": outs,
        "_has_named_shardings": not old,
        "_in_named_shardings": named(in_shardings),
        "_out_named_shardings": named(out_shardings),
        "in_shardings_hlo": hlo(in_shardings),
        "out_shardings_hlo": hlo(out_shardings),
        "nr_devices": table.number(18, "I") or table.number(6, "h"),
        "platforms": table.texts(9),
        "ordered_effects": _effects(table.tables(10)),
        "unordered_effects": _effects(table.tables(11)),
        "disabled_safety_checks": tuple(t.text(1) for t in table.tables(12)),
        "mlir_module_serialized": table.bytes(13),
        "calling_convention_version": table.number(14, "H"),
        "module_kept_var_idx": table.numbers(15, "H"),
        "uses_global_constants": bool(table.number(16, "?")),
        "_get_vjp": table.table(17),
    }


def from_bytes(
    data: bytes | bytearray, shape_of: Callable[[Sequence[str]], Any], make: Callable[..., Any]
) -> Exported:
    """Read a program, and return what `make` builds from its fields.

    shape_of: a function from texts of sizes to a shape.
    """

    def from_table(table: Table) -> Any:
        fields = _exported_fields(table, shape_of)
        vjp_table = fields["_get_vjp"]
        if vjp_table is not None:
            fields["_get_vjp"] = lambda _: from_table(vjp_table)
        return make(**fields)

    try:
        return from_table(read(data))
    except (struct.error, IndexError, UnicodeDecodeError) as e:
        raise errors.value_error(
            "export.deserialize: these bytes are not an exported program.",
            which=f"{len(data)} bytes, which begin with {bytes(data[:8])!r}",
            why=str(e),
            tries=["all bytes that exported.serialize() returned"],
        ) from None
