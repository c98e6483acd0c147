"""Learn handwritten digits, on one device and on eight: `python -m demo`.

Read in this order: `model` is the mathematics, `training` puts it under jit, scan and
pmap, `__main__` tells the story. `screen` and `picture` only show the results.
"""
