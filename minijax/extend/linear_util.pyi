"""The public module `minijax.extend.linear_util`."""

from ..views.linear_util import StoreException as StoreException
from ..views.linear_util import WrappedFun as WrappedFun
from ..views.linear_util import cache as cache
from ..views.linear_util import merge_linear_aux as merge_linear_aux
from ..views.linear_util import missing_debug_info as _missing_debug_info
from ..views.linear_util import transformation as transformation
from ..views.linear_util import transformation2 as transformation2
from ..views.linear_util import transformation_with_aux as transformation_with_aux
from ..views.linear_util import transformation_with_aux2 as transformation_with_aux2
from ..views.linear_util import wrap_init as wrap_init

__all__ = [
    "StoreException", "WrappedFun", "_missing_debug_info", "cache", "merge_linear_aux",
    "transformation", "transformation2", "transformation_with_aux",
    "transformation_with_aux2", "wrap_init"
]
