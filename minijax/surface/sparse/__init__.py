"""Sparse arrays: formats, what is done with them, `sparsify`."""

# What makes sparse arrays gives arrays with all methods, whichever file is asked.
from . import methods as methods
