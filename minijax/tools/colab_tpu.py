"""`tools.colab_tpu`, which JAX has removed: notebooks no longer need any set-up."""

import warnings


def setup_tpu(tpu_driver_version: object = None) -> None:
    """Only warn: devices are found without setup.

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
