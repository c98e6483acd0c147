"""Arguments and results of `VJP.with_refs` for a gradient: see `minijax.vjp`."""

from .api.vjp import DidntWant, DontWant, GradRef, GradValue

__all__ = ["DidntWant", "DontWant", "GradRef", "GradValue"]
