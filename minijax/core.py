"""The face `minijax.core`."""

from .ir.core import Trace as Trace
from .ir.core import Tracer as Tracer
from .ir.jaxpr import Atom as Atom
from .ir.jaxpr import ClosedJaxpr as ClosedJaxpr
from .ir.jaxpr import Jaxpr as Jaxpr
from .ir.jaxpr import Literal as Literal
from .ir.jaxpr import Var as Var
from .ir.jaxpr import eval_jaxpr as eval_jaxpr
from .types.avals import AbstractValue as AbstractValue
from .types.avals import ShapedArray as ShapedArray
