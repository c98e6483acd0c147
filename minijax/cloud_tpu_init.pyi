"""The public module `minijax.cloud_tpu_init`: a name that JAX has removed."""


__all__ = [

]
