"""The public module `minijax.interpreters.batching`."""

from ..api.vmappables import register_vmappable as register_vmappable
from ..api.vmappables import unregister_vmappable as unregister_vmappable
from ..passes.batch import Axis as AxisData
from ..passes.batch import BatchTrace as BatchTrace
from ..passes.batch import BatchTracer as BatchTracer
from ..views.rules import axis_primitive_batchers as axis_primitive_batchers
from ..views.rules import bdim_at_front as bdim_at_front
from ..views.rules import broadcast as broadcast
from ..views.rules import defbroadcasting as defbroadcasting
from ..views.rules import defreducer as defreducer
from ..views.rules import defvectorized as defvectorized
from ..views.rules import fancy_primitive_batchers as fancy_primitive_batchers
from ..views.rules import moveaxis as moveaxis
from ..views.rules import not_mapped as not_mapped
from ..views.rules import primitive_batchers as primitive_batchers

__all__ = [
    "AxisData", "BatchTrace", "BatchTracer", "axis_primitive_batchers", "bdim_at_front",
    "broadcast", "defbroadcasting", "defreducer", "defvectorized",
    "fancy_primitive_batchers", "moveaxis", "not_mapped", "primitive_batchers",
    "register_vmappable", "unregister_vmappable"
]
