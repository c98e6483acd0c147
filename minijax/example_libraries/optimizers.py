"""The public module `minijax.example_libraries.optimizers`: gradient-based optimizers."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "base.paired": "map=safe_map safe_map safe_zip unzip2 zip=safe_zip",
    "surface.learning.optimizers": """
        Array InitFn JoinPoint Optimizer OptimizerState Params ParamsFn State Step UpdateFn
        Updates adagrad adam adamax clip_grads l2_norm momentum nesterov optimizer
        pack_optimizer_state rmsprop rmsprop_momentum sgd sm3 unpack_optimizer_state
    """,
    "surface.learning.schedules": """
        Schedule constant exponential_decay inverse_time_decay make_schedule
        piecewise_constant polynomial_decay
    """,
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
