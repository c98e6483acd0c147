"""minijax: JAX's interface on jaxlib's compiler."""

from .api.aot import jit as jit
from .api.autodiff import grad as grad
from .api.autodiff import jvp as jvp
from .api.autodiff import linearize as linearize
from .api.autodiff import value_and_grad as value_and_grad
from .api.devices import Device as Device
from .api.devices import clear_backends as clear_backends
from .api.devices import default_backend as default_backend
from .api.devices import device_count as device_count
from .api.devices import device_get as device_get
from .api.devices import device_put as device_put
from .api.devices import device_put_replicated as device_put_replicated
from .api.devices import device_put_sharded as device_put_sharded
from .api.devices import host_count as host_count
from .api.devices import host_id as host_id
from .api.devices import host_ids as host_ids
from .api.devices import live_arrays as live_arrays
from .api.devices import local_device_count as local_device_count
from .api.devices import print_environment_info as print_environment_info
from .api.devices import process_count as process_count
from .api.devices import process_index as process_index
from .api.devices import process_indices as process_indices
from .api.eval_shape import ShapeDtypeStruct as ShapeDtypeStruct
from .api.eval_shape import eval_shape as eval_shape
from .api.eval_shape import make_jaxpr as make_jaxpr
from .api.eval_shape import typeof as typeof
from .api.explicit_axes import reshard as reshard
from .api.jacobians import hessian as hessian
from .api.jacobians import jacfwd as jacfwd
from .api.jacobians import jacobian as jacobian
from .api.jacobians import jacrev as jacrev
from .api.make_array import make_array_from_callback as make_array_from_callback
from .api.make_array import make_array_from_process_local_data as make_array_from_process_local_data
from .api.make_array import make_array_from_single_device_arrays as make_array_from_single_device_arrays
from .api.pmap import pmap as pmap
from .api.scopes import ensure_compile_time_eval as ensure_compile_time_eval
from .api.scopes import named_call as named_call
from .api.scopes import named_scope as named_scope
from .api.shard_map import shard_map as shard_map
from .api.shard_map import smap as smap
from .api.vjp import fwd_and_bwd as fwd_and_bwd
from .api.vjp import linear_transpose as linear_transpose
from .api.vjp import vjp as vjp
from .api.vmap import vmap as vmap
from .base.config import allow_f16_reductions as allow_f16_reductions
from .base.config import array_garbage_collection_guard as array_garbage_collection_guard
from .base.config import auto_pcast as auto_pcast
from .base.config import check_tracer_leaks as check_tracer_leaks
from .base.config import checking_leaks as checking_leaks
from .base.config import debug_infs as debug_infs
from .base.config import debug_key_reuse as debug_key_reuse
from .base.config import debug_nans as debug_nans
from .base.config import default_device as default_device
from .base.config import default_matmul_precision as default_matmul_precision
from .base.config import default_prng_impl as default_prng_impl
from .base.config import disable_jit as disable_jit
from .base.config import enable_checks as enable_checks
from .base.config import enable_custom_prng as enable_custom_prng
from .base.config import enable_x64 as enable_x64
from .base.config import explain_cache_misses as explain_cache_misses
from .base.config import legacy_prng_key as legacy_prng_key
from .base.config import log_compiles as log_compiles
from .base.config import make_user_context as make_user_context
from .base.config import no_execution as no_execution
from .base.config import no_tracing as no_tracing
from .base.config import numpy_dtype_promotion as numpy_dtype_promotion
from .base.config import numpy_rank_promotion as numpy_rank_promotion
from .base.config import remove_size_one_mesh_axis_from_type as remove_size_one_mesh_axis_from_type
from .base.config import softmax_custom_jvp as softmax_custom_jvp
from .base.config import thread_guard as thread_guard
from .base.config import threefry_partitionable as threefry_partitionable
from .base.config import transfer_guard as transfer_guard
from .base.config import transfer_guard_device_to_device as transfer_guard_device_to_device
from .base.config import transfer_guard_device_to_host as transfer_guard_device_to_host
from .base.config import transfer_guard_host_to_device as transfer_guard_host_to_device
from .control.callbacks.callbacks import pure_callback as pure_callback
from .control.calls.jit import clear_caches as clear_caches
from .control.calls.remat import checkpoint as checkpoint
from .control.calls.remat import remat as remat
from .control.effects.effects import effects_barrier as effects_barrier
from .control.refs.refs import Ref as Ref
from .control.refs.refs import empty_ref as empty_ref
from .control.refs.refs import free_ref as free_ref
from .control.refs.refs import freeze as freeze
from .control.refs.refs import new_ref as new_ref
from .control.rules.custom_gradient import closure_convert as closure_convert
from .control.rules.custom_gradient import custom_gradient as custom_gradient
from .control.rules.custom_jvp import custom_jvp as custom_jvp
from .control.rules.custom_vjp import custom_vjp as custom_vjp
from .prims.shape.ds import ds as ds
from .runtime.arrays.array import Array as Array
from .runtime.arrays.array import Shard as Shard
from .runtime.arrays.array import block_until_ready as block_until_ready
from .runtime.arrays.array import copy_to_host_async as copy_to_host_async
from .runtime.backends.client import devices as devices
from .runtime.backends.client import local_devices as local_devices
from .runtime.sharding.mesh import make_mesh as make_mesh
from .runtime.sharding.mesh import set_mesh as set_mesh
from .runtime.sharding.partition_spec import PartitionSpec as P
from .runtime.sharding.shardings import NamedSharding as NamedSharding
from .types.dtypes import float0 as float0
from . import ad as ad
from . import ad_checkpoint as ad_checkpoint
from . import api_util as api_util
from . import checkpoint_policies as checkpoint_policies
from . import cloud_tpu_init as cloud_tpu_init
from . import core as core
from . import custom_batching as custom_batching
from . import custom_derivatives as custom_derivatives
from . import debug as debug
from . import distributed as distributed
from . import dlpack as dlpack
from . import dtypes as dtypes
from . import errors as errors
from . import example_libraries as example_libraries
from . import experimental as experimental
from . import export as export
from . import extend as extend
from . import ffi as ffi
from . import flatten_util as flatten_util
from . import image as image
from . import interpreters as interpreters
from . import lax as lax
from . import lib as lib
from . import memory as memory
from . import monitoring as monitoring
from . import nn as nn
from . import numpy as numpy
from . import ops as ops
from . import profiler as profiler
from . import random as random
from . import ref as ref
from . import scipy as scipy
from . import sharding as sharding
from . import stages as stages
from . import test_util as test_util
from . import tools as tools
from . import tree as tree
from . import tree_util as tree_util
from . import typing as typing
from . import version as version
from .base.config import config as config

