"""All matrix factorizations in one place: solve.py, lu.py, qr.py, spectral.py, svd.py.

lapack.py calls the platforms' libraries, matrix.py has the helpers of derivatives.
Other rooms import from here.
"""

from .lu import lu as lu
from .lu import lu_p as lu_p
from .lu import lu_pivots_to_permutation as lu_pivots_to_permutation
from .lu import lu_pivots_to_permutation_p as lu_pivots_to_permutation_p
from .lu import symmetric_product as symmetric_product
from .lu import symmetric_product_p as symmetric_product_p
from .qr import geqp3_p as geqp3_p
from .qr import geqrf_p as geqrf_p
from .qr import hessenberg as hessenberg
from .qr import hessenberg_p as hessenberg_p
from .qr import householder_product as householder_product
from .qr import householder_product_p as householder_product_p
from .qr import ormqr as ormqr
from .qr import ormqr_p as ormqr_p
from .qr import qr as qr
from .qr import qr_p as qr_p
from .qr import tridiagonal as tridiagonal
from .qr import tridiagonal_p as tridiagonal_p
from .solve import cholesky as cholesky
from .solve import cholesky_p as cholesky_p
from .solve import cholesky_update as cholesky_update
from .solve import cholesky_update_p as cholesky_update_p
from .solve import triangular_solve as triangular_solve
from .solve import triangular_solve_p as triangular_solve_p
from .solve import tridiagonal_solve as tridiagonal_solve
from .solve import tridiagonal_solve_p as tridiagonal_solve_p
from .spectral import EighImplementation as EighImplementation
from .spectral import EigImplementation as EigImplementation
from .spectral import eig as eig
from .spectral import eig_p as eig_p
from .spectral import eigh as eigh
from .spectral import eigh_p as eigh_p
from .spectral import schur as schur
from .spectral import schur_p as schur_p
from .svd import SvdAlgorithm as SvdAlgorithm
from .svd import qdwh as qdwh
from .svd import svd as svd
from .svd import svd_p as svd_p
