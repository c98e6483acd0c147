"""Step sizes as functions of the count of steps.

Next: optimizers.py, which use them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import jnp

__all__ = (
    "Schedule",
    "constant",
    "exponential_decay",
    "inverse_time_decay",
    "polynomial_decay",
    "piecewise_constant",
    "make_schedule",
)

Schedule = Callable[[int], float]


def constant(step_size: float) -> Schedule:
    r"""Return a constant schedule: :math:`\eta_i = \eta`.

    Args:
      step_size: :math:`\eta`.

    Returns:
      A function of the count of steps.

    Example:
      >>> constant(0.1)(7)
      0.1
    """
    return lambda i: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    r"""Return an exponential schedule: :math:`\eta_i = \eta r^{i/n}`.

    Args:
      step_size: :math:`\eta`.
      decay_steps: n, the number of steps per factor.
      decay_rate: r, the factor.

    Returns:
      A function of the count of steps.

    Example:
      >>> exponential_decay(8., 2, 0.5)(4)
      2.0
    """
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(
    step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False
) -> Schedule:
    r"""Return a schedule that decays like 1/i: :math:`\eta_i = \eta / (1 + r i / n)`.

    Args:
      step_size: :math:`\eta`.
      decay_steps: n.
      decay_rate: r.
      staircase: round i / n down.

    Returns:
      A function of the count of steps.

    Example:
      >>> inverse_time_decay(8., 2, 0.5)(4)
      4.0
    """

    def schedule(i: Any) -> Any:
        if staircase:
            return step_size / (1 + decay_rate * jnp.floor(i / decay_steps))
        return step_size / (1 + decay_rate * i / decay_steps)

    return schedule


def polynomial_decay(
    step_size: Any, decay_steps: Any, final_step_size: Any, power: Any = 1.0
) -> Schedule:
    r"""Return a schedule that decays to a final step size.

    .. math:: \eta_i = (\eta - \eta_n) (1 - \min(i, n) / n)^p + \eta_n

    Args:
      step_size: :math:`\eta`.
      decay_steps: n.
      final_step_size: :math:`\eta_n`.
      power: p.

    Returns:
      A function of the count of steps.

    Example:
      >>> polynomial_decay(8., 4, 4.)(2)
      Array(6., dtype=float32, weak_type=True)
    """

    def schedule(i: Any) -> Any:
        remaining = 1 - jnp.minimum(i, decay_steps) / decay_steps
        return remaining**power * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """Return a piecewise constant schedule.

    Args:
      boundaries: array [n]: the counts after which the size changes.
      values: array [n + 1]: the sizes.

    Returns:
      A function of the count of steps.

    Raises:
      ValueError: they are not sequences, or have wrong lengths.

    Example:
      >>> piecewise_constant([2, 5], [3., 2., 1.])(3)
      Array(2., dtype=float32)
    """
    ends, sizes = jnp.array(boundaries), jnp.array(values)
    if ends.ndim != 1 or sizes.ndim != 1:
        raise ValueError("boundaries and values must be sequences")
    if len(ends) != len(sizes) - 1:
        raise ValueError("boundaries length must be one shorter than values length")
    return lambda i: sizes[jnp.sum(i > ends)]


def make_schedule(scalar_or_schedule: float | Schedule) -> Schedule:
    """Convert a number to a constant schedule; return a function unchanged.

    Args:
      scalar_or_schedule: a number, or a function of the count of steps.

    Returns:
      A function of the count of steps.

    Raises:
      TypeError: it is neither.

    Example:
      >>> make_schedule(0.1)(7)
      0.1
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if jnp.ndim(scalar_or_schedule):
        raise TypeError(
            f"make_schedule takes a number or a function, got {type(scalar_or_schedule)}."
        )
    return constant(scalar_or_schedule)
