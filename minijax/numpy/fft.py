"""The public module `minijax.numpy.fft`: Fourier transforms."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "surface.numpy.fft": """
        fft ifft rfft irfft hfft ihfft fftn ifftn rfftn irfftn fft2 ifft2 rfft2 irfft2
        fftfreq rfftfreq fftshift ifftshift
    """
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
