"""The face `minijax.experimental.topologies`: devices that are not there."""

from __future__ import annotations

from ..base.lazy_modules import face

_TABLE = {
    "api.topologies": """
        Device TopologyDescription get_attached_topology get_topology_desc make_mesh
    """
}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
