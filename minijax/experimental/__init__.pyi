"""The face `minijax.experimental`."""

from ..base.config import disable_x64 as disable_x64
from ..base.config import enable_x64 as enable_x64
from ..control.effects.callbacks import io_callback as io_callback
from . import buffer_callback as buffer_callback
from . import checkify as checkify
from . import jet as jet
from . import ode as ode
from . import random as random
from . import sparse as sparse
from . import xla_metadata as xla_metadata

__all__ = [
    "buffer_callback", "checkify", "disable_x64", "enable_x64", "io_callback", "jet",
    "ode", "random", "sparse", "xla_metadata"
]
