"""The public module `minijax.extend`: interfaces for libraries."""

from . import backend as backend
from . import core as core
from . import ifrt_programs as ifrt_programs
from . import linear_util as linear_util
from . import lowering as lowering
from . import mlir as mlir
from . import random as random
from . import sharding as sharding
from . import source_info_util as source_info_util
from . import xla as xla

__all__ = [
    "backend", "core", "ifrt_programs", "linear_util", "lowering", "mlir", "random",
    "sharding", "source_info_util", "xla"
]
