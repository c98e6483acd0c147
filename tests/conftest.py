"""What every test needs before minijax is imported: eight CPU devices, and every staged
program checked."""

import os

os.environ.setdefault("JAX_NUM_CPU_DEVICES", "8")
os.environ.setdefault("JAX_ENABLE_CHECKS", "1")
