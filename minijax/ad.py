"""What `VJP.with_refs` takes and returns for a gradient: see `minijax.vjp`."""

from .api.vjp import DidntWant, DontWant, GradRef, GradValue

__all__ = ["DidntWant", "DontWant", "GradRef", "GradValue"]
