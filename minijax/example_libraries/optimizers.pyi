"""The public module `minijax.example_libraries.optimizers`: gradient-based optimizers."""

from ..base.paired import safe_map as map
from ..base.paired import safe_map as safe_map
from ..base.paired import safe_zip as safe_zip
from ..base.paired import safe_zip as zip
from ..base.paired import unzip2 as unzip2
from ..surface.learning.optimizers import Array as Array
from ..surface.learning.optimizers import InitFn as InitFn
from ..surface.learning.optimizers import JoinPoint as JoinPoint
from ..surface.learning.optimizers import Optimizer as Optimizer
from ..surface.learning.optimizers import OptimizerState as OptimizerState
from ..surface.learning.optimizers import Params as Params
from ..surface.learning.optimizers import ParamsFn as ParamsFn
from ..surface.learning.optimizers import State as State
from ..surface.learning.optimizers import Step as Step
from ..surface.learning.optimizers import UpdateFn as UpdateFn
from ..surface.learning.optimizers import Updates as Updates
from ..surface.learning.optimizers import adagrad as adagrad
from ..surface.learning.optimizers import adam as adam
from ..surface.learning.optimizers import adamax as adamax
from ..surface.learning.optimizers import clip_grads as clip_grads
from ..surface.learning.optimizers import l2_norm as l2_norm
from ..surface.learning.optimizers import momentum as momentum
from ..surface.learning.optimizers import nesterov as nesterov
from ..surface.learning.optimizers import optimizer as optimizer
from ..surface.learning.optimizers import pack_optimizer_state as pack_optimizer_state
from ..surface.learning.optimizers import rmsprop as rmsprop
from ..surface.learning.optimizers import rmsprop_momentum as rmsprop_momentum
from ..surface.learning.optimizers import sgd as sgd
from ..surface.learning.optimizers import sm3 as sm3
from ..surface.learning.optimizers import unpack_optimizer_state as unpack_optimizer_state
from ..surface.learning.schedules import Schedule as Schedule
from ..surface.learning.schedules import constant as constant
from ..surface.learning.schedules import exponential_decay as exponential_decay
from ..surface.learning.schedules import inverse_time_decay as inverse_time_decay
from ..surface.learning.schedules import make_schedule as make_schedule
from ..surface.learning.schedules import piecewise_constant as piecewise_constant
from ..surface.learning.schedules import polynomial_decay as polynomial_decay

__all__ = [
    "Array", "InitFn", "JoinPoint", "Optimizer", "OptimizerState", "Params", "ParamsFn",
    "Schedule", "State", "Step", "UpdateFn", "Updates", "adagrad", "adam", "adamax",
    "clip_grads", "constant", "exponential_decay", "inverse_time_decay", "l2_norm",
    "make_schedule", "map", "momentum", "nesterov", "optimizer", "pack_optimizer_state",
    "piecewise_constant", "polynomial_decay", "rmsprop", "rmsprop_momentum", "safe_map",
    "safe_zip", "sgd", "sm3", "unpack_optimizer_state", "unzip2", "zip"
]
