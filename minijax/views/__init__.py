"""JAX names outside its public interface that libraries use, as views (layer 10).

A view has no state of its own.  Tables of rules read and write attributes of our primitives, and
classes are ours; only signatures differ, and are adapted in both directions.  No layer
below imports it.
"""
