"""Functions of neural networks: the face of `jax.nn`."""

from __future__ import annotations

from ..numpy import tanh as tanh
from . import initializers as initializers
from .activations import *
from .attention import *
from .normalization import *
from .scaled import *
