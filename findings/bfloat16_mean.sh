#!/usr/bin/env bash
# numpy.mean and numpy.sum of bfloat16 accumulate in bfloat16 (ml_dtypes 0.6.0, NumPy
#   2.4.6).
#
# Guess: NumPy accumulates the mean in float32, as for float16, so the mean of a thousand
#   ones is 1.
# Seen: it is 0.256. The sum stops at 256, where adding 1 has no effect. `numpy.dot` of the
#   same arrays is exact. `numpy.sum` of float16 adds in pairs, and is also right.
# Matters: a loss or norm of a bfloat16 checkpoint on the host is wrong by a factor, without
#   a warning. Pass `dtype=numpy.float32`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" --disable-pip-version-check -q install ml_dtypes==0.6.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'END'
import ml_dtypes, numpy as np

print("ml_dtypes", ml_dtypes.__version__, "numpy", np.__version__)
half, brain = np.ones(1000, np.float16), np.ones(1000, ml_dtypes.bfloat16)
print("mean", half.mean(), brain.mean(), " sum", half.sum(), brain.sum())
print("dot ", half.dot(half), brain.dot(brain))
assert half.mean() == 1 and half.sum() == 1000
assert brain.sum() == 256 and abs(float(brain.mean()) - 0.256) < 1e-3, "it is right now"
assert brain.dot(brain) == 1000
assert brain.mean(dtype=np.float32) == 1
END
