"""The face `minijax.experimental.jet`."""

from ..api.jet import jet as jet

__all__ = ["jet"]
