"""The public module `minijax.ref`: mutable references."""

from .control.refs.refs import Ref as Ref
from .control.refs.refs import addupdate as addupdate
from .control.refs.refs import empty_ref as empty_ref
from .control.refs.refs import free_ref as free_ref
from .control.refs.refs import freeze as freeze
from .control.refs.refs import get as get
from .control.refs.refs import new_ref as new_ref
from .control.refs.refs import set as set
from .control.refs.refs import swap as swap
from .types.avals import AbstractRef as AbstractRef

__all__ = [
    "AbstractRef", "Ref", "addupdate", "empty_ref", "free_ref", "freeze", "get",
    "new_ref", "set", "swap"
]
