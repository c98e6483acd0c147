"""NumPy's constants, in Python's own floats."""

import numpy as np

__all__ = ("e", "pi", "inf", "nan", "euler_gamma", "newaxis", "ComplexWarning")

e, pi, inf, nan = np.e, np.pi, np.inf, np.nan
euler_gamma = np.euler_gamma
newaxis = None
ComplexWarning = np.exceptions.ComplexWarning
