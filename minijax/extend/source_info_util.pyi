"""The public module `minijax.extend.source_info_util`."""

from ..views.attributes import NameStack as NameStack
from ..views.attributes import SourceInfo as SourceInfo
from ..views.sources import current as current
from ..views.sources import current_name_stack as current_name_stack
from ..views.sources import extend_name_stack as extend_name_stack
from ..views.sources import new_name_stack as new_name_stack
from ..views.sources import new_source_info as new_source_info
from ..views.sources import register_exclusion as register_exclusion
from ..views.sources import reset_name_stack as reset_name_stack
from ..views.sources import set_name_stack as set_name_stack
from ..views.sources import summarize as summarize
from ..views.sources import transform_name_stack as transform_name_stack
from ..views.sources import user_context as user_context

__all__ = [
    "NameStack", "SourceInfo", "current", "current_name_stack", "extend_name_stack",
    "new_name_stack", "new_source_info", "register_exclusion", "reset_name_stack",
    "set_name_stack", "summarize", "transform_name_stack", "user_context"
]
