"""The public module `minijax.scipy.cluster.vq`: vector quantization."""

from ...surface.scipy.codes import vq as vq

__all__ = [
    "vq"
]
