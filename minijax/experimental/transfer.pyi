"""The public module `minijax.experimental.transfer`: arrays for other programs."""

from ..api.transfers import TransferConnection as TransferConnection
from ..api.transfers import TransferServer as TransferServer
from ..api.transfers import make_error_array as make_error_array
from ..api.transfers import start_transfer_server as start_transfer_server

__all__ = [
    "TransferConnection", "TransferServer", "make_error_array", "start_transfer_server"
]
