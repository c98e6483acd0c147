"""`tools.colab_tpu`, which JAX has dropped: notebooks need no set-up any more."""

import warnings


def setup_tpu(tpu_driver_version: object = None) -> None:
    """Do nothing but say so: devices are found by themselves.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter('ignore')
    ...     setup_tpu()
    """
    warnings.warn(
        "jax.tools.colab_tpu was removed from JAX: a TPU is found without it.",
        DeprecationWarning,
        stacklevel=2,
    )
