"""The public module `minijax.numpy.fft`: Fourier transforms."""

from ..surface.numpy.fft import fft as fft
from ..surface.numpy.fft import fft2 as fft2
from ..surface.numpy.fft import fftfreq as fftfreq
from ..surface.numpy.fft import fftn as fftn
from ..surface.numpy.fft import fftshift as fftshift
from ..surface.numpy.fft import hfft as hfft
from ..surface.numpy.fft import ifft as ifft
from ..surface.numpy.fft import ifft2 as ifft2
from ..surface.numpy.fft import ifftn as ifftn
from ..surface.numpy.fft import ifftshift as ifftshift
from ..surface.numpy.fft import ihfft as ihfft
from ..surface.numpy.fft import irfft as irfft
from ..surface.numpy.fft import irfft2 as irfft2
from ..surface.numpy.fft import irfftn as irfftn
from ..surface.numpy.fft import rfft as rfft
from ..surface.numpy.fft import rfft2 as rfft2
from ..surface.numpy.fft import rfftfreq as rfftfreq
from ..surface.numpy.fft import rfftn as rfftn

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn",
    "ifftshift", "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq",
    "rfftn"
]
