"""All of gather and scatter in one place: what indexing, windows and scatter define.

Other rooms import them from here.  Next: slicing.py, whose dynamic slices become
gathers under vmap.
"""

from .indexing import GatherDimensionNumbers as GatherDimensionNumbers
from .indexing import GatherScatterMode as GatherScatterMode
from .indexing import ScatterDimensionNumbers as ScatterDimensionNumbers
from .scatter import scatter as scatter
from .scatter import scatter_apply as scatter_apply
from .scatter import scatter_max as scatter_max
from .scatter import scatter_max_p as scatter_max_p
from .scatter import scatter_min as scatter_min
from .scatter import scatter_min_p as scatter_min_p
from .scatter import scatter_mul as scatter_mul
from .scatter import scatter_mul_p as scatter_mul_p
from .scatter import scatter_p as scatter_p
from .windows import gather as gather
from .windows import gather_p as gather_p
from .windows import index_take as index_take
from .windows import scatter_add as scatter_add
from .windows import scatter_add_p as scatter_add_p
from .windows import scatter_sub as scatter_sub
from .windows import scatter_sub_p as scatter_sub_p
