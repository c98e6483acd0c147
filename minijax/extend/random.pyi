"""The public module `minijax.extend.random`."""

from ..prims.random.hashes import threefry2x32_p as threefry2x32_p
from ..prims.random.implementations import rbg as rbg_prng_impl
from ..prims.random.implementations import threefry2x32 as threefry_prng_impl
from ..prims.random.implementations import threefry_2x32 as threefry_2x32
from ..prims.random.implementations import unsafe_rbg as unsafe_rbg_prng_impl
from ..views.backends import define_prng_impl as define_prng_impl
from ..views.backends import random_seed as random_seed
from ..views.backends import seed_with_impl as seed_with_impl

__all__ = [
    "define_prng_impl", "random_seed", "rbg_prng_impl", "seed_with_impl",
    "threefry2x32_p", "threefry_2x32", "threefry_prng_impl", "unsafe_rbg_prng_impl"
]
