"""Names that libraries import from JAX's internals, by module; used only by the alias.

A module combines public modules, whose names it has too, with a table like theirs
(base/lazy_modules.py).  No other name of JAX's internals exists here.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from operator import attrgetter
from types import ModuleType
from typing import Any

from ..base.lazy_modules import homes, namespace_of

_PACKAGE = __name__.partition(".")[0]

# Below `jax._src`: module -> public modules, and tables of our modules.
MODULES: dict[str, tuple[str, dict[str, str]]] = {
    "": ("", {}),
    "ad_checkpoint": ("ad_checkpoint", {
        "control.calls.remat": "name_p remat_p saved_residuals",
    }),
    "ad_util": ("interpreters.ad", {
        "prims.stop_gradient": "stop_gradient_p",
        "control.rules.custom_jvp": "SymbolicZero zero_from_primal",
        "views.derivatives": "p2tz",
    }),
    "api": ("", {"functools": "partial"}),
    "api_util": ("api_util", {"views.linear_util": "infer_argnums_and_argnames"}),
    "array": ("", {
        "runtime.arrays.array_impl_methods": "ArrayImpl",
        "views.meshes": "Index",
        "views.tools": "Shape",
    }),
    "basearray": ("", {}),
    "callback": ("", {
        "control.callbacks.callbacks": "io_callback",
        "views.modules": "emit_python_callback",
    }),
    "checkify": ("experimental.checkify", {
        "control.effects.checkify_errors": "JaxException=JaxRuntimeError",
        "views.tools": "Out",
    }),
    "clusters": ("", {
        "views.clusters":
            "ClusterEnv K8sCluster Mpi4pyCluster OmpiCluster SlurmCluster",
    }),
    "compilation_cache": ("experimental.compilation_cache.compilation_cache", {}),
    "compiler": ("", {"views.backends": "get_compile_options"}),
    "config": ("", {
        "base.config": "trace_context=trace_key",
        "base.config:config": "update parse_flags_with_absl",
    }),
    "core": ("extend.core core", {
        "api.eval_shape": "typeof",
        "control.calls.jit_primitive": "closed_call_p",
        "control.refs.refs": "Ref empty_ref free_ref freeze",
        "ir.core": "EvalTrace",
        "views.attributes": "JaxprEqnContext=EquationContext",
        "runtime.lowering.context": "physical_aval=physical",
        "runtime.sharding.manual_axis_type": "ManualAxisType",
        "views.backends": "safe_map safe_zip",
        "views.linear_util": "shaped_abstractify",
        "views.hijax": "AvalMutableQDD AvalQDD aval_method aval_property cur_qdd",
        "views.primitives": "call_p",
        "views.programs": "pp_jaxpr",
        "views.sizes": """
            DimSize Shape canonicalize_dim canonicalize_shape concrete_dim_or_error
            definitely_equal definitely_equal_one_of_dim definitely_equal_shape dilate_dim
            dim_constant dim_value_aval dim_value_dtype dimension_as_value
            divide_shape_sizes is_dim is_empty_shape is_symbolic_dim stride_dim
        """,
        "views.traces": """
            OpaqueTraceState SetCurrentTraceContextManager=set_current_trace
            TakeCurrentTraceContextManager=take_current_trace full_lower nonempty_axis_env
            trace_state_clean unsafe_am_i_under_a_jit unsafe_am_i_under_a_vmap
            unsafe_get_axis_names
        """,
    }),
    "custom_derivatives": ("custom_derivatives", {}),
    "dispatch": ("", {
        "control.effects.effects": "wait_for_tokens=effects_barrier",
        "views.backends": "apply_primitive",
    }),
    "distributed": ("distributed", {
        "runtime.backends.cluster": "State=Cluster global_state=state",
    }),
    "dtypes": ("dtypes", {
        "surface.own_dtypes": "primal_tangent_dtype",
        "types.dtypes":
            "ExtendedDType to_complex_dtype=complex_of to_inexact_dtype=to_inexact",
        "views.backends": "canonicalize_value_handlers=canonicalize_dtype_handlers",
        "views.numbers": "DType dtype=dtype_of supports_inf",
    }),
    "earray": ("", {"views.numbers": "EArray"}),
    "effects": ("", {
        "control.effects.effects": "Effect",
        "views.hijax": "EffectTypeSet control_flow_allowed_effects",
        "views.modules": "lowerable_effects",
        "views.tools": "custom_derivatives_allowed_effects remat_allowed_effects",
    }),
    "flatten_util": ("flatten_util", {}),
    "frozen_dict": ("", {"control.callbacks.ffi_call": "FrozenDict"}),
    "hashable_array": ("", {"control.calls.composite": "HashableArray"}),
    "interpreters": ("interpreters", {}),
    "interpreters.ad": ("interpreters.ad", {"views.derivatives": "CustomVJPException"}),
    "interpreters.batching": ("interpreters.batching", {
        "api.vmappables": "is_vmappable=is_registered",
        "views.rules": "make_iota to_elt",
    }),
    "indexing": ("", {"prims.shape.ds": "Slice ds dslice=ds"}),
    "interpreters.mlir": ("interpreters.mlir extend.mlir", {
        "views.lowering": "JaxIrContext",
    }),
    "interpreters.partial_eval": ("interpreters.partial_eval", {
        "ad_checkpoint": "Offloadable Recompute Saveable",
    }),
    "interpreters.pxla": ("interpreters.pxla", {
        "runtime.backends.client": "get_default_device=default_device",
        "views.backends": "clear_in_memory_compilation_cache",
    }),
    "interpreters.xla": ("interpreters.xla", {}),
    "layout": ("experimental.layout", {}),
    "lib": ("lib", {
        "jaxlib._jax": "Device ffi guard_lib jax_jit pytree",
        "runtime.backends.jaxlib_compat": "jaxlib_extension_version=VERSION",
    }),
    "lib._jax": ("jaxlib._jax", {"views.meshes": "batched_device_put"}),
    "lib.mlir": ("", {}),
    "lib.mlir.dialects": ("extend.mlir.dialects", {}),
    "lib.xla_client": ("jaxlib.xla_client", {"views.meshes": "batched_device_put"}),
    "literals": ("", {
        "views.tools": "TypedComplex TypedFloat TypedInt TypedNdArray",
    }),
    "lax": ("lax", {}),
    "lax.control_flow": ("lax", {}),
    "lax.lax": ("lax", {}),
    "lax.linalg": ("lax.linalg", {"views.numbers": "lu_solve"}),
    "lax.parallel": ("lax", {}),
    "lax.scaled_dot": ("", {"prims.dot.ragged": "scaled_dot"}),
    "linear_util": ("extend.linear_util", {"views.attributes": "DebugInfo"}),
    "mesh": ("sharding", {
        "views.meshes": "ResourceEnv thread_resources",
    }),
    "mesh_utils": ("experimental.mesh_utils", {}),
    "monitoring": ("monitoring", {}),
    "named_sharding": ("sharding", {}),
    "numpy": ("numpy", {}),
    "numpy.array_methods": ("", {
        "surface.numpy.updates": "_IndexUpdateHelper _IndexUpdateRef",
    }),
    "numpy.lax_numpy": ("numpy", {"views.numbers": "_einsum=einsum_along"}),
    "numpy.linalg": ("numpy.linalg", {}),
    "numpy.reductions": ("numpy", {}),
    "numpy.setops": ("numpy", {
        "surface.numpy.setops":
            "_UniqueAllResult _UniqueCountsResult _UniqueInverseResult",
    }),
    "numpy.ufuncs": ("numpy", {}),
    "numpy.util": ("numpy", {
        "surface.numpy._common": """
            check_arraylike promote_args promote_args_inexact promote_dtypes
            promote_dtypes_inexact promote_dtypes_numeric promote_shapes
        """,
        "views.numbers": "promote_dtypes_complex",
    }),
    "op_shardings": ("", {
        "views.meshes":
            "are_hlo_shardings_equal is_hlo_sharding_replicated op_sharding_to_indices",
    }),
    "partition_spec": ("sharding", {}),
    "pjit": ("experimental.pjit", {
        "api.explicit_axes": "auto_axes explicit_axes reshard",
        "control.calls.jit_primitive": "jit_p",
        "control.calls.jitted": "JitWrapped=Jitted",
        "experimental.layout": "with_layout_constraint",
        "prims.sharding_constraint": "with_sharding_constraint",
    }),
    "pretty_printer": ("", {"text.printer:pp": "Doc brk concat group nest text"}),
    "prng": ("extend.random", {}),
    "public_test_util": ("test_util", {"views.numbers": "check_close"}),
    "random": ("random", {}),
    "random.prng": ("extend.random", {}),
    "random.threefry2x32": ("extend.random", {
        "prims.random.implementations:threefry2x32": """
            threefry_fold_in=fold_in threefry_random_bits=random_bits threefry_seed=seed
            threefry_split=split
        """,
    }),
    "random.stateful_rng": ("", {"surface.random.stateful": "StatefulPRNG stateful_rng"}),
    "scipy": ("scipy", {}),
    "scipy.linalg": ("scipy.linalg", {}),
    "scipy.special": ("scipy.special", {}),
    "sharding": ("sharding", {}),
    "sharding_impls": ("sharding", {
        "runtime.sharding.mesh": "make_mesh",
        "views.meshes": "SPMDAxisContext ShardingContext canonicalize_sharding",
        # C++ creates these, for shards of arrays.
        "runtime.backends.jaxlib_compat": "make_single_device_sharding=SingleDeviceSharding",
        "runtime.sharding.shardings": "UNSPECIFIED UnspecifiedValue",
    }),
    "source_info_util": ("extend.source_info_util", {
        "views.sources": """
            ExtendNameStackContextManager=extend_name_stack Frame
            SetNameStackContextManager=set_name_stack
            TransformNameStackContextManager=transform_name_stack
            UserContextManager=user_context user_frame user_frames
        """,
    }),
    "state": ("", {"types.avals": "AbstractRef"}),
    "state.indexing": ("", {"prims.shape.ds": "dslice=ds"}),
    "state.types": ("", {"types.avals": "AbstractRef"}),
    "test_util": ("test_util", {}),
    "traceback_util": ("errors", {
        "base.tracebacks": "_exclude_paths=excluded api_boundary=boundary",
        "views.sources": "filter_traceback include_frame register_exclusion",
    }),
    "tree_util": ("tree_util", {
        "base.tree_diff": "prefix_errors",
        "views.derivatives": "FlatTree",
        "views.tools": "BuiltInKeyEntry tracing_registry",
        "views.numbers": "_registry",
    }),
    "typing": ("typing", {"runtime.arrays.array": "Array"}),
    "util": ("", {
        "base.source": "wraps",
        "base.util": "canonicalize_axis=canonical_axis split_list",
        "functools": "memoize=cache",
        "views.backends": "safe_map safe_zip",
        "views.sizes": "canonicalize_axis_tuple",
        "views.tools": """
            HashableFunction HashablePartial cache ceil_of_ratio concatenate curry
            merge_lists partition_list stable_unique tuple_delete tuple_insert tuple_update
            unzip2 unzip3 wrap_name
        """,
    }),
    "xla_bridge": ("extend.backend", {
        "api.devices": """
            device_count host_count host_id host_ids local_device_count process_count
            process_index process_indices
        """,
        "runtime.backends.client": """
            _backend_factories=factories _backends=_clients default_backend=default_platform
            devices local_devices register_plugin
        """,
        "views.backends": "backends_are_initialized",
    }),
}  # fmt: skip

for _public_module, _names in {
    "ad_checkpoint": "interpreters.remat",
    "core": "abstract_arrays",
    "custom_batching": "custom_batching",
    "custom_derivatives": "custom_dce custom_transpose",
    "debug": "debugging debugger debugger.core",
    "dlpack": "dlpack",
    "errors": "errors",
    "experimental.buffer_callback": "buffer_callback",
    "experimental.compute_on": "compute_on",
    "experimental.custom_partitioning": "custom_partitioning",
    "experimental.hijax": "hijax",
    "experimental.shard_alike": "shard_alike",
    "experimental.source_mapper": "sourcemap",
    "experimental.sparse.linalg": "scipy.sparse.linalg",
    "experimental.xla_metadata": "xla_metadata",
    "export": "export export._export",
    "extend": "extend",
    "extend.random": "extend.random",
    "ffi": "ffi",
    "image": "image",
    "lax": """
        lax.ann lax.control_flow.common lax.control_flow.conditionals lax.control_flow.loops
        lax.control_flow.solves lax.convolution lax.fft lax.other lax.slicing lax.special
        lax.utils lax.windowed_reductions
    """,
    "nn": "nn nn.functions",
    "nn.initializers": "nn.initializers",
    "numpy": """
        numpy.array_api_metadata numpy.array_constructors numpy.array_creation numpy.einsum
        numpy.error numpy.hijax numpy.index_tricks numpy.indexing numpy.polynomial
        numpy.scalar_types numpy.sorting numpy.tensor_contractions numpy.ufunc_api
        numpy.vectorize numpy.window_functions
    """,
    "numpy.fft": "numpy.fft",
    "ops": "ops ops.scatter ops.special",
    "profiler": "profiler",
    "random": "random.core",
    "ref": "ref state.primitives",
    "scipy.cluster": "scipy.cluster",
    "scipy.cluster.vq": "scipy.cluster.vq",
    "scipy.fft": "scipy.fft",
    "scipy.integrate": "scipy.integrate",
    "scipy.ndimage": "scipy.ndimage",
    "scipy.optimize": """
        scipy.optimize scipy.optimize.bfgs scipy.optimize.line_search
        scipy.optimize.minimize
    """,
    "scipy.signal": "scipy.signal",
    "scipy.sparse": "scipy.sparse",
    "scipy.spatial": "scipy.spatial",
    "scipy.spatial.transform": "scipy.spatial.transform",
    "scipy.stats": "scipy.stats",
    "stages": "stages",
    "tree": "tree",
    "": "environment_info pmap",
}.items():
    MODULES.update((name, (_public_module, {})) for name in _names.split())
MODULES.update(
    (f"scipy.stats.{name}", (f"scipy.stats.{name}", {}))
    for name in (
        "bernoulli beta betabinom binom cauchy chi2 dirichlet expon gamma gennorm geom"
        " gumbel_l gumbel_r laplace logistic multinomial multivariate_normal nbinom norm"
        " pareto poisson t truncnorm uniform vonmises wrapcauchy"
    ).split()
)
MODULES["export.shape_poly"] = (
    "export",
    {
        "base.errors": "InconclusiveDimensionOperation UnexpectedDimVar",
        "symbolic.dims": "_DimExpr=SymbolicDim is_symbolic_dim",
    },
)
MODULES["custom_partitioning_sharding_rule"] = ("experimental.custom_partitioning", {})
MODULES["debugging"] = ("debug", {"control.callbacks.debugging": "debug_callback debug_print"})
MODULES["export._export"] = (
    "export",
    {"api.export.exported": "default_lowering_platform=default_export_platform"},
)
MODULES["ops.special"] = ("ops", {"surface.nn.normalization": "logsumexp"})
MODULES["scipy.sparse.linalg"] = ("scipy.sparse.linalg experimental.sparse.linalg", {})
MODULES["scipy.stats._core"] = ("", {"surface.scipy.stats.summaries": "mode rankdata sem"})
MODULES["scipy.stats.kde"] = ("", {"surface.scipy.stats.density": "gaussian_kde"})
MODULES["shard_map"] = ("experimental.shard_map", {"api.shard_map": "shard_map smap"})
MODULES["state.primitives"] = (
    "ref",
    {"control.refs.refs": "ref_addupdate=addupdate ref_get=get ref_set=set ref_swap=swap"},
)
MODULES["xla_transform"] = (
    "",
    {
        "runtime.running.compiler_passes": """
            PipelineStage clear_hlo_module_transformation register_hlo_module_transformation
        """
    },
)
MODULES["image.scale"] = ("image", {"surface.image.resize": "_kernels=_KERNELS _resize=resize"})

# Below `jax._src`: modules of jaxlib, unchanged.
SAME = {
    "lib.mlir.dialects.hlo": "jaxlib.mlir.dialects.stablehlo",
    "lib.mlir.ir": "jaxlib.mlir.ir",
    "lib.mlir.passmanager": "jaxlib.mlir.passmanager",
    "lib.utils": "jaxlib.utils",
} | {
    f"lib.mlir.dialects.{dialect}": f"jaxlib.mlir.dialects.{dialect}"
    for dialect in (
        "arith builtin cf chlo func gpu llvm math memref mhlo nvgpu nvvm scf sdy"
        " sparse_tensor stablehlo vector"
    ).split()
}

# Kernels for one kind of device: modules that libraries import even if they run none.
_SPLASH = "experimental.pallas.ops.tpu.splash_attention"
KERNELS: dict[str, dict[str, str]] = {
    "experimental.pallas": {"prims.shape.ds": "Slice ds dslice=ds"},
    "experimental.pallas.mosaic_gpu": {},
    "experimental.pallas.ops": {},
    "experimental.pallas.ops.tpu": {},
    "experimental.pallas.tpu": {},
    "experimental.pallas.triton": {},
    _SPLASH: {},
    f"{_SPLASH}.splash_attention_kernel": {
        "views.splash": """
            BlockSizes DEFAULT_MASK_VALUE QKVLayout SegmentIds SplashAttentionKernel
            make_splash_mha make_splash_mha_single_device make_splash_mqa
            make_splash_mqa_single_device
        """
    },
    f"{_SPLASH}.splash_attention_mask": {
        "views.splash": """
            CausalMask ChunkedCausalMask FullMask LocalMask LogicalAnd LogicalOr Mask
            MultiHeadMask NumpyMask make_causal_mask make_chunk_attention_mask
            make_local_attention_mask make_random_mask
        """
    },
}


class Private(ModuleType):
    """A module of JAX's internals, assembled from ours."""

    def __init__(self, name: str, public_modules: Sequence[str], table: dict[str, str]) -> None:
        super().__init__(name, f"Names that libraries import from {name}.")
        self._public_modules = public_modules
        self._module_of_name = homes(table)

    def __getattr__(self, name: str) -> Any:
        # importlib asks for `__path__` and others, which must not import anything.
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._module_of_name:
            return self._load(name, self._module_of_name)
        below = f"{self.__name__}.{name}"
        if module(below) is not None:
            return importlib.import_module(below)
        for public_name in self._public_modules:
            outside = public_name.startswith("jaxlib.")
            import_name = public_name if outside else f"{_PACKAGE}.{public_name}".rstrip(".")
            public_module = importlib.import_module(import_name)
            table = homes(getattr(public_module, "_TABLE", {}))
            if name in table:  # the table does not warn about deprecated names
                return self._load(name, table)
            if name in namespace_of(public_module) or name in dir(public_module):
                return getattr(public_module, name)
        within = f"module {self.__name__!r} has no attribute {name!r}: "
        if self.__name__.startswith("jax.experimental.pallas"):
            raise AttributeError(f"{within}minijax has no Pallas kernels")
        raise AttributeError(
            f"{within}it is not part of the interface, and no library is known to use it"
        )

    def _load(self, name: str, table: dict[str, tuple[str, str]]) -> Any:
        module_path, inner = table[name]
        value = attrgetter(inner)(importlib.import_module(_import_name(module_path)))
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *self._module_of_name})


def _import_name(module_path: str) -> str:
    outside = module_path in sys.stdlib_module_names or module_path.startswith("jaxlib.")
    return module_path if outside else f"{_PACKAGE}.{module_path}"


def module(name: str) -> ModuleType | None:
    """Return the module of this name (`jax._src.core`), or None."""
    jax, _, below = name.partition(".")
    if jax != "jax":
        return None
    if below in KERNELS:
        return Private(name, (), KERNELS[below])
    inside, _, below = below.partition(".")
    if inside == "_src" and below in SAME:
        return importlib.import_module(SAME[below])
    if inside != "_src" or below not in MODULES:
        return None
    public_modules, table = MODULES[below]
    return Private(name, public_modules.split(" "), table)
