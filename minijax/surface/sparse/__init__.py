"""Sparse arrays: the formats, their operations, and `sparsify`."""

# Importing any file of this package must install the methods of the array classes.
from . import methods as methods
