"""The public module `minijax.ad_checkpoint`."""

from . import checkpoint_policies as checkpoint_policies
from .control.calls.remat import Offloadable as Offloadable
from .control.calls.remat import Recompute as Recompute
from .control.calls.remat import Saveable as Saveable
from .control.calls.remat import checkpoint as checkpoint
from .control.calls.remat import checkpoint_name as checkpoint_name
from .control.calls.remat import print_saved_residuals as print_saved_residuals
from .control.calls.remat import remat as remat
