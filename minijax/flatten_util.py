"""The public module `minijax.flatten_util`."""

from .surface.ravel import ravel_pytree as ravel_pytree
