"""The face `minijax.experimental.checkify`."""

from ..control.checkify import ErrorCategory as ErrorCategory
from ..control.checkify import all_checks as all_checks
from ..control.checkify import automatic_checks as automatic_checks
from ..control.checkify import checkify as checkify
from ..control.checkify import div_checks as div_checks
from ..control.checkify import float_checks as float_checks
from ..control.checkify import index_checks as index_checks
from ..control.checkify import nan_checks as nan_checks
from ..control.checkify import user_checks as user_checks
from ..control.checks import Error as Error
from ..control.checks import JaxRuntimeError as JaxRuntimeError
from ..control.checks import check as check
from ..control.checks import check_error as check_error
from ..control.checks import debug_check as debug_check
from ..control.checks import init_error as init_error