__version__: str
__version_info__: tuple[int, int, int]

__all__ = [
    "Array", "Device", "NamedSharding", "P", "Ref", "ShapeDtypeStruct", "Shard", "ad",
    "ad_checkpoint", "allow_f16_reductions", "api_util",
    "array_garbage_collection_guard", "auto_pcast", "block_until_ready",
    "check_tracer_leaks", "checking_leaks", "checkpoint", "checkpoint_policies",
    "clear_backends", "clear_caches", "closure_convert", "cloud_tpu_init",
    "copy_to_host_async", "core", "custom_batching", "custom_derivatives",
    "custom_gradient", "custom_jvp", "custom_vjp", "debug", "debug_infs",
    "debug_key_reuse", "debug_nans", "default_backend", "default_device",
    "default_matmul_precision", "default_prng_impl", "device_count", "device_get",
    "device_put", "device_put_replicated", "device_put_sharded", "devices",
    "disable_jit", "distributed", "dlpack", "ds", "dtypes", "effects_barrier",
    "empty_ref", "enable_checks", "enable_custom_prng", "enable_x64",
    "ensure_compile_time_eval", "errors", "eval_shape", "example_libraries",
    "experimental", "explain_cache_misses", "export", "extend", "ffi", "flatten_util",
    "float0", "free_ref", "freeze", "fwd_and_bwd", "grad", "hessian", "host_count",
    "host_id", "host_ids", "image", "interpreters", "jacfwd", "jacobian", "jacrev",
    "jit", "jvp", "lax", "legacy_prng_key", "lib", "linear_transpose", "linearize",
    "live_arrays", "local_device_count", "local_devices", "log_compiles",
    "make_array_from_callback", "make_array_from_process_local_data",
    "make_array_from_single_device_arrays", "make_jaxpr", "make_mesh",
    "make_user_context", "memory", "monitoring", "named_call", "named_scope", "new_ref",
    "nn", "no_execution", "no_tracing", "numpy", "numpy_dtype_promotion",
    "numpy_rank_promotion", "ops", "pmap", "print_environment_info", "process_count",
    "process_index", "process_indices", "profiler", "pure_callback", "random", "ref",
    "remat", "remove_size_one_mesh_axis_from_type", "reshard", "scipy", "set_mesh",
    "shard_map", "sharding", "smap", "softmax_custom_jvp", "stages", "test_util",
    "thread_guard", "threefry_partitionable", "tools", "transfer_guard",
    "transfer_guard_device_to_device", "transfer_guard_device_to_host",
    "transfer_guard_host_to_device", "tree", "tree_util", "typeof", "typing",
    "value_and_grad", "version", "vjp", "vmap", "config"
]
