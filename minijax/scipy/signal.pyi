"""The public module `minijax.scipy.signal`: convolution, trends and spectra."""

from ..surface.scipy.signal.convolution import convolve as convolve
from ..surface.scipy.signal.convolution import convolve2d as convolve2d
from ..surface.scipy.signal.convolution import correlate as correlate
from ..surface.scipy.signal.convolution import correlate2d as correlate2d
from ..surface.scipy.signal.convolution import fftconvolve as fftconvolve
from ..surface.scipy.signal.spectra import csd as csd
from ..surface.scipy.signal.spectra import istft as istft
from ..surface.scipy.signal.spectra import stft as stft
from ..surface.scipy.signal.spectra import welch as welch
from ..surface.scipy.signal.trends import detrend as detrend

__all__ = [
    "convolve", "convolve2d", "correlate", "correlate2d", "csd", "detrend",
    "fftconvolve", "istft", "stft", "welch"
]
