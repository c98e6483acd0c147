"""Matrix factorizations under their names in `jax.lax.linalg`; compare lax.py."""

from .linalg.lu import *
from .linalg.qr import *
from .linalg.qr import geqp3_p as geqp3_p
from .linalg.qr import geqrf_p as geqrf_p
from .linalg.solve import *
from .linalg.spectral import *
from .linalg.svd import *
