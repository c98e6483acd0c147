"""The public module `minijax.scipy.fft`: cosine transforms."""

from ..surface.scipy.fft import dct as dct
from ..surface.scipy.fft import dctn as dctn
from ..surface.scipy.fft import idct as idct
from ..surface.scipy.fft import idctn as idctn

__all__ = [
    "dct", "dctn", "idct", "idctn"
]
