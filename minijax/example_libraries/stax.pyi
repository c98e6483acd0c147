"""The public module `minijax.example_libraries.stax`: layers as pairs of functions."""

from ..surface.learning.layers import AvgPool as AvgPool
from ..surface.learning.layers import BatchNorm as BatchNorm
from ..surface.learning.layers import Conv as Conv
from ..surface.learning.layers import Conv1DTranspose as Conv1DTranspose
from ..surface.learning.layers import ConvTranspose as ConvTranspose
from ..surface.learning.layers import Dense as Dense
from ..surface.learning.layers import Dropout as Dropout
from ..surface.learning.layers import Elu as Elu
from ..surface.learning.layers import Exp as Exp
from ..surface.learning.layers import FanInConcat as FanInConcat
from ..surface.learning.layers import FanInSum as FanInSum
from ..surface.learning.layers import FanOut as FanOut
from ..surface.learning.layers import Flatten as Flatten
from ..surface.learning.layers import Gelu as Gelu
from ..surface.learning.layers import GeneralConv as GeneralConv
from ..surface.learning.layers import GeneralConvTranspose as GeneralConvTranspose
from ..surface.learning.layers import Identity as Identity
from ..surface.learning.layers import LeakyRelu as LeakyRelu
from ..surface.learning.layers import LogSoftmax as LogSoftmax
from ..surface.learning.layers import MaxPool as MaxPool
from ..surface.learning.layers import Relu as Relu
from ..surface.learning.layers import Selu as Selu
from ..surface.learning.layers import Sigmoid as Sigmoid
from ..surface.learning.layers import Softmax as Softmax
from ..surface.learning.layers import Softplus as Softplus
from ..surface.learning.layers import SumPool as SumPool
from ..surface.learning.layers import Tanh as Tanh
from ..surface.learning.layers import elementwise as elementwise
from ..surface.learning.layers import parallel as parallel
from ..surface.learning.layers import serial as serial
from ..surface.learning.layers import shape_dependent as shape_dependent
from ..surface.nn.activations import elu as elu
from ..surface.nn.activations import gelu as gelu
from ..surface.nn.activations import leaky_relu as leaky_relu
from ..surface.nn.activations import relu as relu
from ..surface.nn.activations import selu as selu
from ..surface.nn.activations import sigmoid as sigmoid
from ..surface.nn.activations import softplus as softplus
from ..surface.nn.initializers import glorot_normal as glorot
from ..surface.nn.initializers import glorot_normal as glorot_normal
from ..surface.nn.initializers import normal as normal
from ..surface.nn.initializers import normal as randn
from ..surface.nn.initializers import ones as ones
from ..surface.nn.initializers import zeros as zeros
from ..surface.nn.normalization import log_softmax as log_softmax
from ..surface.nn.normalization import log_softmax as logsoftmax
from ..surface.nn.normalization import softmax as softmax
from ..surface.nn.normalization import standardize as standardize

__all__ = [
    "AvgPool", "BatchNorm", "Conv", "Conv1DTranspose", "ConvTranspose", "Dense",
    "Dropout", "Elu", "Exp", "FanInConcat", "FanInSum", "FanOut", "Flatten", "Gelu",
    "GeneralConv", "GeneralConvTranspose", "Identity", "LeakyRelu", "LogSoftmax",
    "MaxPool", "Relu", "Selu", "Sigmoid", "Softmax", "Softplus", "SumPool", "Tanh",
    "elementwise", "elu", "gelu", "glorot", "glorot_normal", "leaky_relu",
    "log_softmax", "logsoftmax", "normal", "ones", "parallel", "randn", "relu", "selu",
    "serial", "shape_dependent", "sigmoid", "softmax", "softplus", "standardize",
    "zeros"
]
