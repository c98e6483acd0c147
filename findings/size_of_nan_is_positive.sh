#!/usr/bin/env bash
# Compiled by XLA, `abs(x) >= 0` is true of nan (JAX 0.10.2, jaxlib 0.10.2, CPU).
#
# Guess: comparisons with nan are false, as IEEE 754 has it and as NumPy and eager JAX
#   compute them, so `~(x >= 0)` finds numbers that are negative or nan.
# Seen: if x is a result that XLA knows not to be negative (abs, exp, a square; not sqrt), it
#   replaces `x >= 0` by true, and `x < 0` by false, without a thought of nan. `x != x` is
#   kept.
# Matters: a check of an argument's range lets nan pass under jit alone, depending on what
#   computed the argument; test `x != x` (`isnan`) beside it.
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
