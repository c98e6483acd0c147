"""`export`: a jitted function as a program for chosen platforms, independent of its process.

The program is StableHLO in a form that later compilers can read, together with the trees,
types and shardings that a call needs.  Its derivative is a second program, which is
exported when it is first needed.

Next: serialization.py.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from ...base import config, errors, tree
from ...base.source import function_text
from ...control.calls.call_exported import call_exported_p, check_arguments
from ...control.calls.jit import jit
from ...control.rules.custom_vjp import custom_vjp
from ...ir.jaxpr import ClosedJaxpr
from ...prims.sizes import dim_as_value_p as dim_as_value_p  # symbolic sizes as values
from ...runtime.backends import client
from ...runtime.lowering import portable_artifact
from ...runtime.sharding.mesh import AbstractMesh, Mesh
from ...runtime.sharding.shardings import NamedSharding
from ...symbolic.dims import SymbolicDim, dimension_variables, is_symbolic_dim
from ...symbolic.parser import SymbolicScope, symbolic_shape
from ...symbolic.solver import common_scope, solution, solved
from ...types import dtypes
from ..aot import Lowered, Traced
from ..eval_shape import ShapeDtypeStruct, aval_like
from ..vjp import vjp
from . import serialization

if TYPE_CHECKING:
    from jaxlib.mlir import ir

    from ...base.tree import PyTreeDef
    from ...types.aliases import PyTree

__all__ = (
    "DisabledSafetyCheck",
    "Exported",
    "call",
    "default_export_platform",
    "deserialize",
    "export",
    "is_symbolic_dim",
    "symbolic_shape",
    "SymbolicScope",
    "maximum_supported_calling_convention_version",
    "minimum_supported_calling_convention_version",
    "symbolic_args_specs",
)

minimum_supported_calling_convention_version = 9
maximum_supported_calling_convention_version = 10


class DisabledSafetyCheck:
    """A check of `export` to leave out, from `platform` or `custom_call`.

    >>> from minijax import export
    >>> export.DisabledSafetyCheck.custom_call('my_kernel')
    custom_call:my_kernel
    """

    __slots__ = ("_impl",)

    def __init__(self, _impl: str) -> None:
        self._impl = _impl

    @classmethod
    def platform(cls) -> DisabledSafetyCheck:
        """Let a program run on platforms that it was not exported for."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> DisabledSafetyCheck:
        """Let a program call a foreign function, which may differ on other machines."""
        return cls(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """Return the name of the foreign function, or None for another check."""
        match = re.match("custom_call:(.+)$", self._impl)
        return match and match[1]

    def __repr__(self) -> str:
        return self._impl

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DisabledSafetyCheck) and self._impl == other._impl

    def __hash__(self) -> int:
        return hash(self._impl)


