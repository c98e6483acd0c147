"""The public module `minijax.scipy.integrate`: integrals of samples."""

from ..surface.numpy.differences import trapezoid as trapezoid

__all__ = [
    "trapezoid"
]
