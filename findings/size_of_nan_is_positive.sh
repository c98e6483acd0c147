#!/usr/bin/env bash
# Compiled by XLA, `abs(x) >= 0` is true of nan (JAX 0.10.2, jaxlib 0.10.2, CPU).
#
# Guess: comparisons with nan are false, as in IEEE 754, NumPy and eager JAX, so
#   `~(x >= 0)` finds numbers that are negative or nan.
# Seen: if XLA infers that x is not negative (abs, exp, a square; not sqrt), it replaces
#   `x >= 0` by true and `x < 0` by false, and ignores nan. It keeps `x != x`.
# Matters: a range check accepts nan under jit only, depending on the operation that
#   computed the argument. Also test `x != x` (`isnan`).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" --disable-pip-version-check -q install jax==0.10.2 jaxlib==0.10.2
JAX_PLATFORMS=cpu "$folder/venv/bin/python" - <<'END'
import jax, jax.numpy as jnp, jaxlib, numpy as np

print("jax", jax.__version__, "jaxlib", jaxlib.__version__)
nan = np.float32("nan")
rows = {"abs": (jnp.abs, np.abs), "exp": (jnp.exp, np.exp), "sqrt": (jnp.sqrt, np.sqrt),
        "square": (lambda x: x * x, lambda x: x * x)}
seen = {}
for name, (f, there) in rows.items():
    seen[name] = bool(jax.jit(lambda x: f(x) >= 0)(nan))
    print(f"{name:7} NumPy {bool(there(nan) >= 0)}  eager {bool(f(jnp.float32(nan)) >= 0)}"
          f"  compiled {seen[name]}")
    assert not there(nan) >= 0 and not f(jnp.float32(nan)) >= 0
    assert jax.jit(lambda x: f(x) != f(x))(nan)
assert seen["abs"], "it is right now"
END