@dataclasses.dataclass(frozen=True, eq=False)
class Exported:
    """A program with all that a call of it needs; returned by `export`.

    Attributes:
      fun_name: the function's name.
      in_tree, out_tree: structures of (args, kwargs) and of the result.
      in_avals, out_avals: types of the leaves.
      in_shardings_hlo, out_shardings_hlo: None for each leaf; see `in_shardings_jax`.
      nr_devices: the number of devices that it runs on.
      platforms: the platforms that it can run on.
      ordered_effects, unordered_effects: its side effects.
      disabled_safety_checks: which checks were left out.
      mlir_module_serialized: the program, as bytes.
      calling_convention_version: the version of its calling convention.
      module_kept_var_idx: the indices of the arguments' leaves that it takes.
      uses_global_constants: whether it takes its platform's number, or symbolic dimensions;
        it is then refined at each call.

    >>> from minijax import export
    >>> import minijax as mj, minijax.numpy as jnp
    >>> program = export.export(mj.jit(jnp.sin))(jnp.ones(3))
    >>> program.fun_name, program.in_avals, program.platforms
    ('sin', (ShapedArray(float32[3]),), ('cpu',))
    """

    fun_name: str
    in_tree: PyTreeDef
    in_avals: tuple[Any, ...]
    out_tree: PyTreeDef
    out_avals: tuple[Any, ...]
    _has_named_shardings: bool
    _in_named_shardings: tuple[Any, ...]
    _out_named_shardings: tuple[Any, ...]
    in_shardings_hlo: tuple[Any, ...]
    out_shardings_hlo: tuple[Any, ...]
    nr_devices: int
    platforms: tuple[str, ...]
    ordered_effects: tuple[Any, ...]
    unordered_effects: tuple[Any, ...]
    disabled_safety_checks: Sequence[DisabledSafetyCheck]
    mlir_module_serialized: bytes
    calling_convention_version: int
    module_kept_var_idx: tuple[int, ...]
    uses_global_constants: bool
    _get_vjp: Callable[[Exported], Exported] | None

    def __repr__(self) -> str:
        return f"Exported(fun_name={self.fun_name}, ...)"

    __str__ = __repr__

    def mlir_module(self, serialized: bool = True) -> ir.Module | str:
        """Return the program as StableHLO: text or, unless `serialized`, an MLIR module."""
        data = self.mlir_module_serialized
        return (
            portable_artifact.text_of(data)
            if serialized
            else portable_artifact.from_bytes(data)
        )

    def in_shardings_jax(self, mesh: Mesh | AbstractMesh) -> tuple[Any, ...]:
        """Return the shardings of the arguments over a mesh; None: unspecified."""
        return tuple(_on_mesh(s, mesh) for s in self._in_named_shardings)

    def out_shardings_jax(self, mesh: Mesh | AbstractMesh) -> tuple[Any, ...]:
        """Return the shardings of the results over a mesh; None: the compiler chooses."""
        return tuple(_on_mesh(s, mesh) for s in self._out_named_shardings)

    def has_vjp(self) -> bool:
        """Whether it can be differentiated."""
        return self._get_vjp is not None

    def vjp(self) -> Exported:
        """Return the program of its cotangents.

        It takes the leaves of the arguments, then a cotangent of each leaf of the result,
        and returns a tuple of cotangents of the former.

        Raises:
          ValueError: it was read from bytes without a VJP.
        """
        if self._get_vjp is None:
            raise errors.value_error(
                "No VJP is available",
                where=self.fun_name,
                tries=["exported.serialize(vjp_order=1), when it is written"],
            )
        return self._get_vjp(self)

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """Return the program and its metadata as bytes, which `deserialize` reads.

        Args:
          vjp_order: how often the deserialized program can be differentiated.
        """
        return serialization.to_bytes(self, vjp_order)

    def call(self, *args: PyTree, **kwargs: PyTree) -> PyTree:
        """Run the program: `args` and `kwargs` must have the structure and types of export."""
        return call(self)(*args, **kwargs)

    def results_for(self, avals: Sequence[Any]) -> tuple[Any, ...]:
        """Return the types of the results for these argument types, or raise ValueError."""
        names = tree.leaf_names(self.in_tree)
        check_arguments(self, avals, names)
        symbolic_shapes = [a.shape for a in self.in_avals]
        if not dimension_variables([d for shape in symbolic_shapes for d in shape]):
            return self.out_avals
        sizes = solved(solution(symbolic_shapes, names), [a.shape for a in avals], names)
        return tuple(
            a.update(
                shape=tuple(
                    d.evaluated(sizes) if isinstance(d, SymbolicDim) else d for d in a.shape
                )
            )
            for a in self.out_avals
        )

    @functools.cached_property
    def memo(self) -> dict[str, Any]:
        """A cache of programs that call this one."""
        return {}

    # One function per program, so that caches keyed by the function find its traces again.
    @functools.cached_property
    def _flat(self) -> Any:
        """The differentiable function of leaves that runs the program."""

        def f_flat(*leaves: Any) -> Any:
            return tuple(call_exported_p.bind(*leaves, exported=self))

        def forwards(*leaves: Any) -> Any:
            return differentiable(*leaves), leaves

        def backwards(leaves: Any, cts: Any) -> Any:
            return call(self.vjp())(*leaves, *cts)

        differentiable = custom_vjp(f_flat)
        differentiable.defvjp(forwards, backwards)
        return differentiable


