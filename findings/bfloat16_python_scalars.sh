#!/usr/bin/env bash
# A bfloat16 array plus a Python float is float32 (ml_dtypes 0.6.0, NumPy 2.4.6).
#
# Guess: bfloat16. Since NumPy 2 (NEP 50) Python numbers are weak and take the array's
#   dtype.
# Seen: float32 for 1.5, and float64 for a NumPy int32 array, although `numpy.result_type`
#   of the same dtypes raises. A ufunc searches for a loop that both operands can be cast to,
#   and ignores the common dtype.
# Matters: host code in bfloat16 doubles its memory at the first `x * 0.5`. `result_type`
#   does not predict the dtype that a ufunc returns.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" --disable-pip-version-check -q install ml_dtypes==0.6.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'END'
import ml_dtypes, numpy as np

print("ml_dtypes", ml_dtypes.__version__, "numpy", np.__version__)
x = np.ones(1, ml_dtypes.bfloat16)
print("float16  + 1.5:", (np.ones(1, np.float16) + 1.5).dtype)
print("bfloat16 + 1.5:", (x + 1.5).dtype, " * 0.5:", (x * 0.5).dtype)
print("bfloat16 + int32:", (x + np.ones(1, np.int32)).dtype)
assert (np.ones(1, np.float16) + 1.5).dtype == np.float16
assert (x + 1.5).dtype == (x * 0.5).dtype == np.float32, "Python numbers are weak now"
assert (x + np.ones(1, np.int32)).dtype == np.float64
try:
    np.result_type(x.dtype, np.int32)
except np.exceptions.DTypePromotionError as error:
    print("result_type:", type(error).__name__)
else:
    raise SystemExit("result_type answers now")
END
