"""Floor 10: what libraries touch besides the public interface, as views of what is there.

A view stores nothing: tables of rules read and write the slots of our primitives, classes
are ours, and what differs is a signature, adapted both ways.  Nothing below imports it.
"""
