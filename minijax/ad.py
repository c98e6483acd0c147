"""What `VJP.with_refs` takes and returns for a gradient: see `minijax.vjp`."""

from .api.reverse import DidntWant, DontWant, GradRef, GradValue

__all__ = ["DidntWant", "DontWant", "GradRef", "GradValue"]
