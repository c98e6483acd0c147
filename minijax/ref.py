"""The face `minijax.ref`: mutable references."""

from .control.refs import AbstractRef as AbstractRef
from .control.refs import Ref as Ref
from .control.refs import addupdate as addupdate
from .control.refs import freeze as freeze
from .control.refs import get as get
from .control.refs import new_ref as new_ref
from .control.refs import set as set
from .control.refs import swap as swap

__all__ = ["AbstractRef", "Ref", "addupdate", "freeze", "get", "new_ref", "set", "swap"]
