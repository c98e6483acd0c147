"""All matrix factorizations in one place: solve.py, lu.py, qr.py, spectral.py, svd.py.

lapack.py calls the platforms' libraries, matrix.py has the helpers of derivatives.
Other rooms import from here.
"""

from .lu import *
from .qr import *
from .qr import geqp3_p as geqp3_p
from .qr import geqrf_p as geqrf_p
from .solve import *
from .spectral import *
from .svd import *
