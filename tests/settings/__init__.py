"""Our own functions under the settings of a user, beside JAX.

`make settings` runs the example in the docstring of every public function once for each
setting that a user may choose, in minijax and in JAX, and lists where minijax raises and
JAX does not, and where JAX raises for mixed operands and minijax does not.
"""
