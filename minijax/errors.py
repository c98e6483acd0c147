"""The public module `minijax.errors`."""

from .analysis.check import JaxprTypeError as JaxprTypeError
from .base.errors import ConcretizationTypeError as ConcretizationTypeError
from .base.errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation
from .base.errors import JAXIndexError as JAXIndexError
from .base.errors import JAXTypeError as JAXTypeError
from .base.errors import KeyReuseError as KeyReuseError
from .base.errors import NonConcreteBooleanIndexError as NonConcreteBooleanIndexError
from .base.errors import TracerArrayConversionError as TracerArrayConversionError
from .base.errors import TracerBoolConversionError as TracerBoolConversionError
from .base.errors import TracerIntegerConversionError as TracerIntegerConversionError
from .base.errors import UnexpectedTracerError as UnexpectedTracerError
from .base.tracebacks import SimplifiedTraceback as SimplifiedTraceback
from .base.tracebacks import UnfilteredStackTrace as UnfilteredStackTrace
from .runtime.backends.jaxlib_compat import RuntimeFailure as JaxRuntimeError

__all__ = [
    "ConcretizationTypeError",
    "InconclusiveDimensionOperation",
    "JAXIndexError",
    "JAXTypeError",
    "JaxRuntimeError",
    "JaxprTypeError",
    "KeyReuseError",
    "NonConcreteBooleanIndexError",
    "SimplifiedTraceback",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "UnexpectedTracerError",
    "UnfilteredStackTrace",
]
