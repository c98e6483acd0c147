"""The public module `minijax.experimental.topologies`: descriptions of absent devices."""

from ..api.topologies import Device as Device
from ..api.topologies import TopologyDescription as TopologyDescription
from ..api.topologies import get_attached_topology as get_attached_topology
from ..api.topologies import get_topology_desc as get_topology_desc
from ..api.topologies import make_mesh as make_mesh

__all__ = [
    "Device", "TopologyDescription", "get_attached_topology", "get_topology_desc",
    "make_mesh"
]
