"""The face `minijax.experimental.transfer`: arrays for other programs."""

from __future__ import annotations

from ..base.lazy_modules import face

_TABLE = {
    "api.transfers": (
        "TransferConnection TransferServer make_error_array start_transfer_server"
    )
}

__getattr__, __dir__, __all__ = face(__name__, _TABLE)
