"""The public module `minijax.extend.random`."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "prims.random.hashes": "threefry2x32_p",
    "prims.random.implementations": """
        rbg_prng_impl=rbg threefry_2x32 threefry_prng_impl=threefry2x32
        unsafe_rbg_prng_impl=unsafe_rbg
    """,
    "views.backends": "define_prng_impl random_seed seed_with_impl",
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
