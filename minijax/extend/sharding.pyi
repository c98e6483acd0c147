"""The public module `minijax.extend.sharding`."""

from ..runtime.sharding.shardings import GSPMDSharding as GSPMDSharding
from ..views.backends import get_hlo_sharding_from_serialized_proto as get_hlo_sharding_from_serialized_proto
from ..views.backends import get_op_sharding_from_serialized_proto as get_op_sharding_from_serialized_proto
from ..views.backends import get_serialized_proto_from_hlo_sharding as get_serialized_proto_from_hlo_sharding

__all__ = [
    "GSPMDSharding", "get_hlo_sharding_from_serialized_proto",
    "get_op_sharding_from_serialized_proto", "get_serialized_proto_from_hlo_sharding"
]
