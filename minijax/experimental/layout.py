"""The public module `minijax.experimental.layout`."""

from ..prims.layout import with_layout_constraint as with_layout_constraint
from ..runtime.sharding.layouts import Format as Format
from ..runtime.sharding.layouts import Layout as Layout

__all__ = ["Format", "Layout", "with_layout_constraint"]
