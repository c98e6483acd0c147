"""The public module `minijax.extend.mlir`: jaxlib's bindings of MLIR."""

from jaxlib._jax import mlir as _mlir
from jaxlib.mlir import ir as ir
from jaxlib.mlir import passmanager as passmanager

from ...views.lowering import lower_with_sharding_in_types as lower_with_sharding_in_types
from . import dialects as dialects

deserialize_portable_artifact = _mlir.deserialize_portable_artifact
hlo_to_stablehlo = _mlir.hlo_to_stablehlo
refine_polymorphic_shapes = _mlir.refine_polymorphic_shapes
serialize_portable_artifact = _mlir.serialize_portable_artifact
