"""Rotations of space as unit quaternions [..., 4]: three imaginary parts,
then the real one.

A rotation by an angle a around a unit vector u is (u sin(a/2), cos(a/2)); its negative is
the same rotation.  The module converts them from and to matrices, rotation vectors a u,
modified Rodrigues parameters u tan(a/4) and Euler angles.  Derivatives are correct
everywhere, including at the identity.

Next: rotation.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....control.calls.jit import composite
from ....prims.dot.precision import Precision
from ... import jnp
from ...numpy import decompositions

# Below this angle, squared, three terms of a series are exact in float64.
_SMALL = 1e-6


def stacked(*rows: Any) -> Any:
    """Stack arrays, or lists of arrays, along one or two new last axes."""
    if isinstance(rows[0], list):
        return jnp.stack([stacked(*row) for row in rows], -2)
    return jnp.stack(rows, -1)


def components(x: Any) -> list[Any]:
    """Return the components along the last axis."""
    return [x[..., i] for i in range(x.shape[-1])]


def select_by_flag(flag: Any, yes: Any, no: Any) -> Any:
    """Select `yes` or `no` by a flag, which may be an array."""
    if isinstance(flag, (bool, np.bool_)):
        return yes if flag else no
    return jnp.where(flag, yes, no)


def radians(x: Any, degrees: Any) -> Any:
    """Convert angles to radians."""
    return select_by_flag(degrees, jnp.deg2rad(x), x)


def in_unit(x: Any, degrees: Any) -> Any:
    """Convert radians to the requested unit."""
    return select_by_flag(degrees, jnp.rad2deg(x), x)


def square(x: Any) -> Any:
    """Return the sum of squares along the last axis, which is kept."""
    return jnp.sum(x * x, -1, keepdims=True)


@composite
def normalized(q):
    """Return q divided by its norm."""
    return q / jnp.sqrt(square(q))


@composite
def product(p, q):
    """Return Hamilton's product: rotation by q, then by p."""
    (px, py, pz, pw), (qx, qy, qz, qw) = components(p), components(q)
    return stacked(
        pw * qx + px * qw + py * qz - pz * qy,
        pw * qy - px * qz + py * qw + pz * qx,
        pw * qz + px * qy - py * qx + pz * qw,
        pw * qw - px * qx - py * qy - pz * qz,
    )


@composite
def conjugate(q):
    """Return the inverse rotation."""
    return q * jnp.array([-1, -1, -1, 1], q.dtype)


@composite
def canonical(q):
    """Return q or -q, so that the first nonzero of w, x, y, z is positive."""
    x, y, z, w = components(q)
    first = jnp.where(w != 0, w, jnp.where(x != 0, x, jnp.where(y != 0, y, z)))
    return jnp.where(first[..., None] < 0, -q, q)


@composite
def angle(q):
    """Return the angle of rotation, from 0 to pi."""
    return 2 * jnp.arctan2(jnp.sqrt(square(q[..., :3]))[..., 0], jnp.abs(q[..., 3]))


# ---------------------------------------------------------------------------- matrices


@composite
def to_matrix(q):
    """Convert to orthogonal matrices [..., 3, 3]."""
    x, y, z, w = components(q)
    return stacked(
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), y * y - x * x - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), z * z - x * x - y * y + w * w],
    )


@composite
def from_matrix(m):
    """Convert from matrices: of four candidates, take the one with the largest norm.

    Candidate i is the quaternion times four times its component i.

    S. Shepperd, Quaternion from Rotation Matrix, J. Guidance and Control 1(3), 1978.
    """
    (a, b, c), (d, e, f), (g, h, i) = ([m[..., r, s] for s in range(3)] for r in range(3))
    candidates = stacked(
        [1 + a - e - i, b + d, c + g, h - f],
        [b + d, 1 - a + e - i, f + h, c - g],
        [c + g, f + h, 1 - a - e + i, d - b],
        [h - f, c - g, d - b, 1 + a + e + i],
    )
    largest = jnp.argmax(stacked(a, e, i, a + e + i), -1)[..., None, None]
    return normalized(jnp.take_along_axis(candidates, largest, -2)[..., 0, :])


@composite
def turn(q, vectors, inverse):
    """Rotate vectors [..., 3], or rotate them back."""
    q = select_by_flag(inverse, conjugate(q), q)
    return jnp.einsum("...ij,...j->...i", to_matrix(q), vectors)


# ------------------------------------------------------------- vectors of three numbers


