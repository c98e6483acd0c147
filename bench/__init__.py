"""Measure minijax against JAX 0.10.2, one script text run by either: `make bench`.

Both libraries get an environment of their own with the same jaxlib, and every number
comes from a fresh process; the processes of the two take turns, so that a slow minute
of the machine falls on both. `cases/` says what is measured, `programs` holds the
functions that several cases need, `measure` the clocks (inside a measured process),
`harness` starts the processes, `report` prints the table.
"""
