"""NumPy's interface on minijax arrays: `import minijax.numpy as jnp`.

A face: names only, gathered from the rooms of this folder.  `linalg` and `fft` load on
first use; names that NumPy and JAX have dropped still work, with a DeprecationWarning.
"""

from __future__ import annotations

import importlib as _importlib
import warnings as _warnings
from typing import Any as _Any

import numpy as _np

from ..runtime.array import Array as ndarray
from .contraction import *
from .conversion import *
from .convolution import *
from .creation import *
from .diagonals import *
from .dtype_info import *
from .dtype_info import bool_ as bool
from .edits import *
from .elementwise import *
from .equality import *
from .floats import *
from .functional import *
from .grids import *
from .indexing import *
from .io import *
from .joining import *
from .linear import *
from .manipulation import *
from .moments import *
from .nanreductions import *
from .padding import *
from .polynomial import *
from .quantiles import *
from .ranges import *
from .rearrange import *
from .reductions import *
from .running import *
from .searching import *
from .selection import *
from .setops import *
from .signals import *
from .sorting import *
from .statistics import *
from .ufunc import *
from .ufuncs import *
from .ufuncs import absolute as abs
from .windows import *
from .writing import *

e, pi, inf, nan = _np.e, _np.pi, _np.inf, _np.nan
euler_gamma = _np.euler_gamma
newaxis = None
ComplexWarning = _np.exceptions.ComplexWarning

_MODULES = ("linalg", "fft")
# Names of older NumPy and JAX, and what does the same today.
_RENAMED = {
    "alltrue": "all", "sometrue": "any", "product": "prod", "cumproduct": "cumprod",
    "in1d": "isin", "row_stack": "vstack", "trapz": "trapezoid", "fix": "trunc",
    "round_": "round", "DeviceArray": "ndarray",
}  # fmt: skip


def __getattr__(name: str) -> _Any:
    if name in _MODULES:
        module = _importlib.import_module(f".{name}", __name__)
        globals()[name] = module
        return module
    if name in _RENAMED:
        _warnings.warn(
            f"jnp.{name} is deprecated; use jnp.{_RENAMED[name]}.",
            DeprecationWarning,
            stacklevel=2,
        )
        return globals()[_RENAMED[name]]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
