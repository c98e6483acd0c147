"""Functions of neural networks: the face of `jax.nn`."""

from __future__ import annotations

from ..numpy import tanh as tanh
from . import initializers as initializers
from .activations import celu as celu
from .activations import elu as elu
from .activations import gelu as gelu
from .activations import glu as glu
from .activations import hard_sigmoid as hard_sigmoid
from .activations import hard_silu as hard_silu
from .activations import hard_swish as hard_swish
from .activations import hard_tanh as hard_tanh
from .activations import identity as identity
from .activations import leaky_relu as leaky_relu
from .activations import log1mexp as log1mexp
from .activations import log_sigmoid as log_sigmoid
from .activations import mish as mish
from .activations import relu as relu
from .activations import relu6 as relu6
from .activations import selu as selu
from .activations import sigmoid as sigmoid
from .activations import silu as silu
from .activations import soft_sign as soft_sign
from .activations import softplus as softplus
from .activations import sparse_plus as sparse_plus
from .activations import sparse_sigmoid as sparse_sigmoid
from .activations import squareplus as squareplus
from .activations import swish as swish
from .attention import dot_product_attention as dot_product_attention
from .normalization import log_softmax as log_softmax
from .normalization import logmeanexp as logmeanexp
from .normalization import logsumexp as logsumexp
from .normalization import one_hot as one_hot
from .normalization import softmax as softmax
from .normalization import standardize as standardize
from .scaled import scaled_matmul as scaled_matmul
