"""The public module `minijax.experimental.jet`: Taylor series, and rules for them."""

from ..api.jet import JetTrace as JetTrace
from ..api.jet import JetTracer as JetTracer
from ..api.jet import jet as jet
from ..api.jet_rules import ZeroSeries as ZeroSeries
from ..api.jet_rules import ZeroTerm as ZeroTerm
from ..api.jet_rules import call_param_updaters as call_param_updaters
from ..api.jet_rules import def_comp as def_comp
from ..api.jet_rules import def_deriv as def_deriv
from ..api.jet_rules import deflinear as deflinear
from ..api.jet_rules import defzero as defzero
from ..api.jet_rules import deriv_prop as deriv_prop
from ..api.jet_rules import fact as fact
from ..api.jet_rules import jet2 as jet2
from ..api.jet_rules import jet_fun as jet_fun
from ..api.jet_rules import jet_rules as jet_rules
from ..api.jet_rules import jet_subtrace as jet_subtrace
from ..api.jet_rules import linear_prop as linear_prop
from ..api.jet_rules import traceable as traceable
from ..api.jet_rules import zero_prop as zero_prop
from ..api.jet_rules import zero_series as zero_series
from ..api.jet_rules import zero_term as zero_term

__all__ = [
    "JetTrace", "JetTracer", "ZeroSeries", "ZeroTerm", "call_param_updaters",
    "def_comp", "def_deriv", "deflinear", "defzero", "deriv_prop", "fact", "jet",
    "jet2", "jet_fun", "jet_rules", "jet_subtrace", "linear_prop", "traceable",
    "zero_prop", "zero_series", "zero_term"
]
