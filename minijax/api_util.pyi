"""The public module `minijax.api_util`."""

from .views.backends import safe_map as safe_map
from .views.backends import safe_zip as safe_zip
from .views.linear_util import argnums_partial as argnums_partial
from .views.linear_util import debug_info as debug_info
from .views.linear_util import donation_vector as donation_vector
from .views.linear_util import flatten_axes as flatten_axes
from .views.linear_util import flatten_fun as flatten_fun
from .views.linear_util import flatten_fun_nokwargs as flatten_fun_nokwargs
from .views.linear_util import rebase_donate_argnums as rebase_donate_argnums
from .views.linear_util import shaped_abstractify as shaped_abstractify

__all__ = [
    "argnums_partial", "debug_info", "donation_vector", "flatten_axes", "flatten_fun",
    "flatten_fun_nokwargs", "rebase_donate_argnums", "safe_map", "safe_zip",
    "shaped_abstractify"
]
