"""Stress tests: threads, interrupts, forks, faults of the disk, and memory growth.

`python -m stress` runs each part in its own process, for a given time, and prints the number
of operations and the findings.  A part is a module with `run(budget) -> Report`.
"""
