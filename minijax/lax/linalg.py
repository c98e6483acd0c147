"""minijax.lax.linalg: matrix factorizations, as in jax.lax.linalg."""

from ..ops.lu import *
from ..ops.qr import *
from ..ops.solve import *
from ..ops.spectral import *
from ..ops.svd import *
