"""The public module `minijax.experimental.random`: stateful random number generators."""

from ..surface.random.stateful import StatefulPRNG as StatefulPRNG
from ..surface.random.stateful import stateful_rng as stateful_rng

__all__ = [
    "StatefulPRNG", "stateful_rng"
]
