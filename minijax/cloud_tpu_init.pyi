"""The face `minijax.cloud_tpu_init`: of one name that is no more."""


__all__ = [

]
