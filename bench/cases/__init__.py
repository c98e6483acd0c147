"""One file a group of rows. Each has TITLE, ROWS and one of two functions:

`measure(jax, sheet)` fills the sheet from inside a fresh process that has imported the
library as `jax`; `outside(side, sheet)` fills it by starting processes of its own.
A case with DEVICES is measured in processes that have so many (virtual) devices.
"""

NAMES = (
    "imports",
    "start",
    "dispatch",
    "eager",
    "most_used",
    "kernels",
    "loops",
    "grad",
    "devices",
    "training",
    "trace",
    "lower",
    "memory",
    "compiled",
    "growth",
    "control",
)
