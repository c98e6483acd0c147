"""The public module `minijax.numpy.linalg`: linear algebra."""

from ..surface.numpy.array_api_linalg import cross as cross
from ..surface.numpy.array_api_linalg import diagonal as diagonal
from ..surface.numpy.array_api_linalg import matmul as matmul
from ..surface.numpy.array_api_linalg import matrix_transpose as matrix_transpose
from ..surface.numpy.array_api_linalg import outer as outer
from ..surface.numpy.array_api_linalg import tensordot as tensordot
from ..surface.numpy.array_api_linalg import trace as trace
from ..surface.numpy.array_api_linalg import vecdot as vecdot
from ..surface.numpy.decompositions import EigResult as EigResult
from ..surface.numpy.decompositions import EighResult as EighResult
from ..surface.numpy.decompositions import QRResult as QRResult
from ..surface.numpy.decompositions import SVDResult as SVDResult
from ..surface.numpy.decompositions import SlogdetResult as SlogdetResult
from ..surface.numpy.decompositions import cholesky as cholesky
from ..surface.numpy.decompositions import eig as eig
from ..surface.numpy.decompositions import eigh as eigh
from ..surface.numpy.decompositions import eigvals as eigvals
from ..surface.numpy.decompositions import eigvalsh as eigvalsh
from ..surface.numpy.decompositions import qr as qr
from ..surface.numpy.decompositions import svd as svd
from ..surface.numpy.decompositions import svdvals as svdvals
from ..surface.numpy.least_squares import lstsq as lstsq
from ..surface.numpy.least_squares import pinv as pinv
from ..surface.numpy.linear_solve import det as det
from ..surface.numpy.linear_solve import inv as inv
from ..surface.numpy.linear_solve import matrix_power as matrix_power
from ..surface.numpy.linear_solve import multi_dot as multi_dot
from ..surface.numpy.linear_solve import slogdet as slogdet
from ..surface.numpy.linear_solve import solve as solve
from ..surface.numpy.linear_solve import tensorinv as tensorinv
from ..surface.numpy.linear_solve import tensorsolve as tensorsolve
from ..surface.numpy.norms import cond as cond
from ..surface.numpy.norms import matrix_norm as matrix_norm
from ..surface.numpy.norms import matrix_rank as matrix_rank
from ..surface.numpy.norms import norm as norm
from ..surface.numpy.norms import vector_norm as vector_norm

__all__ = [
    "EigResult", "EighResult", "QRResult", "SVDResult", "SlogdetResult", "cholesky",
    "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv",
    "lstsq", "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose",
    "multi_dot", "norm", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
    "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot", "vector_norm"
]
