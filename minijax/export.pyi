"""The public module `minijax.export`: serialization of programs."""

from .api.export.exported import DisabledSafetyCheck as DisabledSafetyCheck
from .api.export.exported import Exported as Exported
from .api.export.exported import SymbolicScope as SymbolicScope
from .api.export.exported import default_export_platform as default_export_platform
from .api.export.exported import deserialize as deserialize
from .api.export.exported import export as export
from .api.export.exported import is_symbolic_dim as is_symbolic_dim
from .api.export.exported import maximum_supported_calling_convention_version as maximum_supported_calling_convention_version
from .api.export.exported import minimum_supported_calling_convention_version as minimum_supported_calling_convention_version
from .api.export.exported import symbolic_args_specs as symbolic_args_specs
from .api.export.exported import symbolic_shape as symbolic_shape
from .api.export.serialization import register_namedtuple_serialization as register_namedtuple_serialization
from .api.export.serialization import register_pytree_node_serialization as register_pytree_node_serialization

__all__ = [
    "DisabledSafetyCheck", "Exported", "SymbolicScope", "default_export_platform",
    "deserialize", "export", "is_symbolic_dim",
    "maximum_supported_calling_convention_version",
    "minimum_supported_calling_convention_version", "register_namedtuple_serialization",
    "register_pytree_node_serialization", "symbolic_args_specs", "symbolic_shape"
]
