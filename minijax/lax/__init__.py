
# ---- dot products
from ..ops.dot import DotAlgorithm as DotAlgorithm
from ..ops.dot import DotAlgorithmPreset as DotAlgorithmPreset
from ..ops.dot import DotDimensionNumbers as DotDimensionNumbers
from ..ops.dot import Precision as Precision
from ..ops.dot import batch_matmul as batch_matmul
from ..ops.dot import dot as dot
from ..ops.dot import dot_general as dot_general
from ..ops.dot import dot_general_p as dot_general_p
from ..ops.precision import PrecisionLike as PrecisionLike
