"""The operations under their names in `jax.lax`, for higher layers.

Higher layers write `from ..prims import lax`.  Each file of these packages lists its public
names in `__all__`.  Rarely used operations (Fourier transforms, ragged products, windows,
matrix factorizations) are not imported here, so that they load on first use.  Control flow
is a layer of its own: control/.
"""

from .collectives.all_gather import *
from .collectives.one_sided import *
from .collectives.pcast import *
from .collectives.permute import *
from .collectives.psum import *
from .conv.conv_functions import *
from .conv.general import *
from .device_put import *
from .dot.dot import *
from .dot.precision import *
from .gather.dimension_numbers import *
from .gather.dynamic_slicing import *
from .gather.gather import *
from .gather.scatter import *
from .math.accuracy import *
from .math.algebraic import *
from .math.cast import *
from .math.elementary import *
from .math.logic import *
from .math.order import *
from .reduce.cumulative import *
from .reduce.over_axes import *
from .shape.concatenation import *
from .shape.creation import *
from .shape.full import *
from .shape.shapes import *
from .shape.slicing import *
from .sort import *
from .special.bessel import *
from .special.beta import *
from .special.error_function import *
from .special.gamma import *
from .special.log_gamma import *
from .tokens import *
from .window_padding import *
