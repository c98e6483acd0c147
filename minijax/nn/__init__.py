"""The public module `minijax.nn`: functions for neural networks."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "surface.numpy.ufuncs": "tanh",
    "surface.nn.activations": """
        relu relu6 leaky_relu elu selu celu sigmoid silu swish softplus log_sigmoid mish
        squareplus soft_sign log1mexp gelu hard_tanh hard_sigmoid hard_silu hard_swish
        sparse_plus sparse_sigmoid glu identity
    """,
    "surface.nn.attention": "dot_product_attention",
    "surface.nn.normalization": "softmax log_softmax logsumexp logmeanexp standardize one_hot",
    "surface.nn.block_scaling": "get_scaled_dot_general_config scaled_dot_general",
    "surface.nn.scaled": "scaled_matmul",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE, "initializers")
