"""The public module `minijax.experimental`."""

from ..base.config import disable_x64 as disable_x64
from ..base.config import enable_x64 as enable_x64
from ..control.callbacks.callbacks import io_callback as io_callback
from ..surface.own_dtypes import primal_tangent_dtype as primal_tangent_dtype
from ..views.hijax import cur_qdd as cur_qdd
from ..views.numbers import EArray as EArray
from . import array_serialization as array_serialization
from . import buffer_callback as buffer_callback
from . import checkify as checkify
from . import colocated_python as colocated_python
from . import compilation_cache as compilation_cache
from . import compute_on as compute_on
from . import control_deps as control_deps
from . import custom_partitioning as custom_partitioning
from . import fused as fused
from . import hijax as hijax
from . import jet as jet
from . import key_reuse as key_reuse
from . import layout as layout
from . import mesh_utils as mesh_utils
from . import multihost_utils as multihost_utils
from . import ode as ode
from . import pjit as pjit
from . import profiler as profiler
from . import random as random
from . import rnn as rnn
from . import roofline as roofline
from . import scheduling_groups as scheduling_groups
from . import serialize_executable as serialize_executable
from . import shard_alike as shard_alike
from . import shard_map as shard_map
from . import source_mapper as source_mapper
from . import sparse as sparse
from . import topologies as topologies
from . import transfer as transfer
from . import xla_metadata as xla_metadata

__all__ = [
    "EArray", "array_serialization", "buffer_callback", "checkify", "colocated_python",
    "compilation_cache", "compute_on", "control_deps", "cur_qdd", "custom_partitioning",
    "disable_x64", "enable_x64", "fused", "hijax", "io_callback", "jet", "key_reuse",
    "layout", "mesh_utils", "multihost_utils", "ode", "pjit", "primal_tangent_dtype",
    "profiler", "random", "rnn", "roofline", "scheduling_groups",
    "serialize_executable", "shard_alike", "shard_map", "source_mapper", "sparse",
    "topologies", "transfer", "xla_metadata"
]
