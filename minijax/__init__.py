"""minijax: JAX's interface on jaxlib's compiler.

Names only: each is looked up in the room where it lives when it is first used, so that
`import minijax` loads little.  The house is described in CONTRIBUTING.md.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .base.config import config as config
from .core import hooks as _hooks

if TYPE_CHECKING:
    from . import lax as lax
    from . import nn as nn
    from . import numpy as numpy
    from . import random as random

__version__ = "0.1.0"
__version_info__ = (0, 1, 0)

# name -> module that defines it
_HOMES = {
    "base.config": ("enable_x64", "default_matmul_precision", "numpy_dtype_promotion",
                    "numpy_rank_promotion", "default_prng_impl", "threefry_partitionable",
                    "debug_nans", "debug_infs", "log_compiles", "check_tracer_leaks",
                    "checking_leaks", "enable_checks", "enable_custom_prng",
                    "default_device", "disable_jit", "softmax_custom_jvp",
                    "explain_cache_misses", "no_tracing"),
    "runtime.array": ("Array", "Shard", "block_until_ready", "copy_to_host_async"),
    "runtime.client": ("devices", "local_devices"),
    "types.dtypes": ("float0",),
    "control.jit": ("clear_caches",),
    "api.pmap": ("pmap",),
    "control.custom_jvp": ("custom_jvp",),
    "control.custom_vjp": ("custom_vjp",),
    "control.custom_gradient": ("custom_gradient", "closure_convert"),
    "control.remat": ("checkpoint", "remat"),
    "api.autodiff": ("grad", "value_and_grad", "jvp", "linearize"),
    "api.reverse": ("vjp", "linear_transpose", "fwd_and_bwd"),
    "api.jacobians": ("jacfwd", "jacrev", "jacobian", "hessian"),
    "api.mapping": ("vmap",),
    "api.shapes": ("ShapeDtypeStruct", "eval_shape", "make_jaxpr", "typeof"),
    "api.aot": ("jit",),
    "api.devices": ("device_put", "device_get", "device_count", "local_device_count",
                    "default_backend", "process_index", "process_count",
                    "process_indices", "device_put_replicated", "device_put_sharded",
                    "host_count", "host_id", "host_ids", "live_arrays",
                    "clear_backends", "print_environment_info", "Device"),
    "api.scopes": ("named_scope", "named_call", "ensure_compile_time_eval"),
    "control.callbacks": ("pure_callback",),
    "control.effects": ("effects_barrier",),
    "control.refs": ("Ref", "empty_ref", "free_ref", "freeze", "new_ref"),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

_MODULES = frozenset((
    "ad", "ad_checkpoint", "checkpoint_policies", "core", "custom_batching",
    "custom_derivatives", "debug", "dlpack", "dtypes", "errors", "experimental",
    "flatten_util", "interpreters", "lax", "memory", "nn", "numpy", "ops", "random",
    "ref", "stages", "test_util", "tools", "tree", "tree_util", "typing", "version",
))  # fmt: skip


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is not None:
        value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as e:
            if e.name != f"{__name__}.{name}":
                raise
    raise AttributeError(f"module 'minijax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF, *_MODULES})


# Low floors reach what is above them through hooks alone: name -> rooms that fill it.
_FILLED_BY = {
    "operations": ("ops.lend",),
    "surface": ("numpy", "numpy.methods"),
    "primitives": ("lax", "random", "nn", "control.pmap", "control.debugging"),
    "evaluate": ("runtime.dispatch",),
    "jaxpr_text": ("core.printer",),
    "equation_text": ("core.printer",),
    "reference": ("control.refs",),
    "by_value": ("control.discharge",),
    "started": ("control.effects",),
    "key_array": ("random.keys",),
    "jit_methods": ("api.aot",),
}  # fmt: skip


for _name, _rooms in _FILLED_BY.items():
    _hooks.homes[_name] = tuple(f"{__name__}.{room}" for room in _rooms)