def _on_mesh(sharding: Any, mesh: Any) -> Any:
    if sharding is None:
        return None
    target_mesh, export_mesh = mesh.abstract_mesh, sharding.mesh
    if (target_mesh.axis_sizes, target_mesh.axis_names) != (
        export_mesh.axis_sizes,
        export_mesh.axis_names,
    ):
        raise errors.value_error(
            f"NamedSharding new mesh {mesh} does not match the mesh used for export"
            f" {export_mesh}.",
            tries=["a mesh of equal shape, with the same axis names"],
        )
    return NamedSharding(mesh, sharding.spec, memory_kind=sharding.memory_kind)


def call(exported: Exported) -> Callable[..., Any]:
    """Return the function of an exported program, which can be called and differentiated.

    Args:
      exported: the program.

    Returns:
      A function of arguments with the structure and types of export.

    Raises:
      ValueError: `exported` is not an `Exported`; or a call has arguments of other types.

    Example:
      >>> import minijax as mj
      >>> exported = export(mj.jit(lambda x: 2 * x))(mj.ShapeDtypeStruct((2,), 'float32'))
      >>> call(exported)(mj.numpy.ones(2))
      Array([2., 2.], dtype=float32)
    """
    if not isinstance(exported, Exported):
        raise errors.value_error(
            f"The exported argument must be an export.Exported. Found {exported}."
        )

    def called(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = tree.flatten((args, kwargs))
        if in_tree != exported.in_tree:
            raise _structure_error(exported, in_tree)
        return tree.unflatten(exported.out_tree, exported._flat(*leaves))

    return called


def _structure_error(exported: Exported, in_tree: Any) -> ValueError:
    lines = []
    for path, was, now, why in tree.structure_errors(exported.in_tree, in_tree):
        label = ("kwargs" if path[0].idx else "args") + tree.keystr(path[1:]) if path else ""
        lines.append(
            f"   - {label} is {now} in the invocation and {was} when exported, so {why}"
        )
    return errors.value_error(
        "The invocation args and kwargs must have the same pytree structure as when the"
        f" function '{exported.fun_name}' was exported, but they have the following"
        " structural differences:\n" + "\n".join(lines)
    )


def deserialize(blob: bytes | bytearray) -> Exported:
    """Read the program that `Exported.serialize` wrote, in minijax or in JAX.

    Args:
      blob: the bytes.

    Returns:
      An `Exported`.

    Raises:
      ValueError: the bytes are not an exported program, or of an unsupported version, or the
        program's trees have a node type that is not registered in this process.

    Example:
      >>> import minijax as mj
      >>> exported = export(mj.jit(lambda x: 2 * x))(mj.ShapeDtypeStruct((2,), 'float32'))
      >>> deserialize(exported.serialize()).call(mj.numpy.ones(2))
      Array([2., 2.], dtype=float32)
    """

    def from_fields(disabled_safety_checks: Sequence[str], **fields: Any) -> Exported:
        kinds = DisabledSafetyCheck
        checks = [
            kinds.custom_call(target) if target else kinds.platform()
            for target in disabled_safety_checks
        ]
        return Exported(disabled_safety_checks=tuple(checks), **fields)

    scope = SymbolicScope()
    shape_of = lambda sizes: symbolic_shape(",".join(sizes), scope=scope)
    return serialization.from_bytes(blob, shape_of, from_fields)  # type: ignore[no-any-return]


def symbolic_args_specs(
    args: PyTree,
    shapes_specs: PyTree,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
) -> PyTree:
    """Return the types of arguments with symbolic dimensions.

    Args:
      args: a pytree of arrays, or of values with `shape` and `dtype`.
      shapes_specs: texts as for `symbolic_shape`, where '_' and '...' stand for sizes of
        `args`; or None for the shapes of `args`; a pytree prefix of `args`.
      constraints: conditions on the symbolic dimensions, such as 'b >= 2'.
      scope: the scope of the names; default: one new scope for all of them.

    Returns:
      A pytree like `args`, of `ShapeDtypeStruct`s.

    Raises:
      ValueError: the trees do not fit, or a text is not a shape.

    Example:
      >>> import minijax.numpy as jnp
      >>> symbolic_args_specs((jnp.ones((2, 3)), jnp.ones(4)), ("b, ...", None))[0]
      ShapeDtypeStruct(shape=(b, 3), dtype=float32)
    """
    if scope is None:
        scope = SymbolicScope(constraints)
    elif constraints:
        raise errors.value_error("Cannot use both `scope` and `constraints`")
    leaves, structure = tree.flatten(args)
    is_spec = lambda x: x is None or isinstance(x, str)
    specs = tree.broadcast_prefix(shapes_specs, args, is_leaf=is_spec)
    structs = []
    for x, spec in zip(leaves, specs, strict=True):
        aval = aval_like(x)
        shape = symbolic_shape(spec, scope=scope, like=aval.shape)
        structs.append(ShapeDtypeStruct(shape, aval.dtype))
    return tree.unflatten(structure, structs)


# ----------------------------------------------------------------------------- export


def default_export_platform() -> str:
    """Return the platform that `export` lowers for by default.

    Returns:
      The platform of the default device.

    Example:
      >>> default_export_platform() in ('cpu', 'cuda', 'tpu')
      True
    """
    return client.default_platform()


def export(
    fun_jit: Callable[..., Any],
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[DisabledSafetyCheck] = (),
    _override_lowering_rules: Sequence[tuple[Any, Any]] | None = None,
) -> Callable[..., Exported]:
    """Lower a jitted function to a program that can be stored, and run by other processes.

    Args:
      fun_jit: a function that `jit` returned.
      platforms: the platforms to lower for: 'cpu', 'cuda', 'tpu' or others; default: the
        platform of the default device.
      disabled_checks: checks to leave out.
      _override_lowering_rules: pairs (primitive, rule) that precede the primitives' own
        rules; in the form that `interpreters.mlir.register_lowering` takes.

    Returns:
      A function of arguments, or of their types (`ShapeDtypeStruct`s), that returns an
      `Exported`.

    Raises:
      ValueError: `fun_jit` is not jitted; or, at the call, the program calls foreign
        functions.
      NotImplementedError: at the call: the program calls back into Python.

    Example:
      >>> import minijax as mj
      >>> exported = export(mj.jit(mj.numpy.sin))(mj.ShapeDtypeStruct((3,), 'float32'))
      >>> exported.call(mj.numpy.zeros(3))
      Array([0., 0., 0.], dtype=float32)
    """
    if not (callable(fun_jit) and hasattr(fun_jit, "trace")):
        raise errors.value_error(
            f"Function to be exported must be the result of `jit` but is: {fun_jit}",
            tries=["export(jit(f))(...)"],
        )

    def do_export(*args: Any, **kwargs: Any) -> Exported:
        chosen = tuple(map(_platform, platforms or (default_export_platform(),)))
        leaves = tree.leaves((args, kwargs))
        shapes = [getattr(x, "shape", ()) for x in leaves]
        common_scope(chain(*shapes), getattr(fun_jit, "__name__", "a function"))
        traced = fun_jit.trace(*args, **kwargs)  # type: ignore[attr-defined]
        rules = tuple(_override_lowering_rules or ())
        return _exported(traced, chosen, tuple(disabled_checks), rules)

    return do_export


def _platform(name: str) -> str:
    if name == "gpu":
        raise errors.error(
            RuntimeError,
            "Unknown backend: 'gpu' requested, but no platforms that are instances of gpu"
            " are present.",
            why="programs are lowered for the GPUs of one vendor.",
            tries=["platforms=['cuda']"],
        )
    return str(name)


def _exported(
    stage: Traced,
    platforms: tuple[str, ...],
    checks: tuple[DisabledSafetyCheck, ...],
    rules: tuple[tuple[Any, Any], ...] = (),
) -> Exported:
    in_avals, out_avals = stage.arg_types, stage.result_types
    lowered = Lowered(stage.with_rules(rules), platforms, portable=True)
    if lowered._captured:
        raise errors.error(
            NotImplementedError,
            f"export: {stage.fun_name} cannot be exported: it closes over references.",
            where=function_text(stage._jitted.fun),
            why="references belong to this process.",
            tries=["pass values, and return the new ones"],
        )
    if lowered._lowered.module.callbacks:
        raise errors.error(
            NotImplementedError,
            "serialization of host_callbacks is not yet implemented",
            where=function_text(stage._jitted.fun),
            why="Python functions exist in this process only.",
            tries=["remove the callback or debug.print", "jit instead of export"],
        )
    module = lowered.compiler_ir()
    portable_artifact.check_calls(module, [t for c in checks if (t := c.is_custom_call())])
    placement, kept_indices = lowered._lowered.placement, lowered._lowered.kept_indices
    ins: list[Any] = [None] * len(in_avals)
    outs: Sequence[Any] = [None] * len(out_avals)
    if placement.is_spmd:
        for k, i in enumerate(kept_indices):
            ins[i] = _abstract(placement.ins[k])
        if placement.outs is not None:
            outs = list(map(_abstract, placement.outs))
    polymorphic = len(platforms) > 1 or lowered._symbolic
    ordered: list[Any] = []
    unordered: list[Any] = []
    for effect in lowered._lowered.jaxpr.effects:
        (ordered if getattr(effect, "ordered", False) else unordered).append(effect)
    return Exported(
        fun_name=stage.fun_name,
        in_tree=stage.in_tree,
        in_avals=tuple(in_avals),
        out_tree=stage.out_tree,
        out_avals=tuple(out_avals),
        _has_named_shardings=True,
        _in_named_shardings=tuple(ins),
        _out_named_shardings=tuple(outs),
        in_shardings_hlo=(None,) * len(in_avals),
        out_shardings_hlo=(None,) * len(out_avals),
        nr_devices=len(placement.devices),
        platforms=platforms,
        ordered_effects=tuple(ordered),
        unordered_effects=tuple(unordered),
        disabled_safety_checks=checks,
        mlir_module_serialized=portable_artifact.to_bytes(
            module, polymorphic, placement.is_spmd
        ),
        calling_convention_version=_calling_convention(),
        module_kept_var_idx=tuple(kept_indices),
        uses_global_constants=polymorphic,
        _get_vjp=functools.partial(
            _export_vjp, stage.jaxpr, rules, placement.devices if placement.is_spmd else ()
        ),
    )


def _calling_convention() -> int:
    """Return the version that the option requests; programs of both versions are equal."""
    version: int = config.EXPORT_VERSION.value
    low = minimum_supported_calling_convention_version
    high = maximum_supported_calling_convention_version
    if not low <= version <= high:
        raise errors.value_error(
            f"The requested export calling convention version {version} is outside the"
            f" range of supported versions [{low}..{high}]",
            which="jax_export_calling_convention_version",
        )
    return version


def _abstract(sharding: Any) -> Any:
    """Return a sharding over the abstract mesh, without devices."""
    if sharding is None:
        return None
    mesh = sharding.mesh.abstract_mesh
    return NamedSharding(mesh, sharding.spec, memory_kind=sharding.memory_kind)


def _export_vjp(
    closed: ClosedJaxpr,
    rules: tuple[tuple[Any, Any], ...],
    devices: tuple[Any, ...],
    exported: Exported,
) -> Exported:
    """Return the program of the cotangents, which are sharded like the values.

    devices: the devices that the program was lowered for, if there are several.
    """
    n = len(exported.in_avals)

    def fun_vjp_jax(*args: Any) -> Any:
        _, pullback = vjp(lambda *xs: tuple(closed(*xs)), *args[:n])
        return pullback(tuple(args[n:]))

    def placed(sharding: Any, aval: Any, cotangent: bool) -> Any:
        if sharding is None or aval.dtype == dtypes.float0:
            return None
        on_devices = sharding.on(devices)
        return on_devices.of_cotangents() if cotangent else on_devices

    ins, outs = exported._in_named_shardings, exported._out_named_shardings
    cts = [a.to_tangent() for a in (*exported.in_avals, *exported.out_avals)]
    structs = [
        ShapeDtypeStruct(a.shape, a.dtype, sharding=placed(s, a, i >= n))
        for i, (a, s) in enumerate(
            zip((*exported.in_avals, *cts[n:]), (*ins, *outs), strict=True)
        )
    ]
    results = tuple([placed(s, a, True) for a, s in zip(cts[:n], ins, strict=True)])
    lower = export(
        jit(fun_vjp_jax, out_shardings=results if any(results) else None),
        platforms=exported.platforms,
        disabled_checks=exported.disabled_safety_checks,
        _override_lowering_rules=rules,
    )
    return lower(*structs)
