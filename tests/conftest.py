"""What every test needs before minijax is imported: eight CPU devices."""

import os

os.environ.setdefault("JAX_NUM_CPU_DEVICES", "8")
