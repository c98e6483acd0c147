"""Compare minijax with JAX 0.10.2, with the same scripts: `make bench`.

Each library has its own environment, with the same jaxlib, and every number comes from a
fresh process. The processes of the two libraries alternate, so a slow minute of the
machine affects both. `cases/` defines the measurements, `programs` the functions that
several cases use, and `measure` the clocks inside a measured process. `harness` starts
the processes, and `report` prints the table.
"""
