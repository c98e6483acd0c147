"""The public module `minijax.lax.linalg`: matrix factorizations."""

from ..prims.linalg.lu import lu as lu
from ..prims.linalg.lu import lu_p as lu_p
from ..prims.linalg.lu import lu_pivots_to_permutation as lu_pivots_to_permutation
from ..prims.linalg.lu import lu_pivots_to_permutation_p as lu_pivots_to_permutation_p
from ..prims.linalg.lu import symmetric_product as symmetric_product
from ..prims.linalg.lu import symmetric_product_p as symmetric_product_p
from ..prims.linalg.qr import hessenberg as hessenberg
from ..prims.linalg.qr import hessenberg_p as hessenberg_p
from ..prims.linalg.qr import householder_product as householder_product
from ..prims.linalg.qr import householder_product_p as householder_product_p
from ..prims.linalg.qr import ormqr as ormqr
from ..prims.linalg.qr import ormqr_p as ormqr_p
from ..prims.linalg.qr import qr as qr
from ..prims.linalg.qr import qr_p as qr_p
from ..prims.linalg.qr import tridiagonal as tridiagonal
from ..prims.linalg.qr import tridiagonal_p as tridiagonal_p
from ..prims.linalg.solve import cholesky as cholesky
from ..prims.linalg.solve import cholesky_p as cholesky_p
from ..prims.linalg.solve import cholesky_update as cholesky_update
from ..prims.linalg.solve import cholesky_update_p as cholesky_update_p
from ..prims.linalg.solve import triangular_solve as triangular_solve
from ..prims.linalg.solve import triangular_solve_p as triangular_solve_p
from ..prims.linalg.solve import tridiagonal_solve as tridiagonal_solve
from ..prims.linalg.solve import tridiagonal_solve_p as tridiagonal_solve_p
from ..prims.linalg.spectral import EigImplementation as EigImplementation
from ..prims.linalg.spectral import EighImplementation as EighImplementation
from ..prims.linalg.spectral import eig as eig
from ..prims.linalg.spectral import eig_p as eig_p
from ..prims.linalg.spectral import eigh as eigh
from ..prims.linalg.spectral import eigh_p as eigh_p
from ..prims.linalg.spectral import schur as schur
from ..prims.linalg.spectral import schur_p as schur_p
from ..prims.linalg.svd import SvdAlgorithm as SvdAlgorithm
from ..prims.linalg.svd import qdwh as qdwh
from ..prims.linalg.svd import svd as svd
from ..prims.linalg.svd import svd_p as svd_p

__all__ = [
    "EigImplementation", "EighImplementation", "SvdAlgorithm", "cholesky", "cholesky_p",
    "cholesky_update", "cholesky_update_p", "eig", "eig_p", "eigh", "eigh_p",
    "hessenberg", "hessenberg_p", "householder_product", "householder_product_p", "lu",
    "lu_p", "lu_pivots_to_permutation", "lu_pivots_to_permutation_p", "ormqr",
    "ormqr_p", "qdwh", "qr", "qr_p", "schur", "schur_p", "svd", "svd_p",
    "symmetric_product", "symmetric_product_p", "triangular_solve",
    "triangular_solve_p", "tridiagonal", "tridiagonal_p", "tridiagonal_solve",
    "tridiagonal_solve_p"
]
