"""The operations by their names in `jax.lax`: `from ..ops import lax` on floors above.

A table: each file of this folder says in `__all__` what it gives.  What fewer programs
need (Fourier transforms, ragged products, windows, matrix factorizations) is not here,
so that it loads on first use.  Control flow has floors of its own.
"""

from .accuracy import *
from .algebraic import *
from .bessel import *
from .beta import *
from .cast import *
from .conv import *
from .convert import *
from .convolution import *
from .cumulative import *
from .dot import *
from .elementary import *
from .exchange import *
from .gamma import *
from .indexing import *
from .logic import *
from .padding import *
from .permute import *
from .precision import *
from .psum import *
from .reductions import *
from .scatter import *
from .shapes import *
from .slicing import *
from .sort import *
from .special import *
from .structural import *
from .transfer import *
from .windows import *
