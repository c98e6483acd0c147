"""The public module `minijax.scipy.linalg`: linear algebra."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "surface.scipy.linalg.decompositions": """
        eigh hessenberg lu polar qr qr_multiply rsf2csf schur svd
    """,
    "surface.scipy.linalg.functions": "expm expm_frechet funm sqrtm",
    "surface.scipy.linalg.matrices": """
        block_diag circulant companion convolution_matrix dft fiedler fiedler_companion
        hadamard hankel helmert hilbert invhilbert invpascal leslie pascal toeplitz
    """,
    "surface.scipy.linalg.solves": """
        cho_factor cho_solve cholesky det inv lu_factor lu_solve solve solve_triangular
    """,
    "surface.scipy.linalg.sylvester": "solve_sylvester",
    "surface.scipy.linalg.tridiagonal": "eigh_tridiagonal",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
