"""The public module `minijax.experimental.colocated_python`: functions on the hosts."""

from ...api.colocated import colocated_cpu_devices as colocated_cpu_devices
from ...api.colocated import colocated_python as colocated_python
from ...api.colocated import colocated_python_class as colocated_python_class
from . import api as api
from . import func as func
from . import obj as obj
from . import serialization as serialization

__all__ = [
    "api", "colocated_cpu_devices", "colocated_python", "colocated_python_class",
    "func", "obj", "serialization"
]
