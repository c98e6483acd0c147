"""One file a group of rows. Each has TITLE, ROWS and one of two functions:

`measure(jax, sheet)` fills the sheet from inside a fresh process that has imported the
library as `jax`; `outside(side, sheet)` fills it by starting processes of its own.
"""

NAMES = (
    "imports",
    "start",
    "dispatch",
    "eager",
    "loops",
    "grad",
    "trace",
    "lower",
    "memory",
    "compiled",
    "growth",
    "control",
)
