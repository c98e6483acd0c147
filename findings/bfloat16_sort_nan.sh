#!/usr/bin/env bash
# numpy.sort leaves bfloat16 arrays with NaN unsorted (ml_dtypes 0.6.0, NumPy 2.4.6).
#
# Guess: NaN goes to the end and the numbers are sorted, as for float16 and float32.
# Seen: the array keeps its old order. NumPy's sort falls back to the dtype's `compare`, in
#   which a NaN equals every number. `unique` keeps duplicates, and `searchsorted` for NaN
#   returns 0.
# Matters: host code that sorts bfloat16 (thresholds, top-k of a checkpoint) must convert to
#   float32 first.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" --disable-pip-version-check -q install ml_dtypes==0.6.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'END'
import ml_dtypes, numpy as np

x = [3, np.nan, 1, np.nan, 2]
print("ml_dtypes", ml_dtypes.__version__, "numpy", np.__version__)
half, brain = np.sort(np.array(x, np.float16)), np.sort(np.array(x, ml_dtypes.bfloat16))
print("float16 ", half)
print("bfloat16", brain)
assert half[:3].tolist() == [1, 2, 3]
assert np.array_equal(brain.astype(float), x, equal_nan=True), "it sorts now"
assert np.unique(np.array([1, np.nan, 1], ml_dtypes.bfloat16)).size == 3
END
