"""The face `minijax.scipy`: SciPy's interface on minijax arrays."""


__all__ = [

]
