"""The public module `minijax.interpreters.ad`."""

from ..passes.ad_util import UndefinedPrimal as UndefinedPrimal
from ..passes.ad_util import Zero as Zero
from ..passes.ad_util import add as add_tangents
from ..passes.ad_util import instantiate as instantiate_zeros
from ..passes.ad_util import is_linear as is_undefined_primal
from ..passes.jvp import JVPTrace as JVPTrace
from ..passes.jvp import JVPTracer as JVPTracer
from ..prims.math.algebraic import add_any_p as add_jaxvals_p
from ..views.derivatives import jvp as jvp
from ..views.derivatives import linearize as linearize
from ..views.rules import add_jaxvals as add_jaxvals
from ..views.rules import defbilinear as defbilinear
from ..views.rules import defjvp as defjvp
from ..views.rules import defjvp2 as defjvp2
from ..views.rules import deflinear as deflinear
from ..views.rules import deflinear2 as deflinear2
from ..views.rules import get_primitive_transpose as get_primitive_transpose
from ..views.rules import primitive_jvps as primitive_jvps
from ..views.rules import primitive_transposes as primitive_transposes
from ..views.rules import zeros_like_aval as zeros_like_aval

__all__ = [
    "JVPTrace", "JVPTracer", "UndefinedPrimal", "Zero", "add_jaxvals", "add_jaxvals_p",
    "add_tangents", "defbilinear", "defjvp", "defjvp2", "deflinear", "deflinear2",
    "get_primitive_transpose", "instantiate_zeros", "is_undefined_primal", "jvp",
    "linearize", "primitive_jvps", "primitive_transposes", "zeros_like_aval"
]
