"""`Rotation` and `Slerp`: rotations of space, and the way from one to the next.

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
    """The axes of "xyz" or "XYZ", and whether they turn with what is rotated."""
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


def floats(x: Any, size: int, what: str) -> Any:
    """An array of floats whose last axis has this size."""
    (x,) = promote_dtypes_inexact(jnp.asarray(x))
    if x.shape[-1:] != (size,):
        raise errors.value_error(
            f"Rotation: {what} must have shape (..., {size}), got {x.shape}."
        )
    return x


class Rotation(NamedTuple):
    """Rotations of space: one, or an array of them.

    A pytree of its quaternions, which goes through all transformations.

    Args:
      quat: array [..., 4] of unit quaternions (x, y, z, w); `from_quat` takes any.

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
        """Several arrays of rotations as one."""
        return cls(jnp.concatenate([jnp.atleast_2d(r.quat) for r in rotations]))

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: Any = False) -> Rotation:
        """From angles [..., N] around N axes: "xyz", fixed, or "XYZ", which turn along."""
        axes, intrinsic = axes_of(seq)
        x = floats(jnp.atleast_1d(angles), len(axes), f"angles of {seq!r}")
        return cls(quaternions.from_euler(x, degrees, axes, intrinsic))

    @classmethod
    def from_matrix(cls, matrix: Any) -> Rotation:
        """From orthogonal matrices [..., 3, 3] of determinant 1."""
        return cls(quaternions.from_matrix(floats(matrix, 3, "matrices")))

    @classmethod
    def from_mrp(cls, mrp: Any) -> Rotation:
        """From modified Rodrigues parameters [..., 3]: the axis times tan(angle / 4)."""
        return cls(quaternions.from_mrp(floats(mrp, 3, "parameters")))

    @classmethod
    def from_quat(cls, quat: Any) -> Rotation:
        """From quaternions [..., 4], which need not have the norm 1."""
        return cls(quaternions.normalized(floats(quat, 4, "quaternions")))

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: Any = False) -> Rotation:
        """From rotation vectors [..., 3]: the axis times the angle."""
        x = floats(rotvec, 3, "rotation vectors")
        return cls(quaternions.from_rotvec(x, degrees))

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """No rotation, or `num` of such."""
        one = jnp.array([0.0, 0.0, 0.0, 1.0], dtype)
        return cls(one if num is None else jnp.tile(one, (num, 1)))

    @classmethod
    def random(cls, random_key: Any, num: int | None = None) -> Rotation:
        """Rotations of uniform distribution: directions of normal quaternions."""
        shape = (4,) if num is None else (num, 4)
        return cls.from_quat(normal(random_key, shape))

    def __getitem__(self, indexer: Any) -> Rotation:  # type: ignore[override]
        """Some of the rotations."""
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotation(self.quat[indexer])

    def __len__(self) -> int:
        """How many rotations these are."""
        if self.single:
            raise TypeError("Single rotation has no len().")
        return self.quat.shape[0]  # type: ignore[no-any-return]

    def __mul__(self, other: Rotation) -> Rotation:  # type: ignore[override]
        """First `other`, then these."""
        return Rotation.from_quat(quaternions.product(self.quat, other.quat))

    def apply(self, vectors: Any, inverse: Any = False) -> Any:
        """Vectors [..., 3] turned (or turned back)."""
        return quaternions.turn(self.quat, floats(vectors, 3, "vectors"), inverse)

    def as_euler(self, seq: str, degrees: Any = False) -> Any:
        """As angles [..., 3] in [-pi, pi) around three axes; see `from_euler`."""
        if len(seq) != 3:
            raise ValueError(f"Expected 3 axes, got {seq}.")
        axes, intrinsic = axes_of(seq)
        return quaternions.to_euler(self.quat, degrees, axes, intrinsic)

    def as_matrix(self) -> Any:
        """As orthogonal matrices [..., 3, 3]."""
        return quaternions.to_matrix(self.quat)

    def as_mrp(self) -> Any:
        """As modified Rodrigues parameters [..., 3]; see `from_mrp`."""
        return quaternions.to_mrp(self.quat)

    def as_rotvec(self, degrees: Any = False) -> Any:
        """As rotation vectors [..., 3], of angles up to a half turn."""
        return quaternions.to_rotvec(self.quat, degrees)

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Any:
        """As quaternions [..., 4]: of two that are the same, that with w >= 0; w first."""
        q = quaternions.canonical(self.quat) if canonical else self.quat
        return jnp.roll(q, 1, -1) if scalar_first else q

    def inv(self) -> Rotation:
        """The rotations back."""
        return Rotation(quaternions.conjugate(self.quat))

    def magnitude(self) -> Any:
        """The angles, from 0 to pi."""
        return quaternions.angle(self.quat)

    def mean(self, weights: Any = None) -> Rotation:
        """The rotation next to all of them, counted by weights [N]."""
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
        """Whether this is one rotation, and no array."""
        return self.quat.ndim == 1  # type: ignore[no-any-return]


class Slerp(NamedTuple):
    """Rotations in between: around one axis, at constant speed, from each to the next.

    `Slerp.init(times, rotations)` makes one.

    Args:
      times: array [N] of increasing times.
      timedelta: their differences [N - 1].
      rotations: the first N - 1 of N rotations.
      rotvecs: the way from each to the next: rotation vectors [N - 1, 3].

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
        """From N increasing times and as many rotations."""
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
        """The rotations at times [M], or at one; beyond the ends it goes on turning."""
        at = jnp.asarray(times, self.times.dtype)
        if at.ndim > 1:
            raise ValueError("`times` must be at most 1-dimensional.")
        i = jnp.searchsorted(self.times, at) - 1
        i = jnp.clip(i, 0, self.timedelta.shape[0] - 1)
        fraction = (at - self.times[i]) / self.timedelta[i]
        partial_rotation = Rotation.from_rotvec(self.rotvecs[i] * fraction[..., None])
        return Rotation(self.rotations.quat[i]) * partial_rotation
