"""The public module `minijax.version`."""

from . import __version__ as __version__
from . import __version_info__ as __version_info__
