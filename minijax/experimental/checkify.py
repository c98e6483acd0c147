"""The public module `minijax.experimental.checkify`."""

from ..control.effects.checkify import ErrorCategory as ErrorCategory
from ..control.effects.checkify import all_checks as all_checks
from ..control.effects.checkify import automatic_checks as automatic_checks
from ..control.effects.checkify import checkify as checkify
from ..control.effects.checkify import div_checks as div_checks
from ..control.effects.checkify import float_checks as float_checks
from ..control.effects.checkify import index_checks as index_checks
from ..control.effects.checkify import nan_checks as nan_checks
from ..control.effects.checkify import user_checks as user_checks
from ..control.effects.checkify_errors import Error as Error
from ..control.effects.checkify_errors import JaxRuntimeError as JaxRuntimeError
from ..control.effects.checkify_errors import check as check
from ..control.effects.checkify_errors import check_error as check_error
from ..control.effects.checkify_errors import debug_check as debug_check
from ..control.effects.checkify_errors import init_error as init_error
