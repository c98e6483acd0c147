"""The public module `minijax.nn.initializers`: initial values of parameters."""

from ..surface.nn.initializers import Initializer as Initializer
from ..surface.nn.initializers import constant as constant
from ..surface.nn.initializers import delta_orthogonal as delta_orthogonal
from ..surface.nn.initializers import glorot_normal as glorot_normal
from ..surface.nn.initializers import glorot_uniform as glorot_uniform
from ..surface.nn.initializers import he_normal as he_normal
from ..surface.nn.initializers import he_uniform as he_uniform
from ..surface.nn.initializers import kaiming_normal as kaiming_normal
from ..surface.nn.initializers import kaiming_uniform as kaiming_uniform
from ..surface.nn.initializers import lecun_normal as lecun_normal
from ..surface.nn.initializers import lecun_uniform as lecun_uniform
from ..surface.nn.initializers import normal as normal
from ..surface.nn.initializers import ones as ones
from ..surface.nn.initializers import orthogonal as orthogonal
from ..surface.nn.initializers import truncated_normal as truncated_normal
from ..surface.nn.initializers import uniform as uniform
from ..surface.nn.initializers import variance_scaling as variance_scaling
from ..surface.nn.initializers import xavier_normal as xavier_normal
from ..surface.nn.initializers import xavier_uniform as xavier_uniform
from ..surface.nn.initializers import zeros as zeros

__all__ = [
    "Initializer", "constant", "delta_orthogonal", "glorot_normal", "glorot_uniform",
    "he_normal", "he_uniform", "kaiming_normal", "kaiming_uniform", "lecun_normal",
    "lecun_uniform", "normal", "ones", "orthogonal", "truncated_normal", "uniform",
    "variance_scaling", "xavier_normal", "xavier_uniform", "zeros"
]
