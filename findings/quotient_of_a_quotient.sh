#!/usr/bin/env bash
# XLA compiles x / y / y to x / (y * y) (jaxlib 0.10.2, CPU, default options).
#
# Guess: dividing twice, instead of by a square, keeps a quotient in range. Without fast
#   math the compiler keeps the two divisions of IEEE arithmetic.
# Seen: jit(x / y / y) at x = 1e30, y = 1e25 in float32 is 0, also at backend level 0; the
#   module has a multiplication. NumPy, and two separate divisions, return 1e-20.
#   x * (1 / y) * (1 / y) is 1e-20.
# Matters: derivatives of quotients divide twice. They are 0 or infinite although every
#   value in the program is in range. Multiply by the inverse instead.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" --disable-pip-version-check -q install jax==0.10.2 jaxlib==0.10.2 \
    numpy==2.4.6
JAX_PLATFORMS=cpu "$folder/venv/bin/python" - <<'END'
import jax, jaxlib, numpy as np

print("jaxlib", jaxlib.__version__)
x, y = np.float32(1e30), np.float32(1e25)
twice, inverse = lambda x, y: x / y / y, lambda x, y: x * (1 / y) * (1 / y)
compiled = jax.jit(twice).lower(x, y).compile()
plain = jax.jit(twice).lower(x, y).compile({"xla_backend_optimization_level": 0})
got = [float(f(x, y)) for f in (twice, compiled, plain, jax.jit(inverse))]
print("NumPy, compiled, at level 0, by the inverse:", got)
print([s.strip() for s in compiled.as_text().splitlines() if " multiply(" in s])
assert abs(got[0] - 1e-20) < 1e-26 and abs(got[3] - 1e-20) < 1e-26
assert got[1] == 0 and got[2] == 0, "it divides twice now"
END
