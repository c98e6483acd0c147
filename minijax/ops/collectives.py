"""All collectives in one place: what psum.py, exchange.py and permute.py define.

psum.py reduces over mapped axes and knows an axis's index and size, exchange.py
gathers, scatters and swaps, permute.py sends from index to index.  named.py holds what
they share.  Other rooms import collectives from here.
"""

from .exchange import *
from .permute import *
from .permute import pbroadcast_p as pbroadcast_p
from .psum import *
