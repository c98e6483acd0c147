"""The public module `minijax.nn`: functions for neural networks."""

from ..surface.nn.activations import celu as celu
from ..surface.nn.activations import elu as elu
from ..surface.nn.activations import gelu as gelu
from ..surface.nn.activations import glu as glu
from ..surface.nn.activations import hard_sigmoid as hard_sigmoid
from ..surface.nn.activations import hard_silu as hard_silu
from ..surface.nn.activations import hard_swish as hard_swish
from ..surface.nn.activations import hard_tanh as hard_tanh
from ..surface.nn.activations import identity as identity
from ..surface.nn.activations import leaky_relu as leaky_relu
from ..surface.nn.activations import log1mexp as log1mexp
from ..surface.nn.activations import log_sigmoid as log_sigmoid
from ..surface.nn.activations import mish as mish
from ..surface.nn.activations import relu as relu
from ..surface.nn.activations import relu6 as relu6
from ..surface.nn.activations import selu as selu
from ..surface.nn.activations import sigmoid as sigmoid
from ..surface.nn.activations import silu as silu
from ..surface.nn.activations import soft_sign as soft_sign
from ..surface.nn.activations import softplus as softplus
from ..surface.nn.activations import sparse_plus as sparse_plus
from ..surface.nn.activations import sparse_sigmoid as sparse_sigmoid
from ..surface.nn.activations import squareplus as squareplus
from ..surface.nn.activations import swish as swish
from ..surface.nn.attention import dot_product_attention as dot_product_attention
from ..surface.nn.block_scaling import get_scaled_dot_general_config as get_scaled_dot_general_config
from ..surface.nn.block_scaling import scaled_dot_general as scaled_dot_general
from ..surface.nn.normalization import log_softmax as log_softmax
from ..surface.nn.normalization import logmeanexp as logmeanexp
from ..surface.nn.normalization import logsumexp as logsumexp
from ..surface.nn.normalization import one_hot as one_hot
from ..surface.nn.normalization import softmax as softmax
from ..surface.nn.normalization import standardize as standardize
from ..surface.nn.scaled import scaled_matmul as scaled_matmul
from ..surface.numpy.ufuncs import tanh as tanh
from . import initializers as initializers

__all__ = [
    "celu", "dot_product_attention", "elu", "gelu", "get_scaled_dot_general_config",
    "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "identity",
    "initializers", "leaky_relu", "log1mexp", "log_sigmoid", "log_softmax",
    "logmeanexp", "logsumexp", "mish", "one_hot", "relu", "relu6", "scaled_dot_general",
    "scaled_matmul", "selu", "sigmoid", "silu", "soft_sign", "softmax", "softplus",
    "sparse_plus", "sparse_sigmoid", "squareplus", "standardize", "swish", "tanh"
]
