"""Minijax under load: threads, interrupts, forks, faults of the disk, and a flat memory.

`python -m stress` runs every part in processes of their own, for as long as it is told, and
says what was done and what was found.  A part is a module with `run(budget) -> Report`.
"""
