"""All collectives in one place: what psum.py, exchange.py and permute.py define.

psum.py reduces over mapped axes and knows an axis's index and size, exchange.py
gathers, scatters and swaps, permute.py sends from index to index.  named.py holds what
they share.  Other rooms import collectives from here.
"""

from .exchange import all_gather as all_gather
from .exchange import all_gather_p as all_gather_p
from .exchange import all_to_all as all_to_all
from .exchange import all_to_all_p as all_to_all_p
from .exchange import psum_scatter as psum_scatter
from .exchange import pswapaxes as pswapaxes
from .exchange import reduce_scatter_p as reduce_scatter_p
from .permute import pbroadcast as pbroadcast
from .permute import pbroadcast_p as pbroadcast_p
from .permute import ppermute as ppermute
from .permute import ppermute_p as ppermute_p
from .permute import pshuffle as pshuffle
from .permute import ragged_all_to_all as ragged_all_to_all
from .permute import ragged_all_to_all_p as ragged_all_to_all_p
from .psum import axis_index as axis_index
from .psum import axis_index_p as axis_index_p
from .psum import axis_size as axis_size
from .psum import pcast as pcast
from .psum import pmax as pmax
from .psum import pmax_p as pmax_p
from .psum import pmean as pmean
from .psum import pmin as pmin
from .psum import pmin_p as pmin_p
from .psum import psum as psum
from .psum import psum_p as psum_p
