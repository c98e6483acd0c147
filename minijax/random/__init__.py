"""Random numbers from explicit keys: `from minijax import random`.

A face: names only, gathered from the rooms of this folder.
"""

from .choosing import bernoulli as bernoulli
from .choosing import categorical as categorical
from .choosing import choice as choice
from .choosing import gumbel as gumbel
from .choosing import permutation as permutation
from .gamma import beta as beta
from .gamma import chisquare as chisquare
from .gamma import dirichlet as dirichlet
from .gamma import f as f
from .gamma import gamma as gamma
from .gamma import loggamma as loggamma
from .gamma import t as t
from .keys import PRNGKey as PRNGKey
from .keys import clone as clone
from .keys import fold_in as fold_in
from .keys import key as key
from .keys import key_data as key_data
from .keys import key_dtype as key_dtype
from .keys import key_impl as key_impl
from .keys import split as split
from .keys import wrap_key_data as wrap_key_data
from .sampling import bits as bits
from .sampling import normal as normal
from .sampling import randint as randint
from .sampling import uniform as uniform
