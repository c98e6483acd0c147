"""NumPy's functions by their names, for the other packages: `from .. import jnp`.

It imports all functions eagerly, like `prims/lax.py` for operations.  The public module
`minijax.numpy` instead loads a submodule when one of its names is used.
"""

from .numpy.constants import *
from .numpy.contraction import *
from .numpy.conversion import *
from .numpy.convolution import *
from .numpy.creation import *
from .numpy.diagonals import *
from .numpy.differences import *
from .numpy.dtype_info import *
from .numpy.edits import *
from .numpy.elementwise import *
from .numpy.equality import *
from .numpy.floating_point import *
from .numpy.functional import *
from .numpy.grids import *
from .numpy.indexing import *
from .numpy.inserting import *
from .numpy.io import *
from .numpy.joining import *
from .numpy.linear import *
from .numpy.manipulation import *
from .numpy.moments import *
from .numpy.nanreductions import *
from .numpy.padding import *
from .numpy.polynomial import *
from .numpy.quantiles import *
from .numpy.ranges import *
from .numpy.rearrange import *
from .numpy.reductions import *
from .numpy.running import *
from .numpy.searching import *
from .numpy.selection import *
from .numpy.setops import *
from .numpy.sorting import *
from .numpy.special_values import *
from .numpy.statistics import *
from .numpy.ufunc import *
from .numpy.ufuncs import *
from .numpy.windows import *
