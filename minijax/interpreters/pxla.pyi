"""The face `minijax.interpreters.pxla`."""

from ..runtime.mesh import Mesh as Mesh
from ..views.meshes import thread_resources as thread_resources

__all__ = [
    "Mesh", "thread_resources"
]
