"""Train a digit classifier, on one device and on eight: `python -m demo`.

Read in this order: `model` is the mathematics, `training` applies jit, scan and pmap to it,
and `__main__` runs everything. `screen` and `picture` only show the results.
"""
