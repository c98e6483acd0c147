"""The public module `minijax.extend.source_info_util`."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "views.attributes": "NameStack SourceInfo",
    "views.sources": """
        current current_name_stack extend_name_stack new_name_stack new_source_info
        register_exclusion reset_name_stack set_name_stack summarize transform_name_stack
        user_context
    """,
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
