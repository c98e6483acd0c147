"""All of arithmetic in one place: what algebraic.py and elementary.py define.

Other rooms import sums, products, exponentials and their like from here.
Next: special.py.
"""

from .accuracy import *
from .algebraic import *
from .algebraic import add_any as add_any
from .algebraic import add_any_p as add_any_p
from .algebraic import replace_zero as replace_zero
from .elementary import *
