"""The public module `minijax.experimental.colocated_python.obj`."""

from ...api.colocated import wrap_class as wrap_class

__all__ = [
    "wrap_class"
]
