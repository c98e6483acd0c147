"""When two results agree.

A result is ("ok", leaves) or ("error", class, first line, the class's ancestors); a leaf
is (dtype, weak type, shape, value).  Floats agree to a tolerance of their type; where they
do not, the same program at inputs some ulps away says how far rounding alone can lead.
"""

import numpy as np

RTOL = {
    "float64": 1e-9,
    "complex128": 1e-9,
    "float32": 2e-5,
    "complex64": 2e-5,
    "float16": 5e-3,
    "bfloat16": 4e-2,
}


def as_wide(x) -> np.ndarray:
    x = np.asarray(x)
    if x.dtype.kind == "c":
        return x.astype(np.complex128)
    if x.dtype.kind in "biu":
        return x
    return x.astype(np.float64)


def apart(a, b, dtype: str, spread=0.0) -> np.ndarray:
    """Where two values differ by more than rounding."""
    a, b = as_wide(a), as_wide(b)
    if a.dtype.kind in "biu":
        return a != b
    if a.dtype.kind == "c":
        s = np.broadcast_to(spread, a.shape)
        # What a complex infinity is, XLA's constants and its kernels say differently.
        s = np.where(np.isfinite(a) | np.isfinite(b), s, np.inf)
        return apart(a.real, b.real, dtype, s) | apart(a.imag, b.imag, dtype, s)
    rtol = RTOL.get(dtype, 1e-1)
    with np.errstate(all="ignore"):
        finite = np.isfinite(a) & np.isfinite(b)
        sizes = np.abs(b[finite])
        scale = sizes.max(initial=0.0)
        gap = np.abs(a - b)
        near = finite & (gap <= rtol * np.abs(b) + 0.2 * rtol * scale + 4 * spread)
        near |= (a == b) | (np.isnan(a) & np.isnan(b))
        return ~(near | np.isinf(np.broadcast_to(spread, a.shape)))


def spread_of(values: list) -> np.ndarray:
    """How far values of one leaf are apart; infinite where they are not all finite."""
    first, *others = map(as_wide, values)
    out = np.zeros(first.shape)
    for other in others:
        if other.shape != first.shape:
            return np.full(first.shape, np.inf)
        if first.dtype.kind in "biu":
            out[...] = np.where(first != other, np.inf, out)
            continue
        with np.errstate(all="ignore"):
            gap = np.abs(first - other)
        same = (first == other) | (np.isnan(first) & np.isnan(other))
        out = np.maximum(out, np.where(same, 0.0, np.where(np.isnan(gap), np.inf, gap)))
    return out


def difference(ours, jax, spreads=None) -> tuple[str, str] | None:
    """The kind of the first difference and what it is, or None."""
    if "died" in (ours[0], jax[0]):
        if ours[0] == jax[0]:
            return None
        return "died", f"{ours[:2]} {jax[:2]}"
    if ours[0] != jax[0]:
        ours, jax = (x[1:3] if x[0] == "error" else "a value" for x in (ours, jax))
        return "error", f"{ours} != {jax}"
    if ours[0] == "error":
        if ours[1] != jax[1] and jax[1] not in ours[3]:
            return "class", f"{ours[1:3]} != {jax[1:3]}"
        return None
    if len(ours[1]) != len(jax[1]):
        return "leaves", f"{len(ours[1])} != {len(jax[1])}"
    for i, (a, b) in enumerate(zip(ours[1], jax[1])):
        for kind, x, y in zip(("dtype", "weak", "shape"), (a[0], a[1], a[2]), b[:3]):
            if x != y:
                return kind, f"leaf {i}: {x} != {y} ({a[:3]} {b[:3]})"
    for i, (a, b) in enumerate(zip(ours[1], jax[1])):
        if a[3] is None or b[3] is None:
            continue
        bad = apart(a[3], b[3], a[0], spreads[i] if spreads else 0.0)
        if bad.any():
            return "value", f"leaf {i}: {show(a[3])} != {show(b[3])}"
    return None


def show(x) -> str:
    return np.array2string(np.asarray(x), threshold=30).replace("\n", "")
