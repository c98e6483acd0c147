"""The public module `minijax.numpy.linalg`: linear algebra."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "surface.numpy.decompositions": """
        EigResult EighResult QRResult SVDResult SlogdetResult cholesky qr eig eigvals eigh
        eigvalsh svd svdvals
    """,
    "surface.numpy.least_squares": "pinv lstsq",
    "surface.numpy.norms": "norm matrix_norm vector_norm cond matrix_rank",
    "surface.numpy.linear_solve": """
        solve inv slogdet det matrix_power multi_dot tensorinv tensorsolve
    """,
    "surface.numpy.array_api_linalg": """
        matmul tensordot vecdot outer cross trace diagonal matrix_transpose
    """,
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
