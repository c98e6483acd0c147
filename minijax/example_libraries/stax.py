"""The public module `minijax.example_libraries.stax`: layers as pairs of functions."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "surface.learning.layers": """
        AvgPool BatchNorm Conv Conv1DTranspose ConvTranspose Dense Dropout Elu Exp
        FanInConcat FanInSum FanOut Flatten Gelu GeneralConv GeneralConvTranspose Identity
        LeakyRelu LogSoftmax MaxPool Relu Selu Sigmoid Softmax Softplus SumPool Tanh
        elementwise parallel serial shape_dependent
    """,
    "surface.nn.activations": "elu gelu leaky_relu relu selu sigmoid softplus",
    "surface.nn.initializers": """
        glorot=glorot_normal glorot_normal normal ones randn=normal zeros
    """,
    "surface.nn.normalization": "log_softmax logsoftmax=log_softmax softmax standardize",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
