"""The public module `minijax.scipy.signal`: convolution, trends and spectra."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "surface.scipy.signal.convolution": (
        "convolve convolve2d correlate correlate2d fftconvolve"
    ),
    "surface.scipy.signal.spectra": "csd istft stft welch",
    "surface.scipy.signal.trends": "detrend",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
