"""The public module `minijax.experimental.sparse.util`: helpers of all formats."""

from ...surface.sparse.base import CuSparseEfficiencyWarning as CuSparseEfficiencyWarning
from ...surface.sparse.base import Shape as Shape
from ...surface.sparse.base import SparseEfficiencyError as SparseEfficiencyError
from ...surface.sparse.base import SparseEfficiencyWarning as SparseEfficiencyWarning
from ...surface.sparse.base import SparseInfo as SparseInfo

__all__ = [
    "CuSparseEfficiencyWarning", "Shape", "SparseEfficiencyError",
    "SparseEfficiencyWarning", "SparseInfo"
]
