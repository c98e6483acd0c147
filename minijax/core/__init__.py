"""Floors 2 and 3: primitives, traces, tracers; jaxprs, their text and checks.

`minijax.core` is also the name of a public module of JAX; its names are handed on here.
"""

from ..types.avals import AbstractValue as AbstractValue
from ..types.avals import ShapedArray as ShapedArray
from .core import Trace as Trace
from .core import Tracer as Tracer
from .jaxpr import Atom as Atom
from .jaxpr import ClosedJaxpr as ClosedJaxpr
from .jaxpr import Jaxpr as Jaxpr
from .jaxpr import Literal as Literal
from .jaxpr import Var as Var
from .jaxpr import eval_jaxpr as eval_jaxpr
