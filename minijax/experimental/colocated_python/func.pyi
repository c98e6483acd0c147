"""The public module `minijax.experimental.colocated_python.func`."""

from ...api.colocated import make_callable as make_callable

__all__ = [
    "make_callable"
]
