"""All of gather and scatter in one place: what indexing, windows and scatter define.

Other rooms import them from here.  Next: slicing.py, whose dynamic slices become
gathers under vmap.
"""

from .indexing import *
from .scatter import *
from .windows import *
