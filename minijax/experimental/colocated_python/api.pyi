"""The public module `minijax.experimental.colocated_python.api`."""

from ...api.colocated import colocated_cpu_devices as colocated_cpu_devices
from ...api.colocated import colocated_python as colocated_python
from ...api.colocated import colocated_python_class as colocated_python_class
from ...api.colocated import make_callable as make_callable
from ...api.colocated import wrap_class as wrap_class

__all__ = [
    "colocated_cpu_devices", "colocated_python", "colocated_python_class",
    "make_callable", "wrap_class"
]
