"""The face of control flow in `lax`."""

from ..control.cond import cond as cond
from ..control.cond import cond_p as cond_p
from ..control.cond import switch as switch
from ..control.custom_jvp import stop_gradient as stop_gradient
from ..control.loops import fori_loop as fori_loop
from ..control.loops import while_loop as while_loop
from ..control.loops import while_p as while_p
from ..control.scan import map as map  # noqa: A004
from ..control.scan import scan as scan
from ..control.scan import scan_p as scan_p
