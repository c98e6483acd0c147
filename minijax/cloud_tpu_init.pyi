"""The public module `minijax.cloud_tpu_init`: one name that JAX has removed."""


__all__ = [

]
