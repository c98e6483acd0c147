"""The public module `minijax.test_util`."""

from .api.check_grads import check_grads as check_grads
from .api.check_grads import check_jvp as check_jvp
from .api.check_grads import check_vjp as check_vjp
