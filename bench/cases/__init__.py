"""One file per group of rows. Each has TITLE, ROWS and one of two functions:

`measure(jax, sheet)` fills the sheet from inside a fresh process that has imported the
library as `jax`; `outside(side, sheet)` fills it by starting its own processes.
A case with DEVICES is measured in processes with that many (virtual) devices.
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