@composite
def to_rotvec(q, degrees):
    """Convert to a u, with the factor 2 arctan(s / w) / s,
    s the norm of the imaginary part."""
    q = jnp.where(q[..., 3:] < 0, -q, q)  # angles up to pi
    v, w = q[..., :3], q[..., 3:]
    s2 = square(v)
    small = s2 <= _SMALL * w * w
    s = jnp.sqrt(jnp.where(small, 1, s2))
    t = s2 / jnp.where(small, w, 1) ** 2
    series = 2 / jnp.where(small, w, 1) * (1 - t / 3 + t * t / 5)
    return in_unit(jnp.where(small, series, 2 * jnp.arctan2(s, w) / s) * v, degrees)


@composite
def from_rotvec(v, degrees):
    """Return (u sin(a/2), cos(a/2)), with power series near 0."""
    v = radians(v, degrees)
    a2 = square(v)
    small = a2 <= _SMALL
    a = jnp.sqrt(jnp.where(small, 1, a2))
    scale = jnp.where(small, 0.5 - a2 / 48 + a2 * a2 / 3840, jnp.sin(a / 2) / a)
    real = jnp.where(small, 1 - a2 / 8 + a2 * a2 / 384, jnp.cos(a / 2))
    return jnp.concatenate([scale * v, real], -1)


@composite
def to_mrp(q):
    """Convert to u tan(a/4), with angles up to pi."""
    q = jnp.where(q[..., 3:] < 0, -q, q)
    return q[..., :3] / (1 + q[..., 3:])


@composite
def from_mrp(v):
    """Return (2 v, 1 - |v|^2) / (1 + |v|^2)."""
    v2 = square(v)
    return jnp.concatenate([2 * v, 1 - v2], -1) / (1 + v2)


# -------------------------------------------------------------------------- Euler angles


@composite(static=("axes", "intrinsic"))
def from_euler(angles, degrees, axes: tuple[int, ...], intrinsic: bool):
    """Compose rotations around several axes."""
    half = radians(angles, degrees) / 2
    out: Any = None
    for k, axis in enumerate(axes):
        sin, cos = jnp.sin(half[..., k]), jnp.cos(half[..., k])
        zero = jnp.zeros_like(sin)
        q = stacked(*[sin if i == axis else zero for i in range(3)], cos)
        if out is not None:
            q = product(out, q) if intrinsic else product(q, out)
        out = q
    return out


@composite(static=("axes", "intrinsic"))
def to_euler(q, degrees, axes: tuple[int, int, int], intrinsic: bool):
    """Convert to angles in [-pi, pi) around three axes; the last is 0 in gimbal lock.

    E. Bernardes, S. Viollet, Quaternion to Euler angles conversion: A direct, general and
    computationally efficient method, PLoS ONE 17(11), 2022.
    """
    i, j, k = axes[::-1] if intrinsic else axes
    same = i == k
    k = 3 - i - j if same else k
    sign = (i - j) * (j - k) * (k - i) // 2
    x = components(q)
    if same:
        a, b, c, d = x[3], x[i], x[j], sign * x[k]
    else:
        a, b, c, d = x[3] - x[j], x[i] + sign * x[k], x[j] + x[3], sign * x[k] - x[i]
    middle = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
    half_sum, half_difference = jnp.arctan2(b, a), jnp.arctan2(d, c)
    is_zero, half_turn = abs(middle) <= 1e-7, abs(middle - np.pi) <= 1e-7
    single_angle = jnp.where(
        half_turn, (2 if intrinsic else -2) * half_difference, 2 * half_sum
    )
    degenerate = is_zero | half_turn
    low, high = half_sum - half_difference, half_sum + half_difference
    first, last = (high, low) if intrinsic else (low, high)
    first = jnp.where(degenerate, single_angle, first)
    last = jnp.where(degenerate, 0, last)
    if not same:
        middle = middle - np.pi / 2
        first, last = (sign * first, last) if intrinsic else (first, sign * last)
    out = stacked(first, middle, last)
    out = jnp.where(out < -np.pi, out + 2 * np.pi, out)
    out = jnp.where(out >= np.pi, out - 2 * np.pi, out)
    return in_unit(out, degrees)


@composite
def mean(q, weights):
    """Return the eigenvector of the largest eigenvalue of sum w q q^T.

    F. Markley, Y. Cheng, J. Crassidis, Y. Oshman, Averaging Quaternions, J. Guidance,
    Control, and Dynamics 30(4), 2007.
    """
    scatter_matrix = jnp.einsum("n,ni,nj->ij", weights, q, q, precision=Precision.HIGHEST)
    return decompositions.eigh(scatter_matrix)[1][:, -1]
