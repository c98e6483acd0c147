"""The primitives' own functions: the face of `jax.lax`.

Names only: control flow by name, operations as the rooms of ops/ give them.
"""

from ..control.associative import associative_scan as associative_scan
from ..control.branching import cond as cond
from ..control.branching import platform_dependent as platform_dependent
from ..control.branching import switch as switch
from ..control.cond import cond_p as cond_p
from ..control.custom_solve import custom_linear_solve as custom_linear_solve
from ..control.custom_solve import custom_root as custom_root
from ..control.custom_solve import linear_solve_p as linear_solve_p
from ..control.indexing import dynamic_index_in_dim as dynamic_index_in_dim
from ..control.indexing import (
    dynamic_update_index_in_dim as dynamic_update_index_in_dim,
)
from ..control.loops import while_loop as while_loop
from ..control.loops import while_p as while_p
from ..control.mapping import map as map
from ..control.progress import fori_loop as fori_loop
from ..control.progress import scan as scan
from ..control.scan import scan_p as scan_p
from ..control.sinks import dce_sink as dce_sink
from ..control.sinks import dce_sink_p as dce_sink_p
from ..control.stop_gradient import stop_gradient as stop_gradient
from ..control.stop_gradient import stop_gradient_p as stop_gradient_p
from ..ops.fft import *
from ..ops.generators import *
from ..ops.lax import *
from ..ops.pooling import *
from ..ops.ragged import *
from ..ops.reduce import *
from ..ops.window import *
from . import linalg as linalg
