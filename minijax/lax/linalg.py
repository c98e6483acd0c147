"""The public module `minijax.lax.linalg`: matrix factorizations."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "prims.linalg.lu": """
        lu_pivots_to_permutation_p lu_pivots_to_permutation lu_p lu symmetric_product_p
        symmetric_product
    """,
    "prims.linalg.qr": """
        householder_product_p householder_product ormqr_p ormqr qr_p qr hessenberg_p
        hessenberg tridiagonal_p tridiagonal
    """,
    "prims.linalg.solve": """
        triangular_solve_p triangular_solve cholesky_p cholesky cholesky_update_p
        cholesky_update tridiagonal_solve_p tridiagonal_solve
    """,
    "prims.linalg.spectral": """
        EighImplementation eigh_p eigh EigImplementation eig_p eig schur_p schur
    """,
    "prims.linalg.svd": "SvdAlgorithm svd_p svd qdwh",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
