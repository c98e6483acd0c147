"""The face `minijax.ad_checkpoint`."""

from . import checkpoint_policies as checkpoint_policies
from .control.remat import Offloadable as Offloadable
from .control.remat import Recompute as Recompute
from .control.remat import Saveable as Saveable
from .control.remat import checkpoint as checkpoint
from .control.remat import checkpoint_name as checkpoint_name
from .control.remat import print_saved_residuals as print_saved_residuals
from .control.remat import remat as remat
