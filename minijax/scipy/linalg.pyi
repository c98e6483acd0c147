"""The public module `minijax.scipy.linalg`: linear algebra."""

from ..surface.scipy.linalg.decompositions import eigh as eigh
from ..surface.scipy.linalg.decompositions import hessenberg as hessenberg
from ..surface.scipy.linalg.decompositions import lu as lu
from ..surface.scipy.linalg.decompositions import polar as polar
from ..surface.scipy.linalg.decompositions import qr as qr
from ..surface.scipy.linalg.decompositions import qr_multiply as qr_multiply
from ..surface.scipy.linalg.decompositions import rsf2csf as rsf2csf
from ..surface.scipy.linalg.decompositions import schur as schur
from ..surface.scipy.linalg.decompositions import svd as svd
from ..surface.scipy.linalg.functions import expm as expm
from ..surface.scipy.linalg.functions import expm_frechet as expm_frechet
from ..surface.scipy.linalg.functions import funm as funm
from ..surface.scipy.linalg.functions import sqrtm as sqrtm
from ..surface.scipy.linalg.matrices import block_diag as block_diag
from ..surface.scipy.linalg.matrices import circulant as circulant
from ..surface.scipy.linalg.matrices import companion as companion
from ..surface.scipy.linalg.matrices import convolution_matrix as convolution_matrix
from ..surface.scipy.linalg.matrices import dft as dft
from ..surface.scipy.linalg.matrices import fiedler as fiedler
from ..surface.scipy.linalg.matrices import fiedler_companion as fiedler_companion
from ..surface.scipy.linalg.matrices import hadamard as hadamard
from ..surface.scipy.linalg.matrices import hankel as hankel
from ..surface.scipy.linalg.matrices import helmert as helmert
from ..surface.scipy.linalg.matrices import hilbert as hilbert
from ..surface.scipy.linalg.matrices import invhilbert as invhilbert
from ..surface.scipy.linalg.matrices import invpascal as invpascal
from ..surface.scipy.linalg.matrices import leslie as leslie
from ..surface.scipy.linalg.matrices import pascal as pascal
from ..surface.scipy.linalg.matrices import toeplitz as toeplitz
from ..surface.scipy.linalg.solves import cho_factor as cho_factor
from ..surface.scipy.linalg.solves import cho_solve as cho_solve
from ..surface.scipy.linalg.solves import cholesky as cholesky
from ..surface.scipy.linalg.solves import det as det
from ..surface.scipy.linalg.solves import inv as inv
from ..surface.scipy.linalg.solves import lu_factor as lu_factor
from ..surface.scipy.linalg.solves import lu_solve as lu_solve
from ..surface.scipy.linalg.solves import solve as solve
from ..surface.scipy.linalg.solves import solve_triangular as solve_triangular
from ..surface.scipy.linalg.sylvester import solve_sylvester as solve_sylvester
from ..surface.scipy.linalg.tridiagonal import eigh_tridiagonal as eigh_tridiagonal

__all__ = [
    "block_diag", "cho_factor", "cho_solve", "cholesky", "circulant", "companion",
    "convolution_matrix", "det", "dft", "eigh", "eigh_tridiagonal", "expm",
    "expm_frechet", "fiedler", "fiedler_companion", "funm", "hadamard", "hankel",
    "helmert", "hessenberg", "hilbert", "inv", "invhilbert", "invpascal", "leslie",
    "lu", "lu_factor", "lu_solve", "pascal", "polar", "qr", "qr_multiply", "rsf2csf",
    "schur", "solve", "solve_sylvester", "solve_triangular", "sqrtm", "svd", "toeplitz"
]
