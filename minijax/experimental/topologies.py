"""The public module `minijax.experimental.topologies`: descriptions of absent devices."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "api.topologies": """
        Device TopologyDescription get_attached_topology get_topology_desc make_mesh
    """
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
