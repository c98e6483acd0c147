#!/usr/bin/env bash
# Casting a float64 array to bfloat16 or float8 rounds twice; a float8 scalar rounds once
#   (ml_dtypes 0.6.0).
#
# Guess: the result is the nearest number, as for NumPy's float16, and equal for a scalar
#   and an array.
# Seen: 1 + 2^-8 + 2^-40 is above the midpoint of 1 and 1.0078125, but becomes the bfloat16
#   1. The cast goes through float32, which drops the 2^-40, and the tie is rounded to even.
#   float8 arrays do the same, but float8 scalars, and lists of Python floats, are rounded
#   once.
# Matters: a reference computed in float64 and then cast differs from the correctly rounded
#   one in the last place, and `np.array(list, dtype)` from `np.array(list).astype(dtype)`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" --disable-pip-version-check -q install ml_dtypes==0.6.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'END'
import ml_dtypes, numpy as np

print("ml_dtypes", ml_dtypes.__version__, "numpy", np.__version__)
print("dtype, array cast, scalar, nearest")
cases = [(ml_dtypes.bfloat16, 8), (ml_dtypes.float8_e4m3fn, 4), (ml_dtypes.float8_e5m2, 3)]
for dtype, bits in cases:
    x, nearest = 1 + 2.0**-bits + 2.0**-40, 1 + 2.0 ** (1 - bits)
    array, scalar = np.array([x]).astype(dtype)[0], dtype(x)
    print(np.dtype(dtype).name, array, scalar, nearest)
    assert float(array) == 1, "arrays are rounded once now"
    assert float(scalar) == (1 if dtype is ml_dtypes.bfloat16 else nearest)
    assert float(np.array([x], dtype)[0]) == float(scalar)
x = np.array([1 + 2.0**-11 + 2.0**-40])
print("float16", x.astype(np.float16)[0])
assert float(x.astype(np.float16)[0]) == 1 + 2.0**-10
END
