"""The public module `minijax.experimental.transfer`: arrays for other programs."""

from __future__ import annotations

from ..base.lazy_modules import lazy_module

_TABLE = {
    "api.transfers": (
        "TransferConnection TransferServer make_error_array start_transfer_server"
    )
}

__getattr__, __dir__, __all__ = lazy_module(__name__, _TABLE)
