"""XLA's frontend attributes: the metadata of single operations that users pass to the
compiler.

Inside a program, metadata is part of the name stack, which every transformation preserves:
`xla_metadata[key=value]`. The innermost one applies. In a module it is an attribute of an
operation.

Next: context.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from jaxlib.mlir import ir

__all__ = ("scope_of", "attributes_in_name_stack", "tag", "tag_all")

_MARK = "xla_metadata["
_SCOPE = re.compile(r"xla_metadata\[([^\]]*)\]")
_ATTRIBUTE = "mhlo.frontend_attributes"
_UNTAGGED = ("stablehlo.constant", "stablehlo.return", "func.return")


def as_text(value: object) -> str:
    """Return a value as text that XLA reads."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def scope_of(metadata: Mapping[str, Any]) -> str:
    """Return the name-stack scope with this metadata.

    >>> scope_of({"stage": 2})
    'xla_metadata[stage=2]'
    """
    pairs = (f"{quote(k, '')}={quote(as_text(v), '')}" for k, v in metadata.items())
    return f"{_MARK}{','.join(pairs)}]"


def attributes_in_name_stack(names: str) -> dict[str, str] | None:
    """Return the metadata in a name stack, or None.

    >>> attributes_in_name_stack("f/xla_metadata[stage=2]/g")
    {'stage': '2'}
    """
    if _MARK not in names:
        return None
    pairs = _SCOPE.findall(names)[-1].split(",")
    split = (pair.partition("=") for pair in pairs if pair)
    return {unquote(key): unquote(value) for key, _, value in split}


def tag(operation: ir.Operation | ir.OpView, metadata: Mapping[str, str]) -> None:
    """Add frontend attributes to an operation; existing ones take precedence."""
    if not metadata:
        return
    attributes: Any = {key: ir.StringAttr.get(value) for key, value in metadata.items()}
    if _ATTRIBUTE in operation.attributes:
        present: Any = ir.DictAttr(operation.attributes[_ATTRIBUTE])
        attributes.update((a.name, a.attr) for a in present)
    operation.attributes[_ATTRIBUTE] = ir.DictAttr.get(attributes)


def tag_all(module: ir.Module, tagged: Mapping[str, Mapping[str, str]]) -> None:
    """Add frontend attributes to all operations at these locations that compute something."""

    def visit(operation: Any) -> Any:
        metadata = tagged.get(str(operation.location))
        if metadata is not None and operation.name not in _UNTAGGED:
            tag(operation, metadata)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
