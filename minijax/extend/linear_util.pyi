"""The face `minijax.extend.linear_util`."""

from ..views.functions import StoreException as StoreException
from ..views.functions import WrappedFun as WrappedFun
from ..views.functions import cache as cache
from ..views.functions import merge_linear_aux as merge_linear_aux
from ..views.functions import missing_debug_info as _missing_debug_info
from ..views.functions import transformation as transformation
from ..views.functions import transformation2 as transformation2
from ..views.functions import transformation_with_aux as transformation_with_aux
from ..views.functions import transformation_with_aux2 as transformation_with_aux2
from ..views.functions import wrap_init as wrap_init

__all__ = [
    "StoreException", "WrappedFun", "_missing_debug_info", "cache", "merge_linear_aux",
    "transformation", "transformation2", "transformation_with_aux",
    "transformation_with_aux2", "wrap_init"
]
