"""`Rotation` and `Slerp`: rotations of space, and interpolation between them.

Next: quaternions.py.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ....base import errors
from ... import jnp
from ...numpy._common import promote_dtypes_inexact
from ...random.sampling import normal
from . import quaternions

__all__ = ("Rotation", "Slerp")


def axes_of(seq: str) -> tuple[tuple[int, ...], bool]:
    """Return the axes of "xyz" or "XYZ", and whether they rotate with the object."""
    if not 1 <= len(seq) <= 3:
        raise ValueError(
            "Expected axis specification to be a non-empty string of upto 3 characters,"
            f" got {seq}"
        )
    intrinsic = re.fullmatch("[XYZ]+", seq) is not None
    if not intrinsic and not re.fullmatch("[xyz]+", seq):
        raise ValueError(
            f"Expected axes from `seq` to be from ['x', 'y', 'z'] or ['X', 'Y', 'Z'], got {seq}"
        )
    axes = tuple("xyz".index(c) for c in seq.lower())
    if any(a == b for a, b in itertools.pairwise(axes)):
        raise ValueError(f"Expected consecutive axes to be different, got {seq}")
    return axes, intrinsic


def floats(x: Any, size: int, noun: str) -> Any:
    """Convert to an array of floats whose last axis has this size."""
    (x,) = promote_dtypes_inexact(jnp.asarray(x))
    if x.shape[-1:] != (size,):
        raise errors.value_error(
            f"Rotation: {noun} must have shape (..., {size}), got {x.shape}."
        )
    return x


class Rotation(NamedTuple):
    """Rotations of space: one, or an array of them.

    It is a pytree of its quaternions and works with all transformations.

    Args:
      quat: array [..., 4] of unit quaternions (x, y, z, w); `from_quat` normalizes.

    Example:
      >>> import minijax.numpy as jnp
      >>> r = Rotation.from_euler("z", 90, degrees=True)
      >>> jnp.round(r.apply(jnp.array([1., 0., 0.])), 4)
      Array([0., 1., 0.], dtype=float32)
      >>> jnp.round((r * r).magnitude(), 4)
      Array(3.1416, dtype=float32)

    Source: see quaternions.py.
    """

    quat: Any

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """Concatenate several arrays of rotations."""
        return cls(jnp.concatenate([jnp.atleast_2d(r.quat) for r in rotations]))

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: Any = False) -> Rotation:
        """Create from angles [..., N] around N axes: "xyz" is extrinsic,
        "XYZ" intrinsic."""
        axes, intrinsic = axes_of(seq)
        x = floats(jnp.atleast_1d(angles), len(axes), f"angles of {seq!r}")
        return cls(quaternions.from_euler(x, degrees, axes, intrinsic))

    @classmethod
    def from_matrix(cls, matrix: Any) -> Rotation:
        """Create from orthogonal matrices [..., 3, 3] of determinant 1."""
        return cls(quaternions.from_matrix(floats(matrix, 3, "matrices")))

    @classmethod
    def from_mrp(cls, mrp: Any) -> Rotation:
        """Create from modified Rodrigues parameters [..., 3]:
        the axis times tan(angle / 4)."""
        return cls(quaternions.from_mrp(floats(mrp, 3, "parameters")))

    @classmethod
    def from_quat(cls, quat: Any) -> Rotation:
        """Create from quaternions [..., 4] of any nonzero norm."""
        return cls(quaternions.normalized(floats(quat, 4, "quaternions")))

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: Any = False) -> Rotation:
        """Create from rotation vectors [..., 3]: the axis times the angle."""
        x = floats(rotvec, 3, "rotation vectors")
        return cls(quaternions.from_rotvec(x, degrees))

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """Create the identity rotation, or `num` copies of it."""
        one = jnp.array([0.0, 0.0, 0.0, 1.0], dtype)
        return cls(one if num is None else jnp.tile(one, (num, 1)))

    @classmethod
    def random(cls, random_key: Any, num: int | None = None) -> Rotation:
        """Draw uniformly distributed rotations, by normalizing normal quaternions."""
        shape = (4,) if num is None else (num, 4)
        return cls.from_quat(normal(random_key, shape))

    def __getitem__(self, indexer: Any) -> Rotation:  # type: ignore[override]
        """Select some of the rotations."""
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotation(self.quat[indexer])

    def __len__(self) -> int:
        """Return the number of rotations."""
        if self.single:
            raise TypeError("Single rotation has no len().")
        return self.quat.shape[0]  # type: ignore[no-any-return]

    def __mul__(self, other: Rotation) -> Rotation:  # type: ignore[override]
        """Compose: rotate by `other`, then by these."""
        return Rotation.from_quat(quaternions.product(self.quat, other.quat))

    def apply(self, vectors: Any, inverse: Any = False) -> Any:
        """Rotate vectors [..., 3], or rotate them back."""
        return quaternions.turn(self.quat, floats(vectors, 3, "vectors"), inverse)

    def as_euler(self, seq: str, degrees: Any = False) -> Any:
        """Convert to angles [..., 3] in [-pi, pi) around three axes; see `from_euler`."""
        if len(seq) != 3:
            raise ValueError(f"Expected 3 axes, got {seq}.")
        axes, intrinsic = axes_of(seq)
        return quaternions.to_euler(self.quat, degrees, axes, intrinsic)

    def as_matrix(self) -> Any:
        """Convert to orthogonal matrices [..., 3, 3]."""
        return quaternions.to_matrix(self.quat)

    def as_mrp(self) -> Any:
        """Convert to modified Rodrigues parameters [..., 3]; see `from_mrp`."""
        return quaternions.to_mrp(self.quat)

    def as_rotvec(self, degrees: Any = False) -> Any:
        """Convert to rotation vectors [..., 3], with angles up to pi."""
        return quaternions.to_rotvec(self.quat, degrees)

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Any:
        """Convert to quaternions [..., 4]; `canonical` takes the sign with w >= 0, and
        `scalar_first` puts w first."""
        q = quaternions.canonical(self.quat) if canonical else self.quat
        return jnp.roll(q, 1, -1) if scalar_first else q

    def inv(self) -> Rotation:
        """Return the inverse rotations."""
        return Rotation(quaternions.conjugate(self.quat))

    def magnitude(self) -> Any:
        """Return the angles, from 0 to pi."""
        return quaternions.angle(self.quat)

    def mean(self, weights: Any = None) -> Rotation:
        """Return the mean of the rotations, with weights [N]."""
        n, dtype = len(self), self.quat.dtype
        w = jnp.ones(n, dtype) if weights is None else jnp.asarray(weights, dtype)
        if w.ndim != 1:
            raise ValueError(f"Expected `weights` to be 1 dimensional, got shape {w.shape}.")
        if w.shape[0] != n:
            raise ValueError(
                "Expected `weights` to have number of values equal to number of"
                f" rotations, got {w.shape[0]} values and {n} rotations."
            )
        return Rotation(quaternions.mean(self.quat, w))

    @property
    def single(self) -> bool:
        """Whether this is a single rotation, not an array."""
        return self.quat.ndim == 1  # type: ignore[no-any-return]


class Slerp(NamedTuple):
    """Spherical interpolation of rotations: around one axis, at constant speed, from each
    to the next.

    Create it by `Slerp.init(times, rotations)`.

    Args:
      times: array [N] of increasing times.
      timedelta: the differences of the times [N - 1].
      rotations: the first N - 1 of N rotations.
      rotvecs: the relative rotations from each to the next: rotation vectors [N - 1, 3].

    Example:
      >>> import minijax.numpy as jnp
      >>> ends = Rotation.from_euler("z", jnp.array([[0.], [90.]]), degrees=True)
      >>> [round(float(x)) for x in Slerp.init([0., 1.], ends)(0.5).as_rotvec(True)]
      [0, 0, 45]

    Source: K. Shoemake, Animating Rotation with Quaternion Curves, SIGGRAPH 1985.
    """

    times: Any
    timedelta: Any
    rotations: Any
    rotvecs: Any

    @classmethod
    def init(cls, times: Any, rotations: Rotation) -> Slerp:
        """Create from N increasing times and N rotations."""
        if not isinstance(rotations, Rotation):
            raise TypeError("`rotations` must be a `Rotation` instance.")
        if rotations.single or len(rotations) == 1:
            raise ValueError("`rotations` must be a sequence of at least 2 rotations.")
        times = jnp.asarray(times, rotations.quat.dtype)
        if times.ndim != 1:
            raise ValueError(
                "Expected times to be specified in a 1 dimensional array, got"
                f" {times.ndim} dimensions."
            )
        if times.shape[0] != len(rotations):
            raise ValueError(
                "Expected number of rotations to be equal to number of timestamps given,"
                f" got {len(rotations)} rotations and {times.shape[0]} timestamps."
            )
        first, second = Rotation(rotations.quat[:-1]), Rotation(rotations.quat[1:])
        rotvecs = (first.inv() * second).as_rotvec()
        return cls(times, jnp.diff(times), first, rotvecs)

    def __call__(self, times: Any) -> Rotation:
        """Return the rotations at times [M] or a single time;
        it extrapolates at the ends."""
        at = jnp.asarray(times, self.times.dtype)
        if at.ndim > 1:
            raise ValueError("`times` must be at most 1-dimensional.")
        i = jnp.searchsorted(self.times, at) - 1
        i = jnp.clip(i, 0, self.timedelta.shape[0] - 1)
        fraction = (at - self.times[i]) / self.timedelta[i]
        partial_rotation = Rotation.from_rotvec(self.rotvecs[i] * fraction[..., None])
        return Rotation(self.rotations.quat[i]) * partial_rotation
